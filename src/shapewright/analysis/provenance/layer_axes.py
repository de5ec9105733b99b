"""Rules for axes in products, layers and reductions: summed, kept or new."""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.analysis.provenance.axes import Axis, Dim, Dims, rank_dim, resize_dim
from shapewright.analysis.provenance.axis_flow import (
    AxisFlow,
    OperatorCall,
    Outputs,
    follows,
    get_length,
)
from shapewright.operators.facts import operators_with, values_of

PRODUCTS = operators_with("is_product")


@dataclass(frozen=True, slots=True)
class _Contraction:
    """The dims that a product sums over, in both of its tensors."""

    left: Dims
    right: Dims


def find_contraction(call: OperatorCall) -> _Contraction | None:
    """Return the dims that a matrix product or a two-operand einsum sums over."""
    if call.name == "einsum":
        return _find_einsum_contraction(call)
    if call.name not in PRODUCTS or len(call.dims) < 2:
        return None
    left, right = call.dims[0], call.dims[1]
    if not left or not right:
        return None
    row = right[-2] if len(right) > 1 else right[-1]
    return _Contraction((left[-1],), (row,))


@follows(*PRODUCTS)
def product(flow: AxisFlow, call: OperatorCall) -> Outputs:
    left, right = call.dims[0], call.dims[1]
    rows = left[:-1] if len(left) == 1 else left[-2:-1]
    columns = right[-1:] if len(right) > 1 else ()
    last_dims = (*rows, *columns)
    batch = call.shape[: len(call.shape) - len(last_dims)]
    fronts = [dims[:-2] for dims in (left, right)]
    return (*flow.lined_up(fronts, batch, True), *last_dims)


@follows("linear")
def linear(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (*call.dims[0][:-1], _create_feature_dim(call, 1, 0, call.shape[-1]))


@follows("addmm", "baddbmm")
def addmm(flow: AxisFlow, call: OperatorCall) -> Outputs:
    left, right = call.dims[1], call.dims[2]
    return (*left[:-1], right[-1])


@follows("outer", "ger")
def outer(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (call.dims[0][0], call.dims[1][0])


@follows("cdist")
def cdist(flow: AxisFlow, call: OperatorCall) -> Outputs:
    left, right = call.dims[:2]
    fronts = flow.lined_up([left[:-2], right[:-2]], call.shape[:-2], True)
    return (*fronts, left[-2], right[-2])


def _create_feature_dim(call: OperatorCall, at: int, dim: int, size: int) -> Dim:
    """Return the output feature dim that the weight of a layer creates."""
    path = ""
    if at < len(call.op.inputs):
        own = call.dims[at][dim] if dim < len(call.dims[at]) else ()
        path = own[0].words if own else ""
    return (Axis(size, "feature", path),)


@follows("embedding")
def embedding(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (*call.dims[0], _create_feature_dim(call, 1, 1, call.shape[-1]))


@follows("embedding_bag")
def embedding_bag(flow: AxisFlow, call: OperatorCall) -> Outputs:
    """Follow the bags: a row of the indices each, or one for each offset."""
    indices, _, *offsets = call.dims
    bags = offsets[0] if len(indices) == 1 and offsets else indices
    return (bags[0], _create_feature_dim(call, 1, 1, call.shape[-1]))


@follows("one_hot")
def one_hot(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (*call.dims[0], (Axis(call.shape[-1], "feature"),))


def parse_equation(call: OperatorCall) -> tuple[list[str], str | None] | None:
    """Return the letters of each operand and of the output, which is None without an
    arrow. Return None if the equation is not a string or does not fit the operands.
    """
    text = call.given(0, "equation")
    if not isinstance(text, str):
        return None
    text = text.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(call.dims):
        return None
    for at, term in enumerate(terms):
        if "..." in term:
            count = len(call.dims[at]) - len(term) + 3
            terms[at] = term.replace("...", DOTS[len(DOTS) - count :] if count else "")
    widest = max((len(t) for t in terms), default=0)
    dots = "".join(c for c in DOTS if any(c in t for t in terms)) if widest else ""
    out = right.replace("...", dots) if arrow else None
    if any(len(t) != len(d) for t, d in zip(terms, call.dims, strict=True)):
        return None
    return terms, out


DOTS = "0123456789"


def find_einsum_letters(call: OperatorCall) -> dict[str, Dim] | None:
    """Return what every letter of an einsum counts."""
    equation = parse_equation(call)
    if equation is None:
        return None
    letters: dict[str, Dim] = {}
    for term, dims in zip(equation[0], call.dims, strict=True):
        for letter, dim in zip(term, dims, strict=True):
            old = letters.get(letter)
            if old is None or get_length(old) == 1 or rank_dim(dim) < rank_dim(old):
                letters[letter] = dim
    return letters


@follows("einsum")
def einsum(flow: AxisFlow, call: OperatorCall) -> Outputs:
    equation, letters = parse_equation(call), find_einsum_letters(call)
    if equation is None or letters is None:
        return None
    return tuple(letters[letter] for letter in infer_output_letters(*equation))


def infer_output_letters(terms: list[str], out: str | None) -> str:
    """Return the output letters; without an arrow, the letters that occur once,
    sorted.
    """
    if out is not None:
        return out
    every = "".join(terms)
    return "".join(sorted(c for c in set(every) if every.count(c) == 1))


def _find_einsum_contraction(call: OperatorCall) -> _Contraction | None:
    equation = parse_equation(call)
    if equation is None or len(equation[0]) != 2:
        return None
    (left, right), out = equation[0], infer_output_letters(*equation)
    gone = [c for c in left if c in right and c not in out]
    first = dict(zip(left, call.dims[0], strict=True))
    second = dict(zip(right, call.dims[1], strict=True))
    return _Contraction(tuple(first[c] for c in gone), tuple(second[c] for c in gone))


CONVOLUTIONS = values_of("spatial_dims")


@follows(*CONVOLUTIONS)
def convolution(flow: AxisFlow, call: OperatorCall) -> Outputs:
    spatial = CONVOLUTIONS[call.name]
    dims, shape = call.dims[0], call.shape
    front = len(shape) - spatial - 1
    channel = _create_feature_dim(
        call, 1, 1 if "transpose" in call.name else 0, shape[front]
    )
    after = zip(dims[front + 1 :], shape[front + 1 :], strict=True)
    return (*dims[:front], channel, *(resize_dim(dim, size) for dim, size in after))


@follows(
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "interpolate",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "lp_pool2d",
    "upsample", "lp_pool1d", "pad",
)  # fmt: skip
def resized(flow: AxisFlow, call: OperatorCall) -> Outputs:
    pairs = zip(call.dims[0], call.shape, strict=True)
    dims = tuple(_resize_dim(call, dim, size) for dim, size in pairs)
    return [dims] * len(call.op.outputs)


def _resize_dim(call: OperatorCall, dim: Dim, size: int) -> Dim:
    resized_dim = resize_dim(dim, size)
    if call.name == "pad" and resized_dim is not dim:
        resized_dim[0].explicit = True  # longer by what the program asks for
    return resized_dim


def is_sequence_first(call: OperatorCall) -> bool | None:
    """Return whether a recurrent layer expects time before the batch; None if its input
    is unbatched.
    """
    if len(call.op.inputs[0].shape) != 3:
        return None
    return not call.given(8, "batch_first", default=False)


@follows("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = call.dims[0]
    packed = flow.packed.get(call.op.inputs[1].tensor) if len(dims) == 2 else None
    if packed is None and (len(dims) != 3 or len(call.shape) != 3):
        return None
    out = (*dims[:-1], (Axis(call.shape[-1], "feature"),))
    batch = dims[1] if is_sequence_first(call) else dims[0]
    batch = batch if packed is None else packed[0]
    states = []
    for fact in call.op.outputs[1:]:
        layers, _, width = fact.shape
        first = (Axis(layers, "one" if layers == 1 else "parts", explicit=True),)
        states.append((first, batch, (Axis(width, "feature"),)))
    return [out, *states]


@follows("_pack_padded_sequence")
def packed_sequence(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims, lengths = call.dims[0], call.op.outputs[1]
    first = bool(call.given(2, "batch_first"))
    batch, time = (dims[0], dims[1]) if first else (dims[1], dims[0])
    flow.packed[lengths.tensor] = batch, time
    rows = (Axis(call.shape[0], "unknown"),)
    return [(rows, *dims[2:]), (resize_dim(time, lengths.shape[0]),)]


@follows("_pad_packed_sequence")
def padded_sequence(flow: AxisFlow, call: OperatorCall) -> Outputs:
    packed = flow.packed.get(call.op.inputs[1].tensor)
    if packed is None:
        return None
    first = bool(call.given(2, "batch_first"))
    batch, time = packed
    time = resize_dim(time, call.shape[1 if first else 0])
    rows = (batch, time) if first else (time, batch)
    return [(*rows, *call.dims[0][1:]), (batch,)]


@follows("index_select")
def selected_rows(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = list(call.dims[0])
    at = call.given(1, "dim")
    index = call.dims[1]
    if get_length(dims[at]) != call.shape[at] and len(index) == 1:
        dims[at] = index[0]
    return tuple(dims)


@follows("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(flow: AxisFlow, call: OperatorCall) -> Outputs:
    dims = (*call.dims[0][:-1], (Axis(call.shape[-1], "feature"),))
    return [dims] * len(call.op.outputs)


@follows("multi_head_attention_forward")
def multihead(flow: AxisFlow, call: OperatorCall) -> Outputs:
    query, key = call.dims[0], call.dims[1]
    out = (*query[:-1], _create_feature_dim(call, 5, 0, call.shape[-1]))
    if len(query) != 3 or len(call.op.outputs) < 2:
        return [out]
    weights = (query[1], query[0], key[0])
    if len(call.op.outputs[1].shape) == 4:
        heads = (Axis(call.op.outputs[1].shape[1], "feature"),)
        weights = (query[1], heads, query[0], key[0])  # type: ignore[assignment]
    return [out, weights]


@follows("scaled_dot_product_attention")
def attention(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return (*call.dims[0][:-1], call.dims[2][-1])


@follows("glu")
def glu(flow: AxisFlow, call: OperatorCall) -> Outputs:
    pairs = zip(call.dims[0], call.shape, strict=True)
    return tuple(resize_dim(dim, size) for dim, size in pairs)


STATISTICS = operators_with("reduces_dims")
PICKS = frozenset({"argmax", "argmin"})


def find_reduced_dims(call: OperatorCall) -> tuple[int, ...] | None:
    """Return the dims that a reduction removes, as non-negative integers; None if they
    are not known.
    """
    rank = len(call.dims[0])
    if "dim" in call.arguments or "axis" in call.arguments:
        dims = call.arguments.get("dim", call.arguments.get("axis"))
    elif call.name == "norm":
        dims = call.arguments.get("2")
    else:
        dims = call.arguments.get("1")
    if isinstance(dims, bool):
        return tuple(range(rank))
    if dims is None:
        if len(call.op.inputs) > 1:
            return None  # the larger of two tensors
        return tuple(range(rank))
    every = dims if isinstance(dims, list | tuple) else (dims,)
    return tuple(dim % rank for dim in every) if rank else ()


@follows(*STATISTICS, *PICKS, "softmin_")
def reduction(flow: AxisFlow, call: OperatorCall) -> Outputs:
    gone = find_reduced_dims(call)
    dims = call.dims[0]
    if gone is None:
        return None
    if not gone:
        gone = tuple(range(len(dims)))
    if len(call.shape) == len(dims):
        explicit = call.name not in PICKS
        kept_dim: Dim = (Axis(1, "one", "keepdim", explicit=explicit),)
        kept_dims = tuple(
            kept_dim if at in gone else dim for at, dim in enumerate(dims)
        )
    else:
        kept_dims = tuple(dim for at, dim in enumerate(dims) if at not in gone)
    return [kept_dims] * len(call.op.outputs)


@follows("topk", "sort", "kthvalue")
def picked(flow: AxisFlow, call: OperatorCall) -> Outputs:
    if len(call.shape) != len(call.dims[0]):
        return None
    picked_dims = []
    for dim, size in zip(call.dims[0], call.shape, strict=True):
        is_single = size == 1 and get_length(dim) != 1
        picked_dims.append(
            (Axis(1, "one", "topk"),) if is_single else resize_dim(dim, size)
        )
    return [tuple(picked_dims)] * len(call.op.outputs)


@follows("gather", "take_along_dim")
def gather(flow: AxisFlow, call: OperatorCall) -> Outputs:
    """Return the input's dims where their sizes are kept, else the dims of the
    index.
    """
    gathered_dims: list[Dim] = []
    for own, index, size in zip(call.dims[0], call.dims[1], call.shape, strict=True):
        if get_length(own) == size and size != 1:
            gathered_dims.append(own)
        elif size == 1:
            gathered_dims.append((Axis(1, "one", "gather"),))
        else:
            gathered_dims.append(
                index if get_length(index) == size else resize_dim(own, size)
            )
    return tuple(gathered_dims)


@follows("cosine_similarity", "pairwise_distance")
def similarity(flow: AxisFlow, call: OperatorCall) -> Outputs:
    rank = max(len(dims) for dims in call.dims)
    at = call.given(2, "dim", default=1 if call.name.startswith("cos") else -1)
    shape = tuple(
        max(get_length(dims[d - rank + len(dims)]) for dims in call.dims
            if d - rank + len(dims) >= 0)
        for d in range(rank)
    )  # fmt: skip
    every = flow.lined_up(call.dims[:2], shape, True)
    if len(call.shape) == rank:
        return None
    return tuple(dim for d, dim in enumerate(every) if d != at % rank)


@follows(
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "kl_div", "poisson_nll_loss",
)  # fmt: skip
def pointwise_loss(flow: AxisFlow, call: OperatorCall) -> Outputs:
    return () if not call.shape else None


@follows("cross_entropy", "nll_loss")
def class_loss(flow: AxisFlow, call: OperatorCall) -> Outputs:
    if not call.shape:
        return ()
    dims = call.dims[0]
    return (*dims[:1], *dims[2:]) if len(dims) > 1 else None


def find_softmax_dim(call: OperatorCall) -> int | None:
    """Return the dim along which a softmax runs; without a `dim` argument, the one that
    torch chooses.
    """
    rank = len(call.dims[0])
    at = call.given(1, "dim")
    if call.name == "softmax2d":
        at = -3
    if at is None:
        at = 0 if rank in (0, 1, 3) else 1
    return at % rank if rank and isinstance(at, int) else None


@follows("softmax", "softmin", "gumbel_softmax")
def softmax(flow: AxisFlow, call: OperatorCall) -> Outputs:
    """Mark the normalised dim, so that its use can be followed."""
    at, dims = find_softmax_dim(call), call.dims[0]
    if call.name == "gumbel_softmax":
        at = call.given(4, "dim", default=-1) % len(dims)
    if at is None:
        return None
    flow.weights = True
    own = dims[at]
    data = any(axis.data for axis in own)
    source = own[0] if len(own) == 1 else None
    marked = Axis(
        get_length(own), "changed", own[0].words, data, source, normalised=call.op.index
    )
    return (*dims[:at], (marked,), *dims[at + 1 :])
