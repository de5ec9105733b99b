"""Facts and nests of facts as text: ``(1024, 6, 28, 28) f32``."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from shapewright.trace.fact import Fact
from shapewright.trace.module import ModuleCall, leaves

MOST_TEXT = 24
"""Characters of a plain value before it is cut."""


def shape(fact: Fact) -> str:
    """``(1024, 10)``, ``(10,)``, ``()``; with the layout where it is not strided.

    ``(16, 2)?`` where the shape rests on something that was supposed.
    """
    text = _sizes(fact.shape)
    if fact.layout != "strided":
        return f"{text} {fact.layout}"
    return f"{text}?" if fact.unknown else text


def with_dtype(fact: Fact) -> str:
    """``(1024, 10) f32``."""
    return f"{shape(fact)} {fact.short_dtype}"


def nest(value: Any, dtype: bool = True) -> str:
    """A nest as text; equal neighbours are folded, one dtype is said once.

    Example: a dict of a tensor and twelve caches reads
    ``{hidden: (2, 16, 768), cache: [12 x (2, 12, 16, 64)]} bf16``.
    """
    dtypes = {fact.short_dtype for fact in leaves(value)}
    if not dtype or not dtypes:
        return _text(value, shape)
    if len(dtypes) > 1:
        return _text(value, with_dtype)
    return f"{_text(value, shape)} {dtypes.pop()}"


def arguments(call: ModuleCall, dtype: bool = True) -> str:
    """The inputs of a module call: ``(8, 32), mask=(8, 32) bool``."""
    args, kwargs = call.inputs
    dtypes = {fact.short_dtype for fact in leaves([args, kwargs])}
    leaf = with_dtype if dtype and len(dtypes) > 1 else shape
    parts = folded([_text(value, leaf) for value in args])
    parts += [
        f"{name}={_text(value, leaf)}"
        for name, value in kwargs.items()
        if value is not None and value is not False
    ]
    text = ", ".join(parts)
    return f"{text} {dtypes.pop()}" if dtype and len(dtypes) == 1 else text


def shapes(facts: Iterable[Fact]) -> str:
    """Several facts side by side, equal neighbours folded: ``3 x (1, 128, 768)``."""
    return ", ".join(folded([shape(fact) for fact in facts]))


def results(facts: Iterable[Fact]) -> str:
    """As `shapes`, with dtypes: ``3 x (1, 128, 768) f32``."""
    facts = tuple(facts)
    dtypes = {fact.short_dtype for fact in facts}
    if len(dtypes) == 1:
        return f"{shapes(facts)} {dtypes.pop()}"
    return ", ".join(folded([with_dtype(fact) for fact in facts]))


def strides(facts: Iterable[Fact]) -> str:
    """The strides of several facts: ``(98304, 64, 768, 1)``; ``none`` when sparse."""
    return ", ".join(
        folded(
            ["none" if fact.stride is None else _sizes(fact.stride) for fact in facts]
        )
    )


def _sizes(sizes: tuple[int, ...]) -> str:
    inner = ", ".join(map(str, sizes))
    return f"({inner},)" if len(sizes) == 1 else f"({inner})"


def plain(value: Any) -> str:
    """A plain value as the user would write it, cut where it is long."""
    if isinstance(value, slice):
        ends = ["" if end is None else str(end) for end in (value.start, value.stop)]
        step = "" if value.step is None else f":{value.step}"
        return f"{ends[0]}:{ends[1]}{step}"
    text = "..." if value is ... else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."


def _text(value: Any, leaf: Callable[[Fact], str]) -> str:
    if isinstance(value, Fact):
        return leaf(value)
    if isinstance(value, dict):
        pairs = [f"{key}: {_text(each, leaf)}" for key, each in value.items()]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        parts = folded([_text(each, leaf) for each in value])
        inner = ", ".join(parts)
        if isinstance(value, list):
            return f"[{inner}]"
        return f"({inner},)" if len(parts) == 1 and len(value) == 1 else f"({inner})"
    return plain(value)


def folded(parts: list[str]) -> list[str]:
    """Equal neighbours as one: three ``(2, 3)`` become ``3 x (2, 3)``."""
    made: list[str] = []
    at = 0
    while at < len(parts):
        end = at
        while end < len(parts) and parts[end] == parts[at]:
            end += 1
        made.append(parts[at] if end == at + 1 else f"{end - at} x {parts[at]}")
        at = end
    return made
