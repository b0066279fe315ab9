"builtin.module"() <{sym_name = "jit_gpt_einsum"}> ({
  "func.func"() <{function_type = (tensor<2x16x64xf32>, tensor<160x64xf32>, tensor<64x8x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<8x8x64xf32>, tensor<64x8x8xf32>, tensor<64x160xf32>, tensor<64x8x8xf32>) -> tensor<2x16x64xf32>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg9: tensor<2x16x64xf32>, %arg10: tensor<160x64xf32>, %arg11: tensor<64x8x8xf32>, %arg12: tensor<64xf32>, %arg13: tensor<64xf32>, %arg14: tensor<64xf32>, %arg15: tensor<64xf32>, %arg16: tensor<8x8x64xf32>, %arg17: tensor<64x8x8xf32>, %arg18: tensor<64x160xf32>, %arg19: tensor<64x8x8xf32>):
    %23 = "stablehlo.constant"() <{value = dense<1.12837911> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %24 = "stablehlo.constant"() <{value = dense<-0.37612626> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %25 = "stablehlo.constant"() <{value = dense<0.112835854> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %26 = "stablehlo.constant"() <{value = dense<-0.0268538129> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %27 = "stablehlo.constant"() <{value = dense<0.00518832775> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %28 = "stablehlo.constant"() <{value = dense<-8.0101937E-4> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %29 = "stablehlo.constant"() <{value = dense<7.85386146E-5> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %30 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %31 = "stablehlo.constant"() <{value = dense<-88.7228394> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %32 = "stablehlo.constant"() <{value = dense<0.564189494> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %33 = "stablehlo.constant"() <{value = dense<-0.282076746> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %34 = "stablehlo.constant"() <{value = dense<0.42184633> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %35 = "stablehlo.constant"() <{value = dense<-1.01526523> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %36 = "stablehlo.constant"() <{value = dense<2.92101908> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %37 = "stablehlo.constant"() <{value = dense<-7.49551868> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %38 = "stablehlo.constant"() <{value = dense<1.297720e+01> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %39 = "stablehlo.constant"() <{value = dense<-10.477664> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %40 = "stablehlo.constant"() <{value = dense<0.563825965> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %41 = "stablehlo.constant"() <{value = dense<-0.274112701> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %42 = "stablehlo.constant"() <{value = dense<3.404880e-01> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %43 = "stablehlo.constant"() <{value = dense<-0.494451523> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %44 = "stablehlo.constant"() <{value = dense<0.621000468> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %45 = "stablehlo.constant"() <{value = dense<-0.582473278> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %46 = "stablehlo.constant"() <{value = dense<0.368742466> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %47 = "stablehlo.constant"() <{value = dense<-0.138703942> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %48 = "stablehlo.constant"() <{value = dense<2.326820e-02> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %49 = "stablehlo.constant"() <{value = dense<2.000000e+00> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %50 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<2x16x160xf32>}> : () -> tensor<2x16x160xf32>
    %51 = "stablehlo.constant"() <{value = dense<0.707106769> : tensor<f32>}> : () -> tensor<f32>
    %52 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<f32>}> : () -> tensor<f32>
    %53 = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
    %54 = "stablehlo.constant"() <{value = dense<0.353553385> : tensor<f32>}> : () -> tensor<f32>
    %55 = "stablehlo.constant"() <{value = dense<9.99999997E-7> : tensor<f32>}> : () -> tensor<f32>
    %56 = "stablehlo.constant"() <{value = dense<0> : tensor<i32>}> : () -> tensor<i32>
    %57 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %58 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %59 = "stablehlo.reduce"(%arg9, %58) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg26: tensor<f32>, %arg27: tensor<f32>):
      %191 = "stablehlo.add"(%arg26, %arg27) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%191) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %60 = "stablehlo.broadcast_in_dim"(%59) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %61 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %62 = "stablehlo.divide"(%60, %61) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %63 = "stablehlo.broadcast_in_dim"(%62) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %64 = "stablehlo.subtract"(%arg9, %63) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %65 = "func.call"(%arg9, %56) <{callee = @_var}> : (tensor<2x16x64xf32>, tensor<i32>) -> tensor<2x16x1xf32>
    %66 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %67 = "stablehlo.add"(%65, %66) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %68 = "stablehlo.rsqrt"(%67) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %69 = "stablehlo.broadcast_in_dim"(%68) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %70 = "stablehlo.multiply"(%64, %69) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %71 = "stablehlo.broadcast_in_dim"(%arg12) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %72 = "stablehlo.broadcast_in_dim"(%71) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %73 = "stablehlo.multiply"(%70, %72) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %74 = "stablehlo.broadcast_in_dim"(%arg13) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %75 = "stablehlo.broadcast_in_dim"(%74) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %76 = "stablehlo.add"(%73, %75) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %77 = "stablehlo.dot_general"(%76, %arg17) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x16x64xf32>, tensor<64x8x8xf32>) -> tensor<2x16x8x8xf32>
    %78 = "stablehlo.dot_general"(%76, %arg11) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x16x64xf32>, tensor<64x8x8xf32>) -> tensor<2x16x8x8xf32>
    %79 = "stablehlo.dot_general"(%76, %arg19) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x16x64xf32>, tensor<64x8x8xf32>) -> tensor<2x16x8x8xf32>
    %80 = "stablehlo.broadcast_in_dim"(%54) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x8x8xf32>
    %81 = "stablehlo.multiply"(%77, %80) : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    %82 = "stablehlo.dot_general"(%81, %78) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 2], lhs_contracting_dimensions = [3], rhs_contracting_dimensions = [3]>}> : (tensor<2x16x8x8xf32>, tensor<2x16x8x8xf32>) -> tensor<2x8x16x16xf32>
    %83 = "stablehlo.reduce"(%82, %53) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg24: tensor<f32>, %arg25: tensor<f32>):
      %190 = "stablehlo.maximum"(%arg24, %arg25) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%190) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %84 = "stablehlo.broadcast_in_dim"(%53) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x8x16xf32>
    %85 = "stablehlo.maximum"(%84, %83) : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    %86 = "stablehlo.broadcast_in_dim"(%85) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %87 = "stablehlo.broadcast_in_dim"(%86) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %88 = "stablehlo.subtract"(%82, %87) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %89 = "stablehlo.exponential"(%88) : (tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %90 = "stablehlo.reduce"(%89, %58) <{dimensions = array<i64: 3>}> ({
    ^bb0(%arg22: tensor<f32>, %arg23: tensor<f32>):
      %189 = "stablehlo.add"(%arg22, %arg23) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%189) : (tensor<f32>) -> ()
    }) : (tensor<2x8x16x16xf32>, tensor<f32>) -> tensor<2x8x16xf32>
    %91 = "stablehlo.broadcast_in_dim"(%90) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x8x16xf32>) -> tensor<2x8x16x1xf32>
    %92 = "stablehlo.broadcast_in_dim"(%91) <{broadcast_dimensions = array<i64: 0, 1, 2, 3>}> : (tensor<2x8x16x1xf32>) -> tensor<2x8x16x16xf32>
    %93 = "stablehlo.divide"(%89, %92) : (tensor<2x8x16x16xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x16x16xf32>
    %94 = "stablehlo.dot_general"(%79, %93) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0, 2], rhs_batching_dimensions = [0, 1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3]>}> : (tensor<2x16x8x8xf32>, tensor<2x8x16x16xf32>) -> tensor<2x8x8x16xf32>
    %95 = "stablehlo.transpose"(%94) <{permutation = array<i64: 0, 3, 1, 2>}> : (tensor<2x8x8x16xf32>) -> tensor<2x16x8x8xf32>
    %96 = "stablehlo.dot_general"(%95, %arg16) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [3, 2], rhs_contracting_dimensions = [1, 0]>}> : (tensor<2x16x8x8xf32>, tensor<8x8x64xf32>) -> tensor<2x16x64xf32>
    %97 = "stablehlo.add"(%arg9, %96) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %98 = "stablehlo.reduce"(%97, %58) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg20: tensor<f32>, %arg21: tensor<f32>):
      %188 = "stablehlo.add"(%arg20, %arg21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%188) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %99 = "stablehlo.broadcast_in_dim"(%98) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %100 = "stablehlo.broadcast_in_dim"(%57) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %101 = "stablehlo.divide"(%99, %100) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %102 = "stablehlo.broadcast_in_dim"(%101) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %103 = "stablehlo.subtract"(%97, %102) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %104 = "func.call"(%97, %56) <{callee = @_var}> : (tensor<2x16x64xf32>, tensor<i32>) -> tensor<2x16x1xf32>
    %105 = "stablehlo.broadcast_in_dim"(%55) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %106 = "stablehlo.add"(%104, %105) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %107 = "stablehlo.rsqrt"(%106) : (tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %108 = "stablehlo.broadcast_in_dim"(%107) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %109 = "stablehlo.multiply"(%103, %108) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %110 = "stablehlo.broadcast_in_dim"(%arg14) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %111 = "stablehlo.broadcast_in_dim"(%110) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %112 = "stablehlo.multiply"(%109, %111) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %113 = "stablehlo.broadcast_in_dim"(%arg15) <{broadcast_dimensions = array<i64: 2>}> : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %114 = "stablehlo.broadcast_in_dim"(%113) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x64xf32>) -> tensor<2x16x64xf32>
    %115 = "stablehlo.add"(%112, %114) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %116 = "stablehlo.dot_general"(%115, %arg18) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x16x64xf32>, tensor<64x160xf32>) -> tensor<2x16x160xf32>
    %117 = "stablehlo.broadcast_in_dim"(%52) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %118 = "stablehlo.multiply"(%117, %116) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %119 = "stablehlo.negate"(%116) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %120 = "stablehlo.broadcast_in_dim"(%51) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x160xf32>
    %121 = "stablehlo.multiply"(%119, %120) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %122 = "stablehlo.multiply"(%121, %121) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %123 = "stablehlo.negate"(%122) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %124 = "stablehlo.abs"(%121) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %125 = "stablehlo.divide"(%50, %122) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %126 = "stablehlo.exponential"(%123) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %127 = "stablehlo.divide"(%50, %124) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %128 = "stablehlo.multiply"(%126, %127) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %129 = "stablehlo.compare"(%124, %49) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xi1>
    %130 = "stablehlo.multiply"(%48, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %131 = "stablehlo.add"(%130, %47) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %132 = "stablehlo.multiply"(%131, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %133 = "stablehlo.add"(%132, %46) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %134 = "stablehlo.multiply"(%133, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %135 = "stablehlo.add"(%134, %45) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %136 = "stablehlo.multiply"(%135, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %137 = "stablehlo.add"(%136, %44) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %138 = "stablehlo.multiply"(%137, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %139 = "stablehlo.add"(%138, %43) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %140 = "stablehlo.multiply"(%139, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %141 = "stablehlo.add"(%140, %42) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %142 = "stablehlo.multiply"(%141, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %143 = "stablehlo.add"(%142, %41) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %144 = "stablehlo.multiply"(%143, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %145 = "stablehlo.add"(%144, %40) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %146 = "stablehlo.multiply"(%39, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %147 = "stablehlo.add"(%146, %38) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %148 = "stablehlo.multiply"(%147, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %149 = "stablehlo.add"(%148, %37) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %150 = "stablehlo.multiply"(%149, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %151 = "stablehlo.add"(%150, %36) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %152 = "stablehlo.multiply"(%151, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %153 = "stablehlo.add"(%152, %35) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %154 = "stablehlo.multiply"(%153, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %155 = "stablehlo.add"(%154, %34) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %156 = "stablehlo.multiply"(%155, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %157 = "stablehlo.add"(%156, %33) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %158 = "stablehlo.multiply"(%157, %125) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %159 = "stablehlo.add"(%158, %32) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %160 = "stablehlo.select"(%129, %145, %159) : (tensor<2x16x160xi1>, tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %161 = "stablehlo.multiply"(%128, %160) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %162 = "stablehlo.compare"(%123, %31) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xi1>
    %163 = "stablehlo.select"(%162, %30, %161) : (tensor<2x16x160xi1>, tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %164 = "stablehlo.compare"(%121, %30) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xi1>
    %165 = "stablehlo.subtract"(%49, %163) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %166 = "stablehlo.select"(%164, %165, %163) : (tensor<2x16x160xi1>, tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %167 = "stablehlo.multiply"(%121, %121) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %168 = "stablehlo.multiply"(%29, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %169 = "stablehlo.add"(%168, %28) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %170 = "stablehlo.multiply"(%169, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %171 = "stablehlo.add"(%170, %27) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %172 = "stablehlo.multiply"(%171, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %173 = "stablehlo.add"(%172, %26) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %174 = "stablehlo.multiply"(%173, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %175 = "stablehlo.add"(%174, %25) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %176 = "stablehlo.multiply"(%175, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %177 = "stablehlo.add"(%176, %24) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %178 = "stablehlo.multiply"(%177, %167) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %179 = "stablehlo.add"(%178, %23) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %180 = "stablehlo.multiply"(%121, %179) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %181 = "stablehlo.subtract"(%50, %180) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %182 = "stablehlo.abs"(%121) : (tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %183 = "stablehlo.compare"(%182, %50) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xi1>
    %184 = "stablehlo.select"(%183, %181, %166) : (tensor<2x16x160xi1>, tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %185 = "stablehlo.multiply"(%118, %184) : (tensor<2x16x160xf32>, tensor<2x16x160xf32>) -> tensor<2x16x160xf32>
    %186 = "stablehlo.dot_general"(%185, %arg10) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]>}> : (tensor<2x16x160xf32>, tensor<160x64xf32>) -> tensor<2x16x64xf32>
    %187 = "stablehlo.add"(%97, %186) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    "func.return"(%187) : (tensor<2x16x64xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x16x64xf32>, tensor<i32>) -> tensor<2x16x1xf32>, sym_name = "_var", sym_visibility = "private"}> ({
  ^bb0(%arg3: tensor<2x16x64xf32>, %arg4: tensor<i32>):
    %3 = "stablehlo.constant"() <{value = dense<0x7FC00000> : tensor<f32>}> : () -> tensor<f32>
    %4 = "stablehlo.constant"() <{value = dense<6.400000e+01> : tensor<f32>}> : () -> tensor<f32>
    %5 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %6 = "stablehlo.reduce"(%arg3, %5) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %22 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%22) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %8 = "stablehlo.broadcast_in_dim"(%4) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %9 = "stablehlo.divide"(%7, %8) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %10 = "stablehlo.broadcast_in_dim"(%9) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<2x16x1xf32>) -> tensor<2x16x64xf32>
    %11 = "stablehlo.subtract"(%arg3, %10) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %12 = "stablehlo.multiply"(%11, %11) : (tensor<2x16x64xf32>, tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
    %13 = "stablehlo.convert"(%arg4) : (tensor<i32>) -> tensor<f32>
    %14 = "stablehlo.subtract"(%4, %13) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %15 = "stablehlo.reduce"(%12, %5) <{dimensions = array<i64: 2>}> ({
    ^bb0(%arg5: tensor<f32>, %arg6: tensor<f32>):
      %21 = "stablehlo.add"(%arg5, %arg6) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%21) : (tensor<f32>) -> ()
    }) : (tensor<2x16x64xf32>, tensor<f32>) -> tensor<2x16xf32>
    %16 = "stablehlo.broadcast_in_dim"(%15) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x16xf32>) -> tensor<2x16x1xf32>
    %17 = "stablehlo.broadcast_in_dim"(%14) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %18 = "stablehlo.divide"(%16, %17) : (tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    %19 = "stablehlo.compare"(%14, %5) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %20 = "func.call"(%19, %18, %3) <{callee = @_where}> : (tensor<i1>, tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16x1xf32>
    "func.return"(%20) : (tensor<2x16x1xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<i1>, tensor<2x16x1xf32>, tensor<f32>) -> tensor<2x16x1xf32>, sym_name = "_where", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<i1>, %arg1: tensor<2x16x1xf32>, %arg2: tensor<f32>):
    %0 = "stablehlo.convert"(%arg2) : (tensor<f32>) -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x16x1xf32>
    %2 = "stablehlo.select"(%arg0, %arg1, %1) : (tensor<i1>, tensor<2x16x1xf32>, tensor<2x16x1xf32>) -> tensor<2x16x1xf32>
    "func.return"(%2) : (tensor<2x16x1xf32>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
