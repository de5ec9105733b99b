"""Facts of attention."""

FACTS = {
    "treats_samples_alone": """
        _native_multi_head_attention _transformer_encoder_layer_fwd
    """,
    "chooses_kernel": """
        scaled_dot_product_attention multi_head_attention_forward
        _native_multi_head_attention _transformer_encoder_layer_fwd
    """,
    "autocast_lower": "scaled_dot_product_attention",
    "autocast_lower_cpu": "_native_multi_head_attention",
    "autocast_lower_cuda": "_scaled_dot_product_flash_attention",
    "autocast_name": {"_transformer_encoder_layer_fwd": "addmm"},
    "contains_autocast": "multi_head_attention_forward",
}  # fmt: skip
