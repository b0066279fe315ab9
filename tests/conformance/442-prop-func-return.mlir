"func.func"() <{sym_name = "f", function_type = () -> ()}> ({
  "func.return"() <{a = 1}> : () -> ()
}) : () -> ()
