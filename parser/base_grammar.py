"""The base grammar, in lark's notation: MLIR's generic form, builtin attributes and types, locations, expressions.

Every alternative names its action (`-> name`); lists are left-recursive so that they need no stack. Nonterminals that the parts
of custom forms may use: see `parser/grammar.py`.
"""

BASE = r"""
module: top_items -> module
top_items: -> nothing
    | top_items operation -> nothing
    | top_items alias -> nothing
    | top_items T_METADATA -> metadata
alias: T_HASH "=" attribute -> attribute_alias
    | T_BANG "=" type -> type_alias

operation: op_body -> operation
    | op_body location_trailing -> operation
    | result_names "=" op_body -> operation
    | result_names "=" op_body location_trailing -> operation
op_body: generic | custom
result_names: result_name -> first_item
    | result_names "," result_name -> append
result_name: T_VALUE -> result_name
    | T_VALUE ":" T_INTEGER -> result_name

generic: op_name "(" [operand_uses] ")" [successors] [op_properties] [regions] [op_attributes] ":" op_type -> generic
op_name: T_STRING -> operation_name
operand_uses: operand_use -> first_item
    | operand_uses "," operand_use -> append
operand_use: T_VALUE
    | T_VALUE T_NUMBERED -> operand_use_numbered
successors: "[" block_uses "]" -> second
block_uses: block_use -> first_item
    | block_uses "," block_use -> append
block_use: T_CARET -> block_use
op_properties: "<" attribute ">" -> properties
op_attributes: dictionary -> first
op_type: function_type -> first
    | T_BANG -> type_of_alias
regions: "(" region_list ")" -> second
region_list: region -> first_item
    | region_list "," region -> append
region: "{" region_open region_content "}" -> region
region_open: -> region_open
region_items: -> nothing
    | region_items operation -> nothing
    | region_items block_label -> nothing
    | ended_items block_label -> nothing
region_content: region_items | ended_items
ended_items: region_items bare_return -> nothing
bare_return: return_word -> bare_return
    | return_word location_trailing -> bare_return
return_word: "return" -> first
    | "func.return" -> first
block_label: T_CARET ":" -> block_label
    | T_CARET "(" ")" ":" -> block_label
    | T_CARET "(" block_arguments ")" ":" -> block_label
block_arguments: block_argument -> first_item
    | block_arguments "," block_argument -> append
block_argument: block_argument_name ":" type -> block_argument
    | block_argument_name ":" type location_trailing -> block_argument
block_argument_name: T_VALUE
    | T_VALUE T_NUMBERED -> first

entry_region: "{" entry_open region_content "}" -> region
    | "(" entry_open ")" "{" region_content "}" -> region
    | "(" entry_open entry_arguments ")" "{" region_content "}" -> region
entry_open: -> entry_open
entry_arguments: block_arguments -> entry_arguments

function_signature: "(" entry_open ")" -> function_signature
    | "(" entry_open function_arguments ")" -> function_signature
function_arguments: function_argument -> first_item
    | function_arguments "," function_argument -> append
function_argument: block_argument_name ":" type [dictionary] [location_trailing] -> function_argument
    | function_unnamed
function_unnamed: type [dictionary] -> function_unnamed
function_results: -> empty_list
    | ARROW simple_type -> function_one_result
    | ARROW "(" ")" -> function_results
    | ARROW "(" function_result_list ")" -> function_results
function_result_list: function_unnamed -> first_item
    | function_result_list "," function_unnamed -> append
function_body: -> function_no_body
    | "{" region_content "}" -> region
typed_operands: operand_uses ":" type_list -> typed_operands
call_operands: "(" [operand_uses] ")" [dictionary] ":" function_type -> call_operands

word: T_WORD
integer: T_INTEGER -> integer
string: T_STRING -> string
symbol_name: T_SYMBOL -> symbol_name
symbol_ref: symbol_path -> symbol_ref
symbol_path: T_SYMBOL -> symbol_first
    | symbol_path "::" T_SYMBOL -> symbol_more
raw_angle: T_RAW_ANGLE -> raw
raw_square: T_RAW_SQUARE -> raw
operand: T_VALUE -> operand
    | T_VALUE T_NUMBERED -> operand
operand_list: operand -> first_item
    | operand_list "," operand -> append
type_list: type -> first_item
    | type_list "," type -> append
attribute_list: attribute -> first_item
    | attribute_list "," attribute -> append

type: simple_type | function_type
function_type: "(" [type_list] ")" ARROW simple_type -> function_type
    | "(" [type_list] ")" ARROW "(" [type_list] ")" -> function_type
simple_type: T_WORD -> word_type
    | T_BANG -> bang_type
    | shaped_type
    | "tuple" "<" ">" -> tuple_type
    | "tuple" "<" type_list ">" -> tuple_type
    | "complex" "<" type ">" -> complex_type
shaped_type: shape_kind "<" [T_DIMENSIONS] type ["," attribute_list] ">" -> shaped
    | shape_kind "<" [T_DIMENSIONS] type "," ">" -> shaped
shape_kind: KIND_TENSOR
    | KIND_VECTOR
    | KIND_MEMREF

attribute: number -> number_attribute
    | number ":" type -> number_attribute
    | KEY_TRUE -> boolean
    | KEY_FALSE -> boolean
    | "unit" -> unit
    | string -> string_attribute
    | string ":" type -> string_attribute
    | "[" "]" -> array
    | "[" attribute_list "]" -> array
    | dictionary
    | symbol_ref
    | T_HASH -> hash_attribute
    | T_HASH ":" type -> hash_attribute
    | T_NUMBERED -> hash_attribute
    | "dense" "<" ">" ":" type -> dense
    | "dense" "<" literal ">" ":" type -> dense
    | "sparse" "<" ">" ":" type -> sparse
    | "sparse" "<" literal "," literal ">" ":" type -> sparse
    | "dense_resource" "<" T_WORD ">" ":" type -> resource
    | "array" "<" type ">" -> dense_array
    | "array" "<" type ":" literals ">" -> dense_array
    | "affine_map" "<" affine_header ARROW "(" [affine_exprs] ")" ">" -> affine_map
    | "affine_set" "<" affine_header ":" "(" [affine_constraints] ")" ">" -> affine_set
    | "strided" "<" "[" [sizes] "]" ">" -> strided
    | "strided" "<" "[" [sizes] "]" "," "offset" ":" size ">" -> strided
    | "distinct" "[" T_INTEGER "]" "<" ">" -> distinct
    | "distinct" "[" T_INTEGER "]" "<" attribute ">" -> distinct
    | "loc" "(" location ")" -> location_attribute
    | type
number: T_INTEGER -> number
    | T_FLOAT -> number
    | "-" T_INTEGER -> number
    | "-" T_FLOAT -> number
dictionary: "{" "}" -> dictionary
    | "{" entries "}" -> dictionary
entries: entry -> first_item
    | entries "," entry -> append
entry: entry_key -> entry
    | entry_key "=" attribute -> entry
entry_key: T_WORD | T_STRING
sizes: size -> first_item
    | sizes "," size -> append
size: T_INTEGER -> size
    | "-" T_INTEGER -> size
    | "?" -> size

literal: number -> scalar
    | T_STRING -> scalar
    | T_WORD -> word_scalar
    | "(" literal "," literal ")" -> pair
    | "[" "]" -> literal_list
    | "[" literals "]" -> literal_list
literals: literal -> first_item
    | literals "," literal -> append

location_trailing: "loc" "(" plain_location ")" -> location_trailing
    | "loc" "(" T_HASH ")" -> location_trailing_alias
location: plain_location
    | T_HASH -> location_alias
plain_location: T_STRING ":" T_INTEGER ":" T_INTEGER -> location_file
    | T_STRING -> location_name
    | T_STRING "(" location ")" -> location_name
    | "callsite" "(" location "at" location ")" -> location_call
    | "fused" "[" [locations] "]" -> location_fused
    | "fused" "<" attribute ">" "[" [locations] "]" -> location_fused
    | T_WORD -> location_word
locations: location -> first_item
    | locations "," location -> append

affine_header: "(" [affine_bounds] ")" -> affine_names
    | "(" [affine_bounds] ")" "[" [affine_bounds] "]" -> affine_names
affine_bounds: affine_bound -> first_item
    | affine_bounds "," affine_bound -> append
affine_bound: T_WORD -> affine_bound
affine_exprs: affine_expr -> first_item
    | affine_exprs "," affine_expr -> append
affine_constraints: affine_constraint -> first_item
    | affine_constraints "," affine_constraint -> append
affine_constraint: affine_expr ">" "=" affine_expr -> affine_constraint
    | affine_expr "<" "=" affine_expr -> affine_constraint
    | affine_expr "=" "=" affine_expr -> affine_constraint
affine_expr: affine_term
    | affine_expr "+" affine_term -> affine_binary
    | affine_expr "-" affine_term -> affine_binary
affine_term: affine_unary
    | affine_term "*" affine_unary -> affine_binary
    | affine_term T_WORD affine_unary -> affine_binary
affine_unary: affine_atom
    | "-" affine_unary -> affine_negate
affine_atom: T_WORD -> affine_name
    | T_INTEGER -> affine_integer
    | T_WORD "(" affine_expr ")" -> affine_call
    | "(" affine_expr ")" -> affine_parentheses

expr: expr_terms -> expr_sum
expr_terms: expr_term -> first_item
    | expr_terms "+" expr_term -> expr_more
    | expr_terms "-" expr_term -> expr_more
expr_term: expr_factors -> expr_term
expr_factors: expr_unary -> expr_first_factor
    | expr_factors "*" expr_unary -> expr_factor
    | expr_factors "/" expr_unary -> expr_factor
expr_unary: expr_atom
    | expr_atom "**" expr_unary -> expr_power
    | "-" expr_unary -> expr_negate
expr_atom: T_INTEGER -> expr_integer
    | T_WORD -> expr_symbol
    | T_WORD "(" expr_arguments ")" -> expr_call
    | "(" expr ")" -> second
expr_arguments: expr -> first_item
    | expr_arguments "," expr -> append

metadata_body: -> nothing
    | metadata_entries -> metadata_entries
metadata_entries: metadata_entry -> first_item
    | metadata_entries "," metadata_entry -> append
metadata_entry: T_WORD ":" "{" "}" -> metadata_entry
    | T_WORD ":" "{" metadata_entries "}" -> metadata_entry
    | T_WORD ":" T_STRING -> metadata_entry
    | T_WORD ":" T_WORD -> metadata_entry

only_expr: expr
only_type: type
only_attribute: attribute

ARROW: "->"
KIND_TENSOR: "tensor"
KIND_VECTOR: "vector"
KIND_MEMREF: "memref"
KEY_TRUE: "true"
KEY_FALSE: "false"
"""
BASE_STARTS = ("module", "only_expr", "only_type", "only_attribute", "metadata_body")
