"""Failed calls as data: what a call needed and did not get, how to repair it, and
other causes that ended a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from shapewright.operators.metadata_rules import Made
from shapewright.record.ops import Fact


@dataclass(frozen=True, slots=True)
class Place:
    """An argument of a call, or one of its dims.

    `argument` is its name in the signature of the rule; `tensors.1` is the second of a
    list. `dim` counts from 0; None means the argument as a whole.
    """

    argument: str
    dim: int | None = None

    def __str__(self) -> str:
        return self.argument if self.dim is None else f"{self.argument}[{self.dim}]"


@dataclass(frozen=True, slots=True)
class Grant:
    """An argument replaced by one that the call would have accepted.

    `value` is a `Made` if the argument is a tensor, else the plain value; `argument` is
    named as in `Place`.
    """

    argument: str
    value: Any


@dataclass(frozen=True, slots=True)
class Unmet:
    """One requirement that a call does not meet.

    `message` is a lowercase sentence with names of arguments in braces, which are
    replaced by the user's own words: ``"{op} needs 400 input features, got 256"``;
    `{op}` is the layer or the function. `got` is the place of the value that does not
    fit, `wanted` the place that set the expectation (a parameter, another tensor, an
    argument); `has` and `needs` are the two values. `grants` are arguments that would
    have fitted: torch computes the output with them, and the run continues with it.
    `makes` are the outputs, if no arguments can give them. `guessed` is True if neither
    side is known to be right (`a + b`): the output may then be wrong, and a later
    failure may only follow from it. `lines` are shown below the message: aligned
    shapes, arithmetic; they have the same names in braces, at their ends, so that
    columns stay aligned. `least` and `most` are the smallest and the largest of the
    values of which `has` is the first that does not fit.
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
    most: int | None = None
    least: int | None = None


Kind = Literal[
    "values", "dtype", "contiguous", "size", "unsqueeze", "squeeze", "flatten",
    "permute", "argument",
]  # fmt: skip


RANK_KINDS: tuple[Kind, ...] = ("squeeze", "flatten", "unsqueeze")
"""Kinds of repairs that change the rank; those that remove dims come first."""
MOVING_KINDS: frozenset[Kind] = frozenset({"unsqueeze", "squeeze", "permute"})
"""Kinds of repairs that add, remove or reorder dims and keep sizes."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A change of one argument with which torch accepts the call.

    `tensor` is its position among the op's inputs; -1 for `argument`, where `path` is
    its position in the call ("1", "dim"). `size`: dim `dim` was `old` and fits as
    `new`. `unsqueeze` and `squeeze` act at `dim`; `flatten` from `dim` on; `permute` to
    the order `new`; `dtype` from `old` to `new`; `values`: an index is out of range.
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
    "leaf Variable that requires grad",
    "is a view and is being modified inplace",
    "differentiated Tensors does not require grad",
    "appears to not have been used in the graph",
    "returned an invalid gradient at index",
    "returned an incorrect number of gradients",
    "returned a gradient different than None",
    "can only change requires_grad flags of leaf",
    "Inference tensors cannot be saved",
    "inference tensor outside InferenceMode",
)
"""Parts of torch's messages about a call that autograd refuses for its history."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that torch rejected.

    `op` is its index in `Trace.ops`. `arguments` name the op's inputs, in order, as the
    rule's signature does. `passed` is True if the run continued with the output that
    `unmet` or the first of `repairs` gives. `guessed` are sizes of that output that no
    argument determines. `lengths` are those of dicts and tokenizers by their names, of
    a lookup that has too few rows.
    """

    op: int
    error: str
    torch_message: str
    arguments: tuple[str, ...] = ()
    unmet: Unmet | None = None
    repairs: tuple[Repair, ...] = ()
    passed: bool = False
    guessed: tuple[int, ...] = ()
    lengths: tuple[tuple[str, int], ...] = ()

    @property
    def of_history(self) -> bool:
        """Return whether the autograd graph (freed or modified) is at fault."""
        return any(words in self.torch_message for words in OF_HISTORY)


NUMBERS = re.compile(r"\[[\d, ]*\]|\([\d, ]*\)|\d+")
"""Sizes and lists of sizes in a message of torch."""


def get_refusal(error: str, message: str, needed: Unmet | None) -> str:
    """Return an error's type, torch's message without its numbers, and the code of what
    was needed: what is the same for a call that is refused again, of other sizes.

    >>> get_refusal("IndexError", "Target 4 is out of bounds.", None)
    'IndexError: Target # is out of bounds. '
    """
    words = NUMBERS.sub("#", message)
    return f"{error}: {words} {needed.code if needed is not None else ''}"


@dataclass(frozen=True, slots=True)
class Ending:
    """The innermost frame of the program when it raised an error.

    `tensors` and `values` hold what names in the frame referred to: `x`, `self.n`,
    `parts[0]`; values are only numbers, short texts and tuples of numbers. `library` is
    True if that frame, or the caller of the one that raised, is an installed library's.
    `libraries` are the files of installed libraries that were running, the last inside.
    """

    error: str
    message: str
    tensors: Mapping[str, Fact]
    values: Mapping[str, Any]
    library: bool = False
    libraries: tuple[str, ...] = ()


Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Misloaded:
    """A `state_dict` that `load_state_dict` rejected, or of which it took hardly a key.

    `missing` are the model's keys that the dict lacks, `unexpected` the dict's keys
    that the model lacks; `resized` holds tuples of key, the model's shape and the
    dict's shape. `keys` is the number of the model's keys. `path` is the expression,
    such as ``["model"]``, that leads from what was given to the state dict inside it;
    `holds` says what was given where it holds no weights ("optimizer"). Where
    `strict=False` let it pass, `matched` of the `given` keys are the model's.
    `pairs` says that the missing and the unexpected tensors have the same shapes, so
    that other keys may be all that differs.
    """

    class_name: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    resized: tuple[tuple[str, Shape, Shape], ...]
    keys: int
    torch_message: str
    path: str = ""
    holds: str = ""
    matched: int | None = None
    given: int = 0
    pairs: bool = True


def prefix_of(loaded: Misloaded) -> tuple[str, str]:
    """Return the key prefix that only the dict has and the one that only the model has.

    Example: ``("module.", "")`` if the dict was saved from `nn.DataParallel`.
    """
    for theirs in loaded.unexpected[:1]:
        for ours in loaded.missing:
            if theirs.endswith(ours):
                more = theirs.removesuffix(ours)
                if {key.removeprefix(more) for key in loaded.unexpected} == set(
                    loaded.missing
                ):
                    return more, ""
            if ours.endswith(theirs):
                more = ours.removesuffix(theirs)
                if {f"{more}{key}" for key in loaded.unexpected} == set(loaded.missing):
                    return "", more
    return "", ""
