"""Axes through layers: convolution, pooling, recurrent nets, attention."""

from __future__ import annotations

from shapewright.reasoning.axes.axis import Axis, Dim, changed
from shapewright.reasoning.axes.flow import Call, Flow, Outputs, follows
from shapewright.reasoning.axes.products import feature

CONVOLUTIONS = {
    "conv1d": 1, "conv2d": 2, "conv3d": 3,
    "conv_transpose1d": 1, "conv_transpose2d": 2, "conv_transpose3d": 3,
}  # fmt: skip


@follows(*CONVOLUTIONS)
def convolution(flow: Flow, call: Call) -> Outputs:
    spatial = CONVOLUTIONS[call.name]
    dims, shape = call.dims[0], call.shape
    front = len(shape) - spatial - 1
    channel = feature(call, 1, 1 if "transpose" in call.name else 0, shape[front])
    after = zip(dims[front + 1 :], shape[front + 1 :], strict=True)
    return (*dims[:front], channel, *(changed(dim, size) for dim, size in after))


@follows(
    "max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "interpolate",
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "lp_pool2d",
    "upsample", "lp_pool1d", "pad",
)  # fmt: skip
def resized(flow: Flow, call: Call) -> Outputs:
    pairs = zip(call.dims[0], call.shape, strict=True)
    made = tuple(resized_dim(call, dim, size) for dim, size in pairs)
    return [made] * len(call.op.outputs)


def resized_dim(call: Call, dim: Dim, size: int) -> Dim:
    made = changed(dim, size)
    if call.name == "pad" and made is not dim:
        made[0].explicit = True  # longer by what the program asks for
    return made


def sequence_first(call: Call) -> bool | None:
    """Whether a recurrent layer takes time before the batch; None where unbatched."""
    if len(call.op.inputs[0].shape) != 3:
        return None
    return not call.given(8, "batch_first", default=False)


@follows("lstm", "gru", "rnn_tanh", "rnn_relu")
def recurrent(flow: Flow, call: Call) -> Outputs:
    dims = call.dims[0]
    if len(dims) != 3 or len(call.shape) != 3:
        return None
    out = (*dims[:2], (Axis(call.shape[2], "feature"),))
    batch = dims[1] if sequence_first(call) else dims[0]
    states = []
    for fact in call.op.outputs[1:]:
        layers, _, width = fact.shape
        first = (Axis(layers, "one" if layers == 1 else "parts", explicit=True),)
        states.append((first, batch, (Axis(width, "feature"),)))
    return [out, *states]


@follows("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(flow: Flow, call: Call) -> Outputs:
    made = (*call.dims[0][:-1], (Axis(call.shape[-1], "feature"),))
    return [made] * len(call.op.outputs)


@follows("multi_head_attention_forward")
def multihead(flow: Flow, call: Call) -> Outputs:
    query, key = call.dims[0], call.dims[1]
    out = (*query[:-1], feature(call, 5, 0, call.shape[-1]))
    if len(query) != 3 or len(call.op.outputs) < 2:
        return [out]
    weights = (query[1], query[0], key[0])
    if len(call.op.outputs[1].shape) == 4:
        heads = (Axis(call.op.outputs[1].shape[1], "feature"),)
        weights = (query[1], heads, query[0], key[0])  # type: ignore[assignment]
    return [out, weights]


@follows("scaled_dot_product_attention")
def attention(flow: Flow, call: Call) -> Outputs:
    return (*call.dims[0][:-1], call.dims[2][-1])


@follows("glu")
def glu(flow: Flow, call: Call) -> Outputs:
    pairs = zip(call.dims[0], call.shape, strict=True)
    return tuple(changed(dim, size) for dim, size in pairs)
