"ext.op"() {v = dense<"0x0F"> : tensor<9xi1>} : () -> ()
