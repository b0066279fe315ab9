"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<160x64xf32>, tensor<64x160xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<160x64xf32>, %arg1: tensor<64x160xf32>, %arg2: tensor<2x16x64xf32>):
    %0 = "stablehlo.dot_general"(%arg2, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x160xf32>) -> tensor<2x16x160xf32>
    %1 = "stablehlo.multiply"(%0, %0) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %2 = "stablehlo.multiply"(%1, %0) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %3 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.broadcast_in_dim"(%3) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %5 = "stablehlo.multiply"(%4, %2) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %6 = "stablehlo.add"(%0, %5) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %7 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %9 = "stablehlo.multiply"(%8, %6) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %10 = "stablehlo.tanh"(%9) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %11 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %13 = "stablehlo.add"(%12, %10) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %14 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %16 = "stablehlo.multiply"(%15, %13) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %17 = "stablehlo.multiply"(%0, %16) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %18 = "stablehlo.dot_general"(%17, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x160xf32>, tensor<160x64xf32>) -> tensor<2x16x64xf32>
    %19 = "stablehlo.add"(%arg2, %18) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%19) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
