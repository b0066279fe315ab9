// Functions are printed as MLIR prints them. Inside one, `func.` may be left out; in generic form nothing is.
// RUN: bp-opt --allow-unregistered-dialect %s | FileCheck %s

// CHECK: func.func @f(%x: i32 {a.b = 1 : i64}, %y: i32) -> (i32 {c.d}, i32) attributes {e.f} {
// CHECK-NEXT: "test.holder"() ({
// CHECK-NEXT: %z:2 = func.call @f(%x, %y) : (i32, i32) -> (i32, i32)
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: "test.holder"() ({
// CHECK-NEXT: builtin.module {
// CHECK: %w:2 = call @f(%x, %y) : (i32, i32) -> (i32, i32)
// CHECK-NEXT: builtin.module {
// CHECK-NEXT: }
// CHECK-NEXT: return %w#0, %w#1 : i32, i32
"func.func"() <{arg_attrs = [{a.b = 1}, {}], function_type = (i32, i32) -> (i32, i32), res_attrs = [{c.d}, {}], sym_name = "f"}> ({
^bb0(%x: i32, %y: i32):
  "test.holder"() ({
    %z:2 = func.call @f(%x, %y) : (i32, i32) -> (i32, i32)
    builtin.module {
      "test.holder"() ({
        module {
        }
      }) : () -> ()
    }
  }) : () -> ()
  %w:2 = func.call @f(%x, %y) : (i32, i32) -> (i32, i32)
  builtin.module {
  }
  func.return %w#0, %w#1 : i32, i32
}) {e.f} : () -> ()

// A result that is a function is in parentheses, and so does one with attributes.
// CHECK: func.func private @g(i32, i64 {u.v}) -> ((i32) -> i32)
// CHECK-NEXT: func.func private @h() -> (i32 {u.v})
func.func private @g(i32, i64 {u.v}) -> ((i32) -> i32)
func.func private @h() -> (i32 {u.v})

// Dictionaries without entries can only be said in generic form, where the return has its whole name.
// CHECK: "func.func"() <{arg_attrs = [{}], function_type = (i32) -> (), sym_name = "k"}> ({
// CHECK: func.return
"func.func"() <{arg_attrs = [{}], function_type = (i32) -> (), sym_name = "k"}> ({
^bb0(%x: i32):
  "func.return"() : () -> ()
}) : () -> ()
