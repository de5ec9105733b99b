"""`explain` draws a typed call or a line of a program; `with sw.explaining():` adds a
note to an error of a real run.

The note costs nothing, and imports nothing, until an error leaves the block.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from inspect import CO_COROUTINE
from os import getcwd, sep
from os.path import abspath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from shapewright.record.trace import Trace

if TYPE_CHECKING:
    from shapewright.index_maps.drawn_calls import Drawn
    from shapewright.inputs.program_lines import Line
    from shapewright.runtime.operator_calls.recorded_calls import Watch
    from shapewright.views.drawing.drawing import Drawing
    from shapewright.views.drawing.line_page import DrawnLine


def draw_line(line: Line, trace: Trace, watch: Watch) -> DrawnLine:
    """Draw the calls of a line, after running each of them again."""
    from shapewright.runtime.operator_calls.recorded_calls import replay_call
    from shapewright.views.drawing.line_calls import (
        find_line_calls,
        find_nearest,
        find_variants,
    )
    from shapewright.views.drawing.line_page import (
        MOST_STEPS,
        DrawnLine,
        DrawnStep,
        name_tensors,
    )

    file = abspath(line.file).removeprefix(f"{getcwd()}{sep}")
    calls = find_line_calls(trace, file, line.text, line.number)
    states = [state.fact.tensor for state in trace.states]
    steps = []
    for step in calls.steps[:MOST_STEPS]:
        done = replay_call(step.shown, watch.get_known(step.shown, trace.ops))
        drawn = name_tensors(step, done.drawn, done.order, done.known)
        steps.append(DrawnStep(step, drawn, tuple(find_variants(step, states))))
    text = line.text.splitlines()
    near = [] if steps else find_nearest(trace, file, line.number)
    return DrawnLine(
        f"{line.file}:{line.number}", file, line.target, calls, tuple(steps),
        near=tuple((number, text[number - 1].strip()) for number in near),
        ended=None if trace.complete else trace.findings[-1],
        assumed=tuple(assumption.message for assumption in trace.assumptions
                      if assumption.span is None),
    )  # fmt: skip


def draw_text(text: str) -> Drawing:
    """Return the drawing of a call given as text; a lone tensor is drawn with its
    storage, a name by an example.
    """
    from shapewright.inputs.operator_calls import list_chain, parse_call
    from shapewright.views.drawing.drawing import Drawing

    example = _draw_example(text)
    if example is not None:
        return example
    call = parse_call(text)
    if call.name != "tensor":
        drawn = explain_call(text)
        return Drawing(drawn, _draw_steps(list_chain(call)[:-1]))
    from shapewright.runtime.operator_calls.live_tensors import describe_typed

    (leaf,) = call.leaves()
    return Drawing(describe_typed(leaf.shape, leaf.dtype, leaf.letters, call.chosen))


MOST_STEPS_BEFORE = 12
"""Calls of a chain that are drawn before the last one, at most."""


def _draw_steps(calls: list[Any]) -> tuple[Drawn, ...]:
    """Return the calls of a chain before its last one, each run and drawn."""
    from shapewright.runtime.operator_calls.operator_names import Unknown
    from shapewright.runtime.operator_calls.typed_calls import perform_call

    steps = []
    for call in calls[:MOST_STEPS_BEFORE]:
        try:
            steps.append(perform_call(call))
        except Unknown:  # the last call has told of it
            break
    return tuple(steps)


def _draw_example(text: str) -> Drawing | None:
    """Return the drawing of an example of an operator, if the text is its name."""
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.spec_syntax import DTYPES
    from shapewright.operators.example_calls import list_examples
    from shapewright.views.drawing.drawing import Drawing

    if text.strip() in DTYPES:
        return None
    best, tried = None, False
    for call in list_examples(text):
        tried = True
        try:
            drawn = explain_call(call)
        except InputError:
            continue
        if drawn.maps:
            return Drawing(drawn)
        if not drawn.error and best is None:
            best = Drawing(drawn)
    if tried and best is None:
        raise InputError(_describe_unknown_word(text.strip()))
    return best


def _describe_unknown_word(word: str) -> str:
    """Return that a word is the name of nothing that is explained, with one like it."""
    from shapewright.findings.codes import CODES
    from shapewright.inputs.errors import suggest_name
    from shapewright.inputs.operator_calls import AS_CALL
    from shapewright.operators.example_calls import EXAMPLES

    hint = suggest_name(word.rpartition(".")[2], sorted({*EXAMPLES, *CODES}))
    return f"no operator and no finding is named `{word}`{hint or f'; {AS_CALL}'}"


def explain_call(text: str) -> Drawn:
    """Show what an operator does with each element: ``explain_call("f32[3, 1] +
    f32[4]")``.

    The call is read as data and run on made-up values; see `shapewright explain`.
    Raises `InputError` for text that is not a call of a known operator.
    """
    from shapewright.inputs.errors import InputError
    from shapewright.inputs.operator_calls import parse_call

    call = parse_call(text)
    from shapewright.runtime.operator_calls.operator_names import (
        Unknown,
        describe_unknown_name,
        is_layer,
    )
    from shapewright.runtime.operator_calls.typed_calls import perform_call

    try:
        return perform_call(call)
    except Unknown as unknown:
        message = describe_unknown_name(unknown.name)
        if is_layer(unknown.name):
            message = f"`{unknown.name}` is a layer; call it with its input: "
            message += f"`{text.strip()}(f32[8, 3])`"
        raise InputError(message, text, max(text.find(unknown.name), 0)) from None


CAUSES = 4
"""Errors of a chain of `raise ... from ...` that are looked at."""


class Explaining(ContextDecorator):
    """The context manager of `shapewright.explaining`, also usable as a decorator."""

    __slots__ = ()

    def __enter__(self) -> Explaining:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            add_note(error)

    def __call__(self, function: Callable[..., Any]) -> Any:
        """Return a function that runs inside the block; a coroutine stays in the block
        to its end.
        """
        code = getattr(function, "__code__", None)  # a layer has none
        if code is None or not code.co_flags & CO_COROUTINE:
            return super().__call__(function)

        @wraps(function)
        async def inner(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        return inner


def add_note(error: BaseException) -> None:
    """Add the explanation to a torch error, or to the error that caused it."""
    cause: BaseException | None = error
    for _ in range(CAUSES):
        if not isinstance(cause, Exception) or "torch" not in sys.modules:
            return
        if _is_noted(cause):
            return
        text = _build_note(cause)
        if text:
            cause.add_note(text)
            return
        cause = cause.__cause__


def _is_noted(error: Exception) -> bool:
    """Return whether an error already has its explanation."""
    notes = getattr(error, "__notes__", ())
    return any(isinstance(note, str) and note.startswith(OURS) for note in notes)


OURS = ("error[", "shapewright: ")
"""What our notes begin with."""


def _build_note(error: Exception) -> str:
    """Return the note on an error; empty if there is no explanation, one short line for
    a bug of ours.
    """
    try:
        from shapewright.commands.check import explain_real_error
        from shapewright.views.terminal.findings import format_note

        explanation = explain_real_error(error)
        if explanation is None:
            return ""
        finding, trace, tried = explanation
        return format_note(finding, trace, unicode=_can_show_unicode(), tried=tried)
    except Exception as fault:  # ours: the program's own exception is what counts
        from shapewright.findings.faults import raise_in_tests

        raise_in_tests(fault)
        message = " ".join(str(fault).split())
        return f"shapewright: not explained ({type(fault).__name__}: {message:.60})"


def _can_show_unicode() -> bool:
    """Return whether stderr, where errors are printed, can show the box-drawing
    line.
    """
    try:
        "│".encode(getattr(sys.stderr, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
