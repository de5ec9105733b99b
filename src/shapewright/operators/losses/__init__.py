"""Facts of losses."""

FACTS = {
    "reads_integers": "ctc_loss",
    "has_index_bounds": "cross_entropy nll_loss",
    "takes_class_indices": "cross_entropy nll_loss",
    "pairs_operands": """
        mse_loss l1_loss smooth_l1_loss binary_cross_entropy
        binary_cross_entropy_with_logits
    """,
    "is_loss": """
        cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div
        binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss
        gaussian_nll_loss hinge_embedding_loss margin_ranking_loss ctc_loss
        cosine_embedding_loss triplet_margin_loss multi_margin_loss soft_margin_loss
        multilabel_margin_loss multilabel_soft_margin_loss
    """,
    "pulls_together": "mse_loss l1_loss smooth_l1_loss",
    "signs_at": {
        "cosine_embedding_loss": 2, "margin_ranking_loss": 2,
        "hinge_embedding_loss": 1, "soft_margin_loss": 1,
    },
    "is_elementwise_loss": """
        mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
        binary_cross_entropy_with_logits kl_div poisson_nll_loss
    """,
    "warns_of_shapes": "mse_loss l1_loss smooth_l1_loss huber_loss",
    "takes_instead": {
        "binary_cross_entropy_with_logits": {"probabilities": "binary_cross_entropy"},
        "binary_cross_entropy": {"logits": "binary_cross_entropy_with_logits"},
        "nll_loss": {"logits": "cross_entropy"},
        "cross_entropy": {"log-probabilities": "nll_loss"},
    },
    "layer_of_loss": {
        "binary_cross_entropy": "BCELoss", "cross_entropy": "CrossEntropyLoss",
        "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
        "nll_loss": "NLLLoss",
    },
    "expects_input": {
        "cross_entropy": "logits", "binary_cross_entropy_with_logits": "logits",
        "nll_loss": "log-probabilities", "kl_div": "log-probabilities",
        "ctc_loss": "log-probabilities", "binary_cross_entropy": "probabilities",
    },
    "takes_only_tensors": """
        huber_loss smooth_l1_loss kl_div binary_cross_entropy
        binary_cross_entropy_with_logits
    """,
    "needs_equal_dtypes": "binary_cross_entropy cross_entropy",
    "accepts_cpu_tensor": "ctc_loss",
    "takes_sizes_on_cpu": "ctc_loss",
    "autocast_full": """
        binary_cross_entropy_with_logits cosine_embedding_loss hinge_embedding_loss
        huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
        multilabel_margin_loss nll_loss nll_loss2d poisson_nll_loss smooth_l1_loss
        soft_margin_loss triplet_margin_loss
    """,
    "autocast_full_cpu": """
        binary_cross_entropy cross_entropy_loss ctc_loss multilabel_margin_loss_forward
    """,
    "autocast_name": {
        "cross_entropy": "nll_loss", "nll_loss_forward": "nll_loss",
        "nll_loss2d_forward": "nll_loss2d",
    },
    "contains_autocast": """
        multilabel_soft_margin_loss triplet_margin_with_distance_loss
    """,
}  # fmt: skip
