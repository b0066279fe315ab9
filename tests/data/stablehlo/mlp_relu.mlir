"builtin.module"() <{sym_name = "jit_mlp_relu"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<16x64xf32>, tensor<160x64xf32>, tensor<64x160xf32>) -> tensor<16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<16x64xf32>, %arg2: tensor<160x64xf32>, %arg3: tensor<64x160xf32>):
    %3 = "stablehlo.dot_general"(%arg1, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x64xf32>, tensor<64x160xf32>) -> tensor<16x160xf32>
    %4 = "func.call"(%3) <{callee = @relu}> : (tensor<16x160xf32>) -> tensor<16x160xf32>
    %5 = "stablehlo.dot_general"(%4, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<16x160xf32>, tensor<160x64xf32>) -> tensor<16x64xf32>
    %6 = "stablehlo.add"(%arg1, %5) : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    "func.return"(%6) : (tensor<16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16x160xf32>) -> tensor<16x160xf32>, res_attrs = [{}], sym_name = "relu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<16x160xf32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<16x160xf32>
    %2 = "stablehlo.maximum"(%arg0, %1) : (tensor<16x160xf32>, tensor<16x160xf32>) -> tensor<16x160xf32>
    "func.return"(%2) : (tensor<16x160xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
