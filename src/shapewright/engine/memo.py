"""Memoized answers to calls, keyed by everything on which an answer depends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine.identity import Meta, Metas

if TYPE_CHECKING:
    from shapewright.engine.layers.recurrent_graphs import Layout, Mirror
    from shapewright.operators.failed_calls import Repair


NEW, VIEW, COPY, INPLACE, SAME, READ, OPAQUE = range(7)
_LISTS = (tuple, list)
_PLAIN = (bool, int, float, str, type(None))
"""Tuples of types: `tuple | list` would be made anew at each call."""

KINDS = ("new", "view", "copy", "inplace", "same", "read", "opaque")


class Answer:
    """The answer to one call, shared by every later call with the same key.

    `arguments` is `(args, kwargs)` with metadata where tensors stood. `metas` and
    `grad_fns` describe the output tensors, `template` their nest (None: one tensor).
    `raised` is the error that the call raises instead; `hidden` are the indices of
    further inputs that it writes (running statistics), among the tensors.
    """

    __slots__ = (
        "arguments",
        "flops",
        "func",
        "grad_fns",
        "hidden",
        "kind",
        "metas",
        "notes",
        "raised",
        "template",
        "written",
    )

    def __init__(
        self,
        func: Any,
        arguments: tuple[tuple[Any, ...], dict[str, Any]],
        kind: int,
        metas: tuple[Meta, ...] = (),
        grad_fns: tuple[str | None, ...] = (),
        template: Any = None,
        flops: int | None = None,
        notes: tuple[str, ...] = (),
        written: int | None = None,
    ) -> None:
        self.func = func
        self.arguments = arguments
        self.kind = kind
        self.metas = metas
        self.grad_fns = grad_fns
        self.template = template
        self.flops = flops
        self.notes = notes
        self.written = written
        self.raised: BaseException | None = None
        self.hidden: tuple[int, ...] = ()


class Hanging:
    """A memoized answer with its autograd graph.

    `reached` are the indices of the inputs that get gradients; `saved` and `made` are
    the indices of the inputs and outputs that backward reads.
    """

    __slots__ = ("answer", "groups", "made", "reached", "saved", "template")

    def __init__(
        self,
        answer: Answer,
        template: Any,
        reached: tuple[int, ...],
        saved: tuple[int, ...],
        made: tuple[int, ...],
    ) -> None:
        self.answer = answer
        self.template = template
        self.reached = reached
        self.saved = saved
        self.made = made
        by_node: dict[str, list[int]] = {}
        for at, node in enumerate(answer.grad_fns):
            by_node.setdefault(node or next(iter(answer.grad_fns)) or "", []).append(at)
        self.groups = [(node, tuple(places)) for node, places in by_node.items()]

    def for_answer(self, answer: Answer) -> Hanging:
        """Return the same graph for an answer with other arguments."""
        return Hanging(answer, self.template, self.reached, self.saved, self.made)


class RecurrentPlan:
    """A memoized recurrent call: its answer and, for gradients, a miniature's graph.

    Its nodes return tensors of the `layouts`; the output may be a view of the first.
    """

    __slots__ = ("answer", "is_view", "layouts", "mirror")

    def __init__(
        self,
        answer: Answer,
        mirror: Mirror | None = None,
        layouts: list[Layout] | None = None,
        is_view: bool = False,
    ) -> None:
        self.answer = answer
        self.mirror = mirror
        self.layouts = layouts or []
        self.is_view = is_view


class Search:
    """The changes that were tried of a call that torch refuses: with `accepted` ones it
    takes the call. After the search `is_over` no others are tried.
    """

    __slots__ = ("accepted", "is_over", "refused")

    def __init__(self) -> None:
        self.accepted: list[Repair] = []
        self.refused: set[Repair] = set()
        self.is_over = False


class Memo:
    """Memoized answers and interned metadata, which several runs may share."""

    __slots__ = ("answers", "hung", "metas", "recurrent", "searches", "writes")

    def __init__(self) -> None:
        self.answers: dict[tuple[Any, ...], Answer] = {}
        self.metas: Metas = {}
        self.hung: dict[tuple[Any, ...], Hanging] = {}  # of runs with torch's graph
        self.writes: dict[tuple[Any, ...], Answer] = {}  # the same, of in-place calls
        self.recurrent: dict[tuple[Any, ...], RecurrentPlan] = {}
        self.searches: dict[tuple[Any, ...], Search] = {}  # of calls that failed

    def forget(self, is_of: Callable[[Any], bool]) -> None:
        """Forget the answers of functions: of those that refuse values which another
        run may give them.
        """
        for answers in (self.answers, self.hung, self.writes):
            for key in [key for key in answers if is_of(key[0])]:
                answers.pop(key)


def get_arguments(answer: Answer) -> tuple[tuple[str, Any], ...]:
    """Return the non-tensor arguments, by position or by name."""
    args, kwargs = answer.arguments
    arguments = [
        (str(i), _make_readable(v)) for i, v in enumerate(args) if not _is_of_tensors(v)
    ]
    arguments += [
        (name, _make_readable(v)) for name, v in kwargs.items() if not _is_of_tensors(v)
    ]
    return tuple(arguments)


def _is_of_tensors(value: Any) -> bool:
    if isinstance(value, Meta):
        return True
    return (
        isinstance(value, _LISTS)
        and bool(value)
        and all(_is_of_tensors(item) for item in value)
    )


def _make_readable(value: Any) -> Any:
    """Return a plain value unchanged and any other value as text."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Meta):
        return "tensor"
    if isinstance(value, _LISTS):
        items = [_make_readable(item) for item in value[:100]]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, slice):
        parts = [value.start, value.stop, value.step]
        texts = ["" if part is None else str(_make_readable(part)) for part in parts]
        return ":".join(texts[:2] if value.step is None else texts)
    if value is ...:
        return "..."
    if isinstance(value, PLAIN_OF_TORCH):
        return str(value).removeprefix("torch.")
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    name = type(value).__name__
    return f"<ndarray of {value.dtype}>" if name == "ndarray" else f"<{name}>"


PLAIN_OF_TORCH = torch.dtype | torch.device | torch.layout | torch.memory_format
UNTOLD = "?"
"""The place of a tensor whose place in the call is unknown."""


def find_places(answer: Answer, count: int) -> tuple[str, ...]:
    """Return the place in the call of each of its `count` tensors.

    Empty if they fill, in order, the positions that other arguments leave free.
    """
    args, kwargs = answer.arguments
    places = [
        place for n, value in enumerate(args) for place in _iter_places(value, str(n))
    ]
    for name, value in kwargs.items():
        places += _iter_places(value, name)
    if len(places) != count:
        return (UNTOLD,) * count
    free = [str(n) for n, value in enumerate(args) if isinstance(value, Meta)]
    return () if places == free else tuple(places)


def _iter_places(value: Any, place: str) -> Iterator[str]:
    if isinstance(value, Meta):
        yield place
    elif isinstance(value, _LISTS):
        for n, item in enumerate(value):
            yield from _iter_places(item, f"{place}.{n}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _iter_places(item, f"{place}.{key}")
    elif isinstance(value, slice):
        for item in (value.start, value.stop, value.step):
            yield from _iter_places(item, f"{place}.{UNTOLD}")
