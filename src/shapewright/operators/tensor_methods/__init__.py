"""Facts of tensor methods of no family: metadata, values, devices and the graph."""

FACTS = {
    "is_view": "detach data requires_grad_",
    "removes_dims": {"item": 1},
    "shows_elements": "detach data item cpu cuda numpy tolist to",
    "shows_range": "to",
    "keeps_shape": "to detach cuda cpu",
    "changes_tensor_itself": "set_ detach_ requires_grad_ rename_",
    "has_no_kernel": "share_memory_ apply_ map_ swap_",
    "returns_python_value": """
        item tolist numpy __bool__ __int__ __float__ __index__ __complex__ __contains__
        equal allclose is_nonzero __array__ __format__ __repr__ __str__ __dlpack__
        _local_scalar_dense cpu_numpy
    """,
    "has_representative": {
        "__bool__": True, "is_nonzero": True, "equal": True, "allclose": True,
        "__contains__": True, "__int__": 1, "__index__": 1, "__float__": 1.0,
        "__complex__": (1+0j),
    },
    "counts_truths": "to",
    "leads_to_softmax": "to",
    "keeps_mask": "to detach",
    "leads_to_loss": "to detach",
    "computes_each_element": "detach",
    "replaces_loops": "item size dim numel",
    "reads_sign": "to",
    "rounds": "to",
    "has_zero_gradient": "detach",
    "keeps_weights": "to detach requires_grad_",
    "moves_device": "to cuda cpu xpu hpu ipu pin_memory",
    "reads_device": "device is_cuda is_cpu is_meta is_xpu get_device is_hpu",
    "mixes_devices": "to",
    "accepts_cpu_tensor": "cuda cpu set_ item tolist numpy size",
    "needs_graph": """
        backward grad register_hook retain_grad register_post_accumulate_grad_hook
    """,
    "leaves_graph": "item detach cpu data numpy",
    "does_not_compute": """
        backward register_hook register_post_accumulate_grad_hook numpy share_memory_
        pin_memory load_state_dict untyped_storage storage data_ptr set_ tolist
    """,
    "reads_metadata": """
        size dim ndim ndimension stride numel nelement shape is_contiguous
        is_floating_point is_complex is_signed is_inference element_size itemsize nbytes
        storage_offset __len__ layout is_sparse is_sparse_csr is_nested is_quantized
        is_mkldnn is_vulkan is_mps is_maia is_mtia is_xla is_ort is_ipu is_neg is_conj
        is_tensor is_storage is_same_size promote_types result_type can_cast is_nonzero_
        broadcast_shapes names name device_count get_default_dtype qscheme sparse_dim
        dense_dim is_coalesced _version output_nr has_names is_distributed is_set_to
        data_ptr _typed_storage untyped_storage storage _cdata _base __hash__ __dir__
        __dlpack_device__ get_rng_state set_rng_state is_shared retains_grad
        _backward_hooks _post_accumulate_grad_hooks grad_dtype _backward_hooks_
        are_deterministic_algorithms_enabled _parse_to
    """,
    "reads_size": "shape size numel nelement stride",
}  # fmt: skip
