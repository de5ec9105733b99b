"""Names for the constants of a trace with letters, where the program tells them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from shapewright.dims.size import Size
from shapewright.reasoning.formulas.telling_sizes import sizes_of_call, sizes_of_layers
from shapewright.reasoning.formulas.wording import Told, Wording, attribute, named
from shapewright.source.expressions import Text
from shapewright.source.span import Span
from shapewright.trace.formulas import Named
from shapewright.trace.numbers import Numbers
from shapewright.trace.op import Op
from shapewright.trace.record import Trace

FACTOR = re.compile(r"(?<!\w)(\d+)(?=\*)")
"""`12` of ``12*B``."""


def names_of(trace: Trace, numbers: Mapping[str, Numbers]) -> tuple[Named, ...]:
    """The constants that have one name, each with the first module that tells it.

    A name counts where the call that makes the size, or the constructor of its layer,
    is written with it; one of two that have the same value does not, nor one whose
    value is written as a bare number beside it.
    """
    naming = Naming(trace, numbers)
    found: dict[Told, Named] = {}
    for owner, told in naming.read().items():
        for value, texts in told.items():
            (text, *others) = texts
            if not others and named(text):
                found.setdefault((value, text), Named(value, text, owner))
    return tuple(found.values())


Written = tuple[ast.FunctionDef, str, list[ast.expr]]
"""A function, the class that it stands in, and sizes that a call there is given."""


@dataclass(slots=True)
class Naming:
    """The texts of a trace, and the names of its modules."""

    trace: Trace
    numbers: Mapping[str, Numbers]
    texts: dict[str, Text] = field(default_factory=dict)
    written: dict[Span, Written | None] = field(default_factory=dict)
    wordings: dict[tuple[int, str], Wording] = field(default_factory=dict)
    made: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)

    def read(self) -> dict[str, dict[int, dict[str, None]]]:
        """By module and value: what it is called."""
        letters = set(self.trace.letters.values())
        classes = {call.path: call.class_name for call in self.trace.calls}
        told: dict[str, dict[int, dict[str, None]]] = {}
        dims: dict[str, set[int]] = {}
        known: set[tuple[object, ...]] = set()
        alike: dict[str, str] = {}
        first: dict[str, str] = {}
        for op in self.trace.ops:
            owner, layer = self.owner(op.module)
            mine = self.numbers.get(owner)
            if mine is None or classes.get(owner) != mine.classes[0]:
                continue
            if owner not in alike:
                alike[owner] = first.setdefault(str(mine), owner)
            owner = alike[owner]
            constants = constants_of(op) - letters
            dims.setdefault(owner, set()).update(constants)
            key = (owner, layer, op.span, tuple(sorted(constants)))
            if not constants or key in known:
                continue
            known.add(key)
            for wording, size in self.sizes(op, owner, layer):
                for value, text in wording.told(size, constants, dims[owner]):
                    told.setdefault(owner, {}).setdefault(value, {})[text] = None
        return told

    def owner(self, path: str) -> tuple[str, str]:
        """The innermost module of the program around an op, and its layer within."""
        whole = path
        while path and path not in self.numbers:
            path = path.rpartition(".")[0]
        inner = whole[len(path) :].lstrip(".")
        return path, inner.partition(".")[0]

    def sizes(
        self, op: Op, owner: str, layer: str
    ) -> Iterator[tuple[Wording, ast.expr]]:
        """The expressions that tell sizes of what an op gives, where they stand."""
        classes = self.numbers[owner].classes
        if layer:
            for init in self.constructors(classes[0]):
                for each in ast.walk(init):
                    if isinstance(each, ast.Assign) and any(
                        attribute(target) == layer for target in each.targets
                    ):
                        wording = self.wording(init, owner)
                        yield from ((wording, e) for e in sizes_of_layers(each.value))
        elif op.span is not None:
            if op.span not in self.written:
                self.written[op.span] = self.look(op.span)
            written = self.written[op.span]
            if written is not None and written[1] in classes:
                wording = self.wording(written[0], owner)
                yield from ((wording, each) for each in written[2])

    def look(self, span: Span) -> Written | None:
        """The sizes that a call is given, where it stands in a method."""
        source = self.trace.sources.get(span.file)
        if source is None or source.text is None:
            return None
        text = self.text(source.file, source.text)
        node = text.node(span)
        sizes = list(sizes_of_call(node)) if node is not None else []
        if node is None or not sizes:
            return None
        function = text.around(node, ast.FunctionDef)
        inside = text.parents.get(id(function))
        if isinstance(function, ast.FunctionDef) and isinstance(inside, ast.ClassDef):
            return function, inside.name, sizes
        return None

    def wording(self, function: ast.FunctionDef, owner: str) -> Wording:
        """How a function writes the numbers of a module; read once."""
        key = id(function), owner
        if key not in self.wordings:
            self.wordings[key] = Wording(function, self.numbers[owner])
        return self.wordings[key]

    def constructors(self, name: str) -> list[ast.FunctionDef]:
        """The constructor of a class, where just one class has the name."""
        if name not in self.made:
            found: list[ast.ClassDef] = []
            for source in self.trace.sources.values():
                tree = self.text(source.file, source.text or "").tree
                for node in ast.walk(tree) if tree else ():
                    if isinstance(node, ast.ClassDef) and node.name == name:
                        found.append(node)
            self.made[name] = [
                node
                for node in (found[0].body if len(found) == 1 else ())
                if isinstance(node, ast.FunctionDef) and node.name == "__init__"
            ]
        return self.made[name]

    def text(self, file: str, text: str) -> Text:
        """The text of a file; read once."""
        if file not in self.texts:
            self.texts[file] = Text(file, text)
        return self.texts[file]


def constants_of(op: Op) -> set[int]:
    """The sizes of what an op gives that have no letters, and the factors of others."""
    found: set[int] = set()
    for fact in op.outputs:
        for size in fact.shape:
            if isinstance(size, Size):
                found.update(map(int, FACTOR.findall(str(size.formula))))
            else:
                found.add(size)
    return {each for each in found if each >= 2}
