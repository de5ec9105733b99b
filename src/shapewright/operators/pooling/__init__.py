"""Facts of pooling, interpolation and sampling."""

FACTS = {
    "outgrows_inputs": "interpolate upsample",
    "needs_equal_dtypes": "grid_sample",
    "autocast_full_cpu": """
        _grid_sampler_2d_cpu_fallback adaptive_avg_pool3d adaptive_max_pool3d avg_pool3d
        fractional_max_pool2d fractional_max_pool3d grid_sampler grid_sampler_2d
        grid_sampler_3d max_pool3d max_unpool2d max_unpool3d
    """,
    "autocast_full_cuda": """
        _upsample_bicubic2d_aa _upsample_bilinear2d_aa _upsample_nearest_exact1d
        _upsample_nearest_exact2d _upsample_nearest_exact3d upsample_bicubic2d
        upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
        upsample_nearest3d upsample_trilinear3d
    """,
    "autocast_widest_cuda": "grid_sampler",
    "autocast_name": {
        "grid_sample": "grid_sampler", "max_pool3d_with_indices": "max_pool3d",
        "_adaptive_avg_pool3d": "adaptive_avg_pool3d", "affine_grid": "bmm",
    },
    "contains_autocast": "interpolate upsample",
}  # fmt: skip
