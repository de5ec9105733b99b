"""Checks of recurrent layers and cells: features and the shape of hidden states."""

from __future__ import annotations

from typing import Any

from shapewright.findings.codes import (
    DTYPE_MISMATCH,
    HIDDEN_STATE_SHAPE,
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
)
from shapewright.operators.needs_registry import needs
from shapewright.operators.recurrent.packing_needs import (
    of_packed_state,
    of_packed_states,
    of_steps,
    of_sum,
)


@needs("torch.nn.RNN", "torch.nn.GRU")
def rnn(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check the features, and for a hidden state per layer and direction."""
    wrong = _of_sequence(input, layer)
    if wrong is not None or not is_tensor(hx):
        return wrong
    return _of_state("hx", hx, input, layer, layer["hidden_size"])


@needs("torch.nn.LSTM")
def lstm(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check the features, and for a pair of hidden state and cell state."""
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
    """Check for a sequence of 2 or 3 dims whose last dim holds the features."""
    if _is_packed(input):
        features, dtype = layer["input_size"], layer.get("weight_dtype")
        wrong = of_steps(input[0], "input.0", features, dtype)
        return wrong or of_sum(input[0], "input.0", input[1])
    if not is_tensor(input):
        return None
    wrong = _of_weights("input", input, layer)
    if wrong is not None:
        return wrong
    shape, wanted = input.shape, layer["input_size"]
    rank = len(shape)
    order = "batch, time" if layer["batch_first"] else "time, batch"
    if rank not in (2, 3):
        made: tuple[Grant, ...] = ()
        if rank == 1:
            made = (Grant("input", Made((shape[0], wanted), input.dtype)),)
        elif rank == 4 and shape[-1] == wanted:
            made = (
                Grant(
                    "input", Made((shape[0], shape[1] * shape[2], wanted), input.dtype)
                ),
            )
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects 3 dims ({order}, features), got {rank}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=rank,
            needs=3,
            grants=made,
            guessed=True,
        )
    if shape[-1] == wanted:
        return None
    said = f"{{op}} needs {wanted} input features, got {shape[-1]} in the last dim of"
    said += f" {{input}} {text(shape)}"
    grant = resized(input, rank - 1, wanted)
    if rank == 3 and shape[1] == wanted:
        said += f": its dim 1 is {wanted}"
        grant = swapped(input, 1, 2)
    return Unmet(
        RNN_INPUT_SIZE,
        said,
        Place("input", rank - 1),
        has=shape[-1],
        needs=wanted,
        grants=(Grant("input", grant),),
    )


def _of_weights(name: str, given: Meta, layer: Any) -> Unmet | None:
    """Check for the weights' dtype, but not for `c` of cells and projected LSTMs."""
    dtype = layer.get("weight_dtype", given.dtype)
    whole = layer.get("num_layers") and not layer.get("proj_size")
    if given.dtype == dtype or (name == "hx.1" and not whole):
        return None
    return dtype_unmet(name, given, dtype, f"{{op}} computes in {dtype}")


def _is_packed(input: Any) -> bool:
    """Return whether this is a `PackedSequence`, recorded as a tuple of four."""
    return isinstance(input, tuple) and len(input) == 4 and is_tensor(input[0])


def _of_state(name: str, state: Any, input: Any, layer: Any, size: int) -> Unmet | None:
    """Check the state: `(layers·directions, batch, hidden)`, batch always in dim 1."""
    rows = layer["num_layers"] * (2 if layer["bidirectional"] else 1)
    if _is_packed(input) and is_tensor(state):
        values = getattr(input[1], "values", None) or (*state.shape, 1, 1)[1:]
        return of_packed_state(name, state, (rows, values[0], size))
    if not is_tensor(state) or not is_tensor(input):
        return None
    batched = len(input.shape) == 3
    batch = input.shape[0 if layer["batch_first"] else 1] if batched else None
    wanted = (rows, batch, size) if batch is not None else (rows, size)
    shape = state.shape
    if shape == wanted:
        return _of_weights(name, state, layer)
    said = f"{{op}} needs a hidden state {text(wanted)}"
    said += " = (layers·directions, batch, hidden)" if batched else " without a batch"
    said += f", got {{{name.replace('.', '_')}}} {text(shape)}"
    dim = differs(shape, wanted)
    if batched and dim is not None and (shape[1], shape[0]) == wanted[:2]:
        said += ": layers and batch are the other way round"
    more = ""
    if (
        batched
        and dim == 1
        and shape[1] == input.shape[1 if layer["batch_first"] else 0]
    ):
        first = "batch" if layer["batch_first"] else "time"
        more = f"; `batch_first={layer['batch_first']}` reads {{input}}"
        more += f" {text(input.shape)} with the {first} first"
    return Unmet(
        HIDDEN_STATE_SHAPE,
        said + more,
        Place(name, dim),
        Place("input", (0 if layer["batch_first"] else 1)) if dim == 1 else None,
        text(shape) if dim is None else shape[dim],
        text(wanted) if dim is None else wanted[dim],
        (Grant(name, Made(wanted, state.dtype)),),
    )


@needs("torch.lstm", "torch.gru", "torch.rnn_tanh", "torch.rnn_relu")
def recurrent(input: Any, hx: Any, params: Any, *rest: Any) -> Unmet | None:
    """Check for a common dtype, and the sizes of packed steps."""
    if is_tensor(hx) and rest and isinstance(rest[0], tuple | list):
        return of_packed_states(input, hx, params, rest[0], rest[1:])
    if not is_tensor(input) or not isinstance(params, tuple | list) or not params:
        return None
    if input.dtype != params[0].dtype:
        why = f"{{op}} computes in {params[0].dtype}"
        return dtype_unmet("input", input, params[0].dtype, why, "params.0")
    states = hx if isinstance(hx, tuple | list) else (hx,)
    for n, state in enumerate(states):
        name = f"hx.{n}" if isinstance(hx, tuple | list) else "hx"
        if is_tensor(state) and state.dtype != input.dtype:
            return Unmet(
                DTYPE_MISMATCH,
                f"{{op}} computes in {input.dtype}, but {{{name.replace('.', '_')}}} is"
                f" {state.dtype}",
                Place(name),
                Place("input"),
                state.dtype,
                input.dtype,
                (Grant(name, Made(state.shape, input.dtype)),),
            )
    return None


@needs("torch.nn.RNNCell", "torch.nn.GRUCell")
def cell(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check a single step: `(batch, features)` and `(batch, hidden)`."""
    wrong = _of_step(input, layer)
    if wrong is not None or not is_tensor(hx):
        return wrong
    return _of_cell_state("hx", hx, input, layer)


@needs("torch.nn.LSTMCell")
def lstm_cell(input: Meta, hx: Any = None, *, layer: Any = None) -> Unmet | None:
    """Check a single step, its hidden state and its cell state."""
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
        made = (
            Made((shape[0], shape[-1]), input.dtype)
            if rank > 2
            else Made((wanted,), input.dtype)
        )
        return Unmet(
            WRONG_RANK,
            f"{{op}} expects one step (batch, features), got {dims(rank)}: {{input}} is"
            f" {text(shape)}",
            Place("input"),
            has=rank,
            needs=2,
            grants=(Grant("input", made),),
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
