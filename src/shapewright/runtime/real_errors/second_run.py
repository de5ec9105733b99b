"""Run the call that ended a real run again, without data."""

from __future__ import annotations

import ast
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from types import CodeType, MethodType
from typing import Any, TypeVar

import torch
from torch import nn

from shapewright.engine.call_sites import TORCH
from shapewright.engine.engine import EngineOptions, GoingOn
from shapewright.engine.failures.constructions import compare_state_dict
from shapewright.engine.replacement import limit_to_one_thread
from shapewright.operators.failed_calls import Failure, Misloaded
from shapewright.program.source_text import COMPREHENSIONS, SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.record.trace import Trace
from shapewright.runtime.processes.forks import Children
from shapewright.runtime.real_errors.guards import StepGuards, StepRefused
from shapewright.runtime.real_errors.layer_owners import (
    Owner,
    find_owner,
    make_relative,
)
from shapewright.runtime.real_errors.rewritten_expressions import (
    PREFIX,
    Unsafe,
    compile_expression,
)
from shapewright.runtime.real_errors.tracebacks import (
    CALLS,
    Stack,
    TracebackFrame,
    find_operands,
)
from shapewright.runtime.restore.snapshot import take_snapshot
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest

Maker = Callable[[], nn.Module]
"""Function that makes a layer, inside a run."""


@dataclass(slots=True)
class SecondRun:
    """The result of a second run; `own` means that it needs the program's own code."""

    trace: Trace | None = None
    failures: tuple[Failure, ...] = ()
    own: bool = False


@dataclass(slots=True)
class Again:
    """A failed expression, and the values that its names had when it failed.

    `text` contains it, if it is the program's own and not torch's. `at` is the place of
    its calls when it runs, `told` the place of the program that is reported. `known`
    are values by the dump of the expressions that gave them, `names` values that it
    reads.
    """

    standing: TracebackFrame
    owner: Owner
    file: str
    text: SourceText | None
    node: ast.AST
    at: Span
    told: Span
    known: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self,
        text: SourceText | None = None,
        every: bool = False,
        quick: bool = False,
        layers: Mapping[str, Maker] | None = None,
    ) -> SecondRun:
        """Run the expression again, or its replacement in a changed text.

        With `every` the program's own code runs too. `layers` are made anew, by path.
        """
        node: ast.AST | None = self.node
        parent: ast.AST | None = None
        if self.text is not None:
            at = text or self.text
            node = at.along(self.text.way(self.node))
            parent = at.parent(node)
        guards = StepGuards(
            every, self.above, partial(_replace_layers, self.owner, layers or {})
        )
        numbered = {dump: f"{PREFIX}{n}" for n, dump in enumerate(self.known)}
        try:
            if node is None:
                return SecondRun()
            code, read = compile_expression(
                node, parent, self.file, numbered, self.class_name()
            )
            frame = self.standing.frame
            names = {**frame.f_globals, **frame.f_locals, **self.names}
            names |= guards.names()
            names |= {numbered[dump]: value for dump, value in self.known.items()}
            for name in read & names.keys():
                guards.known(name, names[name])
        except (Unsafe, StepRefused, SyntaxError, ValueError):
            return SecondRun()
        run = self.recorded(code, names, quick)
        refused = guards.refused
        return run if refused is None else SecondRun(own=refused.own)

    def recorded(self, code: CodeType, names: dict[str, Any], quick: bool) -> SecondRun:
        """Run compiled code once with the engine, and return what was recorded."""
        owner = self.owner

        def call(self: Any) -> Any:
            return eval(code, names)

        target: Any = MethodType(call, owner.root or self)
        taken = replace(take_snapshot(target, (), {}), modules=owner.modules)
        going_on = GoingOn(quick=quick, heeds=False)
        request = RunRequest(taken=taken, options=EngineOptions(going_on=going_on))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the real run has given them
            run = record_run(target, (), {}, request)
        return SecondRun(run.trace, run.failures)

    def class_name(self) -> str:
        """Return the name of the class around the function, for private names."""
        parts = self.standing.code.co_qualname.split(".")
        return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""

    def above(self) -> Any:
        """Return the value of `super()` in the failed method."""
        kind = self.standing.frame.f_locals.get("__class__")
        if kind is None:
            raise StepRefused("calls super()", own=True)
        return super(kind, self.standing.first)


def _replace_layers(
    owner: Owner, layers: Mapping[str, Maker], module: nn.Module
) -> nn.Module:
    """Return the module, or a copy of it in which some layers are replaced."""
    path = owner.path_of(module)
    for layer_path, make in layers.items():
        if layer_path == path:
            return make()
        if path is not None and layer_path.startswith(f"{path}." if path else ""):
            module = _replace_module(
                module, layer_path[len(path) :].strip(".").split("."), make
            )
    return module


def _replace_module(module: nn.Module, names: list[str], make: Maker) -> nn.Module:
    """Return a copy of a module that shares all but the path to a layer inside it."""
    module_copy, children = copy(module), dict(module._modules)
    inner = children[names[0]]
    assert inner is not None
    children[names[0]] = (
        _replace_module(inner, names[1:], make) if names[1:] else make()
    )
    module_copy.__dict__["_modules"] = children
    return module_copy


@dataclass(frozen=True, slots=True)
class FailedPlace:
    """The place where the program failed: its text, the node there, and the model.

    `given` are operands that torch holds, by the dump of their expressions. `span` is
    reported; for a method call over several lines it is the last part.
    """

    stack: Stack
    text: SourceText | None
    node: ast.expr | ast.stmt | None
    owner: Owner
    span: Span
    given: dict[str, Any]

    @property
    def point(self) -> Span:
        """Return the start of the span as an empty span, which matches no text."""
        span = self.span
        return Span(span.file, span.line, span.column, span.line, span.column)


def find_place(stack: Stack) -> FailedPlace:
    """Return the place where the program's innermost frame failed."""
    here = stack.here
    text = here.text()
    node = here.node(text) if text is not None else None
    line = here.line()
    span = Span(here.file, line, 1, line, 1)
    if text is not None and node is not None:
        span = here.span(text) or text.span(node)
    operands = find_operands(stack, node) if node is not None else {}
    owner = find_owner(stack, text, node, _find_called_layer(text, node, operands))
    return FailedPlace(stack, text, node, owner, span, operands)


def iter_own_expressions(place: FailedPlace) -> Iterator[Again]:
    """Yield the program's failed expression, then any comprehension around it."""
    here, text, node = place.stack.here, place.text, place.node
    if text is not None and node is not None:
        at, place_span = make_relative(text.span(node)), make_relative(place.span)
        yield Again(
            here, place.owner, here.file, text, node, at, place_span, place.given
        )
        around = text.around(node, *COMPREHENSIONS)
        if around is not None:  # since Python 3.12 its names are gone
            yield Again(here, place.owner, here.file, text, around, at, place_span)


def iter_layer_calls(place: FailedPlace) -> Iterator[Again]:
    """Yield the calls of layers below the program's frame, the outermost first."""
    for frame in place.stack.below:
        if frame.code.co_name == "_wrapped_call_impl" and frame.first is not None:
            yield _make_layer_call(place, frame)


def iter_torch_lines(place: FailedPlace) -> Iterator[Again]:
    """Yield the failed expressions of torch's own frames, the innermost first."""
    at, place_span = make_relative(place.point), make_relative(place.span)
    for frame in reversed(place.stack.below):
        text = frame.text()
        node = frame.node(text) if text is not None else None
        if node is not None and frame.code.co_name not in CALLS:
            moved = _move_to_place(node, place)
            file = place.stack.here.file
            yield Again(frame, place.owner, file, None, moved, at, place_span)


def _find_called_layer(
    text: SourceText | None, node: ast.AST | None, operands: dict[str, Any]
) -> str:
    """Return the text of the layer that a call names, or an empty string."""
    if text is None or not isinstance(node, ast.Call):
        return ""
    layer = isinstance(operands.get(ast.dump(node.func)), nn.Module)
    return join_lines(text.written(node.func)) if layer else ""


def _make_layer_call(place: FailedPlace, frame: TracebackFrame) -> Again:
    """Return the layer call that a frame of torch runs, with its arguments."""
    held, here = frame.frame.f_locals, place.stack.here
    args, words = held.get("args", ()), held.get("kwargs", {})
    positional = {f"{PREFIX}a{n}": value for n, value in enumerate(args)}
    named = {f"{PREFIX}k_{name}": value for name, value in words.items()}
    node = ast.Call(
        ast.Name(f"{PREFIX}layer", ast.Load()),
        [ast.Name(name, ast.Load()) for name in positional],
        [
            ast.keyword(name, ast.Name(f"{PREFIX}k_{name}", ast.Load()))
            for name in words
        ],
    )
    names = {f"{PREFIX}layer": frame.first, **positional, **named}
    at, place_span = make_relative(place.point), make_relative(place.span)
    moved = _move_to_place(node, place)
    return Again(here, place.owner, here.file, None, moved, at, place_span, {}, names)


def _move_to_place(node: ast.AST, place: FailedPlace) -> ast.AST:
    """Return a copy of a node, located at the failed place as an empty span."""
    node = deepcopy(node)
    point, text = place.point, place.text
    column = point.column - 1
    if text is not None:
        column = len(text.lines[point.line - 1][:column].encode())
    for inner in ast.walk(node):
        if isinstance(inner, ast.expr | ast.stmt | ast.keyword):
            inner.lineno = inner.end_lineno = point.line
            inner.col_offset = inner.end_col_offset = column
    return node


Result = TypeVar("Result")


def can_fork() -> bool:
    """Return whether a forked process can run the program's code without harm.

    A process of a group shares its connections with its copy.
    """
    group = torch.distributed.is_available() and torch.distributed.is_initialized()
    main = threading.current_thread() is threading.main_thread()
    return hasattr(os, "fork") and main and not group


def run_apart(
    functions: Sequence[Callable[[], Result]], seconds: float
) -> list[Result | None]:
    """Return the result of each function in a child process, or None if it has none."""
    with warnings.catch_warnings(), limit_to_one_thread():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        children: Children[int, Result] = Children(
            lambda place: functions[place](), seconds, 1
        )
        with children:
            return children.each(range(len(functions)))


FILE = f"{TORCH}nn/modules/module.py"
GIVEN = f"{PREFIX}given"


@dataclass(frozen=True, slots=True)
class Load:
    """A failed call of `load_state_dict`: its module, its state dict, and the error."""

    module: nn.Module
    given: Any
    refused: Misloaded

    def fits(self, place: FailedPlace, texts: dict[str, str]) -> bool:
        """Return whether the state dict fits the call as written in a changed text."""
        text, node = place.text, place.node
        if text is None or not isinstance(node, ast.Call) or not node.args:
            return False
        new = SourceText(text.file, next(iter(texts.values()))).along(text.way(node))
        if not isinstance(new, ast.Call) or not new.args:
            return False
        words = {word.arg: word.value for word in new.keywords}
        strict = words.get("strict")
        strictly = not (isinstance(strict, ast.Constant) and strict.value is False)
        known = {ast.dump(node.args[0]): GIVEN}
        guards = StepGuards(False, _refuse_super, lambda module: module)
        names = {GIVEN: self.given, **guards.names()}
        try:
            code: CodeType = compile_expression(new.args[0], new, text.file, known, "")[
                0
            ]
            left = compare_state_dict(self.module, eval(code, names), "")
        except (Unsafe, StepRefused, NameError):
            return False
        return left is None or not (strictly or left.resized)


def _refuse_super() -> Any:
    """Refuse `super()`, which a state dict does not need."""
    raise StepRefused("calls super()")


def find_load(stack: Stack, error: BaseException) -> Load | None:
    """Return the `load_state_dict` call that raised an error, or None."""
    last = stack.frames[-1]
    if last.file != FILE or last.code.co_name != "load_state_dict":
        return None
    held = last.frame.f_locals
    module, state_dict = held.get("self"), held.get("state_dict")
    if not isinstance(module, nn.Module):
        return None
    misloaded = compare_state_dict(module, state_dict, str(error))
    return None if misloaded is None else Load(module, state_dict, misloaded)
