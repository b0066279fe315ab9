"""The operations of upstream dialects that LLVM 19's `mlir-opt` registers, for the dialects that allow no others.

Read only when a file names one of these dialects, so that a misspelt `arith.addii` is an error here as it is there. What their
operations mean is not known here. Extracted from `mlir-opt-19` by asking it about every name in its binary.
"""

from __future__ import annotations

_NAMES = """
acc: atomic.capture atomic.read atomic.update atomic.write attach bounds cache copyin copyout create data declare declare_device_resident
  declare_enter declare_exit declare_link delete detach deviceptr enter_data exit_data firstprivate firstprivate.recipe getdeviceptr
  global_ctor global_dtor host_data init kernels loop nocreate parallel present private private.recipe reduction reduction.recipe routine
  serial set shutdown terminator update update_device update_host use_device wait yield
affine: apply delinearize_index dma_start dma_wait for if load max min parallel prefetch store vector_load vector_store yield
amdgpu: ext_packed_fp8 lds_barrier mfma packed_stoch_round_fp8 packed_trunc_2xfp8 raw_buffer_atomic_cmpswap raw_buffer_atomic_fadd
  raw_buffer_atomic_fmax raw_buffer_atomic_smax raw_buffer_atomic_umin raw_buffer_load raw_buffer_store wmma
amx: tdpbf16ps tdpbssd tdpbsud tdpbusd tdpbuud tile_load tile_mulf tile_muli tile_store tile_zero tileloadd64 tilestored64 tilezero
arith: addf addi addui_extended andi bitcast ceildivsi ceildivui cmpf cmpi constant divf divsi divui extf extsi extui floordivsi fptosi
  fptoui index_cast index_castui maximumf maxnumf maxsi maxui minimumf minnumf minsi minui mulf muli mulsi_extended mului_extended negf
  ori remf remsi remui select shli shrsi shrui sitofp subf subi truncf trunci uitofp xori
arm_neon: 2d.sdot intr.sdot intr.smmla intr.smull intr.ummla intr.usmmla
arm_sme: copy_tile fmopa_2way fmops_2way get_tile intr.cntsb intr.cntsd intr.cntsh intr.cntsw intr.ld1b.horiz intr.ld1b.vert
  intr.ld1d.horiz intr.ld1d.vert intr.ld1h.horiz intr.ld1h.vert intr.ld1q.horiz intr.ld1q.vert intr.ld1w.horiz intr.ld1w.vert intr.mopa
  intr.mopa.wide intr.mops intr.mops.wide intr.read.horiz intr.read.vert intr.smopa.wide intr.smopa.za32 intr.smops.wide intr.smops.za32
  intr.st1b.horiz intr.st1b.vert intr.st1d.horiz intr.st1d.vert intr.st1h.horiz intr.st1h.vert intr.st1q.horiz intr.st1q.vert
  intr.st1w.horiz intr.st1w.vert intr.str intr.sumopa.wide intr.sumops.wide intr.umopa.wide intr.umopa.za32 intr.umops.wide
  intr.umops.za32 intr.usmopa.wide intr.usmops.wide intr.write.horiz intr.write.vert intr.zero load_tile_slice move_tile_slice_to_vector
  move_vector_to_tile_slice outerproduct smopa_2way smopa_4way smops_2way smops_4way store_tile_slice streaming_vl sumopa_4way sumops_4way
  tile_load tile_store umopa_2way umopa_4way umops_2way umops_4way usmopa_4way usmops_4way zero
arm_sve: convert_from_svbool convert_to_svbool intr.add intr.convert.from.svbool intr.convert.to.svbool intr.fadd intr.fdiv intr.fmul
  intr.fsub intr.mul intr.psel intr.sdiv intr.sdot intr.smmla intr.sub intr.udiv intr.udot intr.ummla intr.whilelt intr.zip.x2 intr.zip.x4
  masked.addf masked.addi masked.divf masked.divi_signed masked.divi_unsigned masked.mulf masked.muli masked.subf masked.subi psel sdot
  smmla udot ummla zip.x2 zip.x4
async: add_to_group await await_all call coro.begin coro.end coro.free coro.id coro.save coro.suspend create_group execute func return
  runtime.add_ref runtime.add_to_group runtime.await runtime.await_and_resume runtime.create runtime.create_group runtime.drop_ref
  runtime.is_error runtime.load runtime.num_worker_threads runtime.resume runtime.set_available runtime.set_error runtime.store yield
bufferization: alloc_tensor clone dealloc dealloc_tensor materialize_in_destination to_memref to_tensor
cf: assert br cond_br switch
complex: abs add angle atan2 bitcast conj constant cos create div eq exp expm1 im log log1p mul neg neq pow re rsqrt sign sin sqrt sub tan
  tanh
emitc: add apply assign bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor call call_opaque cast cmp
  conditional constant declare_func div expression for func get_global global if include literal logical_and logical_not logical_or member
  member_of_ptr mul rem return sub subscript unary_minus unary_plus variable verbatim yield
gpu: all_reduce alloc barrier binary block_dim block_id cluster_block_id cluster_dim cluster_dim_blocks cluster_id create_2to4_spmat
  create_bsr create_coo create_coo_aos create_csc create_csr create_dn_tensor dealloc destroy_dn_tensor destroy_sp_mat
  dynamic_shared_memory func global_id grid_dim host_register host_unregister lane_id launch launch_func memcpy memset module module_end
  num_subgroups printf return sddmm sddmm_buffer_size set_csr_pointers set_default_device shuffle spgemm_copy spgemm_create_descr
  spgemm_destroy_descr spgemm_work_estimation_or_compute spmat_get_size spmm spmm_buffer_size spmv spmv_buffer_size subgroup_id
  subgroup_mma_compute subgroup_mma_constant_matrix subgroup_mma_elementwise subgroup_mma_load_matrix subgroup_mma_store_matrix
  subgroup_reduce subgroup_size terminator thread_id wait yield
index: add and bool.constant casts castu ceildivs ceildivu cmp constant divs divu floordivs maxs maxu mins minu mul or rems remu shl shrs
  shru sizeof sub xor
irdl: all_of any any_of attribute attributes base c_pred dialect is operands operation parameters parametric region regions results type
linalg: abs add batch_matmul batch_matmul_transpose_a batch_matmul_transpose_b batch_matvec batch_mmt4d batch_reduce_matmul batch_vecmat
  broadcast ceil conv_1d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d conv_2d_nchw_fchw conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw
  conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_3d conv_3d_ncdhw_fcdhw
  conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q copy depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm
  depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q depthwise_conv_2d_nhwc_hwcm
  depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm div div_unsigned
  dot elemwise_binary elemwise_unary erf exp fill fill_rng_2d floor generic index log map matmul matmul_transpose_a matmul_transpose_b
  matvec max min mmt4d mul negf pooling_nchw_max pooling_nchw_sum pooling_ncw_max pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min
  pooling_ndhwc_sum pooling_nhwc_max pooling_nhwc_max_unsigned pooling_nhwc_min pooling_nhwc_min_unsigned pooling_nhwc_sum pooling_nwc_max
  pooling_nwc_max_unsigned pooling_nwc_min pooling_nwc_min_unsigned pooling_nwc_sum powf quantized_batch_matmul quantized_matmul
  reciprocal reduce round rsqrt select softmax sqrt square sub tanh transpose vecmat winograd_filter_transform winograd_input_transform
  winograd_output_transform yield
math: absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh ctlz ctpop cttz erf exp exp2 expm1 floor fma fpowi
  ipowi log log10 log1p log2 powf round roundeven rsqrt sin sinh sqrt tan tanh trunc
memref: alloc alloca alloca_scope alloca_scope.return assume_alignment atomic_rmw atomic_yield cast collapse_shape copy dealloc dim
  dma_start dma_wait expand_shape extract_aligned_pointer_as_index extract_strided_metadata generic_atomic_rmw get_global global load
  memory_space_cast prefetch rank realloc reinterpret_cast reshape store subview transpose view
mesh: all_gather all_reduce all_slice all_to_all broadcast gather mesh mesh_shape process_linear_index process_multi_index recv reduce
  reduce_scatter scatter send shard shift
ml_program: func global global_load global_load_const global_load_graph global_store global_store_graph output return subgraph token
mpi: comm_rank error_class finalize init recv retval_check send
nvgpu: device_async_copy device_async_create_group device_async_wait ldmatrix mbarrier.arrive mbarrier.arrive.expect_tx
  mbarrier.arrive.nocomplete mbarrier.create mbarrier.init mbarrier.test.wait mbarrier.try_wait.parity mma.sp.sync mma.sync tma.async.load
  tma.async.store tma.create.descriptor tma.prefetch.descriptor warpgroup.generate.descriptor warpgroup.mma warpgroup.mma.init.accumulator
  warpgroup.mma.store
omp: atomic.capture atomic.read atomic.update atomic.write barrier cancel cancellation_point critical critical.declare declare_reduction
  distribute flush loop_nest map.bounds map.info masked master ordered ordered.region parallel private section sections simd single target
  target_data target_enter_data target_exit_data target_update task taskgroup taskloop taskwait taskyield teams terminator threadprivate
  wsloop yield
pdl: apply_native_constraint apply_native_rewrite attribute erase operand operands operation pattern range replace result results rewrite
  type types
pdl_interp: apply_constraint apply_rewrite are_equal branch check_attribute check_operand_count check_operation_name check_result_count
  check_type check_types continue create_attribute create_operation create_range create_type create_types erase extract finalize foreach
  func get_attribute get_attribute_type get_defining_op get_operand get_operands get_result get_results get_users get_value_type
  is_not_null record_match replace switch_attribute switch_operand_count switch_operation_name switch_result_count switch_type
  switch_types
polynomial: add constant from_tensor intt leading_term monic_monomial_mul monomial mul mul_scalar ntt sub to_tensor
quant: dcast qcast scast
scf: condition execute_region for forall forall.in_parallel if index_switch parallel reduce reduce.return while yield
sparse_tensor: assemble binary compress concatenate convert coordinates coordinates_buffer crd_translate disassemble expand
  extract_iteration_space foreach has_runtime_library iterate load lvl new number_of_entries out positions print push_back reduce
  reinterpret_map reorder_coo select slice.offset slice.stride sort storage_specifier.get storage_specifier.init storage_specifier.set
  unary values yield
tensor: bitcast cast collapse_shape concat dim empty expand_shape extract extract_slice from_elements gather generate insert insert_slice
  pack pad parallel_insert_slice rank reshape scatter splat unpack yield
tosa: abs add apply_scale argmax arithmetic_right_shift avg_pool2d bitwise_and bitwise_not bitwise_or bitwise_xor cast ceil clamp clz
  concat cond_if const conv2d conv3d cos custom depthwise_conv2d equal erf exp fft2d floor fully_connected gather greater greater_equal
  identity int_div log logical_and logical_left_shift logical_not logical_or logical_right_shift logical_xor matmul max_pool2d maximum
  minimum mul negate pad pow reciprocal reduce_all reduce_any reduce_max reduce_min reduce_prod reduce_sum rescale reshape resize reverse
  rfft2d rsqrt scatter select sigmoid sin slice sub table tanh tile transpose transpose_conv2d variable variable.read variable.write
  while_loop yield
transform: affine.simplify_bounded_affine_ops alternatives annotate apply_conversion_patterns apply_conversion_patterns.dialect_to_llvm
  apply_conversion_patterns.func.func_to_llvm apply_conversion_patterns.gpu.gpu_subgroup_reduce_to_nvvm
  apply_conversion_patterns.gpu.gpu_to_nvvm apply_conversion_patterns.gpu.gpu_wmma_to_nvvm
  apply_conversion_patterns.memref.memref_to_llvm_type_converter apply_conversion_patterns.nvgpu.nvgpu_to_nvvm
  apply_conversion_patterns.scf.scf_to_control_flow apply_conversion_patterns.scf.structural_conversions
  apply_conversion_patterns.transform.test_conversion_patterns apply_conversion_patterns.transform.test_type_converter
  apply_conversion_patterns.vector.vector_to_llvm apply_cse apply_dce apply_licm apply_patterns apply_patterns.canonicalization
  apply_patterns.gpu.eliminate_barriers apply_patterns.gpu.gpu_rewrite_patterns apply_patterns.gpu.unroll_vectors_subgroup_mma
  apply_patterns.linalg.erase_unnecessary_inputs apply_patterns.linalg.fold_unit_extent_dims_via_reshapes
  apply_patterns.linalg.fold_unit_extent_dims_via_slices apply_patterns.linalg.tiling_canonicalization
  apply_patterns.memref.alloc_to_alloca apply_patterns.memref.expand_ops apply_patterns.memref.expand_strided_metadata
  apply_patterns.memref.extract_address_computations apply_patterns.memref.fold_memref_alias_ops
  apply_patterns.memref.resolve_ranked_shaped_type_result_dims apply_patterns.scf.for_loop_canonicalization
  apply_patterns.tensor.decompose_concat apply_patterns.tensor.drop_redundant_insert_slice_rank_expansion
  apply_patterns.tensor.fold_into_pack_and_unpack apply_patterns.tensor.fold_tensor_empty apply_patterns.tensor.fold_tensor_subset_ops
  apply_patterns.tensor.fold_tensor_subset_ops_into_vector_transfers apply_patterns.tensor.merge_consecutive_insert_extract_slice
  apply_patterns.tensor.reassociative_reshape_folding apply_patterns.tensor.rewrite_as_constant apply_patterns.transform.test_patterns
  apply_patterns.vector.cast_away_vector_leading_one_dim apply_patterns.vector.elementwise_to_vector
  apply_patterns.vector.fold_arith_extension apply_patterns.vector.interleave_to_shuffle apply_patterns.vector.lower_bitcast
  apply_patterns.vector.lower_broadcast apply_patterns.vector.lower_contraction apply_patterns.vector.lower_create_mask
  apply_patterns.vector.lower_gather apply_patterns.vector.lower_interleave apply_patterns.vector.lower_masked_transfers
  apply_patterns.vector.lower_masks apply_patterns.vector.lower_multi_reduction apply_patterns.vector.lower_outerproduct
  apply_patterns.vector.lower_scan apply_patterns.vector.lower_shape_cast apply_patterns.vector.lower_transfer
  apply_patterns.vector.lower_transpose apply_patterns.vector.materialize_masks apply_patterns.vector.rank_reducing_subview_patterns
  apply_patterns.vector.reduction_to_contract apply_patterns.vector.rewrite_narrow_types apply_patterns.vector.split_transfer_full_partial
  apply_patterns.vector.transfer_permutation_patterns apply_patterns.vector.transfer_to_scf apply_registered_pass
  bufferization.buffer_loop_hoisting bufferization.eliminate_empty_tensors bufferization.empty_tensor_to_alloc_tensor
  bufferization.one_shot_bufferize cast collect_matching debug.emit_param_as_remark debug.emit_remark_at foreach foreach_match
  func.cast_and_call get_consumers_of_result get_defining_op get_operand get_parent_op get_producer_of_operand get_result get_type
  gpu.map_forall_to_blocks gpu.map_nested_forall_to_threads include irdl.collect_matching loop.coalesce loop.forall_to_for
  loop.forall_to_parallel loop.fuse_sibling loop.hoist_loop_invariant_subsets loop.outline loop.peel loop.pipeline
  loop.promote_if_one_iteration loop.unroll loop.unroll_and_jam match.operation_empty match.operation_name match.param.cmpi
  match.structured match.structured.body match.structured.classify_contraction_dims match.structured.classify_convolution_dims
  match.structured.dim match.structured.elemental_bitwidth match.structured.init match.structured.input match.structured.num_inits
  match.structured.num_inputs match.structured.rank match.structured.result match.structured.yield memref.alloca_to_global
  memref.erase_dead_alloc_and_stores memref.make_loop_independent memref.multibuffer merge_handles named_sequence num_associations
  nvgpu.create_async_groups nvgpu.pipeline_shared_memory_copies nvgpu.rewrite_copy_as_tma nvgpu.rewrite_matmul_as_mma_sync param.constant
  pdl_match print replicate scf.take_assumed_branch select sequence sparse_tensor.match.sparse_inout split_handle
  structured.bufferize_to_allocation structured.continuous_tile_sizes structured.convert_conv2d_to_img2col structured.convert_to_loops
  structured.decompose structured.decompose_interface structured.eliminate_empty_tensors structured.flatten_elementwise structured.fuse
  structured.fuse_into_containing_op structured.generalize structured.gpu.map_copy_to_threads structured.hoist_pad
  structured.hoist_pad.build_packing_loop_nest structured.hoist_redundant_vector_broadcasts structured.hoist_redundant_vector_transfers
  structured.insert_slice_to_copy structured.interchange structured.lower_pack structured.lower_unpack structured.match
  structured.multitile_sizes structured.pack structured.pack_greedily structured.pack_transpose structured.pad structured.promote
  structured.replace structured.rewrite_in_destination_passing_style structured.scalarize structured.specialize structured.split
  structured.split_reduction structured.tile_reduction_using_for structured.tile_reduction_using_forall structured.tile_using_for
  structured.tile_using_forall structured.transpose_conv2d structured.transpose_matmul structured.vectorize
  structured.vectorize_children_and_apply_patterns structured.winograd_conv2d tensor.make_loop_independent test.fuse_and_yield
  test.fuse_consumer test.fuse_using_forall test.tile_using_forall test_add_test_extension test_add_to_param
  test_branching_transform_op_terminator test_check_if_test_extension_present test_consume_operand test_consume_operand_each
  test_consume_operand_of_op_kind_or_fail test_copy_payload test_correct_number_of_multi_results test_dummy_payload_op
  test_emit_remark_and_erase_operand test_mixed_null_and_non_null_results test_mixed_success_and_silenceable
  test_notify_payload_op_replaced test_produce_empty_payload test_produce_invalid_ir test_produce_null_param test_produce_null_payload
  test_produce_null_value test_produce_param test_produce_param_with_number_of_test_ops test_produce_self_handle_or_forward_operand
  test_produce_transform_param_or_forward_operand test_produce_value_handle_to_argument_of_parent_block
  test_produce_value_handle_to_result test_produce_value_handle_to_self_operand test_re_enter_region test_remap_operand_to_self
  test_remove_test_extension test_report_number_of_tracked_handles_nested_under test_required_memory_effects test_reverse_payload_ops
  test_succeed_if_operand_of_op_kind test_tracked_rewrite test_transform_op test_transform_op_with_regions
  test_transform_unrestricted_op_no_interface test_wrong_number_of_multi_results test_wrong_number_of_results
  type_conversion.tensor.cast_shape_dynamic_dims verify with_pdl_patterns yield
ub: poison
vector: bitcast broadcast compressstore constant_mask contract create_mask deinterleave expandload extract extract_strided_slice
  extractelement flat_transpose fma from_elements gather insert insert_strided_slice insertelement interleave load mask maskedload
  maskedstore matrix_multiply multi_reduction outerproduct print reduction reshape scalable.extract scalable.insert scan scatter
  shape_cast shuffle splat step store transfer_read transfer_write transpose type_cast vscale warp_execute_on_lane_0 yield
x86vector: avx.intr.dot avx.intr.dp.ps.256 avx.intr.rsqrt.ps.256 avx.rsqrt avx512.intr.mask.compress avx512.intr.mask.rndscale.pd.512
  avx512.intr.mask.rndscale.ps.512 avx512.intr.mask.scalef.pd.512 avx512.intr.mask.scalef.ps.512 avx512.intr.vp2intersect.d.512
  avx512.intr.vp2intersect.q.512 avx512.mask.compress avx512.mask.rndscale avx512.mask.scalef avx512.vp2intersect
xegpu: alloc_nbarrier atomic_rmw create_nd_tdesc create_tdesc dpas fence init_nbarrier load load_nd nbarrier_arrive nbarrier_wait prefetch
  prefetch_nd store store_nd update_nd_offset update_offset
"""


def _read() -> dict[str, frozenset[str]]:
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for word in _NAMES.split():
        if word.endswith(":"):
            names = found[word[:-1]] = []
        else:
            names.append(word)
    return {dialect: frozenset(f"{dialect}.{name}" for name in names) for dialect, names in found.items()}


OPERATIONS = _read()
"""By dialect, the full names."""

WITHOUT_TYPES = frozenset(
    [
        "affine",
        "amdgpu",
        "amx",
        "arith",
        "arm_neon",
        "arm_sme",
        "arm_sve",
        "bufferization",
        "cf",
        "complex",
        "dlti",
        "func",
        "index",
        "linalg",
        "math",
        "memref",
        "mesh",
        "nvvm",
        "pdl_interp",
        "rocdl",
        "scf",
        "tensor",
        "tosa",
        "ub",
        "vector",
        "x86vector",
    ]
)
"""Dialects that have no types of their own."""

WITHOUT_ATTRIBUTES = frozenset(
    [
        "affine",
        "amx",
        "arm_neon",
        "arm_sve",
        "async",
        "bufferization",
        "cf",
        "func",
        "math",
        "memref",
        "pdl",
        "pdl_interp",
        "quant",
        "scf",
        "shape",
        "tensor",
        "transform",
        "x86vector",
    ]
)
"""Dialects that have no attributes of their own."""
