"""Methods whose names Python or torch never call: `def len(self)` in place of
`def __len__(self)`, `def foward(self, x)`; names a letter off: `x.veiw(-1)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

MEANT: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"object of type '(\w+)' has no len\(\)"), ("__len__",)),
    (re.compile(r"'(\w+)' object is not subscriptable"), ("__getitem__",)),
    (
        re.compile(r"'(\w+)' object does not support item assignment"),
        ("__setitem__",),
    ),
    (re.compile(r"'(\w+)' object is not callable"), ("__call__", "forward")),
    (re.compile(r"'(\w+)' object is not iterable"), ("__iter__", "__getitem__")),
    (re.compile(r"'(\w+)' object is not an iterator"), ("__next__",)),
    (re.compile(r"iter\(\) returned non-iterator of type '(\w+)'"), ("__next__",)),
    (
        re.compile(r"'(\w+)' object does not support the context manager protocol"),
        ("__enter__", "__exit__"),
    ),
    (re.compile(r"Module \[(\w+)\] is missing the required"), ("forward",)),
    (re.compile(r"(\w+)\(\) takes no arguments"), ("__init__",)),
    (re.compile(r"(\w+)\.__init__\(\) takes 1 positional"), ("__init__",)),
    (re.compile(r"\b(\w+)\.__init__\(\) got an unexpected keyword"), ("__init__",)),
    (re.compile(r"'(\w+)' object has no attribute '\w+'"), ("__init__",)),
    (re.compile(r"of () ?Dataset should implement __getitem__"), ("__getitem__",)),
    (re.compile(r"of () ?IterableDataset should implement __iter__"), ("__iter__",)),
)
"""What Python or torch say of a class, and the method that it lacks; without a name of
the class for those of torch's base classes.
"""
MISSPELT = {
    "forward": {"foward", "forwad", "forwards", "froward", "call", "fwd"},
    "__call__": {"call", "cal", "forward"},
    "__enter__": {"enter"},
    "__exit__": {"exit"},
    "__getitem__": {"getitem", "get_item", "getitems", "getiem"},
    "__init__": {"init", "int", "inti", "initialize"},
    "__iter__": {"iter", "itr", "iterator"},
    "__len__": {"len", "length", "lenght", "get_len"},
    "__next__": {"next"},
    "__setitem__": {"setitem", "set_item"},
}
"""Names that stand in the place of a method, without underscores at their ends."""


def find_misspelt_method(program: Program, finding: Finding) -> Explanation | None:
    """Return which method of a class has another name than the one that is called, or
    None.
    """
    messages = finding.words
    for pattern, names in MEANT:
        match = pattern.search(messages)
        if match is None:
            continue
        for text in program.own_texts():
            for kind in _iter_classes(text, match[1], names[0]):
                for name in names:
                    cause = explain_misspelt(text, kind, name)
                    if cause is not None and _is_meant(finding, text, kind, name):
                        return cause
                if "__len__" in names:
                    return _explain_missing_length(text, kind)
        return None
    return None


def _iter_classes(text: SourceText, name: str, meant: str) -> Iterator[ast.ClassDef]:
    """Yield the classes of a name; without one, the data sets that lack a method."""
    for _, kind in text.definitions(name or None):
        if not isinstance(kind, ast.ClassDef):
            continue
        bases = [get_dotted_name(base) for base in kind.bases]
        if name or any(base.endswith("Dataset") for base in bases):
            yield kind


def _is_meant(
    finding: Finding, text: SourceText, kind: ast.ClassDef, name: str
) -> bool:
    """Return whether an error is one of the method that a class lacks: an attribute
    that the misspelt constructor would set.
    """
    missing = re.search(r"object has no attribute '(\w+)'", finding.words)
    if name != "__init__" or missing is None:
        return True
    method = _find_misspelt(kind, name)
    nodes = ast.walk(method) if method is not None else ()
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and text.written(node) == f"self.{missing[1]}"
        for node in nodes
    )


def _find_misspelt(kind: ast.ClassDef, name: str) -> Function | None:
    """Return the method of a class that has the meant name in another spelling, where
    it has none of the meant name.
    """
    methods = [method for method in kind.body if isinstance(method, Function)]
    if any(method.name == name for method in methods):
        return None
    spellings = MISSPELT[name] | {name.strip("_")}
    for method in methods:
        bare = method.name.strip("_").lower()
        if bare in spellings and not _is_other_special(method.name, name):
            return method
    return None


def _is_other_special(written: str, name: str) -> bool:
    """Return whether a method is one that Python or torch call, beside the meant one:
    `forward` of a class that is no module is none.
    """
    return written != "forward" and written in MISSPELT and written != name


def explain_misspelt(
    text: SourceText, kind: ast.ClassDef, name: str
) -> Explanation | None:
    """Explain a method whose name is not the one that is called."""
    method = _find_misspelt(kind, name)
    if method is None:
        return None
    line = text.lines[method.lineno - 1]
    column = line.index(method.name, method.col_offset) + 1
    end = column + len(method.name)
    span = Span(text.file, method.lineno, column, method.lineno, end)
    caller = "torch" if name == "forward" else "Python"
    message = f"`{kind.name}` has no `{name}`: {caller} never calls its"
    message += f" `{method.name}` at line {method.lineno}"
    if name == "__init__":
        message += ", which makes the layers" if "nn." in text.written(method) else ""
    edits = [Edit(span, name), *_iter_super_calls(text, method, name)]
    fix = Fix("fits", f"`def {name}` for `def {method.name}`", tuple(edits))
    of_ends = method.name.strip("_") == name.strip("_")
    words = "this name has other underscores" if of_ends else "this name is another"
    return Explanation(message, (Related(span, words),), (fix,))


def _iter_super_calls(text: SourceText, method: Function, name: str) -> Iterator[Edit]:
    """Yield the edits of `super()._init_()` in a method that is misspelt too."""
    for node in ast.walk(method):
        if get_called_name(node) != method.name or not isinstance(node, ast.Call):
            continue
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if owner is not None and get_called_name(owner) == "super":
            span = text.span(node.func)
            start = span.end_column - len(method.name)
            yield Edit(
                Span(text.file, span.end_line, start, span.end_line, span.end_column),
                name,
            )


# -- a data set without a length -------------------------------------------------------


def _explain_missing_length(text: SourceText, kind: ast.ClassDef) -> Explanation | None:
    """Explain a data set that has no length at all, with that of what it reads by the
    index.
    """
    methods = [method for method in kind.body if isinstance(method, Function)]
    items = [method for method in methods if method.name == "__getitem__"]
    is_whole = not any(method.name == "__len__" for method in methods)
    bases = [get_dotted_name(base) for base in kind.bases]
    is_data = not bases or all(base.endswith(("Dataset", "object")) for base in bases)
    if not items or not is_whole or not is_data or len(items[0].args.args) != 2:
        return None
    item = items[0]
    index = item.args.args[1].arg
    message = f"`{kind.name}` has no `__len__`, which says how many items there are"
    related = (Related(text.span(item).start, "its items are read here"),)
    fixes = []
    for node in ast.walk(item):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
            continue
        if node.slice.id == index and get_dotted_name(node.value).startswith("self."):
            indent = text.lines[item.lineno - 1][: item.col_offset]
            body = f"return len({text.written(node.value)})"
            first = min([item, *item.decorator_list], key=lambda part: part.lineno)
            at = Span(text.file, first.lineno, 1, first.lineno, 1)
            new = f"{indent}def __len__(self):\n{indent}    {body}\n\n"
            fixes.append(Fix("fits", f"`def __len__` with `{body}`", (Edit(at, new),)))
            break
    return Explanation(message, related, tuple(fixes))


# -- a name that is hardly another's ---------------------------------------------------

HINT = re.compile(
    r"(?:attribute|name) '(\w+)'(?: is not defined)?\. Did you mean: '(\w+)'"
)


def find_misspelt_name(program: Program, finding: Finding) -> Explanation | None:
    """Return which name stands for one that Python finds beside it, or None."""
    hint = HINT.search(finding.words)
    place = program.node(finding.span)
    if hint is None or place is None:
        return None
    wrong, meant = hint[1], hint[2]
    text, outer = place
    for node in ast.walk(text.statement_of(outer)):
        if isinstance(node, ast.Name) and node.id == wrong:
            message, shown = f"no name `{wrong}` is set: `{meant}` is", meant
        elif isinstance(node, ast.Attribute) and node.attr == wrong:
            owner = text.line_of(node.value)
            message = f"`{owner}` has no `{wrong}`: it has `{meant}`"
            shown = f"{owner}.{meant}"
        else:
            continue
        end = text.span(node).end
        span = replace(end, column=end.column - len(wrong))
        return Explanation(
            message, (), (Fix("fits", f"`{shown}`", (Edit(span, meant),)),)
        )
    return None
