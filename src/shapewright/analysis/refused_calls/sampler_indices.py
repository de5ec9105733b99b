"""Samplers whose indices their data set cannot look up: those of a batch at once, and
those of the whole where a part is loaded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_own_nodes,
)

OF_LISTS = re.compile(
    r"indices must be integers or slices, not list|unhashable type: 'list'"
    r"|not supported between instances of 'list' and 'int'"
    r"|(?:argument|object) .*must be .*not 'list'|'list' object cannot be interpreted"
    r"|can only concatenate list \(not \"int\"\)|unsupported operand .*'list'"
)
BEYOND = re.compile(
    r"list index out of range|index \d+ is out of bounds|indexer is out-of-bounds"
)
UNUSED = frozenset({"batch_size", "shuffle", "drop_last"})
"""What a loader takes beside `sampler=` and does not take beside `batch_sampler=`."""


def find_batch_sampler(program: Program, finding: Finding) -> Explanation | None:
    """Return that a sampler gives the indices of a whole batch at once, or None."""
    if OF_LISTS.search(finding.words) is None or not _is_reading_items(
        program, finding
    ):
        return None
    fixes: list[Fix] = []
    related: list[Related] = []
    message = ""
    for text, call, word in _iter_samplers(program):
        sampler = find_known_value(text, word.value)
        if not _has_lists(program, sampler) or _is_unbatched(call):
            continue
        shown = join_lines(text.written(word.value))
        message = message or (
            f"`sampler={shown}` gives a list of indices for each batch, and a loader"
            " looks up each item of `sampler=` as one index: `batch_sampler=` takes"
            " whole batches"
        )
        related.append(Related(text.span(call), "the loader is built here"))
        fixes.append(_suggest_batch_sampler(text, call, word))
    if not fixes:
        return None
    edits = tuple(edit for fix in fixes for edit in fix.edits)
    fix = Fix("fits", fixes[0].message, edits)
    return Explanation(message, tuple(related), (fix,))


def _is_reading_items(program: Program, finding: Finding) -> bool:
    """Return whether an item of a data set was read where an error was raised."""
    for span in (finding.span, *(related.span for related in finding.related)):
        place = program.node(span)
        if place is None:
            continue
        text, node = place
        around = (node, *text.outwards(node))
        for scope in around:
            if isinstance(scope, ast.FunctionDef) and scope.name == "__getitem__":
                return True
        if isinstance(node, ast.For) or "next" in text.written(node):
            return True
        if any(isinstance(n, ast.For) and node is n.iter for n in around):
            return True
    return False


def _iter_samplers(
    program: Program,
) -> Iterator[tuple[SourceText, ast.Call, ast.keyword]]:
    """Yield the loaders of the program that get a `sampler=`."""
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) == "DataLoader":
                for word in node.keywords:
                    if word.arg == "sampler":
                        yield text, node, word


def _has_lists(program: Program, sampler: ast.expr) -> bool:
    """Return whether a sampler gives lists of indices: torch's `BatchSampler`, or a
    class of the program that yields lists.
    """
    kind = get_called_name(sampler)
    if kind == "BatchSampler":
        return True
    for text in program.own_texts():
        for name, method in text.functions("__iter__"):
            if name.split(".")[-2:-1] != [kind]:
                continue
            yielded = [
                find_known_value(text, node.value)
                for node in iter_own_nodes(method)
                if isinstance(node, ast.Yield) and node.value is not None
            ]
            if yielded and all(_is_list(value) for value in yielded):
                return True
    return False


def _is_list(value: ast.expr) -> bool:
    """Return whether an expression is a list, or a slice of one."""
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Slice)
    is_list = isinstance(value, ast.List | ast.ListComp)
    return is_list or get_called_name(value) in ("list", "tolist")


def _is_unbatched(call: ast.Call) -> bool:
    """Return whether a loader leaves the batches to its sampler and its data set."""
    sizes = [word.value for word in call.keywords if word.arg == "batch_size"]
    sizes += call.args[1:2]
    return any(isinstance(v, ast.Constant) and v.value is None for v in sizes)


def _suggest_batch_sampler(text: SourceText, call: ast.Call, word: ast.keyword) -> Fix:
    """Suggest `batch_sampler=` for `sampler=`, without what it replaces."""
    shown = f"`batch_sampler={join_lines(text.written(word.value))}`"
    is_alone = len(call.args) < 2 and not any(w.arg in UNUSED for w in call.keywords)
    if is_alone:
        return Fix("fits", shown, (Edit(text.span(word).start, "batch_"),))  # type: ignore[arg-type]
    parts = [text.written(argument) for argument in call.args[:1]]
    for other in call.keywords:
        if other.arg not in UNUSED:
            value = text.written(other.value)
            name = "batch_sampler" if other is word else other.arg
            parts.append(f"{name}={value}" if name else f"**{value}")
    new = f"{text.written(call.func)}({', '.join(parts)})"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


# -- indices of the whole for a part ---------------------------------------------------


def find_indices_of_whole(program: Program, finding: Finding) -> Explanation | None:
    """Return that a sampler has the indices that a part was made with, while the part
    is numbered from 0, or None.
    """
    if BEYOND.search(finding.words) is None or not _is_reading_items(program, finding):
        return None
    edits: list[Edit] = []
    related: list[Related] = []
    messages: list[tuple[str, str]] = []
    for text, call, word in _iter_samplers(program):
        sampler = find_known_value(text, word.value)
        is_subset = get_called_name(sampler) == "SubsetRandomSampler"
        if not isinstance(sampler, ast.Call) or not is_subset:
            continue
        data = next(iter(call.args), None)
        name = get_dotted_name(data)
        indices = next(iter(sampler.args), None)
        if data is None or not name or indices is None:
            continue
        made_of = find_known_value(text, data)
        written = text.written(indices)
        is_own = written == f"{name}.indices"
        if not is_own and not _is_cut_by(text, made_of, written):
            continue
        new = f"range(len({name}))"
        edits.append(Edit(text.span(indices), new))
        related.append(Related(text.span(made_of), f"`{name}` is made here"))
        message = (
            f"`{name}` is numbered from 0, and the sampler has `{written}`, the places"
            " of its samples in the whole data set"
        )
        messages.append((message, f"`{text.written(sampler.func)}({new})`"))
    if not messages:
        return None
    message, shown = messages[0]
    return Explanation(message, tuple(related), (Fix("fits", shown, tuple(edits)),))


def _is_cut_by(text: SourceText, made_of: ast.expr, indices: str) -> bool:
    """Return whether a data set was made of the samples at some indices: a `Subset`, or
    of tensors and rows that are indexed.
    """
    for node in ast.walk(made_of):
        if get_called_name(node) == "Subset" and isinstance(node, ast.Call):
            handed = [*node.args[1:], *(word.value for word in node.keywords)]
            if indices in map(text.written, handed):
                return True
        if isinstance(node, ast.Subscript) and text.written(node.slice) == indices:
            return True
    return False
