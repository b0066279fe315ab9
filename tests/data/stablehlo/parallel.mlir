"builtin.module"() <{sym_name = "jit_parallel"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<2x16x64xf32>, tensor<160x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x160xf32>, tensor<160xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg4: tensor<2x16x64xf32>, %arg5: tensor<160x64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<64x64xf32>, %arg8: tensor<64xf32>, %arg9: tensor<64xf32>, %arg10: tensor<64x64xf32>, %arg11: tensor<64x64xf32>, %arg12: tensor<64x160xf32>, %arg13: tensor<160xf32>, %arg14: tensor<64x64xf32>):
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %15 = "stablehlo.reduce"(%arg4, %14) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %181 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%181) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %17 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %18 = "stablehlo.broadcast_in_dim"(%17) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %19 = "stablehlo.divide"(%16, %18) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %20 = "stablehlo.multiply"(%arg4, %arg4) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %21 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %22 = "stablehlo.reduce"(%20, %21) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %180 = "stablehlo.add"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%180) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %23 = "stablehlo.broadcast_in_dim"(%22) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %24 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %25 = "stablehlo.broadcast_in_dim"(%24) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %26 = "stablehlo.divide"(%23, %25) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %27 = "stablehlo.multiply"(%19, %19) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %28 = "stablehlo.subtract"(%26, %27) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %29 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %30 = "stablehlo.broadcast_in_dim"(%29) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %31 = "stablehlo.maximum"(%30, %28) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %32 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %33 = "stablehlo.broadcast_in_dim"(%32) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %34 = "stablehlo.add"(%31, %33) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %35 = "stablehlo.rsqrt"(%34) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %36 = "stablehlo.broadcast_in_dim"(%arg8) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %37 = "stablehlo.broadcast_in_dim"(%35) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %38 = "stablehlo.broadcast_in_dim"(%36) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %39 = "stablehlo.multiply"(%37, %38) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %40 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %41 = "stablehlo.subtract"(%arg4, %40) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %42 = "stablehlo.multiply"(%41, %39) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %43 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %44 = "stablehlo.broadcast_in_dim"(%43) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %45 = "stablehlo.add"(%42, %44) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %46 = "stablehlo.dot_general"(%45, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %47 = "stablehlo.reshape"(%46) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %48 = "stablehlo.dot_general"(%45, %arg7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %49 = "stablehlo.reshape"(%48) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %50 = "stablehlo.dot_general"(%45, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %51 = "stablehlo.reshape"(%50) : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
    %52 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %53 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %54 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %55 = "stablehlo.negate"(%54) : (tensor<4xi32>) -> tensor<4xi32>
    %56 = "stablehlo.convert"(%55) : (tensor<4xi32>) -> tensor<4xf32>
    %57 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %58 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %59 = "stablehlo.divide"(%56, %58) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %60 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %61 = "stablehlo.broadcast_in_dim"(%60) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %62 = "stablehlo.power"(%61, %59) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %64 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %65 = "stablehlo.broadcast_in_dim"(%63) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %66 = "stablehlo.multiply"(%64, %65) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %67 = "stablehlo.sine"(%66) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %68 = "stablehlo.broadcast_in_dim"(%67) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %69 = "stablehlo.cosine"(%66) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %70 = "stablehlo.broadcast_in_dim"(%69) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %71 = "stablehlo.slice"(%47) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %72 = "stablehlo.slice"(%47) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %73 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %74 = "stablehlo.multiply"(%71, %73) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %75 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %76 = "stablehlo.multiply"(%72, %75) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %77 = "stablehlo.subtract"(%74, %76) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %78 = "stablehlo.broadcast_in_dim"(%70) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %79 = "stablehlo.multiply"(%72, %78) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %80 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %81 = "stablehlo.multiply"(%71, %80) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %82 = "stablehlo.add"(%79, %81) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %83 = "stablehlo.concatenate"(%77, %82) <{dimension = 3 : i64}> : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x8xf32>
    %84 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xf32>
    %85 = "stablehlo.broadcast_in_dim"(%84) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xf32>) -> tensor<16x1xf32>
    %86 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %87 = "stablehlo.negate"(%86) : (tensor<4xi32>) -> tensor<4xi32>
    %88 = "stablehlo.convert"(%87) : (tensor<4xi32>) -> tensor<4xf32>
    %89 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %90 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %91 = "stablehlo.divide"(%88, %90) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %92 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %93 = "stablehlo.broadcast_in_dim"(%92) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %94 = "stablehlo.power"(%93, %91) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %96 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %97 = "stablehlo.broadcast_in_dim"(%95) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %98 = "stablehlo.multiply"(%96, %97) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %99 = "stablehlo.sine"(%98) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %100 = "stablehlo.broadcast_in_dim"(%99) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %101 = "stablehlo.cosine"(%98) : (tensor<16x4xf32>) -> tensor<16x4xf32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x4xf32>) -> tensor<1x16x1x4xf32>
    %103 = "stablehlo.slice"(%49) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %104 = "stablehlo.slice"(%49) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x4xf32>
    %105 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %106 = "stablehlo.multiply"(%103, %105) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %107 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %108 = "stablehlo.multiply"(%104, %107) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %109 = "stablehlo.subtract"(%106, %108) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %110 = "stablehlo.broadcast_in_dim"(%102) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %111 = "stablehlo.multiply"(%104, %110) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %112 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x4xf32>) -> tensor<2x16x8x4xf32>
    %113 = "stablehlo.multiply"(%103, %112) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %114 = "stablehlo.add"(%111, %113) : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x4xf32>
    %115 = "stablehlo.concatenate"(%109, %114) <{dimension = 3 : i64}> : (tensor<2x16x8x4xf32>, tensor<2x16x8x4xf32>) -> tensor<2x16x8x8xf32>
    %116 = "stablehlo.reshape"(%83) : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x1x8xf32>
    %117 = "stablehlo.dot_general"(%116, %115) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [4], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x1x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x8x16x1x16xf32>
    %118 = "stablehlo.constant"() <{value = dense<0.353553385> : tensor<f32>}> : () -> tensor<f32>
    %119 = "stablehlo.broadcast_in_dim"(%118) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16x1x16xf32>
    %120 = "stablehlo.multiply"(%117, %119) : (tensor<2x8x16x1x16xf32>, tensor<2x8x16x1x16xf32>) -> tensor<2x8x16x1x16xf32>
    %121 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %122 = "stablehlo.broadcast_in_dim"(%121) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<2x8x16x16xi1>
    %123 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %124 = "stablehlo.broadcast_in_dim"(%123) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<16x16xi1>
    %125 = "func.call"(%124) <{callee = @tril}> : (tensor<16x16xi1>) -> tensor<16x16xi1>
    %126 = "stablehlo.broadcast_in_dim"(%125) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x16xi1>) -> tensor<1x1x16x16xi1>
    %127 = "stablehlo.broadcast_in_dim"(%126) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x1x16x16xi1>) -> tensor<2x8x16x16xi1>
    %128 = "stablehlo.and"(%122, %127) : (tensor<2x8x16x16xi1>, tensor<2x8x16x16xi1>) -> tensor<2x8x16x16xi1>
    %129 = "stablehlo.constant"() <{value = dense<-2.38197633E+38> : tensor<f32>}> : () -> tensor<f32>
    %130 = "func.call"(%128, %120, %129) <{callee = @_where}> : (tensor<2x8x16x16xi1>, tensor<2x8x16x1x16xf32>, tensor<f32>) -> tensor<1x2x8x16x16xf32>
    %131 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %132 = "stablehlo.reduce"(%130, %131) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %179 = "stablehlo.maximum"(%arg17, %arg18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%179) : (tensor<f32>) -> ()
    }) : (tensor<1x2x8x16x16xf32>, tensor<f32>) -> tensor<1x2x8x16xf32>
    %133 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %134 = "stablehlo.broadcast_in_dim"(%133) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<1x2x8x16xf32>
    %135 = "stablehlo.maximum"(%134, %132) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> tensor<1x2x8x16xf32>
    %136 = "stablehlo.broadcast_in_dim"(%135) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x8x16xf32>) -> tensor<1x2x8x16x1xf32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x8x16x1xf32>) -> tensor<1x2x8x16x16xf32>
    %138 = "stablehlo.subtract"(%130, %137) : (tensor<1x2x8x16x16xf32>, tensor<1x2x8x16x16xf32>) -> tensor<1x2x8x16x16xf32>
    %139 = "stablehlo.exponential"(%138) : (tensor<1x2x8x16x16xf32>) -> tensor<1x2x8x16x16xf32>
    %140 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %141 = "stablehlo.reduce"(%139, %140) <{dimensions = array<i64: 4>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %178 = "stablehlo.add"(%arg15, %arg16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%178) : (tensor<f32>) -> ()
    }) : (tensor<1x2x8x16x16xf32>, tensor<f32>) -> tensor<1x2x8x16xf32>
    %142 = "stablehlo.broadcast_in_dim"(%141) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x2x8x16xf32>) -> tensor<1x2x8x16x1xf32>
    %143 = "stablehlo.broadcast_in_dim"(%142) <{broadcast_dimensions = array<i64: 0, 1, 2, 3, 4>}> : (tensor<1x2x8x16x1xf32>) -> tensor<1x2x8x16x16xf32>
    %144 = "stablehlo.divide"(%139, %143) : (tensor<1x2x8x16x16xf32>, tensor<1x2x8x16x16xf32>) -> tensor<1x2x8x16x16xf32>
    %145 = "stablehlo.dot_general"(%51, %144) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [1, 2], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [4]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xf32>, tensor<1x2x8x16x16xf32>) -> tensor<2x8x8x1x16xf32>
    %146 = "stablehlo.transpose"(%145) <{permutation = array<i64: 3, 0, 4, 1, 2>}> : (tensor<2x8x8x1x16xf32>) -> tensor<1x2x16x8x8xf32>
    %147 = "stablehlo.transpose"(%146) <{permutation = array<i64: 1, 2, 3, 0, 4>}> : (tensor<1x2x16x8x8xf32>) -> tensor<2x16x8x1x8xf32>
    %148 = "stablehlo.reshape"(%147) : (tensor<2x16x8x1x8xf32>) -> tensor<2x16x8x8xf32>
    %149 = "stablehlo.reshape"(%148) : (tensor<2x16x8x8xf32>) -> tensor<2x16x64xf32>
    %150 = "stablehlo.dot_general"(%149, %arg10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x64xf32>) -> tensor<2x16x64xf32>
    %151 = "stablehlo.add"(%arg4, %150) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %152 = "stablehlo.dot_general"(%45, %arg12) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xf32>, tensor<64x160xf32>) -> tensor<2x16x160xf32>
    %153 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 2>}> : (tensor<160xf32>) -> tensor<1x1x160xf32>
    %154 = "stablehlo.broadcast_in_dim"(%153) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x160xf32>) -> tensor<2x16x160xf32>
    %155 = "stablehlo.add"(%152, %154) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %156 = "stablehlo.multiply"(%155, %155) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %157 = "stablehlo.multiply"(%156, %155) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %158 = "stablehlo.constant"() <{value = dense<4.471500e-02> : tensor<f32>}> : () -> tensor<f32>
    %159 = "stablehlo.broadcast_in_dim"(%158) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %160 = "stablehlo.multiply"(%159, %157) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %161 = "stablehlo.add"(%155, %160) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %162 = "stablehlo.constant"() <{value = dense<0.797884583> : tensor<f32>}> : () -> tensor<f32>
    %163 = "stablehlo.broadcast_in_dim"(%162) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %164 = "stablehlo.multiply"(%163, %161) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %165 = "stablehlo.tanh"(%164) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %166 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %167 = "stablehlo.broadcast_in_dim"(%166) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %168 = "stablehlo.add"(%167, %165) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %169 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %170 = "stablehlo.broadcast_in_dim"(%169) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %171 = "stablehlo.multiply"(%170, %168) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %172 = "stablehlo.multiply"(%155, %171) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %173 = "stablehlo.dot_general"(%172, %arg5) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x160xf32>, tensor<160x64xf32>) -> tensor<2x16x64xf32>
    %174 = "stablehlo.add"(%151, %173) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %175 = "stablehlo.broadcast_in_dim"(%arg6) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %176 = "stablehlo.broadcast_in_dim"(%175) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %177 = "stablehlo.add"(%174, %176) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%177) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16x16xi1>) -> tensor<16x16xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<16x16xi1>):
    %5 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16x16xi32>
    %6 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16x16xi32>
    %8 = "stablehlo.add"(%5, %7) : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
    %9 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<16x16xi32>
    %10 = "stablehlo.compare"(%8, %9) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %11 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %12 = "stablehlo.broadcast_in_dim"(%11) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<16x16xi1>
    %13 = "stablehlo.select"(%10, %arg3, %12) : (tensor<16x16xi1>, tensor<16x16xi1>, tensor<16x16xi1>) -> tensor<16x16xi1>
    "func.return"(%13) : (tensor<16x16xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<2x8x16x16xi1>, tensor<2x8x16x1x16xf32>, tensor<f32>) -> tensor<1x2x8x16x16xf32>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x8x16x16xi1>, %arg1: tensor<2x8x16x1x16xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16x16xf32>
    %1 = "stablehlo.broadcast_in_dim"(%arg0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x8x16x16xi1>) -> tensor<1x2x8x16x16xi1>
    %2 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 1, 2, 3, 4>}> : (tensor<2x8x16x16xf32>) -> tensor<1x2x8x16x16xf32>
    %3 = "stablehlo.transpose"(%arg1) <{permutation = array<i64: 3, 0, 1, 2, 4>}> : (tensor<2x8x16x1x16xf32>) -> tensor<1x2x8x16x16xf32>
    %4 = "stablehlo.select"(%1, %3, %2) : (tensor<1x2x8x16x16xi1>, tensor<1x2x8x16x16xf32>, tensor<1x2x8x16x16xf32>) -> tensor<1x2x8x16x16xf32>
    "func.return"(%4) : (tensor<1x2x8x16x16xf32>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
