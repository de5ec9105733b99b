"""Facts of indexing."""

FACTS = {
    "shows_elements": "getitem",
    "shows_range": "[]",
    "outgrows_inputs": "one_hot repeat_interleave",
    "depends_on_data": """
        nonzero argwhere masked_select unique unique_consecutive _unique2 unique_dim
        repeat_interleave
    """,
    "finds_nonzero": "nonzero argwhere",
    "returns_distinct_indices": """
        unique unique_consecutive nonzero argwhere masked_select _unique2
    """,
    "indexes_along_dim": """
        gather scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        index_select index_add index_add_ index_copy index_copy_ index_fill index_fill_
    """,
    "indexes_each_element": """
        gather scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        take_along_dim
    """,
    "has_index_bounds": "embedding __getitem__ __setitem__ index_put index_put_",
    "writes_by_index": """
        scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        index_add index_add_ index_copy index_copy_ index_put index_put_
    """,
    "adds_by_index": """
        index_add index_add_ scatter_add scatter_add_ scatter_reduce scatter_reduce_
        segment_reduce
    """,
    "reads_by_index": "[] gather index_select take take_along_dim",
    "gives_soft_labels": "one_hot",
    "takes_integers": "one_hot embedding",
    "takes_mask": "masked_select",
    "makes_column": "gather take_along_dim",
    "replaces_loops": "scatter_add_ scatter_ index_add_ index_put_ gather",
    "keeps_weights": "[]",
    "needs_equal_dtypes": """
        index_add index_add_ index_copy index_copy_ index_reduce index_reduce_
        index_put index_put_ put put_ []=
    """,
    "takes_cpu_indices": "[]= index_put index_put_ _index_put_impl_",
    "mixes_devices": "index __getitem__ __setitem__",
    "accepts_cpu_tensor": "[] []= __setitem__",
    "autocast_widest_cpu": "index_copy",
    "autocast_widest_cuda": "index_put scatter_add",
}  # fmt: skip
