"""Facts of convolutions."""

FACTS = {
    "mistaken_for": {"Conv1d": "Conv2d"},
    "spatial_dims": {
        "conv1d": 1, "conv2d": 2, "conv3d": 3, "conv_transpose1d": 1,
        "conv_transpose2d": 2, "conv_transpose3d": 3,
    },
    "is_convolution": "conv1d conv2d conv3d",
    "is_transposed_convolution": "conv_transpose1d conv_transpose2d conv_transpose3d",
    "needs_equal_dtypes": "conv_transpose1d conv_transpose2d conv_transpose3d",
    "autocast_lower": """
        _convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
        conv_transpose3d
    """,
    "autocast_lower_cuda": "convolution cudnn_convolution cudnn_convolution_transpose",
    "autocast_name": {"convolution": "_convolution"},
}  # fmt: skip
