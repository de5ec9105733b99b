"""A block as a program: run for real, and traced."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

import shapewright as sw
from shapewright.record import Fact, Trace
from shapewright.record.ops import SHORT, collect_leaves
from tests.seeds.blocks import Block, watched
from tests.seeds.claims import Claim, Tensor


@dataclass(slots=True)
class Seen:
    """What each line gave, in the order of its visits, and how the run ended."""

    values: dict[int, list[Any]] = field(default_factory=dict)
    error: str | None = None
    error_line: int | None = None


class Program:
    """A block in a file of its own.

    The watched form runs under the name of that file, so that every span of the trace
    stands in the text as it was written.
    """

    def __init__(self, block: Block, claims: dict[int, Claim], folder: Path) -> None:
        self.file = folder / "block.py"
        self.file.write_text(block.text, encoding="utf-8")
        self.code = compile(watched(block, claims), str(self.file), "exec")

    def really(self) -> Seen:
        """What a real run on the CPU gives."""
        seen = Seen()
        torch.manual_seed(0)
        with as_it_was(), contextlib.redirect_stdout(io.StringIO()):
            try:
                self._main(seen, _described)
            except Exception as error:
                seen.error = f"{type(error).__name__}: {error}"
                frames = traceback.extract_tb(error.__traceback__)
                lines = [each.lineno for each in frames if each.filename == self.name]
                seen.error_line = lines[-1]
        return seen

    def traced(self) -> tuple[Seen, Trace]:
        """What the same lines give without data, and the record."""
        seen = Seen()

        def block() -> None:
            seen.values.clear()  # a program that asks for gradients runs twice
            self._main(seen, _without_values)

        with contextlib.redirect_stdout(io.StringIO()):
            trace = sw.trace(block)
        for finding in trace.findings:
            if finding.severity == "note":
                continue
            seen.error = f"{finding.message}\n{finding.torch_message}"
            seen.error_line = finding.span.line if finding.span else None
        return seen, trace

    @property
    def name(self) -> str:
        return str(self.file)

    def _main(self, seen: Seen, described: Callable[[Any], Any]) -> None:
        def look(line: int, value: Any) -> Any:
            seen.values.setdefault(line, []).append(described(value))
            return value

        exec(self.code, {"__name__": "block", "__file__": self.name, "__seen__": look})


@contextlib.contextmanager
def as_it_was() -> Iterator[None]:
    """Torch's own switches, that a block may set, are put back."""
    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)


def recorded(trace: Trace, line: int) -> list[Fact]:
    """All that came out of the ops and module calls which this line made."""
    found: list[Fact] = []
    for op in trace.ops:
        if any(frame.span.line <= line <= frame.span.end_line for frame in op.frames):
            found += op.outputs
    for call in trace.calls:
        if call.span and call.span.line <= line <= call.span.end_line:
            found += collect_leaves(call.output)
    return found


def _described(value: Any) -> Any:
    return _nest(value, lambda tensor: tensor.detach().tolist())


def _without_values(value: Any) -> Any:
    return _nest(value, lambda _: None)


def short(dtype: str) -> str:
    """The short name of a dtype."""
    return SHORT.get(dtype, dtype)


def _nest(value: Any, values: Callable[[torch.Tensor], Any]) -> Any:
    """Tensors as what is compared of them; plain values as they are."""
    if isinstance(value, torch.Tensor):
        return Tensor(
            short(str(value.dtype).removeprefix("torch.")),
            tuple(value.shape),
            None if value.is_meta or value.numel() > 4096 else values(value),
        )
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, dict):
        return {key: _nest(each, values) for key, each in value.items()}
    if isinstance(value, list | tuple):
        kind = list if isinstance(value, list) else tuple
        return kind(_nest(each, values) for each in value)
    return value
