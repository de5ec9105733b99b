"""What stands beside the picture of a call: autograd, dispatch, where it was made.

All of it was observed: the call ran with gradients asked for, and torch told what it
kept, what it gave back, and through which of its own operators it went.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kept:
    """A tensor that stays in memory from the forward call until backward.

    `name` is that of the input or output which it is, or whose storage it looks at
    (`view`); empty for one of its own, which costs `nbytes` more.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    nbytes: int
    view: bool = False


@dataclass(frozen=True, slots=True)
class Gradient:
    """What backward gives an input: a shape, or None and the reason."""

    name: str
    shape: tuple[int, ...] | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Autograd:
    """One call as autograd records it, with a gradient asked for every input.

    `nodes` are the names of what backward runs, the output's own first. `written` are
    the inputs whose version went up, with the versions before and after. `refused`
    are writes in place that torch does not take, each with its message. `reason` says
    why there is no gradient.
    """

    nodes: tuple[str, ...] = ()
    kept: tuple[Kept, ...] = ()
    gradients: tuple[Gradient, ...] = ()
    written: tuple[tuple[str, int, int], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Called:
    """One of torch's own operators on the way, `depth` calls below the function.

    `keys` are the dispatch keys with a kernel that it went through. A `composite`
    operator has no kernel of its own: it is the calls that follow, one deeper.
    """

    name: str
    depth: int
    keys: tuple[str, ...] = ()
    composite: bool = False


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The way from Python to the kernels, in the order of the calls."""

    calls: tuple[Called, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Beside:
    """All that stands beside one picture.

    `flops` is what the record of a trace counts for the call, None where it has no
    formula. `device` is that of the first output, `default` the dtype that torch gives
    to floats nobody asked a dtype for.
    """

    autograd: Autograd
    dispatch: Dispatch
    flops: int | None = None
    device: str = "cpu"
    default: str = "float32"
