"ext.op"() {v = memref<4xf32, #gpu.address_space<global>>} : () -> ()
