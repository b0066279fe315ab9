"builtin.module"() <{sym_name = "jit_layers"}> ({
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<2x16x64xf32>, tensor<3x64x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg5: tensor<2x16x64xf32>, %arg6: tensor<3x64x64xf32>):
    %10 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %11:3 = "stablehlo.while"(%arg6, %10, %arg5) ({
    ^bb0(%arg10: tensor<3x64x64xf32>, %arg11: tensor<i32>, %arg12: tensor<2x16x64xf32>):
      %16 = "stablehlo.constant"() <{value = dense<3> : tensor<i32>}> : () -> tensor<i32>
      %17 = "stablehlo.compare"(%arg11, %16) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%17) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg7: tensor<3x64x64xf32>, %arg8: tensor<i32>, %arg9: tensor<2x16x64xf32>):
      %12 = "func.call"(%arg7, %arg8) <{callee = @dynamic_index_in_dim}> : (tensor<3x64x64xf32>, tensor<i32>) -> tensor<64x64xf32>
      %13 = "func.call"(%arg9, %12) <{callee = @closed_call}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
      %14 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
      %15 = "stablehlo.add"(%arg8, %14) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%arg7, %15, %13) : (tensor<3x64x64xf32>, tensor<i32>, tensor<2x16x64xf32>) -> ()
    }) : (tensor<3x64x64xf32>, tensor<i32>, tensor<2x16x64xf32>) -> (tensor<3x64x64xf32>, tensor<i32>, tensor<2x16x64xf32>)
    "func.return"(%11#2) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}], function_type = (tensor<3x64x64xf32>, tensor<i32>) -> tensor<64x64xf32>, res_attrs = [{}], sym_name = "dynamic_index_in_dim", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<3x64x64xf32>, %arg4: tensor<i32>):
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %8 = "stablehlo.dynamic_slice"(%arg3, %arg4, %6, %7) <{slice_sizes = array<i64: 1, 64, 64>}> : (tensor<3x64x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x64x64xf32>
    %9 = "stablehlo.reshape"(%8) : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
    "func.return"(%9) : (tensor<64x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{}], sym_name = "closed_call", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<2x16x64xf32>, %arg2: tensor<64x64xf32>):
    %3 = "stablehlo.dot_general"(%arg1, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %4 = "func.call"(%3) <{callee = @relu}> : (tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %5 = "stablehlo.add"(%arg1, %4) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%5) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x16x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{}], sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x16x64xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x64xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%2) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
