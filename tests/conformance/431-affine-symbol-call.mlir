"ext.op"() {v = affine_map<(i) -> (symbol(i))>} : () -> ()
