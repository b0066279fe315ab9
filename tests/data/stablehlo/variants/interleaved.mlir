"builtin.module"() <{sym_name = "jit__lambda"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}], function_type = (tensor<2x16x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x16x64xf32>, %arg1: tensor<64x64xf32>, %arg2: tensor<64x64xf32>, %arg3: tensor<64x64xf32>, %arg4: tensor<64x64xf32>):
    %0 = "stablehlo.dot_general"(%arg0, %arg3) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %1 = "stablehlo.reshape"(%0) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %2 = "stablehlo.dot_general"(%arg0, %arg1) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %3 = "stablehlo.reshape"(%2) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %4 = "stablehlo.dot_general"(%arg0, %arg4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %5 = "stablehlo.reshape"(%4) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %6 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %8 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %9 = "stablehlo.negate"(%8) : (tensor<4xi32>) -> tensor<4xi32>
    %10 = "stablehlo.convert"(%9) : (tensor<4xi32>) -> tensor<4xf32>
    %11 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %13 = "stablehlo.divide"(%10, %12) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %14 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %16 = "stablehlo.power"(%15, %13) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %17 = "stablehlo.convert"(%7) : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %18 = "stablehlo.broadcast_in_dim"(%16) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %19 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %20 = "stablehlo.broadcast_in_dim"(%18) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %21 = "stablehlo.multiply"(%19, %20) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %22 = "stablehlo.cosine"(%21) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %24 = "stablehlo.sine"(%21) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %26 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 2>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %27 = "stablehlo.slice"(%1) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 1>, strides = array<i64: 1, 1, 1, 2>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %28 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %29 = "stablehlo.multiply"(%26, %28) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %30 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %31 = "stablehlo.multiply"(%27, %30) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %32 = "stablehlo.subtract"(%29, %31) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %33 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %34 = "stablehlo.multiply"(%26, %33) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %35 = "stablehlo.broadcast_in_dim"(%23) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %36 = "stablehlo.multiply"(%27, %35) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %37 = "stablehlo.add"(%34, %36) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %38 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x4x1xf32>
    %39 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x4x1xf32>
    %40 = "stablehlo.concatenate"(%38, %39) <{dimension = 4 : i64}> : (tensor<2x16x8x4x1xf32>, tensor<2x16x8x4x1xf32>) -> tensor<2x16x8x4x2xf32>
    %41 = "stablehlo.reshape"(%40) : (tensor<2x16x8x4x2xf32>) -> tensor<2x16x8x8xf32>
    %42 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %43 = "stablehlo.broadcast_in_dim"(%42) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %44 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %45 = "stablehlo.negate"(%44) : (tensor<4xi32>) -> tensor<4xi32>
    %46 = "stablehlo.convert"(%45) : (tensor<4xi32>) -> tensor<4xf32>
    %47 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %48 = "stablehlo.broadcast_in_dim"(%47) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %49 = "stablehlo.divide"(%46, %48) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %50 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %51 = "stablehlo.broadcast_in_dim"(%50) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %52 = "stablehlo.power"(%51, %49) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %53 = "stablehlo.convert"(%43) : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %54 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %55 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %56 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %57 = "stablehlo.multiply"(%55, %56) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %58 = "stablehlo.cosine"(%57) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %59 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %60 = "stablehlo.sine"(%57) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %62 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 2>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %63 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 1>, strides = array<i64: 1, 1, 1, 2>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %64 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %65 = "stablehlo.multiply"(%62, %64) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %66 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %67 = "stablehlo.multiply"(%63, %66) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %68 = "stablehlo.subtract"(%65, %67) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %69 = "stablehlo.broadcast_in_dim"(%61) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %70 = "stablehlo.multiply"(%62, %69) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %71 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %72 = "stablehlo.multiply"(%63, %71) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %73 = "stablehlo.add"(%70, %72) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %74 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x4x1xf32>
    %75 = "stablehlo.broadcast_in_dim"(%73) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x16x8x4xf32>) -> tensor<2x16x8x4x1xf32>
    %76 = "stablehlo.concatenate"(%74, %75) <{dimension = 4 : i64}> : (tensor<2x16x8x4x1xf32>, tensor<2x16x8x4x1xf32>) -> tensor<2x16x8x4x2xf32>
    %77 = "stablehlo.reshape"(%76) : (tensor<2x16x8x4x2xf32>) -> tensor<2x16x8x8xf32>
    %78 = "stablehlo.dot_general"(%41, %77) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x8x16x16xf32>
    %79 = "stablehlo.constant"() <{value = dense<0.353553385> : tensor<f32>}> : () -> tensor<f32>
    %80 = "stablehlo.broadcast_in_dim"(%79) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16x16xf32>
    %81 = "stablehlo.multiply"(%78, %80) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %82 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %83 = "stablehlo.reduce"(%81, %82) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %102 = "stablehlo.maximum"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%102) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %84 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16xf32>
    %86 = "stablehlo.maximum"(%85, %83) : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %88 = "stablehlo.broadcast_in_dim"(%87) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %89 = "stablehlo.subtract"(%81, %88) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %90 = "stablehlo.exponential"(%89) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %91 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %92 = "stablehlo.reduce"(%90, %91) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %101 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%101) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %93 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %94 = "stablehlo.broadcast_in_dim"(%93) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %95 = "stablehlo.divide"(%90, %94) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %96 = "stablehlo.dot_general"(%5, %95) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x8x16xf32>
    %97 = "stablehlo.transpose"(%96) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x8x16xf32>) -> tensor<2x16x8x8xf32>
    %98 = "stablehlo.reshape"(%97) : (tensor<2x16x8x8xf32>) -> tensor<2x16x64xf32>
    %99 = "stablehlo.dot_general"(%98, %arg2) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %100 = "stablehlo.add"(%arg0, %99) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%100) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
