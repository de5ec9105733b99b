"""Where the frames of a traceback stand: code, instruction, and the text there."""

from __future__ import annotations

import ast
import dis
import re
from dataclasses import dataclass
from types import CodeType, FrameType, TracebackType
from typing import Any

import torch

from shapewright.engine.call_sites import TORCH, USER, classify, source_of
from shapewright.engine.engine import Engine
from shapewright.engine.private import in_dispatch_mode, in_transform
from shapewright.program.source_text import Text
from shapewright.program.spans import Span

NOT_OURS = tuple(
    f"{TORCH}{part}"
    for part in (
        "_dynamo", "_inductor", "_export", "jit", "distributed", "optim",
        "serialization", "fx", "autograd/__init__", "autograd/graph", "multiprocessing",
    )
)  # fmt: skip
"""Files of torch in which no operator of the program's line failed."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One frame of a traceback, at the instruction that it was at."""

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
        """Whether it is a frame of torch's own Python."""
        return self.file.startswith(TORCH)

    @property
    def first(self) -> Any:
        """What the function was given first: a method's `self`."""
        names = self.code.co_varnames[: self.code.co_argcount]
        return self.frame.f_locals.get(names[0]) if names else None

    def text(self) -> Text | None:
        """The file, parsed; None where it is not there, or another than was loaded."""
        source = source_of(self.file)
        if source is None or source.text is None:
            return None
        found = Text(self.file, source.text)
        return found if found.tree is not None and self.is_in(found) else None

    def is_in(self, text: Text) -> bool:
        """Whether the function begins on its line of the text: it may have changed."""
        name, line = self.code.co_name, self.code.co_firstlineno
        if name.startswith("<"):
            return True
        return any(
            node.name == name
            and line == min(each.lineno for each in (node, *node.decorator_list))
            for node in (ast.walk(text.tree) if text.tree is not None else ())
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )

    def place(self) -> tuple[int | None, ...]:
        """Line, end line, column and end column of the instruction, as `ast` counts."""
        table = list(self.code.co_positions())
        at = self.lasti // 2
        return table[at] if at < len(table) else (None,) * 4

    def line(self) -> int:
        """The line of the instruction."""
        return self.place()[0] or self.code.co_firstlineno

    def span(self, text: Text) -> Span | None:
        """Where the instruction stands; None where Python keeps no columns."""
        line, end, column, end_column = self.place()
        if line is None or end is None or column is None or end_column is None:
            return None
        first, last = text.column(line, column), text.column(end, end_column)
        return Span(text.file, line, first, end, last)

    def node(self, text: Text) -> ast.expr | ast.stmt | None:
        """What stands at the instruction, or all that its statement computes where
        Python keeps no columns."""
        span = self.span(text)
        if span is not None:
            return text.node(span)
        values = (getattr(node, "value", None) for node in text.near(self.line()))
        return next((each for each in values if isinstance(each, ast.expr)), None)


@dataclass(frozen=True, slots=True)
class Stack:
    """The frames of a traceback, outermost first, and the program's innermost."""

    frames: tuple[Standing, ...]
    at: int

    @property
    def here(self) -> Standing:
        """The frame of the program in which the call failed."""
        return self.frames[self.at]

    @property
    def below(self) -> tuple[Standing, ...]:
        """torch's frames that this called, outermost first."""
        return self.frames[self.at + 1 :]


KINDS = (RuntimeError, ValueError, TypeError, IndexError, AssertionError)
"""What torch raises where shapes do not fit."""
NEVER = (RecursionError, torch.OutOfMemoryError, UnicodeError)
PYTHONS = re.compile(r"(list|tuple|string|range object|bytes|deque) |pop ")
"""What Python says of an index; torch says it in other words."""


def may_be_torchs(error: BaseException) -> bool:
    """Whether an error of a line with nothing of torch's below it may come from torch.

    Else the program's own code is not run a second time to find out.
    """
    if isinstance(error, IndexError):
        return not PYTHONS.match(str(error))
    return isinstance(error, RuntimeError)


def is_explainable(error: BaseException) -> bool:
    """Whether what torch says of shapes can be the matter, and runs can be watched.

    Not inside another run of ours, nor inside a mode or a transform, whose tensors are
    gone when the error has left it.
    """
    text = str(error)
    if not isinstance(error, KINDS) or isinstance(error, NEVER):
        return False
    modes = torch.overrides._get_current_function_mode_stack()
    if any(isinstance(mode, Engine) for mode in modes):
        return False
    return not (in_dispatch_mode() or in_transform() or "CUDA error" in text)


def stack_of(traceback: TracebackType | None) -> Stack | None:
    """The frames of an error that torch may have raised, None where it did not."""
    frames: list[Standing] = []
    while traceback is not None:
        frames.append(Standing(traceback.tb_frame, traceback.tb_lasti))
        traceback = traceback.tb_next
    own = [n for n, each in enumerate(frames) if classify(each.file) == USER]
    if not own:
        return None
    found = Stack(tuple(frames), own[-1])
    if any(each.file.startswith(NOT_OURS) for each in found.below):
        return None
    return found if all(each.is_torchs for each in found.below) else None


def rebound(code: CodeType) -> set[str]:
    """The names of locals that a function gives other values."""
    found: set[str] = set()
    for each in dis.get_instructions(code):
        if each.opname.startswith("STORE_FAST"):
            name = each.argval
            found |= {name} if isinstance(name, str) else set(name)
    return found
