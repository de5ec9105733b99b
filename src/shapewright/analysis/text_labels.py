"""Labels that are texts: `default_collate` leaves the names of classes as a tuple,
which has no `to`, `size` or `long`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import TUPLE_AS_TENSOR
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_own_attribute

OF_TUPLE = re.compile(
    r"'tuple' object has no attribute '(to|cuda|size|shape|long|float|view|dim|device)'"
    r"|target.*must be Tensor, not tuple"
)
MOST_PLACES = 6


def find_text_labels(program: Program, finding: Finding) -> Explanation | None:
    """Return that the labels of a batch are texts, if a data set returns texts and no
    function of the program collates them; else None.
    """
    if not OF_TUPLE.search(finding.words):
        return None
    known = list(program.own_texts())
    if any("collate_fn" in text.text for text in known):
        return None
    fixes: list[Fix] = []
    related: list[Related] = []
    for text in known:
        for returned in _iter_returned(text):
            names = list(_iter_class_names(text, returned))
            if not names or not _is_of_text(text, returned):
                continue
            related.append(Related(text.span(returned), "a text is returned here"))
            written = text.written(returned)
            for name in names:
                new = f"{name}.index({written})"
                edit = Edit(text.span(returned), new)
                fixes.append(Fix("fits", f"`{new}`", (edit,)))
    if not fixes:
        return None
    message = (
        "the labels are texts, which collating leaves as a tuple: a loss takes the"
        " numbers of classes"
    )
    return Explanation(
        message, tuple(related), tuple(fixes[:MOST_PLACES]), TUPLE_AS_TENSOR
    )


def _iter_returned(text: SourceText) -> Iterator[ast.expr]:
    """Yield what the data sets of a text return beside the input."""
    for _, function in text.functions("__getitem__"):
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                yield from node.value.elts[1:]


def _is_of_text(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression, or what its name was given, works on a text."""
    values: list[ast.expr] = [node]
    function = text.around(node, ast.FunctionDef)
    if isinstance(node, ast.Name) and function is not None:
        values += [
            part.value
            for part in ast.walk(function)
            if isinstance(part, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == node.id for t in part.targets)
        ]
    return not any(OF_NUMBERS.search(text.written(value)) for value in values)


OF_NUMBERS = re.compile(r"\b(int|float|tensor|index|torch|np|asarray|from_numpy)\b")


def _iter_class_names(text: SourceText, returned: ast.expr) -> Iterator[str]:
    """Yield the lists of texts that the data set has or that the module has."""
    owner = text.around(returned, ast.ClassDef)
    for node in ast.walk(owner) if owner is not None else ():
        if isinstance(node, ast.Assign) and _is_list_of_texts(node.value):
            target = node.targets[0]
            own = get_own_attribute(target)
            if own:
                yield f"self.{own}"
            elif isinstance(target, ast.Name) and text.parent(node) is owner:
                yield f"self.{target.id}"
    for node in text.tree.body if text.tree is not None else ():
        if not isinstance(node, ast.Assign) or not _is_list_of_texts(node.value):
            continue
        if isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id


def _is_list_of_texts(value: ast.expr) -> bool:
    """Return whether an expression is a list of names, or a sorted one."""
    if isinstance(value, ast.Call):
        name = value.func.id if isinstance(value.func, ast.Name) else ""
        return name == "sorted" or name == "list"
    return (
        isinstance(value, ast.List | ast.Tuple)
        and len(value.elts) > 1
        and all(
            isinstance(item, ast.Constant) and isinstance(item.value, str)
            for item in value.elts
        )
    )
