"ext.op"() {v = dense_resource<a> : memref<?xi32>} : () -> ()
