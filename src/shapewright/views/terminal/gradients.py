"""Gradients beside their values, module by module; equal layers are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from shapewright.trace.rehearsal import Gradient
from shapewright.views.story import SHORT
from shapewright.views.terminal.paint import Line, Terminal, cells, cut, pad

NO_GRADIENT = "none"


@dataclass(frozen=True)
class Branch:
    """A module or a parameter: what is known of it, and what it holds."""

    name: str
    own: Gradient | None = None
    inner: tuple[Branch, ...] = ()

    def like(self) -> object:
        """What two branches have in common that are told as one."""
        own = replace(self.own, path="") if self.own is not None else None
        return own, tuple((each.name, each.like()) for each in self.inner)


@dataclass
class Growing:
    """A branch that is still growing."""

    own: Gradient | None = None
    inner: dict[str, Growing] = field(default_factory=dict)

    def branch(self, name: str) -> Branch:
        """It, with equal neighbours folded."""
        inner = [each.branch(part) for part, each in self.inner.items()]
        return Branch(name, self.own, tuple(folded(inner)))


def folded(branches: Sequence[Branch]) -> Iterator[Branch]:
    """Numbered branches that follow one another and are alike, as one: `0-11`."""
    group: list[Branch] = []
    for each in branches:
        if group and each.name.isdigit() and each.like() == group[-1].like():
            group.append(each)
            continue
        yield from _one(group)
        group = [each]
    yield from _one(group)


def _one(group: list[Branch]) -> Iterator[Branch]:
    if len(group) > 1 and group[0].name.isdigit():
        yield replace(group[0], name=f"{group[0].name}-{group[-1].name}")
    else:
        yield from group


def beside(gradients: Sequence[Gradient], terminal: Terminal) -> list[Line]:
    """A table: what a value is, and the gradient that came to it."""
    if not gradients:
        return [[("gradients", "bold"), ("  no gradient came to any module", "dim")]]
    root = Growing()
    for each in gradients:
        at = root
        for part in each.path.split("."):
            at = at.inner.setdefault(part, Growing())
        at.own = each
    rows = [row for each in root.branch("").inner for row in _rows(each, 0)]
    room = (terminal.width - 2) // 3
    first = min(max(cells(name) for name, _, _ in rows), room)
    second = max(cells(value) for _, value, _ in rows)
    heads = pad("gradients", first), pad("value", second), "gradient"
    lines: list[Line] = [[("  ".join(heads), "bold")]]
    for name, value, gradient in rows:
        told = pad(cut(name, first, terminal.glyphs.cut), first)
        plain = gradient not in (NO_GRADIENT, "frozen")
        lines.append(
            [
                (f"{told}  ", ""),
                (f"{pad(value, second)}  ", "shape"),
                (gradient, "shape" if plain else "dim"),
            ]
        )
    return lines


def _rows(branch: Branch, depth: int) -> Iterator[tuple[str, str, str]]:
    own = branch.own
    name = "  " * depth + branch.name
    if own is None:
        yield name, "", ""
    else:
        yield name, worded(own.shape, own.dtype), came(own)
    for each in branch.inner:
        yield from _rows(each, depth + 1)


def came(own: Gradient) -> str:
    """The gradient in words."""
    if own.kind == "frozen":
        return "frozen"
    if own.gradient is None:
        return NO_GRADIENT
    sparse = f" {own.layout}" if own.layout != "strided" else ""
    return worded(own.gradient, own.gradient_dtype) + sparse


def worded(shape: tuple[int, ...], dtype: str) -> str:
    """`(64, 10) f32`."""
    sizes = ", ".join(map(str, shape))
    comma = "," if len(shape) == 1 else ""
    return f"({sizes}{comma}) {SHORT.get(dtype, dtype)}"
