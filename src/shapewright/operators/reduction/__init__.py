"""Facts of reductions, softmax and sorting."""

from math import inf

FACTS = {
    "takes_size_first": "topk",
    "keeps_shape": "softmax log_softmax cumsum",
    "may_be_superfluous": "mean sum argmax softmax",
    "is_random": "gumbel_softmax",
    "depends_on_data": "bincount",
    "gives_values": {
        "softmax": "probabilities", "log_softmax": "log-probabilities",
    },
    "lies_within": {
        "softmax": (0.0, 1.0), "log_softmax": (-inf, 0.0), "norm": (0.0, inf),
        "vector_norm": (0.0, inf),
    },
    "stays_within": "mean amax amin",
    "keeps_promise": "softmax log_softmax softmin",
    "stays_positive": """
        sum mean cumsum max min amax amin argmax argmin topk sort argsort median norm
        linalg_vector_norm logsumexp
    """,
    "counts_truths": "sum mean count_nonzero any all",
    "needs_all_truths": "all",
    "carries_guesses": "cumprod prod nansum diff",
    "gives_soft_labels": "softmax log_softmax",
    "reads_sign": "mean std",
    "sorts_elements": "sort argsort topk",
    "returns_indices": "argmax argmin",
    "has_limits_at": {"bucketize": 1, "searchsorted": 0},
    "returns_values_and_indices": "max min median mode",
    "ranks_along": {"argmax": 1, "argsort": 1, "max": 1, "sort": 1, "topk": 2},
    "returns_distinct_indices": "topk sort argsort bincount",
    "adds_by_index": "bincount",
    "takes_integers": "bincount",
    "leads_to_loss": "min max sum mean nansum nanmean",
    "replaces_loops": "sum mean amax amin bincount",
    "replaces_odd_values": "softmax",
    "adds_up_elements": "sum mean nansum nanmean",
    "limits_elements": "min max",
    "reduces_dims": """
        mean sum max min amax amin std var prod logsumexp norm any all median nanmean
        nansum quantile mode count_nonzero vector_norm
    """,
    "measures_spread": "std var std_mean var_mean",
    "reduces_in_loops": "sum mean amax amin",
    "accumulates": "cumsum cumprod logcumsumexp cummax cummin",
    "normalizes_along_dim": "softmax log_softmax softmin",
    "finds_extremes": "max min amax amin",
    "needs_dim": """
        softmax log_softmax logsumexp cumsum cumprod logcumsumexp cummax cummin sort
        argsort max min median nanmedian kthvalue topk mode aminmax softmin
        _safe_softmax
    """,
    "needs_floats": "softmax log_softmax softmin mean _safe_softmax",
    "keeps_weights": "softmax softmin gumbel_softmax softmax2d",
    "autocast_full_cpu": "nanquantile prod quantile",
    "autocast_full_cuda": """
        cumprod cumsum frobenius_norm linalg_matrix_norm linalg_vector_norm log_softmax
        logsumexp norm nuclear_norm prod renorm softmax sum
    """,
    "autocast_name": {
        "_softmax": "softmax", "_log_softmax": "log_softmax",
        "norm_except_dim": "norm",
    },
    "contains_autocast": "gumbel_softmax linalg_norm",
    "overrides_autocast": "prod softmax log_softmax cumprod cumsum sum norm",
}  # fmt: skip
