"""A call that torch refused, as a run met it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from shapewright.rules.needs.unmet import Unmet

Kind = Literal[
    "values", "dtype", "contiguous", "size", "unsqueeze", "squeeze", "flatten",
    "permute", "argument",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Repair:
    """One change of one argument with which torch takes the call.

    `tensor` is its place among the op's inputs; -1 for `argument`, where `path` is the
    place in the call ("1", "dim"). `size`: dim `dim` was `old`, fits as `new`.
    `unsqueeze` and `squeeze` at `dim`; `flatten` from `dim` on; `permute` to the order
    `new`; `dtype` from `old` to `new`; `values`: an index that is out of range.
    """

    kind: Kind
    tensor: int
    dim: int | None = None
    old: Any = None
    new: Any = None
    path: str = ""
    parameter: bool = False


OF_HISTORY = (
    "backward through the graph a second time",
    "modified by an inplace operation",
    "does not require grad and does not have a grad_fn",
)
"""What torch says of a backward pass whose history is the matter, not a shape."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that torch refused.

    `op` is its place in `Trace.ops`. `arguments` name the op's inputs, in order, as the
    rule's signature does. `passed` says that the run went on with what `unmet` or the
    first of `repairs` makes. `guessed`: sizes of what the run went on with that no side
    decided. `chain` are the module calls around it, outermost first.
    """

    op: int
    error: str
    torch_message: str
    arguments: tuple[str, ...] = ()
    unmet: Unmet | None = None
    repairs: tuple[Repair, ...] = ()
    passed: bool = False
    guessed: tuple[int, ...] = ()

    @property
    def of_history(self) -> bool:
        """Whether no other shape would help: the graph is gone, or was written into."""
        return any(words in self.torch_message for words in OF_HISTORY)
