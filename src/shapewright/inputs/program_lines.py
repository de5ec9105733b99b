"""Find what to run for a line of a program: `model.py:57`, `model.py:Net(10):57`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from shapewright.inputs.errors import InputError
from shapewright.inputs.python_files import read_source
from shapewright.program.runnable_definitions import list_required_arguments
from shapewright.program.syntax_nodes import (
    collect_names,
    get_first_line,
    get_last_line,
)

_PLACE = re.compile(r"(?P<file>.*?\.py)(:(?P<name>[^:]+.*?))?:(?P<line>\d+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, and the target to run to see what the line does."""

    file: str
    number: int
    target: str
    text: str


def is_line(text: str) -> bool:
    """Return whether a text names a line of a Python file."""
    return _PLACE.fullmatch(text.strip()) is not None


def read_line(text: str, fed: bool) -> Line:
    """Read a line and its target: the named one, or the code around the line.

    `fed` says that inputs are given. Raises `InputError` for a file or a line that is
    not there, and where it cannot be told what to run.
    """
    match = _PLACE.fullmatch(text.strip())
    assert match is not None
    file, number = match["file"], int(match["line"])
    source, tree = read_source(file)
    count = len(source.splitlines())
    if not 1 <= number <= count:
        raise InputError(f"`{file}` has {count} lines, there is no line {number}")
    if match["name"]:
        return Line(file, number, f"{file}:{match['name']}", source)
    target = _Program(tree).target(number, fed, file)
    return Line(file, number, f"{file}:{target}" if target else file, source)


class _Program:
    """The top-level definitions of a file, read from its text."""

    def __init__(self, tree: ast.Module) -> None:
        self.body = tree.body
        self.classes = {
            statement.name: statement
            for statement in tree.body
            if type(statement) is ast.ClassDef
        }
        self.modules = [name for name in self.classes if self.is_module(name, ())]
        functions = [
            statement
            for statement in tree.body
            if isinstance(statement, ast.FunctionDef)
        ]
        self.functions = {function.name: function for function in functions}

    def target(self, line: int, fed: bool, file: str) -> str:
        """Return the target's name for a line, or an empty string for the file."""
        inside = self.around(line)
        declared = "example_inputs" in self.functions and inside in self.modules
        if inside is None or (not fed and not declared and self.runs_itself(inside)):
            return ""
        if inside in self.modules:
            root = self.root(inside)
            alone = not self.needed(inside) and (fed or not declared)
            return inside if alone or root is None else root
        if inside in self.functions and (fed or not self.modules):
            return inside
        if len(self.modules) == 1:
            return self.modules[0]
        if inside in self.functions and not self.modules:
            return inside
        roots = [name for name in self.modules if self.root(name) == name]
        if len(roots) == 1:
            return roots[0]
        names = [f"`{file}:{name}:{line}`" for name in roots or self.modules]
        if not names:
            raise InputError(
                f"line {line} is in `{inside}`, which is neither a module nor a"
                f" function; name what to run, as in `{file}:NAME:{line}`"
            )
        raise InputError(
            f"line {line} is in `{inside}`; name what to run: {' or '.join(names)}"
        )

    def around(self, line: int) -> str | None:
        """Return the top-level class or function that contains a line."""
        named: list[ast.ClassDef | ast.FunctionDef] = [*self.classes.values()]
        for node in (*named, *self.functions.values()):
            if get_first_line(node) <= line <= get_last_line(node):
                return node.name
        return None

    def is_module(self, name: str, seen: tuple[str, ...]) -> bool:
        """Return whether a class is an `nn.Module`, as far as the text shows."""
        node = self.classes[name]
        for base in node.bases:
            last = ast.unparse(base).rpartition(".")[2]
            if last in self.classes and last not in seen:
                if self.is_module(last, (*seen, name)):
                    return True
            elif last.endswith(("Module", "Model", "Sequential")):
                return True
        defined = {
            statement.name
            for statement in node.body
            if isinstance(statement, ast.FunctionDef)
        }
        return bool(node.bases) and "forward" in defined

    def needed(self, name: str) -> bool:
        """Return whether the constructor of a class requires arguments."""
        for statement in self.classes[name].body:
            if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                return bool(list_required_arguments(statement, 1))
        return False

    def root(self, name: str) -> str | None:
        """Return the only module that uses `name`, itself unused by others, or None."""
        users = {name}
        while True:
            more = {
                other
                for other in self.modules
                if other not in users and users & collect_names(self.classes[other])
            }
            if not more:
                break
            users |= more
        used = {
            inner for outer in users for inner in collect_names(self.classes[outer])
            if inner != outer
        }  # fmt: skip
        roots = [user for user in users if user not in used]
        return roots[0] if len(roots) == 1 else None

    def runs_itself(self, name: str) -> bool:
        """Return whether code at the top level of the file uses a name."""
        code = [
            statement
            for statement in self.body
            if not isinstance(
                statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            )
        ]
        met = {inner for statement in code for inner in collect_names(statement)}
        while True:
            more = {
                inner
                for outer, node in {**self.classes, **self.functions}.items()
                if outer in met
                for inner in collect_names(node)
            }
            if more <= met:
                return name in met
            met |= more
