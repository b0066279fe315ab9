// Expressions that a few characters make large: each bound answers at once.
// RUN: bp-opt %s --split-input-file --verify-diagnostics --allow-unregistered-dialect

// The power of a number is 1 with 5,000 zeros.
// expected-error@+1 {{a power is too large: the limit is 4000 digits}}
"ext.op"() {v = #bp.expr<(10**1000)**5>} : () -> ()

// -----

// A thousand powers are enough.
// expected-error@+1 {{an exponent is too large: the limit is 1000 in absolute value}}
"ext.op"() {v = #bp.expr<x**1000 * x>} : () -> ()

// -----

// A literal of 1,001 as an exponent.
// expected-error@+1 {{an exponent is too large: the limit is 1000 in absolute value}}
"ext.op"() {v = #bp.expr<x**1001>} : () -> ()

// -----

// A coefficient grows factor by factor.
// expected-error@+1 {{a coefficient is too large: the limit is 4000 digits}}
"ext.op"() {v = #bp.expr<10**999 * 10**999 * 10**999 * 10**999 * 10**10>} : () -> ()

// -----

// The coefficients of a product are products.
// expected-error@+1 {{an integer is too large: the limit is 4000 digits}}
"ext.op"() {v = #bp.expr<(10**999*10**999*10**999*10**999) * (10**10*x + y)>} : () -> ()

// -----

// A denominator grows term by term.
// expected-error@+1 {{a rational number is too large: the limit is 4000 digits}}
"ext.op"() {v = #bp.expr<(x/10**999/10**999/10**999/10**999 + y) / 10**10>} : () -> ()

// -----

// A power of a sum has (n + 2)(n + 1)/2 terms.
// expected-error@+1 {{a power has too many terms: the limit is 10000 terms}}
"ext.op"() {v = #bp.expr<(a + b + c)**1000>} : () -> ()

// -----

// 9,870 terms and 201.
// expected-error@+1 {{a sum has too many terms: the limit is 10000 terms}}
"ext.op"() {v = #bp.expr<(a + b + c)**139 + (d + e)**200>} : () -> ()

// -----

// 5,151 terms times 3.
// expected-error@+1 {{a product has too many terms: the limit is 10000 terms}}
"ext.op"() {v = #bp.expr<(a + b + c)**100 * (d + e + f)>} : () -> ()

// -----

// 861 terms and one over a sum.
// expected-error@+1 {{a fraction has too many terms: the limit is 500 terms}}
"ext.op"() {v = #bp.expr<((a + b + c)**40 + x) / (x + y)>} : () -> ()

// -----

// Common factors of high degree.
// expected-error@+1 {{a fraction is too large to find its common factors: the limit is 1000000 coefficient bits}}
"ext.op"() {v = #bp.expr<(x**900 + y**800*z + 1) / (x**700*y + z**600 + 2)>} : () -> ()

// -----

// 101 arguments, none of which is below another.
// expected-error@+1 {{max has too many arguments: the limit is 100 arguments}}
"ext.op"() {v = #bp.expr<max(
  2*a0 - a1, 2*a1 - a2, 2*a2 - a3, 2*a3 - a4, 2*a4 - a5, 2*a5 - a6, 2*a6 - a7, 2*a7 - a8, 2*a8 - a9, 2*a9 - a10,
  2*a10 - a11, 2*a11 - a12, 2*a12 - a13, 2*a13 - a14, 2*a14 - a15, 2*a15 - a16, 2*a16 - a17, 2*a17 - a18, 2*a18
  - a19, 2*a19 - a20, 2*a20 - a21, 2*a21 - a22, 2*a22 - a23, 2*a23 - a24, 2*a24 - a25, 2*a25 - a26, 2*a26 - a27,
  2*a27 - a28, 2*a28 - a29, 2*a29 - a30, 2*a30 - a31, 2*a31 - a32, 2*a32 - a33, 2*a33 - a34, 2*a34 - a35, 2*a35
  - a36, 2*a36 - a37, 2*a37 - a38, 2*a38 - a39, 2*a39 - a40, 2*a40 - a41, 2*a41 - a42, 2*a42 - a43, 2*a43 - a44,
  2*a44 - a45, 2*a45 - a46, 2*a46 - a47, 2*a47 - a48, 2*a48 - a49, 2*a49 - a50, 2*a50 - a51, 2*a51 - a52, 2*a52
  - a53, 2*a53 - a54, 2*a54 - a55, 2*a55 - a56, 2*a56 - a57, 2*a57 - a58, 2*a58 - a59, 2*a59 - a60, 2*a60 - a61,
  2*a61 - a62, 2*a62 - a63, 2*a63 - a64, 2*a64 - a65, 2*a65 - a66, 2*a66 - a67, 2*a67 - a68, 2*a68 - a69, 2*a69
  - a70, 2*a70 - a71, 2*a71 - a72, 2*a72 - a73, 2*a73 - a74, 2*a74 - a75, 2*a75 - a76, 2*a76 - a77, 2*a77 - a78,
  2*a78 - a79, 2*a79 - a80, 2*a80 - a81, 2*a81 - a82, 2*a82 - a83, 2*a83 - a84, 2*a84 - a85, 2*a85 - a86, 2*a86
  - a87, 2*a87 - a88, 2*a88 - a89, 2*a89 - a90, 2*a90 - a91, 2*a91 - a92, 2*a92 - a93, 2*a93 - a94, 2*a94 - a95,
  2*a95 - a96, 2*a96 - a97, 2*a97 - a98, 2*a98 - a99, 2*a99 - a100, 2*a100 - a101)>} : () -> ()

// -----

// 101 ceilings inside each other, each of another value.
// expected-error@+1 {{ceildiv nests too deep: the limit is 100 levels}}
"ext.op"() {v = #bp.expr<ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(ceildiv(
  ceildiv(
  x
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)
  *x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)*x, y)>} : () -> ()

// -----

// 2,000 steps of a division leave a remainder.
// expected-error@+1 {{a division of polynomials takes too long: the limit is 2000 steps}}
"ext.op"() {v = #bp.expr<(x**60 - 1) * (y**60 - 1) / ((x - 1) * (y - 1))>} : () -> ()

// -----

// 1,001 terms of 100 factors and more, inside a node.
// expected-error@+1 {{the arguments of ceildiv are too large: the limit is 100000 factors}}
"ext.op"() {v = #bp.expr<ceildiv((b + c)**1000 *
  a0 * a1 * a2 * a3 * a4 * a5 * a6 * a7 * a8 * a9 * a10 * a11 * a12 * a13 * a14 * a15 * a16 * a17 * a18 * a19 *
  a20 * a21 * a22 * a23 * a24 * a25 * a26 * a27 * a28 * a29 * a30 * a31 * a32 * a33 * a34 * a35 * a36 * a37 *
  a38 * a39 * a40 * a41 * a42 * a43 * a44 * a45 * a46 * a47 * a48 * a49 * a50 * a51 * a52 * a53 * a54 * a55 *
  a56 * a57 * a58 * a59 * a60 * a61 * a62 * a63 * a64 * a65 * a66 * a67 * a68 * a69 * a70 * a71 * a72 * a73 *
  a74 * a75 * a76 * a77 * a78 * a79 * a80 * a81 * a82 * a83 * a84 * a85 * a86 * a87 * a88 * a89 * a90 * a91 *
  a92 * a93 * a94 * a95 * a96 * a97 * a98 * a99 * a100, x)>} : () -> ()

// -----

// A node of 901 terms of 100 factors and more, in each of 12 terms.
// expected-error@+1 {{the expression is too large to print: the limit is 1000000 factors}}
"ext.op"() {v = #bp.expr<max((ceildiv((b + c)**900 *
  a0 * a1 * a2 * a3 * a4 * a5 * a6 * a7 * a8 * a9 * a10 * a11 * a12 * a13 * a14 * a15 * a16 * a17 * a18 * a19 *
  a20 * a21 * a22 * a23 * a24 * a25 * a26 * a27 * a28 * a29 * a30 * a31 * a32 * a33 * a34 * a35 * a36 * a37 *
  a38 * a39 * a40 * a41 * a42 * a43 * a44 * a45 * a46 * a47 * a48 * a49 * a50 * a51 * a52 * a53 * a54 * a55 *
  a56 * a57 * a58 * a59 * a60 * a61 * a62 * a63 * a64 * a65 * a66 * a67 * a68 * a69 * a70 * a71 * a72 * a73 *
  a74 * a75 * a76 * a77 * a78 * a79 * a80 * a81 * a82 * a83 * a84 * a85 * a86 * a87 * a88 * a89 * a90 * a91 *
  a92 * a93 * a94 * a95 * a96 * a97 * a98 * a99 * a100, x) + y)**12, a)>} : () -> ()

// -----

// A denominator that is 0.
// expected-error@+1 {{division by zero}}
"ext.op"() {v = #bp.expr<x / (y - y)>} : () -> ()

// -----

// A divisor that is 0.
// expected-error@+1 {{division by zero}}
"ext.op"() {v = #bp.expr<ceildiv(x, 2 - 2)>} : () -> ()

// -----

// 22 aliases, each twice as long as the one before, are 4,194,304 numbers.
#a0 = 1
#a1 = [#a0, #a0]
#a2 = [#a1, #a1]
#a3 = [#a2, #a2]
#a4 = [#a3, #a3]
#a5 = [#a4, #a4]
#a6 = [#a5, #a5]
#a7 = [#a6, #a6]
#a8 = [#a7, #a7]
#a9 = [#a8, #a8]
#a10 = [#a9, #a9]
#a11 = [#a10, #a10]
#a12 = [#a11, #a11]
#a13 = [#a12, #a12]
#a14 = [#a13, #a13]
#a15 = [#a14, #a14]
#a16 = [#a15, #a15]
#a17 = [#a16, #a16]
#a18 = [#a17, #a17]
#a19 = [#a18, #a18]
#a20 = [#a19, #a19]
// expected-error@+1 {{the aliases used so far stand for more than 20000000 bytes}}
#a21 = [#a20, #a20]
#a22 = [#a21, #a21]
