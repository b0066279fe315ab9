"builtin.module"() <{sym_name = "jit_gated"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}], function_type = (tensor<2x16x64xf32>, tensor<160x64xf32>, tensor<64x160xf32>, tensor<64xf32>, tensor<64x160xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<2x16x64xf32>, %arg2: tensor<160x64xf32>, %arg3: tensor<64x160xf32>, %arg4: tensor<64xf32>, %arg5: tensor<64x160xf32>):
    %9 = "chlo.square"(%arg1) : (tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %10 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %11 = "stablehlo.reduce"(%9, %10) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg6: tensor<f32>, %arg7: tensor<f32>):
      %34 = "stablehlo.add"(%arg6, %arg7) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%34) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %13 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %14 = "stablehlo.broadcast_in_dim"(%13) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %15 = "stablehlo.divide"(%12, %14) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %16 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %17 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %18 = "stablehlo.add"(%15, %17) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %19 = "stablehlo.sqrt"(%18) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %21 = "stablehlo.divide"(%arg1, %20) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %22 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<64xf32>
    %24 = "stablehlo.add"(%23, %arg4) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %27 = "stablehlo.multiply"(%21, %26) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %28 = "stablehlo.dot_general"(%27, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x160xf32>) -> tensor<2x16x160xf32>
    %29 = "func.call"(%28) <{callee = @silu}> : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %30 = "stablehlo.dot_general"(%27, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x160xf32>) -> tensor<2x16x160xf32>
    %31 = "stablehlo.multiply"(%29, %30) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %32 = "stablehlo.dot_general"(%31, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x160xf32>, tensor<160x64xf32>) -> tensor<2x16x64xf32>
    %33 = "stablehlo.add"(%arg1, %32) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%33) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x16x160xf32>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %1 = "stablehlo.exponential"(%0) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %4 = "stablehlo.add"(%3, %1) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    "func.return"(%8) : (tensor<2x16x160xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
