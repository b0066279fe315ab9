"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}], function_type = (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %1 = "stablehlo.reshape"(%0) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %2 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %3 = "stablehlo.reshape"(%2) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %4 = "stablehlo.dot_general"(%arg0, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %6 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %7 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %8 = "stablehlo.broadcast_in_dim"(%7) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %9 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi32>
    %10 = "stablehlo.negate"(%9) : (tensor<2xi32>) -> tensor<2xi32>
    %11 = "stablehlo.convert"(%10) : (tensor<2xi32>) -> tensor<2xf32>
    %12 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %13 = "stablehlo.broadcast_in_dim"(%12) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %14 = "stablehlo.divide"(%11, %13) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %15 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %17 = "stablehlo.power"(%16, %14) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1x2xf32>
    %19 = "stablehlo.broadcast_in_dim"(%8) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x2xf32>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xf32>) -> tensor<16x2xf32>
    %21 = "stablehlo.multiply"(%19, %20) : (tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
    %22 = "stablehlo.sine"(%21) : (tensor<16x2xf32>) -> tensor<16x2xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x2xf32>) -> tensor<1x16x1x2xf32>
    %24 = "stablehlo.cosine"(%21) : (tensor<16x2xf32>) -> tensor<16x2xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x2xf32>) -> tensor<1x16x1x2xf32>
    %26 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 16, 8, 2>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x2xf32>
    %27 = "stablehlo.slice"(%6) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 2>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x2xf32>
    %28 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %29 = "stablehlo.multiply"(%26, %28) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %30 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %31 = "stablehlo.multiply"(%27, %30) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %32 = "stablehlo.subtract"(%29, %31) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %33 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %34 = "stablehlo.multiply"(%27, %33) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %35 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %36 = "stablehlo.multiply"(%26, %35) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %37 = "stablehlo.add"(%34, %36) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %38 = "stablehlo.concatenate"(%32, %37) <{dimension = 3 : i64}> : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x4xf32>
    %39 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %40 = "stablehlo.concatenate"(%38, %39) <{dimension = 3 : i64}> : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x8xf32>
    %41 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %42 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %44 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<2xi32>
    %45 = "stablehlo.negate"(%44) : (tensor<2xi32>) -> tensor<2xi32>
    %46 = "stablehlo.convert"(%45) : (tensor<2xi32>) -> tensor<2xf32>
    %47 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %49 = "stablehlo.divide"(%46, %48) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %50 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2xf32>
    %52 = "stablehlo.power"(%51, %49) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 1>}> : (tensor<2xf32>) -> tensor<1x2xf32>
    %54 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x2xf32>
    %55 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xf32>) -> tensor<16x2xf32>
    %56 = "stablehlo.multiply"(%54, %55) : (tensor<16x2xf32>, tensor<16x2xf32>) -> tensor<16x2xf32>
    %57 = "stablehlo.sine"(%56) : (tensor<16x2xf32>) -> tensor<16x2xf32>
    %58 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x2xf32>) -> tensor<1x16x1x2xf32>
    %59 = "stablehlo.cosine"(%56) : (tensor<16x2xf32>) -> tensor<16x2xf32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x2xf32>) -> tensor<1x16x1x2xf32>
    %61 = "stablehlo.slice"(%41) <{limit_indices = array<i64: 2, 16, 8, 2>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x2xf32>
    %62 = "stablehlo.slice"(%41) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 2>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x2xf32>
    %63 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %64 = "stablehlo.multiply"(%61, %63) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %65 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %66 = "stablehlo.multiply"(%62, %65) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %67 = "stablehlo.subtract"(%64, %66) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %68 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %69 = "stablehlo.multiply"(%62, %68) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %70 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x2xf32>) -> tensor<2x16x8x2xf32>
    %71 = "stablehlo.multiply"(%61, %70) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %72 = "stablehlo.add"(%69, %71) : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x2xf32>
    %73 = "stablehlo.concatenate"(%67, %72) <{dimension = 3 : i64}> : (tensor<2x16x8x2xf32>, tensor<2x16x8x2xf32>) -> tensor<2x16x8x4xf32>
    %74 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %75 = "stablehlo.concatenate"(%73, %74) <{dimension = 3 : i64}> : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x8xf32>
    %76 = "stablehlo.dot_general"(%40, %75) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x8x16x16xf32>
    %77 = "stablehlo.constant"() <{value = dense<0.353553385> : tensor<f32>}> : () -> tensor<f32>
    %78 = "stablehlo.broadcast_in_dim"(%77) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16x16xf32>
    %79 = "stablehlo.multiply"(%76, %78) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %80 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %81 = "stablehlo.reduce"(%79, %80) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %100 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%100) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %82 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %83 = "stablehlo.broadcast_in_dim"(%82) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16xf32>
    %84 = "stablehlo.maximum"(%83, %81) : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %87 = "stablehlo.subtract"(%79, %86) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %88 = "stablehlo.exponential"(%87) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %89 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %90 = "stablehlo.reduce"(%88, %89) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %99 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%99) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %93 = "stablehlo.divide"(%88, %92) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %94 = "stablehlo.dot_general"(%5, %93) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x8x16xf32>
    %95 = "stablehlo.transpose"(%94) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x8x16xf32>) -> tensor<2x16x8x8xf32>
    %96 = "stablehlo.reshape"(%95) : (tensor<2x16x8x8xf32>) -> tensor<2x16x64xf32>
    %97 = "stablehlo.dot_general"(%96, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %98 = "stablehlo.add"(%arg0, %97) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%98) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
