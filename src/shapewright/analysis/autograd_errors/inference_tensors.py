"""Tensors that are made in inference mode and are part of a graph later: where they are
made, and `no_grad` for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_names
from shapewright.findings.finding import Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS
from shapewright.record.ops import Op

REFUSED = "nference tensor"
"""Words of torch's errors about tensors of inference mode."""
FOLLOWED = 60
"""Calls that are followed back from the one that is refused."""
MODE = "inference_mode"


@dataclass(frozen=True, slots=True)
class _InferenceTensor:
    """A tensor of inference mode that a call refuses: the sentence on it, its places,
    and where the mode is named.
    """

    message: str
    related: tuple[Related, ...]
    text: SourceText
    mode: ast.expr


def find_inference_tensor(
    program: Program, failing: Op, words: str
) -> _InferenceTensor | None:
    """Return where a tensor was made that no graph may keep, or None."""
    for at, name in enumerate(find_tensor_names(program, failing)):
        for maker in _iter_makers(program, failing, failing.inputs[at].tensor):
            place = _find_mode(program, maker)
            if place is None or maker.span is None:
                continue
            if place == _find_mode(program, failing):
                continue
            does = "no graph can keep such a tensor for its backward pass"
            if "requires_grad" in words:
                does = "it can require no gradient outside"
            elif "Inplace" in words:
                does = "it may not be written outside"
            message = (
                f"{name} was made under `torch.inference_mode()` at line"
                f" {maker.span.line}: {does}"
            )
            label = f"{name} is made here, in inference mode"
            return _InferenceTensor(message, (Related(maker.span, label),), *place)
    return None


def describe_inference_tensor(
    program: Program, failing: Op, words: str
) -> tuple[str, tuple[Related, ...]]:
    """Return the sentence on a refused tensor of inference mode, and its places."""
    tensor = find_inference_tensor(program, failing, words)
    if tensor is None:
        return words.partition(". ")[0].partition(".You")[0], ()
    return tensor.message, tensor.related


def _iter_makers(program: Program, failing: Op, tensor: int) -> Iterator[Op]:
    """Yield the calls that made a tensor, and those that made their inputs."""
    waiting, seen = [tensor], set[int]()
    while waiting and len(seen) < FOLLOWED:
        number = waiting.pop(0)
        maker = program.producers.get(number)
        if maker is None or number in seen or maker.index >= failing.index:
            continue
        seen.add(number)
        yield maker
        waiting += [fact.tensor for fact in maker.inputs]


def _find_mode(program: Program, op: Op) -> tuple[SourceText, ast.expr] | None:
    """Return the name of inference mode, in a `with` or a decorator around a call."""
    spans = [op.span] if op.span is not None else []
    for span in (*spans, *(frame.span for frame in reversed(op.frames))):
        text = program.text(span.file)
        for node in text.nodes if text is not None else ():
            last = getattr(node, "end_lineno", None) or 0
            if not isinstance(node, (ast.With, ast.AsyncWith, *FUNCTIONS)):
                continue
            if text is None or not node.lineno <= span.line <= last:
                continue
            for mode in _list_modes(node):
                name = mode.func if isinstance(mode, ast.Call) else mode
                values = [*mode.args] if isinstance(mode, ast.Call) else []
                is_on = all(getattr(value, "value", None) is True for value in values)
                if is_on and text.written(name).rpartition(".")[2] == MODE:
                    return text, mode
    return None


def _list_modes(node: ast.AST) -> list[ast.expr]:
    """Return the context managers of a `with`, or the decorators of a function."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    if isinstance(node, FUNCTIONS):
        return list(getattr(node, "decorator_list", []))
    return []
