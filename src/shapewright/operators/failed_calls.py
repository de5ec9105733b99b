"""Failed calls as data: what a call needed and did not get, how it can be repaired, and
what else stopped a run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shapewright.operators.metadata_rules import Made
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class Place:
    """An argument of a call, or one dim of it.

    `argument` is its name in the signature of the rule; `tensors.1` is the second of a
    list. `dim` counts from 0; None means the argument as a whole.
    """

    argument: str
    dim: int | None = None

    def __str__(self) -> str:
        return self.argument if self.dim is None else f"{self.argument}[{self.dim}]"


@dataclass(frozen=True, slots=True)
class Grant:
    """An argument as the call would have taken it.

    `value` is a `Made` where the argument is a tensor, else the plain value;
    `argument` is named as in `Place`.
    """

    argument: str
    value: Any


@dataclass(frozen=True, slots=True)
class Unmet:
    """One thing that does not fit in a call.

    `message` is a lowercase sentence with names of arguments in braces, which are
    replaced by the user's own words: ``"{op} needs 400 input features, got 256"``;
    `{op}` is the layer or the function. `got` is where the value stands that does not
    fit, `wanted` where the expectation was decided (a parameter, another tensor, an
    argument); `has` and `needs` are the two values. `grants` are the arguments as they
    would have fitted: with them torch itself says what comes out, and the run goes on
    with that. `makes` says it where no arguments can. `guessed` says that no side
    decides (`a + b`): then what comes out may be wrong, and what fails because of it
    only follows. `lines` go below the message: shapes lined up, arithmetic; they have
    the same names in braces, at their ends, so that columns stay lined up.
    """

    code: str
    message: str
    got: Place | None = None
    wanted: Place | None = None
    has: int | str | None = None
    needs: int | str | None = None
    grants: tuple[Grant, ...] = ()
    makes: tuple[Made, ...] = ()
    guessed: bool = False
    lines: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Ending:
    """The innermost frame of the program when it raised.

    `tensors` and `values` are what names in it meant: `x`, `self.n`, `parts[0]`; of
    values only numbers, short texts and tuples of numbers. `library`: it was an
    installed library's frame that raised, or called what raised.
    """

    error: str
    message: str
    tensors: Mapping[str, Fact]
    values: Mapping[str, Any]
    library: bool = False


Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misloaded:
    """What `load_state_dict` refused.

    `missing` are the model's keys that the dict lacks, `unexpected` the dict's keys
    that the model lacks; `resized` are key, the model's shape and the dict's shape.
    `keys` is how many the model has.
    """

    class_name: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    resized: tuple[tuple[str, Shape, Shape], ...]
    keys: int
    torch_message: str


def prefix_of(one: Misloaded) -> tuple[str, str]:
    """What the dict's keys and the model's keys begin with that the others lack.

    Example: ``("module.", "")`` where the dict was saved from `nn.DataParallel`.
    """
    for theirs in one.unexpected[:1]:
        for ours in one.missing:
            if theirs.endswith(ours):
                more = theirs.removesuffix(ours)
                if {key.removeprefix(more) for key in one.unexpected} == set(
                    one.missing
                ):
                    return more, ""
            if ours.endswith(theirs):
                more = ours.removesuffix(theirs)
                if {f"{more}{key}" for key in one.unexpected} == set(one.missing):
                    return "", more
    return "", ""
