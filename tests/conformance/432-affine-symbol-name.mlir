"ext.op"() {v = affine_map<(symbol) -> (symbol)>} : () -> ()
