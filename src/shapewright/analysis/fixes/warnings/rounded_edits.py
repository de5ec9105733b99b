"""Edits for logarithms of rounded probabilities: those of the scores."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import get_called_name, list_reads

SOFTMAX = "softmax"
TORCH = ("torch", "F", "nn.functional", "torch.nn.functional", "functional")


@dataclass(frozen=True, slots=True)
class _Probability:
    """`F.softmax(scores, dim=-1)[..., k]`: the whole, the scores, and the class."""

    whole: ast.Subscript
    softmax: ast.Call
    scores: str
    label: str


def suggest_logs_of_scores(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the logarithm of the sum over the other classes for `torch.log(1 - p)`,
    and `log_softmax` for `torch.log(p)` of the same probability.
    """
    rest = _read_log(node)
    is_rest = isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Sub)
    if not isinstance(rest, ast.BinOp) or not is_rest:
        return
    name, value = rest.right, rest.right
    if isinstance(name, ast.Name):
        value = find_known_value(text, name)
    probability = _read_probability(text, value)
    if probability is None or not isinstance(node, ast.Call):
        return
    scores, label = probability.scores, probability.label
    others = (
        f"torch.cat([{scores}[..., :{label}], {scores}[..., {label} + 1:]], dim=-1)"
    )
    new = f"torch.logsumexp({others}, dim=-1) - torch.logsumexp({scores}, dim=-1)"
    is_operand = isinstance(text.parent(node), ast.Assign | ast.Return | ast.AugAssign)
    new = new if is_operand else f"({new})"
    edits = [Edit(text.span(node), new)]
    if isinstance(name, ast.Name):
        edits += _list_more_edits(text, name, probability)
    yield Fix("fits", f"`{new}`", tuple(edits))


def _list_more_edits(
    text: SourceText, name: ast.Name, probability: _Probability
) -> list[Edit]:
    """Return the edits of the other logarithms of a probability that has a name, and
    that of its statement where nothing else reads it.
    """
    scope = text.around(name, ast.FunctionDef, ast.Module)
    reads = [read for read in list_reads(scope, name.id) if read is not name]
    logs = [log for read in reads if (log := text.parent(read)) is not None]
    direct = [log for log in logs if isinstance(_read_log(log), ast.Name)]
    written = text.written(probability.whole)
    called = text.written(probability.softmax.func)
    new = f"{called.removesuffix(SOFTMAX)}log_{SOFTMAX}{written[len(called) :]}"
    edits = [Edit(text.span(log), new) for log in direct if isinstance(log, ast.expr)]
    statement = text.statement_of(probability.whole)
    is_own = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    if is_own and len(direct) == len(reads):
        edits.append(cut_lines(text, statement))
    return edits


def _read_log(node: ast.AST) -> ast.expr | None:
    """Return `x` of `torch.log(x)` and of `x.log()`."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "log":
        return None
    if node.args:
        return node.args[0]
    return get_receiver(node)


def _read_probability(text: SourceText, value: ast.expr) -> _Probability | None:
    """Return the parts of a softmax along the last dim of which one class is read,
    where it is counted from 0.
    """
    if not isinstance(value, ast.Subscript) or not isinstance(value.value, ast.Call):
        return None
    call, items = value.value, value.slice
    if not isinstance(items, ast.Tuple) or len(items.elts) != 2:
        return None
    if get_called_name(call) != SOFTMAX or not isinstance(call.func, ast.Attribute):
        return None
    first, last = items.elts
    is_rest = isinstance(first, ast.Constant) and first.value is Ellipsis
    known = find_known_value(text, last) if isinstance(last, ast.Name) else last
    label = evaluate_whole_number(known)
    if not is_rest or label is None or label < 0 or not _is_along_last(call):
        return None
    owner = text.written(call.func.value)
    scores = call.args[0] if owner in TORCH and call.args else call.func.value
    if not isinstance(scores, ast.Name | ast.Attribute) or "\n" in text.written(value):
        return None
    return _Probability(value, call, text.written(scores), text.written(last))


def _is_along_last(call: ast.Call) -> bool:
    """Return whether a softmax is taken along the last dim, by the text."""
    dims = [word.value for word in call.keywords if word.arg == "dim"] or call.args[-1:]
    return any(evaluate_whole_number(dim) == -1 for dim in dims)
