"""Functions whose name their own result is given: `loss = loss(out, y)`, after which
the second batch calls a tensor.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import TypeGuard

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
)

NOT_CALLABLE = re.compile(r"'([\w.]+)' object is not callable")
UNBOUND = re.compile(r"local variable '(\w+)' (?:where|referenced before)")
CHILD = re.compile(r"cannot assign '[\w.]+' as child module '(\w+)'")
PARAMETERS = ("Parameter", "Tensor", "Buffer", "FloatTensor", "LongTensor")
"""Classes of tensors, which are no functions."""
LOSS = re.compile(r"loss|criterion|crit\b")
LOOPS = ast.For | ast.While
Place = ast.Name | ast.Attribute


def find_overwritten_function(program: Program, finding: Finding) -> Explanation | None:
    """Return which line gives the name of a function to a value, or None."""
    place = program.node(finding.span)
    words = finding.words
    called, unbound, child = (
        pattern.search(words) for pattern in (NOT_CALLABLE, UNBOUND, CHILD)
    )
    if place is None or not (called or unbound or child):
        return None
    text, node = place
    statement = text.statement_of(node)
    if called is not None:
        calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
        name = get_dotted_name(calls[0].func) if calls else ""
    else:
        local = unbound[1] if unbound is not None else ""
        name = f"self.{child[1]}" if child is not None else local
    if not name or ("." in name and not name.startswith("self.")):
        return None
    uses = _Uses(text, name, statement)
    if not uses.writers or not uses.has_function():
        return None
    writer = _choose_writer(uses, statement)
    message = _write_message(text, uses, writer, called[1] if called else "")
    related = [Related(text.span(writer), f"`{name}` is another thing from here on")]
    if writer is statement:
        related = []
    related += [
        Related(text.span(target), f"`{name}` is the function here")
        for target in uses.makers[-1:]
    ]
    return Explanation(message, tuple(related), tuple(_iter_fixes(uses)))


def _write_message(text: SourceText, uses: _Uses, writer: ast.stmt, kind: str) -> str:
    """Return what a line makes of the name of a function."""
    name, line = uses.name, writer.lineno
    what = {"Tensor": "a tensor", "float": "a number", "int": "a number"}
    if kind:
        value = what.get(kind.rpartition(".")[2], f"of type `{kind}`")
        own = "its own result" if uses.is_of_itself(writer) else "a value"
        return (
            f"`{name}` is {value}, not the function any more: line {line} gives the"
            f" name to {own}"
        )
    if "." in name:
        return f"`{name}` is a module, and line {line} gives its name to its own result"
    scope = text.around(writer, *FUNCTIONS)
    function = getattr(scope, "name", "the function")
    return (
        f"`{name}` is a name of `{function}` alone, as line {line} sets it: the"
        f" function `{name}` cannot be called there"
    )


def _choose_writer(uses: _Uses, statement: ast.stmt) -> ast.stmt:
    """Return the statement that sets a name to its own result, or the last one above
    the call.
    """
    own = [writer for writer in uses.writers if uses.is_of_itself(writer)]
    above = [writer for writer in uses.writers if writer.lineno < statement.lineno]
    return (own or above or uses.writers)[-1]


class _Uses:
    """The places of a name in the scope of an error, as a function and as a value."""

    def __init__(self, text: SourceText, name: str, statement: ast.stmt) -> None:
        self.text, self.name = text, name
        self.scope = text.around(statement, *FUNCTIONS)
        owner = text.around(statement, ast.ClassDef) if "." in name else None
        self.owner = owner
        places = [node for node in text.nodes if self._is_same(node)]
        if owner is not None:
            places = [n for n in places if text.around(n, ast.ClassDef) is owner]
        inner = [node for node in places if self._has_scope(node)]
        stores = [node for node in inner if isinstance(node.ctx, ast.Store)]
        self.writers = [
            text.statement_of(node) for node in stores if not self._is_maker(node)
        ]
        is_local = (
            owner is not None or self.scope is None or bool(self.list_parameters())
        )
        made_inside = [node for node in stores if self._is_maker(node)]
        outer = [node for node in places if text.around(node, *FUNCTIONS) is None]
        self.places = inner if made_inside or is_local else [*outer, *inner]
        if self.scope is None and owner is None:  # functions read the name, too
            self.places = [n for n in places if self._has_scope(n) or self._is_read(n)]
        self.makers = [
            node
            for node in self.places
            if isinstance(node.ctx, ast.Store) and self._is_maker(node)
        ]

    def _is_same(self, node: ast.AST) -> TypeGuard[Place]:
        return isinstance(node, Place) and get_dotted_name(node) == self.name

    def _has_scope(self, node: ast.AST) -> bool:
        if self.owner is not None:
            return True
        around = self.text.around(node, *FUNCTIONS)
        return around is self.scope or (
            self.scope is not None and self.scope in self.text.outwards(node)
        )

    def _is_read(self, node: ast.AST) -> bool:
        """Return whether a function reads the name of the file."""
        function = self.text.around(node, *FUNCTIONS)
        if function is None:
            return True
        arguments: ast.arguments = getattr(function, "args")  # noqa: B009
        named = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
        is_set = any(
            self._is_same(part) and isinstance(getattr(part, "ctx", None), ast.Store)
            for part in ast.walk(function)
        )
        return self.name not in named and not is_set

    def _is_maker(self, node: ast.AST) -> bool:
        """Return whether a name is given a function, or an object that is called."""
        holder = self.text.parent(node)
        value = holder.value if isinstance(holder, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.IfExp):
            value = value.body
        if isinstance(value, ast.Lambda):
            return True
        while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr not in ("to", "cuda", "cpu", "double", "half", "float"):
                break
            value = value.func.value
        if isinstance(value, ast.Call):
            kind = get_called_name(value)
            is_class = kind[:1].isupper() and kind not in PARAMETERS
            return is_class or kind in ("partial", "compile", "vmap", "jit")
        dotted = get_dotted_name(value)
        return dotted.startswith(("F.", "nn.functional.", "torch.nn.functional."))

    def list_parameters(self) -> list[ast.arg]:
        """Return the parameter of the scope that has the name."""
        arguments = getattr(self.scope, "args", None)
        if arguments is None:
            return []
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        return [argument for argument in named if argument.arg == self.name]

    def is_of_itself(self, statement: ast.stmt) -> bool:
        """Return whether a statement calls the name that it sets."""
        return any(
            isinstance(part, ast.Call) and self._is_same(part.func)
            for part in ast.walk(getattr(statement, "value", None) or ast.Pass())
        )

    def has_function(self) -> bool:
        """Return whether the name is a function somewhere else."""
        if self.makers or "." in self.name:
            return bool(self.makers)
        is_defined = any(
            isinstance(node, ast.FunctionDef) and node.name == self.name
            for node in getattr(self.text.tree, "body", [])
        )
        imported = any(
            isinstance(node, ast.ImportFrom)
            and self.name in [alias.asname or alias.name for alias in node.names]
            for node in self.text.nodes
        )
        is_builtin = callable(getattr(builtins, self.name, None))
        of_itself = any(map(self.is_of_itself, self.writers))
        is_handed = bool(self.list_parameters()) and of_itself
        return is_defined or imported or is_builtin or is_handed

    def split(self) -> tuple[list[Place], list[Place]]:
        """Return the places of the function, and those of the values."""
        first = min(writer.lineno for writer in self.writers)
        for writer in self.writers:
            loops = [n for n in self.text.outwards(writer) if isinstance(n, LOOPS)]
            first = min([first, *(loop.lineno for loop in loops)])
        functions: list[Place] = []
        values: list[Place] = []
        for node in self.places:
            holder = self.text.parent(node)
            is_called = isinstance(holder, ast.Call) and holder.func is node
            is_outer = not self._has_scope(node) or (
                self.owner is None and node.lineno < first
            )
            is_function = is_called or node in self.makers
            is_function |= is_outer and isinstance(node.ctx, ast.Load)
            (functions if is_function else values).append(node)
        return functions, values


def _iter_fixes(uses: _Uses) -> Iterator[Fix]:
    """Yield another name for the function, and one for its values."""
    text, name = uses.text, uses.name
    functions, values = uses.split()
    of_self = "self." if "." in name else ""
    bare = name.removeprefix("self.")
    is_loss = bool(LOSS.search(bare.lower()))
    new_function = of_self + _choose_name(
        text, ["criterion"] * is_loss + [f"{bare}_fn"]
    )
    new_value = of_self + _choose_name(text, [f"{bare}_value", f"{bare}_result"])
    parameters = uses.list_parameters()
    renamed = [Edit(text.span(node), new_function) for node in functions]
    for argument in parameters:
        start = text.column(argument.lineno, argument.col_offset)
        end = start + len(argument.arg)
        at = Span(text.file, argument.lineno, start, argument.lineno, end)
        renamed.append(Edit(at, new_function))
    is_keyword = parameters and any(
        isinstance(node, ast.keyword) and node.arg == name for node in text.nodes
    )
    fixes: list[Fix] = []
    if (uses.makers or parameters) and not is_keyword and renamed:
        message = f"`{new_function}` for the function `{name}`"
        fixes.append(Fix("fits", message, tuple(renamed)))
    if values:
        edits = tuple(Edit(text.span(node), new_value) for node in values)
        fixes.append(Fix("fits", f"`{new_value}` for the value `{name}`", edits))
    yield from fixes if is_loss else reversed(fixes)


def _choose_name(text: SourceText, names: list[str]) -> str:
    """Return the first name that the file does not have yet."""
    taken = {get_dotted_name(node).rpartition(".")[2] for node in text.nodes}
    return next((name for name in names if name not in taken), f"{names[-1]}_")
