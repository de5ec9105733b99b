"""Facts of normalization and dropout."""

FACTS = {
    "keeps_shape": "normalize dropout",
    "mistaken_for": {"BatchNorm1d": "BatchNorm2d", "BatchNorm2d": "BatchNorm1d"},
    "is_random": """
        dropout dropout_ alpha_dropout alpha_dropout_ feature_dropout
        feature_alpha_dropout dropout1d dropout2d dropout3d native_dropout
    """,
    "drops_elements": "dropout dropout1d dropout2d dropout3d",
    "keeps_promise": "normalize",
    "normalizes_along_dim": "normalize",
    "keeps_weights": "dropout alpha_dropout",
    "treats_rows_alone": "layer_norm",
    "treats_samples_alone": "dropout layer_norm",
    "needs_equal_dtypes": "layer_norm batch_norm group_norm instance_norm rms_norm",
    "autocast_full_cuda": "group_norm layer_norm native_layer_norm rms_norm",
    "autocast_name": {"native_group_norm": "group_norm"},
    "contains_autocast": "local_response_norm normalize",
}  # fmt: skip
