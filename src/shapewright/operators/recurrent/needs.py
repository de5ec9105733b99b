"""Checks of recurrent layers, cells and packed sequences: features, states, lengths."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    HIDDEN_STATE_SHAPE,
    JOINED_SIZES_DIFFER,
    LENGTHS_ON_GPU,
    PACKED_LENGTHS,
    RNN_INPUT_SIZE,
    WRONG_RANK,
)
from shapewright.operators.failed_calls import Grant, Place, Unmet
from shapewright.operators.metadata_rules import Made, Meta
from shapewright.operators.need_checks import (
    differs,
    dims,
    dtype_unmet,
    is_tensor,
    resized,
    same_dtype,
    swapped,
    text,
    word,
)
from shapewright.operators.needs_registry import needs

# -- packed sequences ------------------------------------------------------------------

PACK = "`pack_padded_sequence`"


@needs("torch._pack_padded_sequence")
def pack(input: Meta, lengths: Meta, batch_first: bool = False) -> Unmet | None:
    """Check that there is one length per sample, sorted in decreasing order."""
    shape = input.shape
    if len(shape) < 2:
        return Unmet(
            WRONG_RANK,
            f"{PACK} expects at least 2 dims, batch and time, got {len(shape)}:"
            f" {{input}} is {text(shape)}",
            Place("input"),
            has=len(shape),
            needs=2,
            grants=(Grant("input", Made((*shape, 1)[:2], input.dtype)),)
            if shape
            else (),
        )
    if len(lengths.shape) != 1:
        return Unmet(
            WRONG_RANK,
            f"{PACK} expects lengths in 1 dim, got {dims(len(lengths.shape))}:"
            f" {{lengths}} is {text(lengths.shape)}",
            Place("lengths"),
            has=len(lengths.shape),
            needs=1,
            grants=(Grant("lengths", Made((shape[not batch_first],), "int64")),),
        )
    if lengths.device not in ("cpu", "meta"):
        return Unmet(
            LENGTHS_ON_GPU,
            f"{PACK} reads lengths on the CPU, but {{lengths}} is on"
            f" `{lengths.device}`",
            Place("lengths"),
            has=lengths.device,
            needs="cpu",
        )
    wrong = _of_count(input, lengths, bool(batch_first)) or _of_order(lengths)
    if wrong is None and lengths.dtype != "int64":
        why = f"{PACK} expects lengths of dtype int64"
        return dtype_unmet("lengths", lengths, "int64", why)
    return wrong


def _of_count(input: Meta, lengths: Meta, batch_first: bool) -> Unmet | None:
    """Check that there are as many lengths as samples."""
    at = 0 if batch_first else 1
    have, wanted = lengths.shape[0], input.shape[at]
    if have == wanted:
        return None
    message = f"{PACK} needs a length for each of {wanted} samples in dim {at} of"
    message += f" {{input}} {text(input.shape)}, got {have}"
    if have == input.shape[1 - at]:
        message += f"; `batch_first={not batch_first}` reads dim {1 - at} as the batch"
    return Unmet(
        PACKED_LENGTHS,
        message,
        Place("lengths", 0),
        Place("input", at),
        have,
        wanted,
        (Grant("lengths", Made((wanted,), "int64")),),
    )


def _of_order(lengths: Meta) -> Unmet | None:
    """Check that the lengths, if known, are at least 1 and do not increase."""
    values: tuple[int, ...] = getattr(lengths, "values", None) or ()
    for n, value in enumerate(values):
        if value > 0 and (not n or value <= values[n - 1]):
            continue
        message = f"{PACK} expects lengths of at least 1, got {value} at [{n}]"
        if value > 0:
            message = f"{PACK} expects lengths from the longest to the shortest, but"
            message += f" {values[n - 1]} comes before {value}; `enforce_sorted=False`"
            message += " sorts them"
        return Unmet(
            PACKED_LENGTHS,
            message,
            Place("lengths"),
            has=value,
            needs=values[n - 1] if value > 0 else 1,
            grants=(Grant("lengths", Made(lengths.shape, "int64")),),
        )
    return None


def _of_steps(
    data: Meta, name: str, features: int, dtype: str | None = None
) -> Unmet | None:
    """Check that packed steps have the shape (steps, features) of the layer."""
    shape = data.shape
    here = word(name)
    if len(shape) != 2:
        fitting = (shape[0], features) if shape else (1, features)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects packed steps with features, 2 dims, got {len(shape)} in"
            f" the data of {here}: {text(shape)}",
            Place(name),
            has=len(shape),
            needs=2,
            grants=(Grant(name, Made(fitting, data.dtype)),),
        )
    if shape[1] != features:
        return Unmet(
            RNN_INPUT_SIZE,
            f"{{op}} needs {features} input features, got {shape[1]} in the packed"
            f" steps of {here}: {text(shape)}",
            Place(name, 1),
            None,
            shape[1],
            features,
            (Grant(name, resized(data, 1, features)),),
        )
    if dtype is not None and data.dtype != dtype:
        return dtype_unmet(name, data, dtype, f"{{op}} computes in {dtype}")
    return None


def _of_sum(data: Meta, name: str, sizes: Any) -> Unmet | None:
    """Check that the number of packed steps is the sum of the lengths, if known."""
    values: tuple[int, ...] | None = getattr(sizes, "values", None)
    if values is None or sum(values) == data.shape[0]:
        return None
    wanted = sum(values)
    return Unmet(
        PACKED_LENGTHS,
        f"{{op}} reads {wanted} steps, as the lengths say, the longest of them"
        f" {len(values)}, but {word(name)} has {data.shape[0]}: a length is longer than"
        " the padded sequence was",
        Place(name, 0),
        None,
        data.shape[0],
        wanted,
        (Grant(name, resized(data, 0, wanted)),),
        guessed=True,
    )


def _of_packed_states(
    data: Meta, sizes: Meta, states: Any, weights: Any, rest: tuple[Any, ...]
) -> Unmet | None:
    """Check the packed steps and states of a kernel; `rest` holds its settings."""
    if not isinstance(weights, tuple | list) or len(weights) < 2:
        return None
    first, second = weights[0], weights[1]
    wrong = _of_steps(data, "input", first.shape[1], first.dtype)
    wrong = wrong or _of_sum(data, "input", sizes)
    if wrong is not None or len(rest) < 5:
        return wrong
    rows = int(rest[1]) * (2 if rest[4] else 1)
    values: tuple[int, ...] = getattr(sizes, "values", None) or ()
    several = isinstance(states, tuple | list)
    hidden = [second.shape[1], first.shape[0] // 4]
    for n, state in enumerate(states if several else (states,)):
        name = f"params.{n}" if several else "params"
        if not is_tensor(state):
            continue
        batch = values[0] if values else (*state.shape, 1, 1)[1]
        wanted = rows, batch, hidden[n]
        more = n == 1 and state.shape[1:] == wanted[1:] and state.shape[0] > rows
        wrong = _of_packed_state(name, state, wanted) if not more else None
        if wrong is None and state.dtype != data.dtype:
            why = f"{{op}} computes in {data.dtype}"
            wrong = dtype_unmet(name, state, data.dtype, why, "input")
        if wrong is not None:
            return wrong
    return None


def _of_packed_state(name: str, state: Meta, wanted: tuple[int, ...]) -> Unmet | None:
    """Check that a state is `(layers·directions, batch, hidden)`."""
    shape = state.shape
    if shape == wanted:
        return None
    dim = differs(shape, wanted)
    return Unmet(
        HIDDEN_STATE_SHAPE,
        f"{{op}} needs a hidden state {text(wanted)} = (layers·directions, batch,"
        f" hidden), got {word(name)} {text(shape)}",
        Place(name, dim),
        None,
        text(shape) if dim is None else shape[dim],
        text(wanted) if dim is None else wanted[dim],
        (Grant(name, Made(wanted, state.dtype)),),
    )


@needs("torch._C._nn.pad_sequence")
def pad_sequence(sequences: Any, *rest: Any, **options: Any) -> Unmet | None:
    """Check that the sequences differ in their first dim only."""
    tensors = list(sequences) if isinstance(sequences, tuple | list) else []
    if not tensors or not all(is_tensor(tensor) and tensor.shape for tensor in tensors):
        return None
    wanted = tensors[0].shape[1:]
    for n, tensor in enumerate(tensors[1:], 1):
        tail, place = tensor.shape[1:], (tensor.shape[0], *wanted)
        back = zip(tensor.shape[::-1], place[::-1], strict=False)
        if len(tail) <= len(wanted) and all(a in (1, b) for a, b in back):
            continue
        dim = differs(tail, wanted)
        at = None if dim is None else dim + 1
        return Unmet(
            JOINED_SIZES_DIFFER,
            f"{{op}} pads dim 0 and needs equal sizes after it: {{sequences_0}} is"
            f" {text(tensors[0].shape)}, {{sequences_{n}}} is {text(tensor.shape)}",
            Place(f"sequences.{n}", at),
            Place("sequences.0", at),
            text(tensor.shape),
            text(tensors[0].shape),
            (Grant(f"sequences.{n}", Made((tensor.shape[0], *wanted), tensor.dtype)),),
            guessed=True,
        )
    return None


# -- layers and cells ------------------------------------------------------------------


@needs("torch.nn.RNN", "torch.nn.GRU")
def rnn(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check the features, and that each layer and direction has a hidden state."""
    wrong = _of_sequence(input, layer)
    if wrong is not None or not is_tensor(hx):
        return wrong
    return _of_state("hx", hx, input, layer, layer["hidden_size"])


@needs("torch.nn.LSTM")
def lstm(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check the features, and that a hidden state and a cell state are given."""
    wrong = _of_sequence(input, layer)
    if wrong is not None or hx is None:
        return wrong
    size = layer["proj_size"] or layer["hidden_size"]
    if is_tensor(hx):
        return Unmet(
            HIDDEN_STATE_SHAPE,
            f"{{op}} expects two states, `(h, c)`, got one tensor: {{hx}} is"
            f" {text(hx.shape)}",
            Place("hx"),
            has=1,
            needs=2,
        )
    if not isinstance(hx, tuple | list) or len(hx) != 2:
        return None
    first = _of_state("hx.0", hx[0], input, layer, size)
    return first or _of_state("hx.1", hx[1], input, layer, layer["hidden_size"])


def _of_sequence(input: Any, layer: Any) -> Unmet | None:
    """Check that the sequence has 2 or 3 dims, the last of which holds the features."""
    if _is_packed(input):
        features, dtype = layer["input_size"], layer.get("weight_dtype")
        wrong = _of_steps(input[0], "input.0", features, dtype)
        return wrong or _of_sum(input[0], "input.0", input[1])
    if not is_tensor(input):
        return None
    wrong = _of_weights("input", input, layer)
    if wrong is not None:
        return wrong
    shape, wanted = input.shape, layer["input_size"]
    rank = len(shape)
    order = "batch, time" if layer["batch_first"] else "time, batch"
    if rank not in (2, 3):
        grants: tuple[Grant, ...] = ()
        if rank == 1:
            grants = (Grant("input", Made((shape[0], wanted), input.dtype)),)
        elif rank == 4 and shape[-1] == wanted:
            merged = shape[0], shape[1] * shape[2], wanted
            grants = (Grant("input", Made(merged, input.dtype)),)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims ({order}, features), got {rank}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=rank,
            needs=3,
            grants=grants,
            guessed=True,
        )
    if shape[-1] == wanted:
        return None
    message = (
        f"{{op}} needs {wanted} input features, got {shape[-1]} in the last dim of"
    )
    message += f" {{input}} {text(shape)}"
    grant = resized(input, rank - 1, wanted)
    if rank == 3 and shape[1] == wanted:
        message += f": its dim 1 is {wanted}"
        grant = swapped(input, 1, 2)
    return Unmet(
        RNN_INPUT_SIZE,
        message,
        Place("input", rank - 1),
        has=shape[-1],
        needs=wanted,
        grants=(Grant("input", grant),),
    )


def _of_weights(name: str, tensor: Meta, layer: Any) -> Unmet | None:
    """Check the dtype of the weights, except for `c` of cells and projected LSTMs."""
    dtype = layer.get("weight_dtype", tensor.dtype)
    whole = layer.get("num_layers") and not layer.get("proj_size")
    if tensor.dtype == dtype or (name == "hx.1" and not whole):
        return None
    return dtype_unmet(name, tensor, dtype, f"{{op}} computes in {dtype}")


def _is_packed(input: Any) -> bool:
    """Return whether this is a `PackedSequence`, recorded as a tuple of four."""
    return isinstance(input, tuple) and len(input) == 4 and is_tensor(input[0])


def _of_state(name: str, state: Any, input: Any, layer: Any, size: int) -> Unmet | None:
    """Check that the state is `(layers·directions, batch, hidden)`; batch is dim 1."""
    rows = layer["num_layers"] * (2 if layer["bidirectional"] else 1)
    if _is_packed(input) and is_tensor(state):
        values = getattr(input[1], "values", None) or (*state.shape, 1, 1)[1:]
        return _of_packed_state(name, state, (rows, values[0], size))
    if not is_tensor(state) or not is_tensor(input):
        return None
    batched = len(input.shape) == 3
    batch = input.shape[0 if layer["batch_first"] else 1] if batched else None
    wanted = (rows, batch, size) if batch is not None else (rows, size)
    shape = state.shape
    if shape == wanted:
        return _of_weights(name, state, layer)
    message = f"{{op}} needs a hidden state {text(wanted)}"
    message += (
        " = (layers·directions, batch, hidden)" if batched else " without a batch"
    )
    message += f", got {{{name.replace('.', '_')}}} {text(shape)}"
    dim = differs(shape, wanted)
    if batched and dim is not None and (shape[1], shape[0]) == wanted[:2]:
        message += ": layers and batch are swapped"
    more = ""
    apart = input.shape[1 if layer["batch_first"] else 0]
    if batched and dim == 1 and shape[1] == apart:
        first = "batch" if layer["batch_first"] else "time"
        more = f"; `batch_first={layer['batch_first']}` reads {{input}}"
        more += f" {text(input.shape)} with the {first} first"
    return Unmet(
        HIDDEN_STATE_SHAPE,
        message + more,
        Place(name, dim),
        Place("input", (0 if layer["batch_first"] else 1)) if dim == 1 else None,
        text(shape) if dim is None else shape[dim],
        text(wanted) if dim is None else wanted[dim],
        (Grant(name, Made(wanted, state.dtype)),),
    )


@needs("torch.lstm", "torch.gru", "torch.rnn_tanh", "torch.rnn_relu")
def recurrent(input: Any, hx: Any, params: Any, *rest: Any) -> Unmet | None:
    """Check that all tensors share a dtype, and check the sizes of packed steps."""
    if is_tensor(hx) and rest and isinstance(rest[0], tuple | list):
        return _of_packed_states(input, hx, params, rest[0], rest[1:])
    if not is_tensor(input) or not isinstance(params, tuple | list) or not params:
        return None
    if input.dtype != params[0].dtype:
        why = f"{{op}} computes in {params[0].dtype}"
        return dtype_unmet("input", input, params[0].dtype, why, "params.0")
    states = hx if isinstance(hx, tuple | list) else (hx,)
    for n, state in enumerate(states):
        name = f"hx.{n}" if isinstance(hx, tuple | list) else "hx"
        if is_tensor(state) and state.dtype != input.dtype:
            why = f"{{op}} computes in {input.dtype}"
            return dtype_unmet(name, state, input.dtype, why, "input")
    return None


@needs("torch.nn.RNNCell", "torch.nn.GRUCell")
def cell(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check that a step is `(batch, features)` and its state `(batch, hidden)`."""
    wrong = _of_step(input, layer)
    if wrong is not None or not is_tensor(hx):
        return wrong
    return _of_cell_state("hx", hx, input, layer)


@needs("torch.nn.LSTMCell")
def lstm_cell(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check a single step with its hidden state and its cell state."""
    wrong = _of_step(input, layer)
    if wrong is not None or not isinstance(hx, tuple | list):
        return wrong
    for n, state in enumerate(hx):
        wrong = wrong or _of_cell_state(f"hx.{n}", state, input, layer)
    return wrong


def _of_step(input: Meta, layer: Any) -> Unmet | None:
    """Check that the input is a single step, without a time dim."""
    shape, wanted = input.shape, layer["input_size"]
    rank = len(shape)
    if rank not in (1, 2):
        fitting = Made((shape[0], shape[-1]) if rank > 2 else (wanted,), input.dtype)
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects one step (batch, features), got {dims(rank)}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=rank,
            needs=2,
            grants=(Grant("input", fitting),),
        )
    if shape[-1] == wanted:
        return _of_weights("input", input, layer)
    return Unmet(
        RNN_INPUT_SIZE,
        f"{{op}} needs {wanted} input features, got {shape[-1]} in {{input}}"
        f" {text(shape)}",
        Place("input", rank - 1),
        has=shape[-1],
        needs=wanted,
        grants=(Grant("input", resized(input, rank - 1, wanted)),),
    )


def _of_cell_state(name: str, state: Any, input: Meta, layer: Any) -> Unmet | None:
    """Check that the state of a cell is `(batch, hidden)`."""
    wanted = (*input.shape[:-1], layer["hidden_size"])
    shape = state.shape
    if shape == wanted:
        return _of_weights(name, state, layer)
    dim = differs(shape, wanted)
    return Unmet(
        HIDDEN_STATE_SHAPE,
        f"{{op}} needs a hidden state {text(wanted)}, got {{{name.replace('.', '_')}}}"
        f" {text(shape)}",
        Place(name, dim),
        Place("input", 0) if dim == 0 and len(wanted) == 2 else None,
        text(shape) if dim is None else shape[dim],
        text(wanted) if dim is None else wanted[dim],
        (Grant(name, Made(wanted, state.dtype)),),
    )


@needs(
    "torch.lstm_cell", "torch.gru_cell", "torch.rnn_tanh_cell", "torch.rnn_relu_cell"
)
def step(
    input: Meta, hx: Any, w_ih: Meta, w_hh: Meta, b_ih: Any = None, b_hh: Any = None
) -> Unmet | None:
    """Check the sizes of a single step against its weights."""
    wanted = w_ih.shape[1]
    rank = len(input.shape)
    if rank == 2 and input.shape[1] != wanted:
        return Unmet(
            RNN_INPUT_SIZE,
            f"{{op}} needs {wanted} input features, got {input.shape[1]} in {{input}}"
            f" {text(input.shape)}",
            Place("input", 1),
            Place("w_ih", 1),
            input.shape[1],
            wanted,
            (Grant("input", resized(input, 1, wanted)),),
        )
    states = hx if isinstance(hx, tuple | list) else (hx,)
    for n, state in enumerate(states):
        name = f"hx.{n}" if isinstance(hx, tuple | list) else "hx"
        wrong = None
        if is_tensor(state) and rank == 2 and len(state.shape) == 2:
            layer = {"hidden_size": w_hh.shape[1]}
            wrong = _of_cell_state(name, state, input, layer)
        if wrong is not None:
            return wrong
    return same_dtype(("input", input), ("w_ih", w_ih))
