"builtin.module"() <{sym_name = "jit_llama"}> ({
  "func.func"() <{arg_attrs = [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}], function_type = (tensor<2x16x64xbf16>, tensor<160x64xbf16>, tensor<64x160xbf16>, tensor<64x32xbf16>, tensor<64xbf16>, tensor<64xbf16>, tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x160xbf16>, tensor<64x32xbf16>) -> tensor<2x16x64xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg5: tensor<2x16x64xbf16>, %arg6: tensor<160x64xbf16>, %arg7: tensor<64x160xbf16>, %arg8: tensor<64x32xbf16>, %arg9: tensor<64xbf16>, %arg10: tensor<64xbf16>, %arg11: tensor<64x64xbf16>, %arg12: tensor<64x64xbf16>, %arg13: tensor<64x160xbf16>, %arg14: tensor<64x32xbf16>):
    %22 = "stablehlo.convert"(%arg5) : (tensor<2x16x64xbf16>) -> tensor<2x16x64xf32>
    %23 = "stablehlo.multiply"(%22, %22) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %24 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %25 = "stablehlo.reduce"(%23, %24) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg21: tensor<f32>, %arg22: tensor<f32>):
      %173 = "stablehlo.add"(%arg21, %arg22) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%173) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %26 = "stablehlo.broadcast_in_dim"(%25) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %27 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %28 = "stablehlo.broadcast_in_dim"(%27) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %29 = "stablehlo.divide"(%26, %28) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %30 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %31 = "stablehlo.broadcast_in_dim"(%30) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %32 = "stablehlo.add"(%29, %31) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %33 = "stablehlo.rsqrt"(%32) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %34 = "stablehlo.broadcast_in_dim"(%33) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %35 = "stablehlo.multiply"(%22, %34) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %36 = "stablehlo.convert"(%35) : (tensor<2x16x64xf32>) -> tensor<2x16x64xbf16>
    %37 = "stablehlo.broadcast_in_dim"(%arg9) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %38 = "stablehlo.broadcast_in_dim"(%37) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xbf16>) -> tensor<2x16x64xbf16>
    %39 = "stablehlo.multiply"(%36, %38) : (tensor<2x16x64xbf16>, tensor<2x16x64xbf16>) -> tensor<2x16x64xbf16>
    %40 = "stablehlo.dot_general"(%39, %arg12) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x64xbf16>) -> tensor<2x16x64xbf16>
    %41 = "stablehlo.reshape"(%40) : (tensor<2x16x64xbf16>) -> tensor<2x16x8x8xbf16>
    %42 = "stablehlo.dot_general"(%39, %arg8) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x32xbf16>) -> tensor<2x16x32xbf16>
    %43 = "stablehlo.reshape"(%42) : (tensor<2x16x32xbf16>) -> tensor<2x16x4x8xbf16>
    %44 = "stablehlo.dot_general"(%39, %arg14) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x32xbf16>) -> tensor<2x16x32xbf16>
    %45 = "stablehlo.reshape"(%44) : (tensor<2x16x32xbf16>) -> tensor<2x16x4x8xbf16>
    %46 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %47 = "stablehlo.broadcast_in_dim"(%46) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %48 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %49 = "stablehlo.negate"(%48) : (tensor<4xi32>) -> tensor<4xi32>
    %50 = "stablehlo.convert"(%49) : (tensor<4xi32>) -> tensor<4xf32>
    %51 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %52 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %53 = "stablehlo.divide"(%50, %52) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %54 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %55 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %56 = "stablehlo.power"(%55, %53) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %57 = "stablehlo.convert"(%47) : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %58 = "stablehlo.broadcast_in_dim"(%56) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %59 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %60 = "stablehlo.broadcast_in_dim"(%58) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %61 = "stablehlo.multiply"(%59, %60) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %62 = "stablehlo.concatenate"(%61, %61) <{dimension = 1 : i64}> : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x8xf32>) -> tensor<1x16x1x8xf32>
    %64 = "stablehlo.slice"(%41) <{limit_indices = array<i64: 2, 16, 8, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x4xbf16>
    %65 = "stablehlo.negate"(%64) : (tensor<2x16x8x4xbf16>) -> tensor<2x16x8x4xbf16>
    %66 = "stablehlo.slice"(%41) <{limit_indices = array<i64: 2, 16, 8, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x4xbf16>
    %67 = "stablehlo.concatenate"(%65, %66) <{dimension = 3 : i64}> : (tensor<2x16x8x4xbf16>, tensor<2x16x8x4xbf16>) -> tensor<2x16x8x8xbf16>
    %68 = "stablehlo.cosine"(%63) : (tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32>
    %69 = "stablehlo.convert"(%41) : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xf32>
    %70 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x8xf32>) -> tensor<2x16x8x8xf32>
    %71 = "stablehlo.multiply"(%69, %70) : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    %72 = "stablehlo.sine"(%63) : (tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32>
    %73 = "stablehlo.convert"(%67) : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xf32>
    %74 = "stablehlo.broadcast_in_dim"(%72) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x8xf32>) -> tensor<2x16x8x8xf32>
    %75 = "stablehlo.multiply"(%73, %74) : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    %76 = "stablehlo.add"(%71, %75) : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    %77 = "stablehlo.convert"(%76) : (tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xbf16>
    %78 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16xi32>
    %79 = "stablehlo.broadcast_in_dim"(%78) <{broadcast_dimensions = array<i64: 0>}> : (tensor<16xi32>) -> tensor<16x1xi32>
    %80 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>
    %81 = "stablehlo.negate"(%80) : (tensor<4xi32>) -> tensor<4xi32>
    %82 = "stablehlo.convert"(%81) : (tensor<4xi32>) -> tensor<4xf32>
    %83 = "stablehlo.constant"() <{value = dense<4.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %84 = "stablehlo.broadcast_in_dim"(%83) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %85 = "stablehlo.divide"(%82, %84) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %86 = "stablehlo.constant"() <{value = dense<1.000000e+04> : tensor<f32>}> : () -> tensor<f32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4xf32>
    %88 = "stablehlo.power"(%87, %85) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %89 = "stablehlo.convert"(%79) : (tensor<16x1xi32>) -> tensor<16x1xf32>
    %90 = "stablehlo.broadcast_in_dim"(%88) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>) -> tensor<1x4xf32>
    %91 = "stablehlo.broadcast_in_dim"(%89) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<16x1xf32>) -> tensor<16x4xf32>
    %92 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x4xf32>) -> tensor<16x4xf32>
    %93 = "stablehlo.multiply"(%91, %92) : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
    %94 = "stablehlo.concatenate"(%93, %93) <{dimension = 1 : i64}> : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x8xf32>
    %95 = "stablehlo.broadcast_in_dim"(%94) <{broadcast_dimensions = array<i64: 1, 3>}> : (tensor<16x8xf32>) -> tensor<1x16x1x8xf32>
    %96 = "stablehlo.slice"(%43) <{limit_indices = array<i64: 2, 16, 4, 8>, start_indices = array<i64: 0, 0, 0, 4>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x4xbf16>
    %97 = "stablehlo.negate"(%96) : (tensor<2x16x4x4xbf16>) -> tensor<2x16x4x4xbf16>
    %98 = "stablehlo.slice"(%43) <{limit_indices = array<i64: 2, 16, 4, 4>, start_indices = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1, 1, 1>}> : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x4xbf16>
    %99 = "stablehlo.concatenate"(%97, %98) <{dimension = 3 : i64}> : (tensor<2x16x4x4xbf16>, tensor<2x16x4x4xbf16>) -> tensor<2x16x4x8xbf16>
    %100 = "stablehlo.cosine"(%95) : (tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32>
    %101 = "stablehlo.convert"(%43) : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x8xf32>
    %102 = "stablehlo.broadcast_in_dim"(%100) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x8xf32>) -> tensor<2x16x4x8xf32>
    %103 = "stablehlo.multiply"(%101, %102) : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
    %104 = "stablehlo.sine"(%95) : (tensor<1x16x1x8xf32>) -> tensor<1x16x1x8xf32>
    %105 = "stablehlo.convert"(%99) : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x8xf32>
    %106 = "stablehlo.broadcast_in_dim"(%104) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<1x16x1x8xf32>) -> tensor<2x16x4x8xf32>
    %107 = "stablehlo.multiply"(%105, %106) : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
    %108 = "stablehlo.add"(%103, %107) : (tensor<2x16x4x8xf32>, tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xf32>
    %109 = "stablehlo.convert"(%108) : (tensor<2x16x4x8xf32>) -> tensor<2x16x4x8xbf16>
    %110 = "stablehlo.broadcast_in_dim"(%109) <{broadcast_dimensions = array<i64: 0, 1, 2, 4>}> : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x2x8xbf16>
    %111 = "stablehlo.reshape"(%110) : (tensor<2x16x4x2x8xbf16>) -> tensor<2x16x8x8xbf16>
    %112 = "stablehlo.broadcast_in_dim"(%45) <{broadcast_dimensions = array<i64: 0, 1, 2, 4>}> : (tensor<2x16x4x8xbf16>) -> tensor<2x16x4x2x8xbf16>
    %113 = "stablehlo.reshape"(%112) : (tensor<2x16x4x2x8xbf16>) -> tensor<2x16x8x8xbf16>
    %114 = "stablehlo.dot_general"(%77, %111) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xbf16>, tensor<2x16x8x8xbf16>) -> tensor<2x8x16x16xbf16>
    %115 = "stablehlo.constant"() <{value = dense<8.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %116 = "stablehlo.sqrt"(%115) : (tensor<f32>) -> tensor<f32>
    %117 = "stablehlo.convert"(%116) : (tensor<f32>) -> tensor<bf16>
    %118 = "stablehlo.broadcast_in_dim"(%117) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x8x16x16xbf16>
    %119 = "stablehlo.divide"(%114, %118) : (tensor<2x8x16x16xbf16>, tensor<2x8x16x16xbf16>) -> tensor<2x8x16x16xbf16>
    %120 = "stablehlo.constant"() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
    %121 = "stablehlo.broadcast_in_dim"(%120) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<16x16xi1>
    %122 = "func.call"(%121) <{callee = @tril}> : (tensor<16x16xi1>) -> tensor<16x16xi1>
    %123 = "stablehlo.constant"() <{value = dense<-1.000000e+30> : tensor<f32>}> : () -> tensor<f32>
    %124 = "func.call"(%122, %119, %123) <{callee = @_where}> : (tensor<16x16xi1>, tensor<2x8x16x16xbf16>, tensor<f32>) -> tensor<2x8x16x16xbf16>
    %125 = "stablehlo.convert"(%124) : (tensor<2x8x16x16xbf16>) -> tensor<2x8x16x16xf32>
    %126 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %127 = "stablehlo.reduce"(%125, %126) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg19: tensor<f32>, %arg20: tensor<f32>):
      %172 = "stablehlo.maximum"(%arg19, %arg20) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%172) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %128 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %129 = "stablehlo.broadcast_in_dim"(%128) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16xf32>
    %130 = "stablehlo.maximum"(%129, %127) : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %131 = "stablehlo.broadcast_in_dim"(%130) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %132 = "stablehlo.broadcast_in_dim"(%131) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %133 = "stablehlo.subtract"(%125, %132) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %134 = "stablehlo.exponential"(%133) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %135 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %136 = "stablehlo.reduce"(%134, %135) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %171 = "stablehlo.add"(%arg17, %arg18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%171) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %137 = "stablehlo.broadcast_in_dim"(%136) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %138 = "stablehlo.broadcast_in_dim"(%137) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %139 = "stablehlo.divide"(%134, %138) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %140 = "stablehlo.convert"(%139) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xbf16>
    %141 = "stablehlo.dot_general"(%113, %140) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x8x8xbf16>, tensor<2x8x16x16xbf16>) -> tensor<2x8x8x16xbf16>
    %142 = "stablehlo.transpose"(%141) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x8x16xbf16>) -> tensor<2x16x8x8xbf16>
    %143 = "stablehlo.reshape"(%142) : (tensor<2x16x8x8xbf16>) -> tensor<2x16x64xbf16>
    %144 = "stablehlo.dot_general"(%143, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x64xbf16>) -> tensor<2x16x64xbf16>
    %145 = "stablehlo.add"(%arg5, %144) : (tensor<2x16x64xbf16>, tensor<2x16x64xbf16>) -> tensor<2x16x64xbf16>
    %146 = "stablehlo.convert"(%145) : (tensor<2x16x64xbf16>) -> tensor<2x16x64xf32>
    %147 = "stablehlo.multiply"(%146, %146) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %148 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %149 = "stablehlo.reduce"(%147, %148) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %170 = "stablehlo.add"(%arg15, %arg16) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%170) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %150 = "stablehlo.broadcast_in_dim"(%149) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %151 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %152 = "stablehlo.broadcast_in_dim"(%151) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %153 = "stablehlo.divide"(%150, %152) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %154 = "stablehlo.constant"() <{value = dense<9.99999974E-6> : tensor<f32>}> : () -> tensor<f32>
    %155 = "stablehlo.broadcast_in_dim"(%154) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %156 = "stablehlo.add"(%153, %155) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %157 = "stablehlo.rsqrt"(%156) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %158 = "stablehlo.broadcast_in_dim"(%157) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %159 = "stablehlo.multiply"(%146, %158) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %160 = "stablehlo.convert"(%159) : (tensor<2x16x64xf32>) -> tensor<2x16x64xbf16>
    %161 = "stablehlo.broadcast_in_dim"(%arg10) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xbf16>) -> tensor<1x1x64xbf16>
    %162 = "stablehlo.broadcast_in_dim"(%161) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xbf16>) -> tensor<2x16x64xbf16>
    %163 = "stablehlo.multiply"(%160, %162) : (tensor<2x16x64xbf16>, tensor<2x16x64xbf16>) -> tensor<2x16x64xbf16>
    %164 = "stablehlo.dot_general"(%163, %arg7) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x160xbf16>) -> tensor<2x16x160xbf16>
    %165 = "func.call"(%164) <{callee = @silu}> : (tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %166 = "stablehlo.dot_general"(%163, %arg13) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x64xbf16>, tensor<64x160xbf16>) -> tensor<2x16x160xbf16>
    %167 = "stablehlo.multiply"(%165, %166) : (tensor<2x16x160xbf16>, tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %168 = "stablehlo.dot_general"(%167, %arg6) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<2x16x160xbf16>, tensor<160x64xbf16>) -> tensor<2x16x64xbf16>
    %169 = "stablehlo.add"(%145, %168) : (tensor<2x16x64xbf16>, tensor<2x16x64xbf16>) -> tensor<2x16x64xbf16>
    "func.return"(%169) : (tensor<2x16x64xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<16x16xi1>) -> tensor<16x16xi1>, res_attrs = [{}], sym_name = "tril", sym_visibility = "private"}> ({
  ^bb0(%arg4: tensor<16x16xi1>):
    %13 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<16x16xi32>
    %14 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %15 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<i32>) -> tensor<16x16xi32>
    %16 = "stablehlo.add"(%13, %15) : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi32>
    %17 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<16x16xi32>
    %18 = "stablehlo.compare"(%16, %17) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<16x16xi32>, tensor<16x16xi32>) -> tensor<16x16xi1>
    %19 = "stablehlo.constant"() <{value = dense<false> : tensor<i1>}> : () -> tensor<i1>
    %20 = "stablehlo.broadcast_in_dim"(%19) <{broadcast_dimensions = array<i64>}> : (tensor<i1>) -> tensor<16x16xi1>
    %21 = "stablehlo.select"(%18, %arg4, %20) : (tensor<16x16xi1>, tensor<16x16xi1>, tensor<16x16xi1>) -> tensor<16x16xi1>
    "func.return"(%21) : (tensor<16x16xi1>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}, {}, {}], function_type = (tensor<16x16xi1>, tensor<2x8x16x16xbf16>, tensor<f32>) -> tensor<2x8x16x16xbf16>, res_attrs = [{}], sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<16x16xi1>, %arg2: tensor<2x8x16x16xbf16>, %arg3: tensor<f32>):
    %9 = "stablehlo.convert"(%arg3) : (tensor<f32>) -> tensor<bf16>
    %10 = "stablehlo.broadcast_in_dim"(%arg1) <{broadcast_dimensions = array<i64: 2, 3>}> : (tensor<16x16xi1>) -> tensor<2x8x16x16xi1>
    %11 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x8x16x16xbf16>
    %12 = "stablehlo.select"(%10, %arg2, %11) : (tensor<2x8x16x16xi1>, tensor<2x8x16x16xbf16>, tensor<2x8x16x16xbf16>) -> tensor<2x8x16x16xbf16>
    "func.return"(%12) : (tensor<2x8x16x16xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{}], function_type = (tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>, res_attrs = [{}], sym_name = "silu", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<2x16x160xbf16>):
    %0 = "stablehlo.negate"(%arg0) : (tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %1 = "stablehlo.exponential"(%0) : (tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %2 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
    %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x16x160xbf16>
    %4 = "stablehlo.add"(%3, %1) : (tensor<2x16x160xbf16>, tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %5 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<bf16>}> : () -> tensor<bf16>
    %6 = "stablehlo.broadcast_in_dim"(%5) <{broadcast_dimensions = array<i64>}> : (tensor<bf16>) -> tensor<2x16x160xbf16>
    %7 = "stablehlo.divide"(%6, %4) : (tensor<2x16x160xbf16>, tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    %8 = "stablehlo.multiply"(%arg0, %7) : (tensor<2x16x160xbf16>, tensor<2x16x160xbf16>) -> tensor<2x16x160xbf16>
    "func.return"(%8) : (tensor<2x16x160xbf16>) -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
