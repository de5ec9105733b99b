"""Find loaders whose sampler was made of the data set of another part:
`DataLoader(train_set, sampler=RandomSampler(valid_set))`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.training_mistakes.context import build_finding
from shapewright.findings.codes import MISPLACED_ARGUMENT
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    get_last_name,
    is_starred,
    iter_assignments,
    list_parameters,
)

OF_DATA = frozenset({"dataset", "data_source", "data_set"})
"""Parameters of samplers that are data sets."""
OF_TORCH = frozenset({"RandomSampler", "SequentialSampler", "DistributedSampler"})
SAMPLERS = ("sampler", "batch_sampler")
PARTS = {
    "training": re.compile(r"(train|trn|training)(set|data|ds|list)?"),
    "validation": re.compile(r"(val|valid|validation|dev)(set|data|ds|list)?"),
    "test": re.compile(r"test(set|data|ds|list)?"),
}
"""Words of names, by the part of the data that they say."""


@dataclass(frozen=True, slots=True)
class SampledLoader:
    """A loader, the data set that it is given, its sampler as it is written there, and
    the data set of which the sampler was made.
    """

    call: ast.Call
    data: ast.expr
    sampler: ast.keyword
    sampled: ast.expr


def find_other_samplers(text: SourceText) -> Iterator[Finding]:
    """Find loaders of one part of the data with a sampler of another part."""
    for loader in iter_mismatched(text):
        data, sampled = text.line_of(loader.data), text.line_of(loader.sampled)
        yield build_finding(
            MISPLACED_ARGUMENT,
            f"the loader reads `{data}`, and its `{loader.sampler.arg}` was made of"
            f" `{sampled}`: what counts in the one takes samples of the other",
            text.span(loader.data),
            (text.span(loader.sampled), "the sampler is made here"),
        )


def iter_mismatched(text: SourceText) -> Iterator[SampledLoader]:
    """Yield the loaders whose data set and that of their sampler are two parts."""
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "DataLoader":
            continue
        words = {word.arg: word for word in node.keywords}
        data = node.args[0] if node.args else getattr(words.get("dataset"), "value", 0)
        for name in SAMPLERS:
            word = words.get(name)
            sampled = find_sampled(text, word.value) if word is not None else None
            if word is None or sampled is None or not isinstance(data, ast.expr):
                continue
            parts = read_part(text, data), read_part(text, sampled)
            if all(parts) and parts[0] != parts[1] and _is_apart(text, data, sampled):
                yield SampledLoader(node, data, word, sampled)


def find_sampled(text: SourceText, sampler: ast.expr) -> ast.expr | None:
    """Return the data set of which a sampler is made, or None."""
    if isinstance(sampler, ast.Name | ast.Attribute):
        values = find_defining(text, get_last_name(sampler))
        return find_sampled(text, values[0]) if len(values) == 1 else None
    if not isinstance(sampler, ast.Call) or is_starred(sampler):
        return None
    name = get_called_name(sampler)
    if name == "BatchSampler" and sampler.args:
        return find_sampled(text, sampler.args[0])
    for word in sampler.keywords:
        if word.arg in OF_DATA:
            return word.value
    functions = [
        function
        for full, function in text.functions("__init__")
        if full == f"{name}.__init__"
    ]
    parameters = list_parameters(functions[0])[1:] if len(functions) == 1 else []
    if name in OF_TORCH and not functions:
        parameters = ["dataset"]
    pairs = zip(sampler.args, parameters, strict=False)
    return next((value for value, name in pairs if name in OF_DATA), None)


def read_part(text: SourceText, node: ast.expr) -> str:
    """Return the part of the data that a name says, or an empty string."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return ""
    words = re.findall(r"[a-z]+", text.written(node).lower())
    parts = {
        part
        for part, pattern in PARTS.items()
        if any(pattern.fullmatch(word) for word in words)
    }
    return parts.pop() if len(parts) == 1 else ""


def _is_apart(text: SourceText, data: ast.expr, sampled: ast.expr) -> bool:
    """Return whether neither of two data sets is made of the other, and both are not
    the same rows with two transforms.
    """
    values = [list(_iter_values(text, node)) for node in (data, sampled)]
    for node, others in ((data, values[1]), (sampled, values[0])):
        name = get_last_name(node)
        if name and any(_has_name(value, name) for _, value in others):
            return False
    rows = [
        {_write_rows(value) for target, value in part if get_last_name(target)} - {""}
        for part in values
    ]
    return not rows[0] & rows[1]


def _iter_values(
    text: SourceText, node: ast.expr
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the targets and values of what sets a data set, that of several names as
    well.
    """
    name = get_last_name(node)
    for target, value in iter_assignments(text.tree, unpacked=True):
        is_among = isinstance(target, ast.Tuple) and name in collect_names(target)
        if name and (is_among or name == get_last_name(target)):
            yield target, value


def _has_name(value: ast.expr, name: str) -> bool:
    """Return whether an expression reads a name, of an object as well."""
    return name in collect_names(value) or any(
        isinstance(part, ast.Attribute) and part.attr == name
        for part in ast.walk(value)
    )


def _write_rows(value: ast.expr) -> str:
    """Return the call of a data set without its transforms."""
    if not isinstance(value, ast.Call):
        return ""
    words = [
        ast.unparse(word) for word in value.keywords if "transform" not in str(word.arg)
    ]
    return f"{ast.unparse(value.func)}({[*map(ast.unparse, value.args), *words]})"
