"""Find names in the program's text for the constants in the formulas of a trace."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import OPERATORS
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.formulas import ModuleNumbers, Named
from shapewright.record.ops import Op
from shapewright.record.trace import Trace
from shapewright.sizes.expressions import Size

SHAPING = operators_with("takes_sizes") | {"rearrange"}
"""Calls whose arguments are all sizes."""

FIRST = operators_with("takes_size_first")
"""Calls whose first argument is a size."""

MADE: dict[str, tuple[int, str]] = {
    "Linear": (1, "out_features"),
    "Embedding": (1, "embedding_dim"),
    "RNN": (1, "hidden_size"),
    "GRU": (1, "hidden_size"),
    "LSTM": (1, "hidden_size"),
    **{f"Conv{n}d": (1, "out_channels") for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": (1, "out_channels") for n in (1, 2, 3)},
}
"""Layers of torch: the argument that is a size of what they give."""

WORDS = frozenset({"size", "shape", "split_size", "split_size_or_sections", "k"})
"""Keywords of sizes; those of `rearrange` are all sizes."""


def _iter_call_sizes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the arguments of a call that are sizes, and the ends of a slice."""
    if isinstance(node, ast.Call) and get_called_name(node) in SHAPING | FIRST:
        name = get_called_name(node)
        yield from node.args[:1] if name in FIRST else node.args
        for word in node.keywords:
            if word.arg in WORDS or name == "rearrange":
                yield word.value
    elif isinstance(node, ast.Subscript):
        for child in ast.walk(node.slice):
            if isinstance(child, ast.Slice) and child.lower is None and child.upper:
                yield child.upper


def _iter_layer_sizes(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the sizes that layers built in an expression produce."""
    for child in ast.walk(node):
        if isinstance(child, ast.Call) and get_called_name(child) in MADE:
            at, name = MADE[get_called_name(child)]
            if len(child.args) > at:
                yield child.args[at]
            yield from (word.value for word in child.keywords if word.arg == name)


STEPS = 8
"""Names of names that are followed."""

SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//",
}  # fmt: skip

Told = tuple[int, str]
"""A number and its text: 64 is ``n_embd // n_head``."""


@dataclass(slots=True)
class _Wording:
    """A function of a module, with the numbers that the module's names refer to."""

    function: ast.FunctionDef
    numbers: ModuleNumbers
    assigned: dict[str, list[ast.expr | None]] = field(init=False)
    kept: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.assigned, self.kept = {}, {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.assigned.setdefault(node.id, []).append(None)
            elif isinstance(node, ast.arg):
                self.assigned.setdefault(node.arg, []).append(None)
        for target, value in iter_assignments(self.function):
            self.assign(target, value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Record the value of a name or an attribute that is assigned only once."""
        if isinstance(target, ast.Name):
            if len(self.assigned[target.id]) == 1:
                self.assigned[target.id] = [value]
        elif isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for target_part, value_part in zip(
                    target.elts, value.elts, strict=True
                ):
                    self.assign(target_part, value_part)
        elif self.function.name == "__init__" and get_own_attribute(target):
            self.kept.setdefault(ast.unparse(value), []).append(
                get_own_attribute(target)
            )

    def told(
        self, size: ast.expr, constants: Collection[int], dims: Collection[int]
    ) -> Iterator[Told]:
        """Yield the constants that an expression writes as a name, or computes from
        names.

        Those that it lists as bare numbers are told as well, with their digits.
        `dims` are the constants among the sizes of the module: a size that was
        unpacked, `C` of ``C // self.n_head``, can only be one of them.
        """
        for part, within in self.parts(size):
            pair = self.value(part)
            if pair is not None and not _has_name(pair[1]):
                if pair[0] in constants and not within:
                    yield pair
                continue
            if pair is not None and pair[0] in constants and self.alone(*pair):
                yield pair
            elif pair is None and isinstance(part, ast.BinOp):
                below = self.value(part.right)
                if not isinstance(part.op, ast.FloorDiv) or below is None:
                    continue
                if not self.unpacked(part.left) or not _has_name(below[1]):
                    continue
                for value in constants:
                    over = self.name_of(value * below[0])
                    if over and value * below[0] in dims and not self.names(value):
                        yield value, f"{over} // {_add_brackets(below[1])}"

    def parts(
        self, size: ast.expr, within: bool = False, steps: int = STEPS
    ) -> Iterator[tuple[ast.expr, bool]]:
        """Yield an expression and its parts; names are replaced by their definitions.

        With each, whether it stands within a sum or a product.
        """
        yield size, within
        inner: list[ast.expr] = []
        if isinstance(size, ast.Tuple | ast.List):
            inner = size.elts
        elif isinstance(size, ast.Starred):
            inner = [size.value]
        elif isinstance(size, ast.BinOp):
            inner, within = [size.left, size.right], True
        elif isinstance(size, ast.Name):
            set_to = self.set_to(size)
            inner = [set_to] if set_to is not None else []
        for part in inner if steps else ():
            yield from self.parts(part, within, steps - 1)

    def set_to(self, name: ast.Name) -> ast.expr | None:
        """Return the value of a local name that the function assigns only once."""
        values = self.assigned.get(name.id, [])
        return values[0] if len(values) == 1 else None

    def unpacked(self, node: ast.expr) -> bool:
        """Return whether a local name is assigned once, from a value not known from the
        text.
        """
        if not isinstance(node, ast.Name):
            return False
        return self.assigned.get(node.id) == [None] and node.id not in {
            argument.arg for argument in self.function.args.args
        }

    def value(self, node: ast.expr, steps: int = STEPS) -> Told | None:
        """Return the number and the text of an expression made of named numbers."""
        if steps == 0:
            return None
        if isinstance(node, ast.Constant):
            known = type(node.value) is int
            return (node.value, str(node.value)) if known else None  # type: ignore[return-value]
        if isinstance(node, ast.BinOp):
            left, right = (self.value(e, steps - 1) for e in (node.left, node.right))
            if left is None or right is None or type(node.op) not in SIGNS:
                return None
            return _combine_numbers(left, type(node.op), right)
        if isinstance(node, ast.Name) and (set_to := self.set_to(node)) is not None:
            return self.value(set_to, steps - 1)
        if isinstance(node, ast.Name | ast.Attribute):
            return self.looked_up(node)
        return None

    def looked_up(self, node: ast.Name | ast.Attribute) -> Told | None:
        """Look up the number of an attribute, a config entry or a stored argument."""
        own = get_own_attribute(node) or self.kept_as(node)
        if own in self.numbers.own:
            return self.numbers.own[own], own
        if isinstance(node, ast.Attribute):
            base: ast.expr | None = node.value
            if isinstance(base, ast.Name):
                base = self.set_to(base) or base
            config = get_own_attribute(base) or self.kept_as(base)
            values: Mapping[str, int] = self.numbers.configs.get(config, {})
            if node.attr in values:
                return values[node.attr], node.attr
        return None

    def kept_as(self, node: ast.expr | None) -> str:
        """Return the attribute that stores an argument of the constructor, or an empty
        string.
        """
        if node is None or not isinstance(node, ast.Name | ast.Attribute):
            return ""
        attributes = self.kept.get(ast.unparse(node), [])
        return attributes[0] if len(attributes) == 1 else ""

    def alone(self, value: int, text: str) -> bool:
        """Return whether a text is the only name of a number, or computes a number
        without a name.
        """
        if not _has_name(text):
            return False
        if text.isidentifier():
            return self.name_of(value) == text
        return not self.names(value)

    def name_of(self, value: int) -> str:
        """Return the only attribute, or else the only config entry, with this value;
        empty if none is.
        """
        names = self.names(value)
        return names[0] if len(names) == 1 else ""

    def names(self, value: int) -> list[str]:
        """Return the attributes with this value or, if there are none, the config
        entries.
        """
        own = [name for name, number in self.numbers.own.items() if number == value]
        configs = self.numbers.configs.values()
        theirs = {n for config in configs for n, v in config.items() if v == value}
        return own or sorted(theirs)


def _combine_numbers(left: Told, sign: type[ast.operator], right: Told) -> Told | None:
    """Combine two numbers and their texts with an operator: ``3 * n_embd``."""
    text = f"{_add_brackets(left[1])} {SIGNS[sign]} {_add_brackets(right[1])}"
    if sign is ast.FloorDiv and not right[0]:
        return None
    return OPERATORS[sign](left[0], right[0]), text


def _add_brackets(text: str) -> str:
    """Put a text in parentheses if it becomes part of a larger expression."""
    return f"({text})" if " " in text else text


def _has_name(text: str) -> bool:
    """Return whether a text contains a name."""
    return any(character.isalpha() for character in text)


FACTOR = re.compile(r"(?<!\w)(\d+)(?=\*)")
"""`12` of ``12*B``."""


def find_constant_names(
    trace: Trace, numbers: Mapping[str, ModuleNumbers]
) -> tuple[Named, ...]:
    """Return the constants that have a unique name, with the first module that shows
    it.

    A name counts where the call that makes the size, or the constructor of its layer,
    is written with it; one of two that have the same value does not, nor one whose
    value is written as a bare number beside it.
    """
    naming = _Naming(trace, numbers)
    names: dict[Told, Named] = {}
    for owner, constants in naming.read().items():
        for value, texts in constants.items():
            (text, *others) = texts
            if not others and _has_name(text):
                names.setdefault((value, text), Named(value, text, owner))
    return tuple(names.values())


Written = tuple[ast.FunctionDef, str, list[ast.expr]]
"""A function, the class that it stands in, and sizes that a call there is given."""


@dataclass(slots=True)
class _Naming:
    """Collects the names of constants, from the texts of a trace and its modules."""

    trace: Trace
    numbers: Mapping[str, ModuleNumbers]
    written: dict[Span, Written | None] = field(default_factory=dict)
    wordings: dict[tuple[int, str], _Wording] = field(default_factory=dict)
    made: dict[str, list[ast.FunctionDef]] = field(default_factory=dict)

    def read(self) -> dict[str, dict[int, dict[str, None]]]:
        """Return the names of every constant, by module and value."""
        letters = set(self.trace.letters.values())
        classes = {call.path: call.class_name for call in self.trace.calls}
        texts: dict[str, dict[int, dict[str, None]]] = {}
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
            constants = _find_constants(op) - letters
            dims.setdefault(owner, set()).update(constants)
            key = (owner, layer, op.span, tuple(sorted(constants)))
            if not constants or key in known:
                continue
            known.add(key)
            for wording, size in self.sizes(op, owner, layer):
                for value, text in wording.told(size, constants, dims[owner]):
                    texts.setdefault(owner, {}).setdefault(value, {})[text] = None
        return texts

    def owner(self, path: str) -> tuple[str, str]:
        """Return the program's innermost module around an op, and the
        layer within it.
        """
        whole = path
        while path and path not in self.numbers:
            path = path.rpartition(".")[0]
        inner = whole[len(path) :].lstrip(".")
        return path, inner.partition(".")[0]

    def sizes(
        self, op: Op, owner: str, layer: str
    ) -> Iterator[tuple[_Wording, ast.expr]]:
        """Yield the expressions that set the sizes of an op's outputs, each with the
        wording of its function.
        """
        classes = self.numbers[owner].classes
        if layer:
            for init in self.constructors(classes[0]):
                wording = self.wording(init, owner)
                for target, value in iter_assignments(init):
                    if get_own_attribute(target) == layer:
                        yield from ((wording, e) for e in _iter_layer_sizes(value))
        elif op.span is not None:
            if op.span not in self.written:
                self.written[op.span] = self.look(op.span)
            written = self.written[op.span]
            if written is not None and written[1] in classes:
                wording = self.wording(written[0], owner)
                yield from ((wording, size) for size in written[2])

    def look(self, span: Span) -> Written | None:
        """Return the sizes passed to the call at a span inside a method, or None."""
        source = self.trace.sources.get(span.file)
        if source is None or source.text is None:
            return None
        text = SourceText(source.file, source.text)
        node = text.node(span)
        sizes = list(_iter_call_sizes(node)) if node is not None else []
        if node is None or not sizes:
            return None
        function = text.around(node, ast.FunctionDef)
        inside = text.parent(function)
        if function is not None and isinstance(inside, ast.ClassDef):
            return function, inside.name, sizes
        return None

    def wording(self, function: ast.FunctionDef, owner: str) -> _Wording:
        """Return how a function writes the numbers of a module; the result is
        cached.
        """
        key = id(function), owner
        if key not in self.wordings:
            self.wordings[key] = _Wording(function, self.numbers[owner])
        return self.wordings[key]

    def constructors(self, name: str) -> list[ast.FunctionDef]:
        """Return the constructors of a class, if only one class has this name."""
        if name not in self.made:
            classes: list[ast.ClassDef] = []
            for source in self.trace.sources.values():
                text = SourceText(source.file, source.text or "")
                for _, node in text.definitions(name):
                    if isinstance(node, ast.ClassDef):
                        classes.append(node)
            self.made[name] = [
                node
                for node in (classes[0].body if len(classes) == 1 else ())
                if isinstance(node, ast.FunctionDef) and node.name == "__init__"
            ]
        return self.made[name]


def _find_constants(op: Op) -> set[int]:
    """Return the constant sizes of an op's outputs, and the constant factors of the
    other sizes.
    """
    constants: set[int] = set()
    for fact in op.outputs:
        for size in fact.shape:
            if isinstance(size, Size):
                constants.update(map(int, FACTOR.findall(str(size.formula))))
            else:
                constants.add(size)
    return {constant for constant in constants if constant >= 2}
