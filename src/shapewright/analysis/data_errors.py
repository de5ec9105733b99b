"""Errors of loaders and of tensors made of lists: items that do not collate, rows of
several lengths, a sampler beside `shuffle=True`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import get_called_name

RAGGED = re.compile(r"expected sequence of length (\d+) at dim 1 \(got (\d+)\)")
UNCOLLATED = re.compile(r"default_collate: batch must contain .* found <class '([^']+)")
AS_TEXTS = ("pandas.Time", "datetime.", "pathlib.", "uuid.")
"""How the classes begin of values that a text stands for as well."""
EXCLUSIVE = "sampler option is mutually exclusive with shuffle"


def explain_data_error(
    program: Program, text: SourceText, node: ast.AST, messages: str
) -> Explanation | None:
    """Return what is wrong with the items of a data set or a list, or None."""
    kind = UNCOLLATED.search(messages)
    if kind is not None and kind[1].startswith(AS_TEXTS):
        return _explain_uncollated(program, kind[1])
    if not isinstance(node, ast.Call):
        return None
    lengths = RAGGED.search(messages)
    if lengths is not None:
        return _explain_ragged(text, node, lengths[1], lengths[2])
    if EXCLUSIVE in messages:
        return _explain_shuffled_sampler(text, node)
    return None


def _explain_ragged(
    text: SourceText, call: ast.Call, first: str, other: str
) -> Explanation | None:
    """Explain `torch.tensor(rows)` of rows of several lengths."""
    if get_called_name(call) not in ("tensor", "as_tensor") or not call.args:
        return None
    rows = text.written(call.args[0])
    message = (
        f"the rows of `{join_lines(rows)}` have several lengths, such as {first} and"
        f" {other}: a tensor needs them equally long, padded for example"
    )
    words = [f"{word.arg}={text.written(word.value)}" for word in call.keywords]
    options = "".join(f", {word}" for word in words)
    new = (
        "torch.nn.utils.rnn.pad_sequence("
        f"[torch.tensor(row{options}) for row in {rows}], batch_first=True)"
    )
    fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
    return Explanation(message, (), (fix,))


def _explain_uncollated(program: Program, kind: str) -> Explanation | None:
    """Explain an item with a value of a kind that loaders do not join."""
    message = (
        f"the items have a `{kind}`, which a `DataLoader` does not join to a batch: it"
        " joins tensors, arrays, numbers, texts, and lists and dicts of these"
    )
    places, fixes = [], []
    for text, part in _iter_parts_of_items(program):
        written = text.written(part)
        edit = Edit(text.span(part), f"str({written})")
        fixes.append(Fix("fits", f"`str({join_lines(written)})`", (edit,)))
        places.append(Related(text.span(part), "the items are put together here"))
    return Explanation(message, tuple(places[:1]), tuple(fixes))


def _iter_parts_of_items(program: Program) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the parts of what data sets return: of a tuple, or the values of a dict."""
    for file in program.trace.sources:
        text = program.text(file)
        for _, function in text.functions("__getitem__") if text is not None else ():
            last = function.body[-1]
            value = last.value if isinstance(last, ast.Return) else None
            parts = value.values if isinstance(value, ast.Dict) else []
            parts = value.elts if isinstance(value, ast.Tuple) else parts
            for part in parts:
                if text is not None:
                    yield text, part


def _explain_shuffled_sampler(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a loader with a sampler and `shuffle=True`."""
    message = (
        f"`{text.written(call.func)}` gets a sampler, which decides the order, and"
        " `shuffle=True` as well"
    )
    fixes = []
    for word in call.keywords:
        if word.arg == "shuffle":
            fixes.append(
                Fix("fits", "`shuffle=False`", (Edit(text.span(word.value), "False"),))
            )
        elif word.arg is None:
            rest = text.written(word.value)
            new = f'{{**{rest}, "shuffle": False}}'
            shown = f"`**{new}`"
            fixes.append(Fix("fits", shown, (Edit(text.span(word.value), new),)))
    return Explanation(message, (), tuple(fixes))
