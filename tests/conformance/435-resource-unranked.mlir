"ext.op"() {v = dense_resource<a> : tensor<*xi32>} : () -> ()
