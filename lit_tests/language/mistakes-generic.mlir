// What can be wrong in generic form and in builtin attributes, types and locations: every diagnostic of the parser once.
// RUN: bp-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics --verify-only

// -----
// expected-error@+1 {{an operation's name cannot hold a NUL byte}}
"a\00.b"() : () -> ()
// -----
// expected-error@+1 {{the dialect 'arith' has no operation 'arith.foo'}}
"arith.foo"() : () -> ()
// -----
// expected-error@+1 {{the dialect 'tensor' has no operation 'tensor.foo'}}
"tensor.foo"() : () -> ()
// -----
// expected-error@+1 {{-0 is no integer: write 0}}
"ext.op"() {v = -0} : () -> ()
// -----
// expected-error@+1 {{-9223372036854775809 does not fit in i64}}
"ext.op"() {v = -9223372036854775809} : () -> ()
// -----
// expected-error@+1 {{ui8 holds no negative numbers}}
"ext.op"() {v = -1 : ui8} : () -> ()
// -----
// expected-error@+1 {{an integer type has at most 16777215 bits}}
"ext.op"() {v = 1 : i16777216} : () -> ()
// -----
// expected-error@+1 {{a f32 needs a dot: write 1.0, or its bit pattern in hex}}
"ext.op"() {v = 1 : f32} : () -> ()
// -----
// expected-error@+1 {{a number cannot have the type tensor<i32>}}
"ext.op"() {v = 1 : tensor<i32>} : () -> ()
// -----
// expected-error@+1 {{0x1FFFF has more bits than a f16}}
"ext.op"() {v = 0x1FFFF : f16} : () -> ()
// -----
// expected-error@+1 {{a bit pattern in hex has no sign}}
"ext.op"() {v = -0x1 : f32} : () -> ()
// -----
// expected-error@+1 {{unknown type or attribute 'f8E3M4'; did you mean 'f8E5M2'?}}
"ext.op"() {v = 1.0 : f8E3M4} : () -> ()
// -----
// expected-error@+1 {{a number with a dot cannot have the type i32}}
"ext.op"() {v = 1.0 : i32} : () -> ()
// -----
// expected-error@+1 {{expected elements of i32}}
"ext.op"() {v = array<i32: true>} : () -> ()
// -----
// expected-error@+1 {{expected a number, 'true', 'false' or a string, found 'nan'}}
"ext.op"() {v = array<f32: nan>} : () -> ()
// -----
// expected-error@+1 {{the elements of an array are integers or floats, not tensor<2xi32>}}
"ext.op"() {v = array<tensor<2xi32>: 1>} : () -> ()
// -----
// expected-error@+1 {{the literal has the shape [3], its type [2]}}
"ext.op"() {v = dense<[1, 2, 3]> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{'true' is an i1, but the elements are i32}}
"ext.op"() {v = dense<true> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{the type of data has no '?'}}
"ext.op"() {v = dense<1> : tensor<?xi32>} : () -> ()
// -----
// expected-error@+1 {{data needs a ranked tensor, vector or memref type, not tensor<*xi32>}}
"ext.op"() {v = dense<1> : tensor<*xi32>} : () -> ()
// -----
// expected-error@+1 {{1 byte(s) of data do not fill 1 element(s) of i32}}
"ext.op"() {v = dense<"0x01"> : tensor<1xi32>} : () -> ()
// -----
// expected-error@+1 {{a string as data starts with 0x and has two hex digits a byte}}
"ext.op"() {v = dense<"01"> : tensor<1xi8>} : () -> ()
// -----
// expected-error@+1 {{the lists of this literal do not have the same shape}}
"ext.op"() {v = dense<[1, [2]]> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{the index 5 is outside of tensor<2xi32>}}
"ext.op"() {v = sparse<[[5]], 1> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{duplicate key 'a' in a dictionary}}
"ext.op"() {a = 1, a = 2} : () -> ()
// -----
// expected-error@+1 {{a key of a dictionary cannot be empty}}
"ext.op"() {"" = 1} : () -> ()
// -----
// expected-error@+1 {{expected '}' to close the dictionary, ',' or '=', found '<'}}
"ext.op"() {tensor<} : () -> ()
// -----
// expected-error@+1 {{'tensr' takes no '<'; did you mean 'tensor'?}}
"ext.op"() {tensr<} : () -> ()
// -----
// expected-error@+1 {{the element of a complex type is an integer or a float, not index}}
"ext.op"() {v = complex<index>} : () -> ()
// -----
// expected-error@+1 {{a tensor cannot hold none}}
"ext.op"() {v = tensor<2xnone>} : () -> ()
// -----
// expected-error@+1 {{the dimension 9223372036854775808 is too large}}
"ext.op"() {v = tensor<9223372036854775808xi8>} : () -> ()
// -----
// expected-error@+1 {{the dimensions of a vector are positive numbers}}
"ext.op"() {v = vector<0xf32>} : () -> ()
// -----
// expected-error@+1 {{the elements of a vector are integers, floats or index, not none}}
"ext.op"() {v = vector<4xnone>} : () -> ()
// -----
// expected-error@+1 {{a vector has no encoding}}
"ext.op"() {v = vector<4xf32, 1>} : () -> ()
// -----
// expected-error@+1 {{the memref has 1 dimension(s), its layout map 2}}
"ext.op"() {v = memref<2xf32, affine_map<(i, j) -> (i, j)>>} : () -> ()
// -----
// expected-error@+1 {{the memref has 2 dimension(s), its layout 1 stride(s)}}
"ext.op"() {v = memref<2x2xf32, strided<[1]>>} : () -> ()
// -----
// expected-error@+1 {{a stride cannot be 0}}
"ext.op"() {v = memref<2xf32, strided<[0]>>} : () -> ()
// -----
// expected-error@+1 {{#foo.l is no memory space}}
"ext.op"() {v = memref<2xf32, #foo.l>} : () -> ()
// -----
// expected-error@+1 {{the memory space of a memref is last, and once}}
"ext.op"() {v = memref<2xf32, "a", "b">} : () -> ()
// -----
// expected-error@+1 {{a memref cannot hold tensor<f32>}}
"ext.op"() {v = memref<2xtensor<f32>>} : () -> ()
// -----
// expected-error@+1 {{undefined type alias '!foo'}}
"ext.op"() {v = !foo} : () -> ()
// -----
// expected-error@+1 {{expected '<' after '!quant.any'}}
"ext.op"() {v = !quant.any} : () -> ()
// -----
// expected-error@+1 {{the builtin dialect has no type '!builtin.x'}}
"ext.op"() {v = !builtin.x} : () -> ()
// -----
// expected-error@+1 {{expected an attribute after ','}}
"ext.op"() {v = memref<2xf32,>} : () -> ()
// -----
// expected-error@+1 {{redefinition of 'i'}}
"ext.op"() {v = affine_map<(i, i) -> (i)>} : () -> ()
// -----
// expected-error@+1 {{one factor of a product must be made of symbols and constants in an affine expression}}
"ext.op"() {v = affine_map<(i) -> (i * i)>} : () -> ()
// -----
// expected-error@+1 {{undeclared name 'j' in an affine expression}}
"ext.op"() {v = affine_map<(i) -> (j)>} : () -> ()
// -----
// expected-error@+1 {{'foo-x' cannot be the name of a dialect}}
"ext.op"() {v = #foo-x.y} : () -> ()
// -----
// expected-error@+1 {{this string does not end on its line, or has an unknown escape}}
"ext.op"() {v = #foo.x<"\q">} : () -> ()
// -----
// expected-error@+1 {{undefined attribute alias '#foo'}}
"ext.op"() {v = #foo} : () -> ()
// -----
// expected-error@+2 {{redefinition of alias '#a'}}
#a = 1
#a = 2
// -----
// expected-error@+1 {{the name of an alias holds no dot: names with one belong to dialects}}
#a.b = 1
// -----
// expected-error@+2 {{an alias takes no type}}
#a = 1 : i8
"ext.op"() {v = #a : i8} : () -> ()
// -----
// expected-error@+1 {{'#l' is not a location but 1 : i64}}
"ext.op"() : () -> () loc(#l)
#l = 1
// -----
// expected-error@+2 {{'%a' has 2 values, so there is no %a#2}}
%a:2 = "ext.op"() : () -> (i32, f32)
"ext.op"(%a#2) : (f32) -> ()
// -----
// expected-error@+3 {{'%a' has type i32 where it is defined or first used, but f32 is expected here}}
// expected-note@+1 {{'%a' is defined here}}
%a = "ext.op"() : () -> i32
"ext.op"(%a) : (f32) -> ()
// -----
// expected-error@+1 {{a name stands for at least one result}}
%a:0 = "ext.op"() : () -> ()
// -----
// expected-error@+3 {{'%b' is defined with type f32, but was used as i32}}
// expected-note@+1 {{it was used here}}
"ext.op"(%b) : (i32) -> ()
%b = "ext.op"() : () -> f32
// -----
// expected-error@+1 {{use of undefined block '^a'}}
"ext.op"() [^a] : () -> ()
// -----
// expected-error@+1 {{the operation has 0 operand(s), but its type lists 1 operand type(s)}}
"ext.op"() : (i32) -> ()
// -----
// expected-error@+1 {{'ext.op' has no results to be named}}
%a = "ext.op"() : () -> ()
// -----
// expected-error@+1 {{'func.return' is directly in a function}}
"func.return"() : () -> ()
// -----
// expected-error@+1 {{a cast has one result or more, and no regions or successors}}
"builtin.unrealized_conversion_cast"() : () -> ()
// -----
// expected-error@+1 {{a function without a body is private or nested}}
"func.func"() <{function_type = () -> (), sym_name = "f"}> ({ }) : () -> ()
// -----
// expected-error@+2 {{the function returns i32, but here nothing is returned}}
// expected-note@+1 {{the function is here}}
"func.func"() <{function_type = (i32) -> i32, sym_name = "f"}> ({^a(%x: i32): "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{the entry block of a function takes the arguments of its type: i32}}
"func.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({^a(%x: f32): "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{'sym_name' of a function is a string}}
"func.func"() <{function_type = () -> (), sym_name = 1}> ({ "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{'function_type' of a function is a function type}}
"func.func"() <{function_type = i32, sym_name = "f"}> ({ "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{there is no function '@f'}}
"func.call"() <{callee = @f}> : () -> ()
// -----
// expected-error@+1 {{the first operand of an indirect call is a function}}
"func.call_indirect"() : () -> ()
// -----
// expected-error@+1 {{the block ^bb0 is empty: it needs an operation that ends it}}
func.func @f() { }
// -----
// expected-error@+3 {{operand 0 does not dominate this use}}
// expected-note@+3 {{it is defined here}}
func.func @f(%a: i32) -> i32 {
  "ext.op"(%b) : (i32) -> ()
  %b = "ext.op"() : () -> i32
  return %b : i32
}
// -----
// expected-error@+1 {{'sym_name' follows from what was written before, and is no attribute}}
func.func @f() attributes {sym_name = "x"} { return }
// -----
// expected-error@+1 {{attributes in 'arg_attrs' have a dialect's prefix}}
"func.func"() <{function_type = (i32) -> (), sym_name = "f", arg_attrs = [{a = 1}]}> ({^a(%x: i32): "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{the entry block of a region cannot be a successor}}
"ext.op"() ({ ^a: "ext.op"()[^a] : () -> () }) : () -> ()
// -----
// expected-error@+1 {{redefinition of block '^a'}}
"ext.op"() ({ ^a: ^a: }) : () -> ()
// -----
// expected-error@+3 {{an operation with successors must be the last of its block}}
"ext.op"() ({
^a:
  "ext.op"()[^b] : () -> ()
  "ext.op"() : () -> ()
^b:
  "ext.op"() : () -> ()
}) : () -> ()
// -----
// expected-error@+1 {{attributes of a module have a dialect's prefix, as in 'bp.a', not 'a'}}
module attributes {a = 1} {}
// -----
// expected-error@+1 {{the block of a module has no arguments}}
"builtin.module"() ({^a(%x: i32):}) : () -> ()
// -----
// expected-error@+1 {{'builtin.module' expects 1 block in its region, found 2}}
module {
^a:
 "ext.op"() : () -> ()
^b:
 "ext.op"() : () -> ()
}
// -----
// expected-error@+1 {{a line or column has at most 32 bits}}
"ext.op"() : () -> () loc("a":4294967296:1)
// -----
// expected-error@+1 {{unknown kind of location 'unknwon'; did you mean 'unknown'?}}
"ext.op"() : () -> () loc(unknwon)
// -----
// expected-error@+1 {{expected a location, but #foo.x is #foo.x}}
"ext.op"() : () -> () loc(#foo.x)
// -----
// expected-error@+1 {{this metadata section is not closed by '#-}'}}
{-#
// -----
// expected-error@+1 {{unknown metadata section 'foo'}}
{-# foo: {} #-}
// -----
// expected-error@+1 {{expected bytes as "0x...", the first four an alignment, as the value of 'a'}}
{-# external_resources: { x: { a: "0x01" } } #-}
// -----
// expected-error@+1 {{expected a string as the value of 'a'}}
{-# external_resources: { x: { a: foo } } #-}
// -----
// expected-error@+1 {{the dialect 'nope' has no resources}}
{-# dialect_resources: { nope: { x: "0x0400000001000000" } } #-}
// -----
// expected-error@+1 {{the visibility of a symbol is one of public, private, nested}}
"func.func"() <{function_type = () -> (), sym_name = "f", sym_visibility = "odd"}> ({ "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{a function has one region}}
"func.func"() <{function_type = () -> (), sym_name = "f"}> ({ "func.return"() : () -> () }, {}) : () -> ()
// -----
// expected-error@+1 {{a function has no operands, results or successors}}
%r = "func.func"() <{function_type = () -> (), sym_name = "f"}> ({ "func.return"() : () -> () }) : () -> i32
// -----
// expected-error@+1 {{'arg_attrs' of a function is an array of dictionaries}}
"func.func"() <{function_type = () -> (), sym_name = "f", arg_attrs = 1}> ({ "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{'arg_attrs' of a function has 0 dictionaries here, not 1}}
"func.func"() <{function_type = () -> (), sym_name = "f", arg_attrs = [{}]}> ({ "func.return"() : () -> () }) : () -> ()
// -----
// expected-error@+1 {{'func.return' has operands only}}
func.func @f() { %r = "func.return"() : () -> i32 }
// -----
// expected-error@+1 {{'callee' of a call must be a symbol (@name), not 1 : i64}}
func.func @f() { "func.call"() <{callee = 1}> : () -> ()
 return }
// -----
// expected-error@+2 {{the call has the type () -> i32, but the function () -> ()}}
// expected-note@+1 {{the function is here}}
func.func @f() { %r = call @f() : () -> i32
 return }
// -----
// expected-error@+1 {{the operands and results of an indirect call are those of its function () -> ()}}
func.func @f(%g: () -> ()) { %r = "func.call_indirect"(%g) : (() -> ()) -> i32
 return }
// -----
// expected-error@+1 {{a function constant has one result, and a symbol (@name) as its 'value'}}
func.func @f() { "func.constant"() <{value = 1}> : () -> ()
 return }
// -----
// expected-error@+1 {{the function has the type () -> (), not i32}}
func.func @f() { %r = "func.constant"() <{value = @f}> : () -> i32
 return }
// -----
// expected-error@+1 {{either all arguments of a function are named, or none is}}
func.func @f(%a: i32, f32) { return }
// -----
// expected-error@+1 {{there are 1 operand(s), but 2 operand type(s)}}
func.func @f(%a: i32) { return %a : i32, i32 }
// -----
// expected-error@+2 {{'builtin.module' expects no results, found 1}}
// expected-error@+1 {{'builtin.module' expects 1 block in its region, found 0}}
%a = "builtin.module"() ({}) : () -> i32
// -----
// expected-error@+1 {{'symbols' is given twice, as a property and as an attribute}}
"bp.symbols"() <{symbols = ["a"]}> {symbols = ["b"]} : () -> ()
// -----
// expected-error@+1 {{'relations' must be an array of #bp.relation<...>}}
"bp.symbols"() <{symbols = ["a"], relations = [1]}> : () -> ()
// -----
// expected-error@+1 {{an integer in an expression has at most 1200 digits}}
"ext.op"() {v = #bp.expr<1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111>} : () -> ()
// -----
// expected-error@+1 {{a power has too many terms: the limit is 10000 terms}}
"ext.op"() {v = #bp.expr<(a+b+c+d+f+g+h)**200>} : () -> ()
// -----
// expected-error@+1 {{expected '<' right after '#bp.work'}}
"ext.op"() {v = #bp.work} : () -> ()
// -----
// expected-error@+1 {{the value of this affine expression does not fit in 64 bits}}
"ext.op"() {v = affine_map<(i) -> (9223372036854775807 + 1)>} : () -> ()
// -----
// expected-error@+1 {{a number of an affine expression has at most 63 bits}}
"ext.op"() {v = affine_map<(i) -> (99999999999999999999)>} : () -> ()
// -----
// expected-error@+1 {{unknown function 'foo' in an affine expression}}
"ext.op"() {v = affine_map<(i) -> (foo(i))>} : () -> ()
// -----
// expected-error@+1 {{unknown operator 'foo'}}
"ext.op"() {v = affine_map<(i) -> (i foo i)>} : () -> ()
// -----
// expected-error@+1 {{distinct[0] stands for another attribute before}}
"ext.op"() {v = distinct[0]<1>, w = distinct[0]<2>} : () -> ()
// -----
// expected-error@+1 {{a number has at most 4000 digits}}
"ext.op"() {v = 11111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111} : () -> ()
// -----
// expected-error@+1 {{the indices of 1-dimensional data are lists of 1 numbers}}
"ext.op"() {v = sparse<[[0, 0]], 1> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{there are 1 indices, but 2 values}}
"ext.op"() {v = sparse<[[0]], [1, 2]> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{data without elements needs a type without elements}}
"ext.op"() {v = dense<> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{an element of complex<i32> is a pair}}
"ext.op"() {v = dense<1> : tensor<2xcomplex<i32>>} : () -> ()
// -----
// expected-error@+1 {{expected '{' after 'x:'}}
{-# external_resources: { x: "a" } #-}
// -----
// expected-error@+1 {{only vectors have scalable dimensions}}
"ext.op"() {v = tensor<[2]xf32>} : () -> ()
// -----
// expected-error@+2 {{the type of an operation is a function type, not i32}}
!t = i32
"ext.op"() : !t
// -----
// expected-error@+2 {{'builtin.module' cannot end a block}}
// expected-error@+1 {{'builtin.module' expects 1 block in its region, found 0}}
func.func @f() { "builtin.module"() ({}) : () -> () }
// -----
// expected-error@+1 {{the first block has its arguments already, and needs no label}}
func.func @f(%a: i32) { ^b: return }
// -----
// expected-error@+1 {{nested too deeply}}
"ext.op"() {v = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[} : () -> ()
// -----
// expected-error@+1 {{a string is no element of i32}}
"ext.op"() {v = dense<["a", 1]> : tensor<2xi32>} : () -> ()
// -----
// expected-error@+1 {{the width of i4 is no multiple of 8}}
"ext.op"() {v = array<i4: 1>} : () -> ()
// -----
// expected-error@+1 {{a tensor has at most one encoding, and an unranked one has none}}
"ext.op"() {v = tensor<1xi4, 1, 2>} : () -> ()
// -----
// expected-error@+1 {{'func.constant' has no custom form: write it in generic form, its name in quotes}}
func.constant
// -----
// expected-error@+1 {{an operation's name cannot be empty}}
""() : () -> ()
// -----
// expected-error@+2 {{'%a' has one value, so there is no %a#1}}
%a = "ext.op"() : () -> i32
"ext.op"(%a#1) : (i32) -> ()
// -----
// expected-error@+1 {{location alias '#nope' is never defined}}
"ext.op"() : () -> () loc(#nope)
// -----
// expected-error@+1 {{an unranked memref has no layout}}
"ext.op"() {v = memref<*xf32, strided<[1]>>} : () -> ()
// -----
// expected-error@+1 {{unbalanced '<' in this body: its closing bracket is missing}}
"ext.op"() {v = #foo.x<a
// -----
// expected-error@+1 {{no numbers satisfy 'a = 1', 'a = 2' [bp.R4]}}
bp.symbols a where a = 1, a = 2
// -----
// expected-error@+3 {{'model.gelu' has 1 result(s), not 2}}
bp.symbols B, S, H, e
model.block @b(%x: !bp.tensor<B x S x H, e>) {
 %y, %z = "model.gelu"(%x) <{layer = "a.g"}> : (!bp.tensor<B x S x H, e>) -> (!bp.tensor<B x S x H, e>, !bp.tensor<B x S x H, e>)
 model.return %x
}
// -----
// expected-error@+3 {{'bp.symbols' must be in a module, not in 'ext.op' [bp.P1]}}
module {
 "ext.op"() ({
  bp.symbols a
 }) : () -> ()
}
// -----
// expected-error@+1 {{the dialect 'arith' has no types}}
%a = "ext.op"() : () -> !arith.number
// -----
// expected-error@+1 {{unknown operation 'builtin.modul'; did you mean 'builtin.module'?}}
"builtin.modul"() : () -> ()
// -----
// expected-error@+1 {{there is no function '@missing'}}
%f = "func.constant"() <{value = @missing}> : () -> (() -> ())
// -----
// expected-error@+1 {{the visibility of a symbol is public, private, nested, not "hidden"}}
"builtin.module"() <{sym_visibility = "hidden"}> ({^bb0:
}) : () -> ()
// -----
// expected-error@+1 {{a symbol's name cannot be empty}}
module @"" {}
// -----
// expected-error@+1 {{'dist.mesh' has no property 'axis'; did you mean 'axes'?}}
"dist.mesh"() {axis = 1, sym_name = "mesh"} : () -> ()
// -----
{-#
  // expected-error@+1 {{expected a string as the value of 'blob'}}
  dialect_resources: {builtin: {blob: {}}}
#-}
