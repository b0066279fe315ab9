"ext.op"() {v = dense<(true, false)> : tensor<2xcomplex<i1>>} : () -> ()
