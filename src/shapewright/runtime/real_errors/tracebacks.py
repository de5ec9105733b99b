"""The frames of a traceback: their places, and the arguments of calls there."""

from __future__ import annotations

import ast
import dis
import inspect
import re
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from shapewright.engine.call_sites import TORCH, USER, classify_file, get_source
from shapewright.engine.engine import Engine
from shapewright.engine.private import is_in_dispatch_mode, is_in_transform
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_first_line, is_starred
from shapewright.runtime.real_errors.guards import ASKS_OWN, get_attribute

NOT_OURS = tuple(
    f"{TORCH}{part}"
    for part in (
        "_dynamo", "_inductor", "_export", "jit", "distributed", "optim",
        "serialization", "fx", "autograd/__init__", "autograd/graph", "multiprocessing",
    )
)  # fmt: skip
"""Files of torch in which no operator of the program's line failed."""


@dataclass(frozen=True, slots=True)
class TracebackFrame:
    """A frame of a traceback, at its current instruction."""

    frame: FrameType
    lasti: int

    @property
    def code(self) -> CodeType:
        return self.frame.f_code

    @property
    def file(self) -> str:
        return self.code.co_filename

    @property
    def is_torchs(self) -> bool:
        """Return whether the frame runs torch's own Python code."""
        return self.file.startswith(TORCH)

    @property
    def first(self) -> Any:
        """Return the first argument of the function, which is `self` in a method."""
        names = self.code.co_varnames[: self.code.co_argcount]
        return self.frame.f_locals.get(names[0]) if names else None

    def text(self) -> SourceText | None:
        """Return the parsed file, or None if it is missing or has changed."""
        source = get_source(self.file)
        if source is None or source.text is None:
            return None
        source_text = SourceText(self.file, source.text)
        return (
            source_text
            if source_text.tree is not None and self.is_in(source_text)
            else None
        )

    def is_in(self, text: SourceText) -> bool:
        """Return whether the function still begins on its line in the text."""
        name, line = self.code.co_name, self.code.co_firstlineno
        if name.startswith("<"):
            return True
        return any(line == get_first_line(node) for _, node in text.functions(name))

    def place(self) -> tuple[int | None, ...]:
        """Return the line, end line, column and end column, counted as in `ast`."""
        table = list(self.code.co_positions())
        at = self.lasti // 2
        return table[at] if at < len(table) else (None,) * 4

    def line(self) -> int:
        """Return the line of the instruction."""
        return self.place()[0] or self.code.co_firstlineno

    def span(self, text: SourceText) -> Span | None:
        """Return the span of the instruction, or None if Python keeps no columns."""
        line, end, column, end_column = self.place()
        if line is None or end is None or column is None or end_column is None:
            return None
        first, last = text.column(line, column), text.column(end, end_column)
        return Span(text.file, line, first, end, last)

    def node(self, text: SourceText) -> ast.expr | ast.stmt | None:
        """Return the node at the instruction, or the whole value of its statement if
        Python keeps no columns."""
        span = self.span(text)
        if span is not None:
            return text.node(span)
        values = (getattr(node, "value", None) for node in text.near(self.line()))
        return next((value for value in values if isinstance(value, ast.expr)), None)


@dataclass(frozen=True, slots=True)
class Stack:
    """The frames of a traceback, outermost first, and the program's innermost frame."""

    frames: tuple[TracebackFrame, ...]
    at: int

    @property
    def here(self) -> TracebackFrame:
        """Return the frame of the program in which the call failed."""
        return self.frames[self.at]

    @property
    def below(self) -> tuple[TracebackFrame, ...]:
        """Return the frames of torch below the program's frame, outermost first."""
        return self.frames[self.at + 1 :]


KINDS = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)
"""Errors that torch raises if shapes do not fit."""
NEVER = (RecursionError, torch.OutOfMemoryError, UnicodeError)
PYTHONS = re.compile(r"(list|tuple|string|range object|bytes|deque) |pop ")
"""Python's messages on an index; torch's are worded differently."""


def can_be_of_torch(error: BaseException) -> bool:
    """Return whether an error can come from torch even if no frame of torch shows it.

    Otherwise the program's own code is not run a second time to find out.
    """
    if isinstance(error, IndexError):
        return not PYTHONS.match(str(error))
    return isinstance(error, RuntimeError)


def is_explainable(error: BaseException) -> bool:
    """Return whether an error may be about shapes and a second run can be recorded.

    They cannot inside another run of ours, nor inside a mode or a transform, whose
    tensors are gone when the error has left it.
    """
    text = str(error)
    if not isinstance(error, KINDS) or isinstance(error, NEVER):
        return False
    modes = torch.overrides._get_current_function_mode_stack()
    if any(isinstance(mode, Engine) for mode in modes):
        return False
    return not (is_in_dispatch_mode() or is_in_transform() or "CUDA error" in text)


def collect_stack(traceback: TracebackType | None) -> Stack | None:
    """Return the frames of an error that torch may have raised, or None."""
    frames: list[TracebackFrame] = []
    while traceback is not None:
        frames.append(TracebackFrame(traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    own = [n for n, frame in enumerate(frames) if classify_file(frame.file) == USER]
    if not own:
        return None
    stack = Stack(tuple(frames), own[-1])
    if any(frame.file.startswith(NOT_OURS) for frame in stack.below):
        return None
    return stack if all(frame.is_torchs for frame in stack.below) else None


def _find_rebound(code: CodeType) -> set[str]:
    """Return the names of the local variables to which a function assigns."""
    names: set[str] = set()
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("STORE_FAST"):
            name = instruction.argval
            names |= {name} if isinstance(name, str) else set(name)
    return names


CALLS = frozenset({"_wrapped_call_impl", "_call_impl"})
"""The methods in which torch holds the arguments of a layer's call."""


def find_operands(stack: Stack, node: ast.AST) -> dict[str, Any]:
    """Return the values of a call's arguments and callee, by expression dump.

    Values that torch holds are not computed a second time.
    """
    if not stack.below or not isinstance(node, ast.Call):
        return {}
    frame, called = stack.below[0], _evaluate_names(stack.here, node.func)
    held, own = frame.frame.f_locals, {}
    if frame.code.co_name in CALLS:
        arguments = {**dict(enumerate(held.get("args", ()))), **held.get("kwargs", {})}
        if not _is_call_of(node, called, frame.first, arguments):
            return {}
        own = {ast.dump(node.func): frame.first}
    elif _find_code(called, node.func) is frame.code:
        arguments, tensor = _get_arguments(frame), held.get("self")
        if isinstance(tensor, Tensor) and isinstance(node.func, ast.Attribute):
            own = {ast.dump(node.func.value): tensor}
    else:
        return {}
    stars = [isinstance(argument, ast.Starred) for argument in node.args]
    plain = node.args[: stars.index(True)] if True in stars else node.args
    operands = {
        ast.dump(argument): arguments[n]
        for n, argument in enumerate(plain)
        if n in arguments
    }
    for word in node.keywords:
        if word.arg in arguments:
            operands[ast.dump(word.value)] = arguments[word.arg]
    return {**operands, **own}


def _is_call_of(
    node: ast.Call, called: Any, module: Any, arguments: dict[int | str | None, Any]
) -> bool:
    """Return whether a call in the source text is that of `module` with `arguments`.

    A callee that is itself a result (`nn.MSELoss()(x, y)`) is known by its arguments.
    """
    if called is not ASKS_OWN:
        return called is module
    words = {word.arg for word in node.keywords}
    count = sum(type(name) is int for name in arguments)
    names = {name for name in arguments if isinstance(name, str)}
    return isinstance(module, nn.Module) and (
        is_starred(node) or (count == len(node.args) and names == words)
    )


def _evaluate_names(standing: TracebackFrame, node: ast.expr) -> Any:
    """Return the value of a name, an attribute or an item, or `ASKS_OWN` if unknown."""
    frame = standing.frame
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = _evaluate_names(standing, node.value)
        return ASKS_OWN if owner is ASKS_OWN else get_attribute(owner, node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner, at = _evaluate_names(standing, node.value), node.slice.value
        if isinstance(owner, nn.Sequential | nn.ModuleList | nn.ModuleDict):
            at = at % max(len(owner), 1) if isinstance(at, int) else at
            return owner._modules.get(str(at), ASKS_OWN)
        if type(owner) in (list, tuple, dict):
            try:
                return owner[at]
            except LookupError:
                return ASKS_OWN
    return ASKS_OWN


def _find_code(called: Any, node: ast.expr) -> Any:
    """Return the code of a callee; methods of unknown objects are taken as a
    tensor's.
    """
    if called is ASKS_OWN and isinstance(node, ast.Attribute):
        called = getattr(Tensor, node.attr, None)
    return getattr(getattr(called, "__func__", called), "__code__", None)


def _get_arguments(frame: TracebackFrame) -> dict[int | str | None, Any]:
    """Return the arguments in a frame of a torch function, by position and by name.

    An argument that the function rebound is left out.
    """
    code, held = frame.code, frame.frame.f_locals
    count = code.co_argcount + code.co_kwonlyargcount
    names, lost = code.co_varnames[:count], _find_rebound(code)
    own = 1 if names[:1] == ("self",) else 0
    arguments: dict[int | str | None, Any] = {}
    for at, name in enumerate(names):
        if name not in lost and name in held:
            arguments[name] = held[name]
            if own <= at < code.co_argcount:
                arguments[at - own] = held[name]
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[count] not in lost:
        rest = held.get(code.co_varnames[count], ())
        arguments |= {code.co_argcount - own + n: value for n, value in enumerate(rest)}
    return arguments
