"ext.op"() {v = dense<true> : tensor<2xui1>} : () -> ()
