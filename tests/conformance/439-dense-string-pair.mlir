"ext.op"() {v = dense<("a", "b")> : tensor<2x!ext.t>} : () -> ()
