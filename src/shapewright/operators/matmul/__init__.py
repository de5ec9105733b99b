"""Facts of matrix products."""

FACTS = {
    "gives_logits": "linear bilinear",
    "outgrows_inputs": "outer tensordot einsum matmul mm bmm ger",
    "mistaken_for": {"dot": "matmul", "mm": "matmul", "mv": "matmul"},
    "makes_column": "linear",
    "replaces_loops": "matmul dot mv mm bmm einsum",
    "is_product": "matmul @ mm bmm mv dot __matmul__ __rmatmul__",
    "lays_out_anew": "matmul linalg_matmul linear",
    "treats_rows_alone": "linear",
    "treats_samples_alone": "linear",
    "autocast_lower": "addbmm addmm baddbmm bmm linalg_vecdot linear matmul mm",
    "autocast_lower_cpu": "_addmm_activation",
    "autocast_lower_cuda": "addmv addr chain_matmul einsum linalg_multi_dot mv",
    "autocast_widest_cuda": "bilinear dot tensordot vdot",
    "autocast_name": {
        "__matmul__": "matmul", "__rmatmul__": "matmul",
        "linalg_matmul": "matmul", "multi_dot": "linalg_multi_dot",
        "inner": "tensordot",
    },
    "contains_autocast": "bilinear einsum inner linalg_multi_dot multi_dot tensordot",
}  # fmt: skip
