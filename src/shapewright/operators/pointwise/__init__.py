"""Facts of elementwise functions."""

from math import inf

FACTS = {
    "keeps_shape": """
        relu tanh sigmoid exp log abs neg sqrt pow clamp clamp_ mul_ add_ div_ square
        sin cos gelu silu nan_to_num round masked_fill masked_fill_ sub mul add div
        leaky_relu elu
    """,
    "mistaken_for": {"mul": "matmul"},
    "is_random": "rrelu rrelu_",
    "gives_values": {
        "sigmoid": "probabilities", "sigmoid_": "probabilities",
        "logsigmoid": "log-probabilities",
        "relu": "non-negative numbers", "relu_": "non-negative numbers",
    },
    "gives_range": {
        "relu": (0.0, inf), "relu_": (0.0, inf), "relu6": (0.0, 6.0),
        "softplus": (0.0, inf), "sigmoid": (0.0, 1.0), "sigmoid_": (0.0, 1.0),
        "hardsigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0), "tanh_": (-1.0, 1.0),
        "softsign": (-1.0, 1.0), "logsigmoid": (-inf, 0.0),
    },
    "lies_within": {
        "abs": (0.0, inf), "square": (0.0, inf), "sqrt": (0.0, inf), "exp": (0.0, inf),
        "sin": (-1.0, 1.0), "cos": (-1.0, 1.0),
    },
    "makes_random_features": "sin cos sign sgn gt > heaviside",
    "overwrites_all": "copy_",
    "depends_on_data": "where",
    "finds_nonzero": "where",
    "tests_finiteness": "isnan isinf isfinite isneginf isposinf",
    "keeps_promise": "logical_not bitwise_not invert",
    "stays_positive": "div truediv true_divide divide exp sqrt square abs",
    "compares_elements": "eq ne lt le gt ge",
    "needs_all_truths": "and logical_and bitwise_and",
    "needs_any_truth": "or logical_or bitwise_or",
    "carries_guesses": """
        add sub mul rtruediv radd rsub rmul neg log pow clamp clamp_min clamp_max where
        masked_fill logical_and logical_or logical_xor and or xor ror bitwise_and
        bitwise_or multiply subtract maximum minimum floor ceil round xlogy iadd isub
        imul itruediv lerp
    """,
    "clamps": "hardtanh clamp clip",
    "returns_distinct_indices": "where",
    "takes_mask": "masked_fill masked_fill_",
    "fills_by_mask": "masked_fill masked_fill_ where + add",
    "leads_to_softmax": "masked_fill / * div mul +",
    "keeps_mask": "logical_or",
    "is_arithmetic": """
        - + * / sub add mul div rsub subtract multiply divide true_divide
    """,
    "broadcasts_operands": """
        - + * / == != > < >= <= sub add mul div eq ne gt lt ge le subtract multiply
        divide true_divide rsub __sub__ __rsub__ __mul__ __rmul__ __add__ __radd__ pow
        ** maximum minimum dist isclose & | ^ logical_and logical_or where
    """,
    "divides_elements": "/ /= div div_ divide divide_ true_divide true_divide_",
    "negates": "neg negative",
    "is_logarithm": "log log2 log10 log_ log2_ log10_",
    "keeps_zeros": "abs pow ** square sqrt",
    "limits_from_below": "clamp clamp_ clip clamp_min relu relu_ maximum",
    "replaces_odd_values": """
        clamp clamp_ clip nan_to_num nan_to_num_ where maximum masked_fill masked_fill_
        isinf isnan isfinite isneginf exp
    """,
    "limits_elements": "minimum maximum clamp clip where",
    "gives_soft_labels": "lerp exp",
    "reads_sign": "abs / div true_divide",
    "subtracts": "- sub subtract rsub __sub__ __rsub__",
    "adds_terms": """
        + - += -= add sub add_ sub_ rsub subtract __add__ __radd__ __iadd__ __sub__
        __rsub__ __isub__
    """,
    "takes_plain_numbers": """
        add sub subtract mul multiply div divide true_divide floor_divide
    """,
    "leads_to_loss": """
        neg negative abs pow ** square exp log sqrt clamp clip minimum maximum
        nan_to_num where += -= *= /= add_ sub_ mul_ div_
    """,
    "pairs_operands": "add sub mul div where minimum maximum",
    "computes_each_element": """
        abs exp log log1p expm1 sqrt rsqrt sin cos tan tanh sigmoid relu square sign neg
        floor ceil round logical_not isnan isinf gelu silu softplus leaky_relu elu erf
        reciprocal clamp clamp_min clamp_max pow add sub mul div maximum minimum where
        logical_and logical_or eq ne lt le gt ge
    """,
    "rounds": "round round_ fake_quantize_per_tensor_affine quantize_per_tensor floor",
    "has_zero_gradient": "sign sgn round floor ceil",
    "updates_elements": "add_ sub_ mul_ div_ lerp_ addcmul_ addcdiv_",
    "keeps_weights": "nan_to_num masked_fill nan_to_num_ masked_fill_",
    "treats_samples_alone": """
        relu gelu add __add__ __radd__ __iadd__ add_ mul __mul__ __rmul__ div
        __truediv__ sub __sub__ silu tanh abs neg
    """,
    "mixes_devices": "copy_",
    "autocast_lower": "prelu",
    "autocast_full_cpu": "fake_quantize_per_tensor_affine polar",
    "autocast_full_cuda": """
        acos asin cosh dist erfinv exp expm1 log log10 log1p log2 pow reciprocal rsqrt
        sinh softplus tan
    """,
    "autocast_widest_cuda": "addcdiv addcmul atan2",
    "autocast_name": {
        "__pow__": "pow", "__rpow__": "pow", "__rdiv__": "reciprocal",
        "__rtruediv__": "reciprocal",
    },
}  # fmt: skip
