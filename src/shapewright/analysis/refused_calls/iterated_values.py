"""What cannot be iterated over or unpacked as it stands: `next(loader)`,
`_, classes = torch.max(scores)`, a batch of one sample behind `squeeze()`.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

NO_ITERATOR = re.compile(r"'(\w+)' object is not an iterator")
NO_METHOD = re.compile(r"'(\w+)' object has no attribute 'next'")
CHANGED = re.compile(
    r"(?:dictionary (?:changed size|keys changed)|Set changed size|"
    r"\w+ mutated) during iteration"
)
CHANGING = re.compile(
    r"^(?:pop|popitem|popleft|update|setdefault|clear|move_to_end|add|remove|discard|"
    r"append|appendleft|extend|setattr|delattr|add_module|register_\w+)$"
)
"""Calls that change what a loop goes through."""
WRAPPING = re.compile(r"^(?:enumerate|zip|reversed|tqdm|trange|iter|filter|map)$")
NO_DIMS = "iteration over a 0-d tensor"
PAIRS = operators_with("returns_values_and_indices")


def find_iterated_value(program: Program, finding: Finding) -> Explanation | None:
    """Return why a value cannot be iterated over or unpacked, or None."""
    refused = NO_ITERATOR.search(finding.words)
    if refused is not None:
        return _explain_next(program, finding, refused[1])
    if "'DataLoader' object is not subscriptable" in finding.words:
        return _explain_indexed_loader(program, finding)
    if CHANGED.search(finding.words):
        return _explain_changed(program, finding)
    refused = NO_METHOD.search(finding.words)
    if refused is not None:
        return _explain_method(program, finding)
    if "'bool' object is not iterable" in finding.words:
        return _explain_own_train(program, finding)
    if NO_DIMS in finding.words:
        return _explain_unpacked(program, finding) or _explain_squeezed(
            program, finding
        )
    return None


def _explain_next(program: Program, finding: Finding, kind: str) -> Explanation | None:
    """Return that `next` takes an iterator, and not what can be iterated over."""
    for text, call in program.iter_calls(finding):
        if get_called_name(call) != "next" or not call.args:
            continue
        written = text.written(call.args[0])
        message = (
            f"`next` takes an iterator, and `{written}` is a `{kind}`, which makes a"
            f" new one each time: `iter({written})`"
        )
        edit = Edit(text.span(call.args[0]), f"iter({written})")
        return Explanation(
            message, (), (Fix("fits", f"`next(iter({written}))`", (edit,)),)
        )
    return None


def _explain_indexed_loader(program: Program, finding: Finding) -> Explanation | None:
    """Return that a loader has no batches by number, and how its first one is read."""
    place = program.node(finding.span)
    if place is None:
        return None
    text, outer = place
    for node in ast.walk(text.statement_of(outer)):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        name = node.value.id
        message = f"`{name}` is a `DataLoader`, which gives its batches one after"
        message += " another and has none by number: its data set has items"
        fixes: tuple[Fix, ...] = ()
        if isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            new = f"next(iter({name}))"
            fixes = (Fix("fits", f"`{new}`", (Edit(text.span(node), new),)),)
        return Explanation(message, (), fixes)
    return None


def _explain_changed(program: Program, finding: Finding) -> Explanation | None:
    """Return that a loop changes the dict or set that it goes through."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    for loop in text.nodes if text is not None else ():
        if text is None or span is None or not isinstance(loop, ast.For):
            continue
        if not loop.lineno <= span.line <= (loop.iter.end_lineno or 0):
            continue
        gone = loop.iter
        while isinstance(gone, ast.Call) and WRAPPING.search(get_called_name(gone)):
            inner = [part for part in gone.args if not isinstance(part, ast.Lambda)]
            if not inner or isinstance(inner[0], ast.Starred):
                return None
            gone = inner[0]
        written = text.written(gone)
        owner = get_receiver(gone) if isinstance(gone, ast.Call) else None
        name = text.written(owner if owner is not None else gone)
        message = (
            f"the loop over `{join_lines(written)}` changes `{name}` while it goes"
            " through it: `list` goes through a copy"
        )
        changes = [node for node in ast.walk(loop) if _is_change(text, node, name)]
        related = tuple(
            Related(text.span(node), "it is changed here")
            for node in changes[:1]
            if isinstance(node, ast.expr | ast.stmt)
        )
        fix = Fix("fits", f"`list({join_lines(written)})`",
                  (Edit(text.span(gone), f"list({written})"),))  # fmt: skip
        return Explanation(message, related, (fix,))
    return None


def _is_change(text: SourceText, node: ast.AST, name: str) -> bool:
    """Return whether a node of a loop adds to a dict or set, or takes from it."""
    if isinstance(node, ast.Call):
        owner = get_receiver(node)
        own = owner is not None and text.written(owner) == name
        own = own or any(text.written(part) == name for part in node.args[:1])
        return own and CHANGING.search(get_called_name(node)) is not None
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return text.written(node.value) == name
    return False


def _explain_method(program: Program, finding: Finding) -> Explanation | None:
    """Return that iterators have no method `next` since Python 3."""
    place = program.node(finding.span)
    statement = place[0].statement_of(place[1]) if place is not None else None
    for call in ast.walk(statement) if statement is not None else ():
        if get_called_name(call) != "next" or not isinstance(call, ast.Call):
            continue
        if place is None or not isinstance(call.func, ast.Attribute):
            continue
        text = place[0]
        new = f"next({text.written(call.func.value)})"
        message = "iterators have no method `next` since Python 3: it is a function"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
        return Explanation(message, (), (fix,))
    return None


def _explain_unpacked(program: Program, finding: Finding) -> Explanation | None:
    """Return that `torch.max` without a dim gives one number, and no pair."""
    place = program.node(finding.span)
    statement = place[0].statement_of(place[1]) if place is not None else None
    if place is None or not isinstance(statement, ast.Assign):
        return None
    text, call = place[0], statement.value
    target = statement.targets[0]
    if get_called_name(call) not in PAIRS or not isinstance(target, ast.Tuple):
        return None
    if not isinstance(call, ast.Call):
        return None
    op = program.op_at(text.span(call))
    dim = 1 if op is not None and op.inputs and op.inputs[0].ndim == 2 else -1
    of = f" of {format_shape(op.inputs[0])}" if op is not None and op.inputs else ""
    written = text.written(call.func)
    message = (
        f"`{written}` without a dim gives the one number{of}; with a dim it gives"
        " values and indices, which is the pair that is unpacked here"
    )
    return Explanation(message, (), (with_keyword(text, call, f"dim={dim}"),))


def _explain_squeezed(program: Program, finding: Finding) -> Explanation | None:
    """Return that `squeeze()` has taken the dim of a batch of one sample, too."""
    squeezing = _find_squeeze(program, finding)
    if squeezing is None:
        return None
    op, span = squeezing
    place = program.call_at(span)
    fact = op.inputs[0]
    if place is None or not isinstance(place[1].func, ast.Attribute):
        return None
    text, call = place
    message = (
        f"`squeeze()` of {format_shape(fact)} takes off the batch as well, which has"
        " one sample here, so that nothing is left to go through"
    )
    function = text.written(call.func)
    edits = [
        Fix("fits", f"`{function}({dim})`", (_write_argument(text, call, str(dim)),))
        for dim in ((-1,) if fact.ndim == 2 else range(1, fact.ndim))
    ]
    where = Related(span, "it is squeezed here")
    return Explanation(message, (where,), tuple(edits))


def _find_squeeze(program: Program, finding: Finding) -> tuple[Op, Span] | None:
    """Return the last `squeeze()` without a dim before a finding that left a number."""
    for op in reversed(program.trace.ops):
        if op.name.rpartition(".")[2] != "squeeze" or not op.inputs or op.span is None:
            continue
        numbers = [value for _, value in op.arguments if type(value) is int]
        if not numbers and op.outputs and op.outputs[0].ndim == 0:
            return op, op.span
    return None


def _write_argument(text: SourceText, call: ast.Call, new: str) -> Edit:
    """Return the edit that gives a call without arguments its first one."""
    span = text.span(call)
    end = Span(
        span.file, span.end_line, span.end_column - 1, span.end_line, span.end_column
    )
    return Edit(end, f"{new})")


def _explain_own_train(program: Program, finding: Finding) -> Explanation | None:
    """Return that a method `train` of a module stands in place of that of `nn.Module`,
    which `eval()` calls with False.
    """
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    for name, method in text.functions("train"):
        last = method.end_lineno or method.lineno
        arguments = [argument.arg for argument in method.args.args]
        is_here = method.lineno <= span.line <= last
        if arguments[:1] != ["self"] or not is_here or len(arguments) < 2:
            continue
        message = (
            f"`{name}` stands in place of `nn.Module.train(mode)`, which"
            f" `eval()` calls with False: here `{arguments[1]}` is False"
        )
        header = text.lines[method.lineno - 1]
        column = header.index("train") + 1
        place = Span(text.file, method.lineno, column, method.lineno, column + 5)
        edits = [Edit(place, "fit")]
        for own in program.own_texts():
            for node in own.nodes:
                if get_called_name(node) != "train" or not isinstance(node, ast.Call):
                    continue
                if not node.args or isinstance(node.args[0], ast.Constant):
                    continue
                end = own.span(node.func)
                begin = end.end_column - 5
                where = Span(
                    end.file, end.end_line, begin, end.end_line, end.end_column
                )
                edits.append(Edit(where, "fit"))
        related = Related(place, "the method is defined here")
        fix = Fix("fits", "another name, `fit`, for `train`", tuple(edits))
        return Explanation(message, (related,), (fix,))
    return None
