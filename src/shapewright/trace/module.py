"""Module calls: the tree of the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shapewright.source.span import Span
from shapewright.trace.fact import Fact


@dataclass(frozen=True, slots=True)
class State:
    """A parameter or buffer of a module.

    `path` is its full name (`layer1.0.conv1.weight`). `tied` is the full name of the
    first place where the same tensor stands, or None; tied ones count once.
    `saved` is False for a buffer registered with `persistent=False`.
    """

    path: str
    fact: Fact
    buffer: bool = False
    saved: bool = True
    tied: str | None = None


@dataclass(frozen=True, slots=True)
class ModuleCall:
    """One call of one module. A module called twice has two.

    `index` is its place in `Trace.calls`, in the order in which calls began; index 0
    is the root. `call` counts the calls of the same module from 1. `inputs` is
    `(args, kwargs)` and `output` the nest that `forward` returned; leaves are facts,
    other values stand as they were (plain values) or as their text. `states` are the
    module's own parameters and buffers, those of its children not included. `ops` is
    the half-open range of `Trace.ops` that ran inside it, children included.
    """

    index: int
    path: str
    class_name: str
    call: int
    parent: int | None
    depth: int
    inputs: tuple[tuple[Any, ...], dict[str, Any]]
    output: Any
    states: tuple[State, ...]
    ops: tuple[int, int]
    span: Span | None
    method: str = "forward"
    notes: tuple[str, ...] = ()


def leaves(nest: Any) -> list[Fact]:
    """The facts in a nest of tuples, lists and dicts, in order."""
    if isinstance(nest, Fact):
        return [nest]
    if isinstance(nest, dict):
        return [fact for value in nest.values() for fact in leaves(value)]
    if isinstance(nest, list | tuple):
        return [fact for value in nest for fact in leaves(value)]
    return []
