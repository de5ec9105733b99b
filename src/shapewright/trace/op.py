"""One call that the user's program made on tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shapewright.source.span import Frame, Span
from shapewright.trace.fact import Fact

Kind = Literal["new", "view", "copy", "inplace", "same", "read", "opaque"]
"""new: computed into new storage. view: shares an input's storage. copy: an op that may
alias (reshape, contiguous, to) but here wrote new storage. inplace: wrote an input.
same: returned its input itself. read: gave Python a value or a size. opaque: seen only
from outside (scripted code)."""


@dataclass(frozen=True, slots=True)
class Op:
    """One tensor call as the user wrote it.

    Example: ``F.relu(self.fc1(x))`` makes two ops, ``F.linear`` in module ``fc1`` and
    ``F.relu`` in the root module, both with a span on that line.

    `arguments` are the non-tensor arguments as (name, value): the name of a keyword,
    else its position as text ("0" is the first argument of the call); values are plain
    Python values or their text. `inputs` are the tensors in the order of the call,
    those in lists included. `places` says where each of them stands in the call ("0",
    "1.0" in a list, "index" by keyword); empty where they fill, in order, the positions
    that `arguments` leave free. `function` is torch's own function, where `name` does
    not tell: `-` is ``torch.Tensor.__rsub__`` in ``1 - x``. `view_of` is the `tensor`
    number of the input whose storage it shares. `flops` counts a multiply-add as 2, by
    torch's own formulas; None means not counted (torch has no formula for it;
    elementwise work is not counted by them). `bytes_read` and `bytes_written` are 0 for
    a view. `frames` are the user's frames, outermost first; `span` is the innermost of
    them that belongs to the user.
    """

    index: int
    name: str
    inputs: tuple[Fact, ...]
    outputs: tuple[Fact, ...]
    arguments: tuple[tuple[str, Any], ...]
    kind: Kind
    view_of: int | None
    span: Span | None
    frames: tuple[Frame, ...]
    module: str
    call: int
    flops: int | None
    bytes_read: int
    bytes_written: int
    notes: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    function: str = ""
