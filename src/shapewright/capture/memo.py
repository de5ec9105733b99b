"""What is remembered of a call: its answer, by everything the answer depends on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shapewright.capture.identity import Meta, Metas

if TYPE_CHECKING:
    from shapewright.capture.hanging import Hanging
    from shapewright.capture.recurrent_layers import RecurrentPlan
    from shapewright.rules.needs.failure import Repair

NEW, VIEW, COPY, INPLACE, SAME, READ, OPAQUE = range(7)
KINDS = ("new", "view", "copy", "inplace", "same", "read", "opaque")


class Answer:
    """The answer to one call, shared by every later call with the same key.

    `arguments` is `(args, kwargs)` with metadata where tensors stood. `metas` and
    `grad_fns` belong to the tensors that come out, `template` to the nest they come in
    (None: one tensor). `raised` is the error that the call raises instead; `hidden` are
    the inputs that it writes besides (running statistics), by place among the tensors.
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


class Memo:
    """Answers and interned metadata. Two runs that share one ask each question once."""

    __slots__ = ("answers", "hung", "metas", "recurrent", "refused")

    def __init__(self) -> None:
        self.answers: dict[tuple[Any, ...], Answer] = {}
        self.metas: Metas = {}
        self.hung: dict[tuple[Any, ...], Hanging] = {}  # of runs with torch's graph
        self.recurrent: dict[tuple[Any, ...], RecurrentPlan] = {}
        self.refused: dict[tuple[Any, ...], set[Repair]] = {}  # of calls that failed
