"""The one index of a file's text: nodes by position, scopes, definitions, values."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    LOOPS,
    SCOPES,
    get_called_name,
    get_first_line,
    get_last_line,
    get_last_name,
    pair_targets,
    parse,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.Lambda | ast.ClassDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Kind = TypeVar("Kind", bound=ast.AST)
_Place = tuple[int, int, int, int]


class _Index:
    """The contents of a text, independent of the name of its file; see `_get_index`."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.defined: dict[str, list[ast.expr]] = {}
        self.by_place: dict[_Place, ast.expr | ast.stmt | None] = {}
        self.tree: ast.Module | None = None
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            self.tree = parse(text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes, the outer ones first."""
        return tuple(ast.walk(self.tree)) if self.tree is not None else ()

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Return, for every node, the node that directly contains it."""
        return {child: n for n in self.nodes for child in ast.iter_child_nodes(n)}

    @cached_property
    def places(self) -> dict[int, list[ast.expr | ast.stmt]]:
        """Return the nodes by the lines on which they begin."""
        places: dict[int, list[ast.expr | ast.stmt]] = {}
        for node in self.nodes:
            if isinstance(node, ast.expr | ast.stmt):
                places.setdefault(node.lineno, []).append(node)
        return places

    @cached_property
    def definitions(self) -> tuple[tuple[str, Definition], ...]:
        """Return the functions and classes with their qualified names."""
        return tuple(_iter_definitions(self.tree, "")) if self.tree is not None else ()

    @cached_property
    def looping_lines(self) -> frozenset[int]:
        """Return the lines that may run more than once in one call of their
        function.
        """
        if self.tree is None:
            return frozenset(range(1, len(self.lines) + 1))
        kinds = (*LOOPS, *COMPREHENSIONS, ast.Lambda)
        looping = [node for node in self.nodes if isinstance(node, kinds)]
        return frozenset(
            line
            for node in looping
            for line in range(node.lineno, get_last_line(node) + 1)
        )


@lru_cache(maxsize=64)
def _get_index(text: str) -> _Index:
    """Return the index of a text, shared by all readers of this text."""
    return _Index(text)


def _iter_definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    """Yield the definitions below a node, with a prefix before their names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, SCOPES):
            name = "<lambda>" if isinstance(child, ast.Lambda) else child.name
            yield f"{prefix}{name}", child
            yield from _iter_definitions(child, f"{prefix}{name}.")
        else:
            yield from _iter_definitions(child, prefix)


class SourceText:
    """A file of the program: the one index of its text, parsed once for all readers.

    Nobody may change its nodes; for that there is `parse`. `tree` is None where the
    text is no program. Columns are characters from 1, as in `Span`; `ast` counts UTF-8
    bytes from 0.
    """

    __slots__ = ("_index", "file", "lines", "text", "tree")

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self._index = _get_index(text)
        self.lines, self.tree = self._index.lines, self._index.tree

    # -- nodes -------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes, the outer ones first; none if the text is not a program."""
        return self._index.nodes

    def parent(self, node: ast.AST | None) -> ast.AST | None:
        """Return the node that directly contains a node."""
        return self._index.parents.get(node) if node is not None else None

    def outwards(self, node: ast.AST | None) -> Iterator[ast.AST]:
        """Yield the nodes that contain a node, the innermost first."""
        while (node := self.parent(node)) is not None:
            yield node

    def around(self, node: ast.AST | None, *kinds: type[Kind]) -> Kind | None:
        """Return the innermost node of these kinds that contains a node."""
        return next((n for n in self.outwards(node) if isinstance(n, kinds)), None)

    def near(self, line: int) -> Sequence[ast.expr | ast.stmt]:
        """Return the nodes that begin on a line, outermost first."""
        return self._index.places.get(line, ())

    def for_loops(self, line: int) -> list[ast.For]:
        """Return the `for` loops that begin on a line."""
        return [node for node in self.near(line) if isinstance(node, ast.For)]

    def statement_of(self, node: ast.expr | ast.stmt) -> ast.stmt:
        """Return the statement that a node belongs to, or the node itself if it is a
        statement.
        """
        held = node if isinstance(node, ast.stmt) else self.around(node, ast.stmt)
        assert held is not None
        return held

    # -- definitions -------------------------------------------------------------------

    def definitions(self, name: str | None = None) -> list[tuple[str, Definition]]:
        """Return functions, lambdas and classes with their names, in the text's order.

        A name is qualified without `<locals>`: ``Net.forward``, ``main.hook``. With a
        `name`, only those that are called so, whatever they stand in: none for an
        empty one, as of a call that has no name.
        """
        every = self._index.definitions
        return [
            definition
            for definition in every
            if name is None or definition[0].rpartition(".")[2] == (name or None)
        ]

    def functions(self, name: str | None = None) -> list[tuple[str, Function]]:
        """Return the definitions that are functions written with `def`."""
        definitions = self.definitions(name)
        return [
            (full, node) for full, node in definitions if isinstance(node, Function)
        ]

    @property
    def function(self) -> ast.FunctionDef | None:
        """Return the function that the text begins with, or None."""
        first = self.tree.body[:1] if self.tree is not None else []
        return next((n for n in first if isinstance(n, ast.FunctionDef)), None)

    @property
    def looping_lines(self) -> frozenset[int]:
        """Return the lines that may run more than once in one call of their function.

        Example: in ``for x in xs:`` the body's lines and the header's line. All lines,
        where the text is no program.
        """
        return self._index.looping_lines

    def statement_lines(self, line: int) -> tuple[int, int]:
        """Return the lines of the statement at a line; for a compound statement, those
        of its head.
        """
        body = self.tree.body if self.tree is not None else []
        while True:
            held = [n for n in body if get_first_line(n) <= line <= get_last_line(n)]
            inner = [inside for node in held for inside in _iter_blocks(node)]
            if not inner:
                if not held:
                    return line, line
                return min(map(get_first_line, held)), max(map(get_last_line, held))
            head = min(map(get_first_line, inner)) - 1
            if line <= head:
                first = get_first_line(held[0])
                return (first, head) if head >= first else (line, line)
            body = inner

    # -- places and texts --------------------------------------------------------------

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

    def owner_span(self, attribute: ast.Attribute) -> Span:
        """Return the span of what an attribute is of, with the brackets around it:
        `(a + b)` of `(a + b).detach`.
        """
        whole = self.span(attribute)
        end = whole.end_column - len(attribute.attr) - 1
        return Span(self.file, whole.line, whole.column, whole.end_line, end)

    def at(self, span: Span) -> str:
        """Return the text of a span."""
        rows = self.lines[span.line - 1 : span.end_line]
        if not rows:
            return ""
        rows[-1] = rows[-1][: span.end_column - 1]
        rows[0] = rows[0][span.column - 1 :]
        return "\n".join(rows)

    def written(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node as written in the program."""
        return self.at(self.span(node))

    def line_at(self, span: Span) -> str:
        """Return the text of a span, joined to one line."""
        return " ".join(self.at(span).split())

    def line_of(self, node: ast.expr | ast.stmt) -> str:
        """Return the text of a node, joined to one line."""
        return self.line_at(self.span(node))

    def node(self, span: Span) -> ast.expr | ast.stmt | None:
        """Return the outermost expression, or else statement, at exactly this span.

        Of a method call over several lines Python tells the stretch from the method's
        name on.
        """
        place = (span.line, span.column, span.end_line, span.end_column)
        by_place = self._index.by_place
        if span.file != self.file or place not in by_place:
            exact = self.exact_node(span)
            node = exact if exact is not None else self._chained(span)
            if span.file != self.file:
                return node
            by_place[place] = node
        return by_place[place]

    def exact_node(self, span: Span) -> ast.expr | ast.stmt | None:
        """Return the outermost expression, or else statement, at exactly this span."""
        matches = [node for node in self.near(span.line) if self.span(node) == span]
        exprs = [node for node in matches if isinstance(node, ast.expr)]
        return exprs[0] if exprs else matches[-1] if matches else None

    def _chained(self, span: Span) -> ast.Call | None:
        """Return the method call whose name begins at this span, on a line below its
        object.
        """
        ends = span.end_line, span.end_column
        for node in self.nodes:
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
        while (parent := self.parent(node)) is not None:
            for name, value in ast.iter_fields(parent):
                if value is node:
                    steps.append((name, -1))
                elif isinstance(value, list) and any(item is node for item in value):
                    at = next(n for n, item in enumerate(value) if item is node)
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


def _iter_blocks(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements below a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        for inner in getattr(node, name, []):
            if isinstance(inner, ast.stmt):
                yield inner
    for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield from handler.body


def get_function_text(function: Any) -> SourceText | None:
    """Return the dedented text of a live function, or None if it is not known."""
    try:
        return SourceText("", textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError):
        return None


def get_receiver(call: ast.Call) -> ast.expr | None:
    """Return the receiver of a method call: `x` of `x.view(4)`."""
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def join_lines(written: str) -> str:
    """Join an expression to one line: ``x.t().view(3)`` for a chain over three
    lines.
    """
    return " ".join(re.sub(r"\n\s*\.", ".", written).split())


def find_imports(text: SourceText) -> dict[str, str]:
    """Return the modules that a file imports, by the names that it gives them.

    Example: ``import numpy as np`` gives ``{"np": "numpy"}``.
    """
    return {
        alias.asname or alias.name: alias.name
        for node in text.nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }


def find_defining(text: SourceText, name: str) -> list[ast.expr]:
    """Return the expressions assigned or passed to a name anywhere in its file."""
    known = text._index.defined
    if not name:
        return []
    if name not in known:
        known[name] = list(_iter_given(text, name))
    return known[name]


def _iter_given(text: SourceText, name: str) -> Iterator[ast.expr]:
    """Yield the expressions that a name is assigned, is passed, or has as its
    default.
    """
    for node in text.nodes:
        if isinstance(node, ast.FunctionDef):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args]
            defaults = arguments.defaults
            pairs = list(
                zip(named[len(named) - len(defaults) :], defaults, strict=True)
            )
            for parameter, value in zip(
                arguments.kwonlyargs, arguments.kw_defaults, strict=True
            ):
                if value is not None:
                    pairs.append((parameter, value))
            for argument, value in pairs:
                if argument.arg == name:
                    yield value
            place = _get_parameter_place(node, name)
            if place is not None:
                yield from _iter_handed(text, node, place)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            for target, value in pair_targets(node.targets[0], node.value):
                is_itself = target is not node.targets[0] and (
                    isinstance(value, ast.Name) and value.id == name
                )  # `self.a, self.b = a, b`
                if get_last_name(target) == name and not is_itself:
                    yield value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            if isinstance(node.target, ast.Name) and node.target.id == name:
                yield node.value
        elif isinstance(node, ast.keyword) and node.arg == name:
            yield node.value
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == name:
                    yield value


def _get_parameter_place(node: ast.FunctionDef, name: str) -> int | None:
    """Return a parameter's position in calls of the function, not counting `self`."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    if name not in names:
        return None
    return names.index(name) - (1 if names[:1] == ["self"] else 0)


def _iter_handed(
    text: SourceText, node: ast.FunctionDef, place: int
) -> Iterator[ast.expr]:
    """Yield the arguments at a position in calls of a function or of its class."""
    owner = text.around(node, ast.ClassDef)
    name = node.name
    if name == "__init__" and owner is not None:
        name = owner.name
    for call in text.nodes:
        if isinstance(call, ast.Call) and 0 <= place < len(call.args):
            argument = call.args[place]
            if get_called_name(call) == name and not isinstance(argument, ast.Starred):
                yield argument
