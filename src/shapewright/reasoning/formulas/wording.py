"""How a function of a module writes its whole numbers."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from shapewright.trace.numbers import Numbers

STEPS = 8
"""Names of names that are followed."""

SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//",
}  # fmt: skip

Told = tuple[int, str]
"""A number and its text: 64 is ``n_embd // n_head``."""


@dataclass(slots=True)
class Wording:
    """One function of a module, whose names have these numbers."""

    function: ast.FunctionDef
    numbers: Numbers
    assigned: dict[str, list[ast.expr | None]] = field(init=False)
    kept: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        self.assigned, self.kept = {}, {}
        for node in ast.walk(self.function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                self.assigned.setdefault(node.id, []).append(None)
            elif isinstance(node, ast.arg):
                self.assigned.setdefault(node.arg, []).append(None)
        for node in ast.walk(self.function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self.assign(target, node.value)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """Keep what a name or an attribute is set to, where it is set once."""
        if isinstance(target, ast.Name):
            if len(self.assigned[target.id]) == 1:
                self.assigned[target.id] = [value]
        elif isinstance(target, ast.Tuple):
            if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
                for one, other in zip(target.elts, value.elts, strict=True):
                    self.assign(one, other)
        elif self.function.name == "__init__" and attribute(target):
            self.kept.setdefault(ast.unparse(value), []).append(attribute(target))

    def told(
        self, size: ast.expr, constants: Collection[int], dims: Collection[int]
    ) -> Iterator[Told]:
        """The constants that an expression tells by a name, or by names computed.

        Those that it lists as bare numbers are told as well, with their digits.
        `dims` are the constants among the sizes of the module: a size that was
        unpacked, `C` of ``C // self.n_head``, can only be one of them.
        """
        for part, within in self.parts(size):
            found = self.value(part)
            if found is not None and not named(found[1]):
                if found[0] in constants and not within:
                    yield found
                continue
            if found is not None and found[0] in constants and self.alone(*found):
                yield found
            elif found is None and isinstance(part, ast.BinOp):
                below = self.value(part.right)
                if not isinstance(part.op, ast.FloorDiv) or below is None:
                    continue
                if not self.unpacked(part.left) or not named(below[1]):
                    continue
                for value in constants:
                    over = self.name_of(value * below[0])
                    if over and value * below[0] in dims and not self.names(value):
                        yield value, f"{over} // {bracketed(below[1])}"

    def parts(
        self, size: ast.expr, within: bool = False, steps: int = STEPS
    ) -> Iterator[tuple[ast.expr, bool]]:
        """An expression and those that it is made of, names followed.

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
        for each in inner if steps else ():
            yield from self.parts(each, within, steps - 1)

    def set_to(self, name: ast.Name) -> ast.expr | None:
        """What a local name was set to, where the function sets it once."""
        values = self.assigned.get(name.id, [])
        return values[0] if len(values) == 1 else None

    def unpacked(self, node: ast.expr) -> bool:
        """Whether a local name is set once, from what the text does not tell."""
        if not isinstance(node, ast.Name):
            return False
        return self.assigned.get(node.id) == [None] and node.id not in {
            each.arg for each in self.function.args.args
        }

    def value(self, node: ast.expr, steps: int = STEPS) -> Told | None:
        """The number of an expression of named numbers, and its text."""
        if steps == 0:
            return None
        if isinstance(node, ast.Constant):
            known = type(node.value) is int
            return (node.value, str(node.value)) if known else None  # type: ignore[return-value]
        if isinstance(node, ast.BinOp):
            left, right = (self.value(e, steps - 1) for e in (node.left, node.right))
            if left is None or right is None or type(node.op) not in SIGNS:
                return None
            return computed(left, type(node.op), right)
        if isinstance(node, ast.Name) and (set_to := self.set_to(node)) is not None:
            return self.value(set_to, steps - 1)
        if isinstance(node, ast.Name | ast.Attribute):
            return self.looked_up(node)
        return None

    def looked_up(self, node: ast.Name | ast.Attribute) -> Told | None:
        """The number of an attribute, of a config's, or of an argument that is kept."""
        own = attribute(node) or self.kept_as(node)
        if own in self.numbers.own:
            return self.numbers.own[own], own
        if isinstance(node, ast.Attribute):
            base: ast.expr | None = node.value
            if isinstance(base, ast.Name):
                base = self.set_to(base) or base
            config = attribute(base) or self.kept_as(base)
            values: Mapping[str, int] = self.numbers.configs.get(config, {})
            if node.attr in values:
                return values[node.attr], node.attr
        return None

    def kept_as(self, node: ast.expr | None) -> str:
        """The attribute that keeps an argument of the constructor, if one does."""
        if node is None or not isinstance(node, ast.Name | ast.Attribute):
            return ""
        found = self.kept.get(ast.unparse(node), [])
        return found[0] if len(found) == 1 else ""

    def alone(self, value: int, text: str) -> bool:
        """Whether a text is a number's only name, or computes one that has none."""
        if not named(text):
            return False
        if text.isidentifier():
            return self.name_of(value) == text
        return not self.names(value)

    def name_of(self, value: int) -> str:
        """The one name that has the value: an attribute, or else one of a config."""
        found = self.names(value)
        return found[0] if len(found) == 1 else ""

    def names(self, value: int) -> list[str]:
        """The attributes that have the value, or else the names in configs."""
        own = [name for name, each in self.numbers.own.items() if each == value]
        configs = self.numbers.configs.values()
        theirs = {n for each in configs for n, v in each.items() if v == value}
        return own or sorted(theirs)


def computed(left: Told, sign: type[ast.operator], right: Told) -> Told | None:
    """Two numbers computed: ``3 * n_embd``."""
    text = f"{bracketed(left[1])} {SIGNS[sign]} {bracketed(right[1])}"
    if sign is ast.Add:
        return left[0] + right[0], text
    if sign is ast.Sub:
        return left[0] - right[0], text
    if sign is ast.Mult:
        return left[0] * right[0], text
    return (left[0] // right[0], text) if right[0] else None


def attribute(node: ast.expr | None) -> str:
    """`n_head` of ``self.n_head``, empty for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == "self" else ""
    return ""


def bracketed(text: str) -> str:
    """A text as a part of another."""
    return f"({text})" if " " in text else text


def named(text: str) -> bool:
    """Whether a text has a name in it."""
    return any(each.isalpha() for each in text)
