"""Lookup of a program's expressions by position, and of the values of names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from shapewright.program.spans import Span


@dataclass(slots=True)
class SourceText:
    """A file of the program: its text, its tree, its nodes by position.

    Columns are characters from 1, as in `Span`; `ast` counts UTF-8 bytes from 0.
    """

    file: str
    text: str
    lines: list[str] = field(init=False)
    tree: ast.Module | None = field(init=False)
    parents: dict[int, ast.AST] = field(init=False)
    places: dict[int, list[ast.expr | ast.stmt]] = field(init=False)
    defined: dict[str, list[ast.expr]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = self.text.split("\n")
        self.parents = {}
        self.places = {}
        try:
            self.tree = ast.parse(self.text)
        except (SyntaxError, ValueError):
            self.tree = None
            return
        for node in ast.walk(self.tree):
            if isinstance(node, ast.expr | ast.stmt):
                self.places.setdefault(node.lineno, []).append(node)
            for child in ast.iter_child_nodes(node):
                self.parents[id(child)] = node

    def span(self, node: ast.expr | ast.stmt) -> Span:
        """Return the span of a node."""
        end_line = node.end_lineno or node.lineno
        return Span(
            self.file,
            node.lineno,
            self.column(node.lineno, node.col_offset),
            end_line,
            self.column(end_line, node.end_col_offset or 0),
        )

    def column(self, line: int, offset: int) -> int:
        """Convert an offset in bytes to a column in characters from 1."""
        text = self.lines[line - 1]
        if text.isascii():
            return offset + 1
        return len(text.encode()[:offset].decode("utf-8", "replace")) + 1

    def at(self, span: Span) -> str:
        """Return the text of a span."""
        if span.line == span.end_line:
            return self.lines[span.line - 1][span.column - 1 : span.end_column - 1]
        first = self.lines[span.line - 1][span.column - 1 :]
        between = self.lines[span.line : span.end_line - 1]
        last = self.lines[span.end_line - 1][: span.end_column - 1]
        return "\n".join([first, *between, last])

    def written(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node as written in the program."""
        return self.at(self.span(node))

    def node(self, span: Span) -> ast.expr | ast.stmt | None:
        """The outermost expression, or else statement, that stands exactly there.

        Of a method call over several lines Python tells the stretch from the method's
        name on.
        """
        found: ast.expr | ast.stmt | None = None
        for each in self.near(span.line):
            if self.span(each) == span:
                if isinstance(each, ast.expr):
                    return each
                found = each
        return found if found is not None else self.chained(span)

    def chained(self, span: Span) -> ast.Call | None:
        """Return the method call whose name begins there, lines below its object."""
        ends = span.end_line, span.end_column
        for node in ast.walk(self.tree) if self.tree else ():
            func = node.func if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and isinstance(func, ast.Attribute):
                whole, name = self.span(node), self.span(func)
                start = name.end_line, name.end_column - len(func.attr)
                if (*start, *ends) == (
                    span.line, span.column, whole.end_line, whole.end_column,
                ):  # fmt: skip
                    return node
        return None

    def way(self, node: ast.AST) -> tuple[tuple[str, int], ...]:
        """Return the path of fields and list indices from the root to a node."""
        steps: list[tuple[str, int]] = []
        while (parent := self.parents.get(id(node))) is not None:
            for name, value in ast.iter_fields(parent):
                if value is node:
                    steps.append((name, -1))
                elif isinstance(value, list) and any(each is node for each in value):
                    at = next(n for n, each in enumerate(value) if each is node)
                    steps.append((name, at))
            node = parent
        return tuple(reversed(steps))

    def along(self, way: tuple[tuple[str, int], ...]) -> ast.AST | None:
        """Return the node at a path from `way`, in this text or a similar text."""
        node: Any = self.tree
        for name, at in way:
            node = getattr(node, name, None)
            if at >= 0:
                node = node[at] if isinstance(node, list) and at < len(node) else None
            if not isinstance(node, ast.AST):
                return None
        return node if isinstance(node, ast.AST) else None

    def near(self, line: int) -> Sequence[ast.expr | ast.stmt]:
        """Return the nodes that begin on a line, outermost first."""
        return self.places.get(line, ())

    def around(self, node: ast.AST, *kinds: type[ast.AST]) -> ast.AST | None:
        """Return the innermost node of these kinds that contains a node."""
        parent = self.parents.get(id(node))
        while parent is not None and not isinstance(parent, kinds):
            parent = self.parents.get(id(parent))
        return parent


def receiver(call: ast.Call) -> ast.expr | None:
    """Return the receiver of a method call: `x` of `x.view(4)`."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def flat(written: str) -> str:
    """Join an expression to one line: ``x.t().view(3)`` of a chain over three."""
    return " ".join(re.sub(r"\n\s*\.", ".", written).split())


def defining(text: SourceText, name: str) -> list[ast.expr]:
    """Return the expressions assigned or passed to a name anywhere in its file."""
    found = text.defined.get(name)
    if found is None:
        found = text.defined[name] = list(_given(text, name))
    return found


def _given(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield the expressions that a name is assigned, passed or has as default."""
    assert text.tree is not None
    for node in ast.walk(text.tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args]
            given = arguments.defaults
            pairs = list(zip(named[len(named) - len(given) :], given, strict=True))
            for each, value in zip(
                arguments.kwonlyargs, arguments.kw_defaults, strict=True
            ):
                if value is not None:
                    pairs.append((each, value))
            for argument, value in pairs:
                if argument.arg == name:
                    yield value
            place = _place_of(node, name)
            if place is not None:
                yield from _handed(text, node, place)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            own = target.id if isinstance(target, ast.Name) else ""
            own = target.attr if isinstance(target, ast.Attribute) else own
            if own == name:
                yield node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value
        elif isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value


def _place_of(node: ast.FunctionDef, name: str) -> int | None:
    """Return a parameter's position in calls of the function, `self` not counted."""
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    if name not in names:
        return None
    return names.index(name) - (1 if names[:1] == ["self"] else 0)


def _handed(text: SourceText, node: ast.FunctionDef, place: int) -> Iterator[ast.expr]:
    """Yield the arguments at a position in calls of a function or of its class."""
    assert text.tree is not None
    owner = text.around(node, ast.ClassDef)
    name = node.name
    if name == "__init__" and isinstance(owner, ast.ClassDef):
        name = owner.name
    for call in ast.walk(text.tree):
        if isinstance(call, ast.Call) and 0 <= place < len(call.args):
            called = call.func
            own = called.id if isinstance(called, ast.Name) else ""
            own = called.attr if isinstance(called, ast.Attribute) else own
            if own == name and not isinstance(call.args[place], ast.Starred):
                yield call.args[place]
