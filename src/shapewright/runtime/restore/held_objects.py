"""Snapshots of mutable objects: taken before a run, compared and restored after it.

A model has a few mappings a module and nearly none of them changes in a run. Names and
values of all stand in two flat lists, which Python compares in a single pass.

A walk from some roots goes through containers and objects, and notes of each which
objects it holds. Nothing is copied deeply and nothing is compared by value, so that
neither tensors nor objects with an `==` of their own are ever compared.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import IOBase
from itertools import chain, islice
from logging import Handler, Logger
from operator import is_
from threading import Thread
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodType,
    ModuleType,
    NoneType,
)
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import Parameter

Space = dict[Any, Any]


class _Mappings:
    """The earlier content of some mappings, in order, compared by identity."""

    __slots__ = ("names", "sizes", "spaces", "values")

    def __init__(self, spaces: Iterable[Space]) -> None:
        self.spaces = list(spaces)
        self.sizes = list(map(dict.__len__, self.spaces))
        self.names = list(chain.from_iterable(map(dict.keys, self.spaces)))
        self.values = list(chain.from_iterable(map(dict.values, self.spaces)))

    def unchanged(self) -> bool:
        """Return whether all mappings hold the same objects under the same names."""
        names = list(chain.from_iterable(map(dict.keys, self.spaces)))
        if len(names) != len(self.names) or not all(map(is_, names, self.names)):
            return False
        values = chain.from_iterable(map(dict.values, self.spaces))
        return all(map(is_, values, self.values))

    def changed(self) -> Iterator[tuple[Space, Space]]:
        """Yield mappings that have changed, each with its earlier content."""
        if self.unchanged():
            return
        names, values = iter(self.names), iter(self.values)
        for space, size in zip(self.spaces, self.sizes, strict=True):
            saved = dict(zip(islice(names, size), islice(values, size), strict=True))
            if not _is_same(space, saved):
                yield space, saved


def _is_same(now: Space, then: Space) -> bool:
    """Return whether two mappings hold the same names and objects in the same order."""
    if dict.__len__(now) != len(then):
        return False
    if not all(map(is_, dict.values(now), then.values())):
        return False
    return dict.keys(now) == then.keys()


ATOMS: set[type] = {
    int, float, bool, complex, str, bytes, NoneType, range, slice, frozenset,
    torch.Size, torch.dtype, torch.device, torch.Generator,
    BuiltinFunctionType, CodeType,
}  # fmt: skip
CLOSED = (
    type, ModuleType, Thread, Logger, Handler, IOBase, torch.jit.ScriptModule,
)  # fmt: skip
"""Types that are not entered: they outlive a run, or torch guards them."""

DEPTH = 8
MOST = 100_000
"""Items looked at in a model; a container that goes beyond is left alone."""

AROUND = 3_000
"""Items looked at around it: inputs, closures and globals may hold a whole data set."""

Pair = tuple[Any, Any]
"""A container or the `__dict__` of an object, and its earlier content."""


class Held:
    """The earlier content of containers, most of which are empty and stay empty."""

    __slots__ = (
        "dicts", "empty", "filled", "inner", "kinds", "lists", "mappings", "objects",
        "sets",
    )  # fmt: skip

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self.empty: list[Any] = []
        self.filled: list[Any] = []
        self.inner: list[Any] = []  # what is in modules and is no plain value
        self.dicts: list[Pair] = []
        self.lists: list[Pair] = []
        self.sets: list[Pair] = []
        self.mappings: tuple[_Mappings, ...] = ()
        self.objects: list[Any] = list(modules)
        self.kinds = list(map(type, self.objects))

    def reclass(self) -> None:
        """Restore the class of each object, since a lazy module changes its class."""
        if list(map(type, self.objects)) == self.kinds:
            return
        for value, kind in zip(self.objects, self.kinds, strict=True):
            if type(value) is not kind:
                value.__class__ = kind

    def groups(self, containers: list[Any]) -> list[Any]:
        """Note containers of which most are empty, and return the others."""
        self.empty = containers
        self.filled = list(filter(None, containers))
        return self.filled.copy()

    def changed(self) -> Iterator[Pair]:
        """Yield containers that have changed, each with its earlier content."""
        now = list(filter(None, self.empty))
        if len(now) != len(self.filled) or not all(map(is_, now, self.filled)):
            before = set(map(id, self.filled))
            for container in now:
                if id(container) not in before:
                    yield container, ()
        for mappings in self.mappings:
            yield from mappings.changed()
        for container, saved in self.dicts:
            if not _is_same(container, saved):
                yield container, saved
        for container, saved in self.sets:
            if container != saved:
                yield container, saved
        for container, saved in self.lists:
            now = _get_items(container)
            if len(now) != len(saved) or not all(map(is_, now, saved)):
                yield container, saved

    def take(self, container: Any) -> Iterable[Any]:
        """Note the content of a container, and return the items to examine."""
        if isinstance(container, dict):
            saved = dict.copy(container)
            self.dicts.append((container, saved))
            return saved.values()
        if isinstance(container, tuple):
            return tuple.__iter__(container)
        if isinstance(container, set):
            self.sets.append((container, set.copy(container)))
            return ()
        items = _get_items(container)
        self.lists.append((container, items))
        return items


STANDARD = list(vars(nn.Module()))
"""The attributes that every module has, in order: `training`, parameters, buffers,
hooks of many kinds, and last its children."""
COMMON = len(STANDARD)


def _get_size(container: Any) -> int:
    """Return the number of items in a container, ignoring overrides of its class.

    A library's mapping may import half of the library when it is asked (transformers'
    lazy mappings do), so nothing that a subclass redefines is called.
    """
    kind: Any
    for kind in (dict, list, tuple, set, deque):
        if isinstance(container, kind):
            return int(kind.__len__(container))
    return 0


def _get_items(container: Any) -> list[Any]:
    """Return the items of a container, ignoring overrides of its class."""
    if isinstance(container, dict):
        return list(dict.values(container))
    kind: Any
    for kind in (list, tuple, set, deque):
        if isinstance(container, kind):
            return list(kind.__iter__(container))
    return []


def _is_built(attributes: dict[str, Any] | None) -> bool:
    """Return whether a tensor was built by us: it has no attributes but our own."""
    return attributes is not None and "_sw" in attributes and len(attributes) < 3


def _hold_modules(held: Held, modules: Iterable[nn.Module]) -> list[Any]:
    """Note the content of the standard attributes of modules; return all other values.

    Nearly all of these containers are empty, and there are a dozen a module.
    """
    own = _Mappings([module.__dict__ for module in modules])
    names, values = own.names, own.values
    groups: list[Any] = []
    rest: list[Any] = []
    first = 0
    for size in own.sizes:
        beyond = first + size
        if names[first : first + COMMON] == STANDARD:
            groups += values[first + 1 : first + COMMON]
            first += COMMON
        rest += values[first:beyond]
        first = beyond
    filled = held.groups(groups)
    inside = _Mappings([group for group in filled if isinstance(group, dict)])
    held.mappings = own, inside
    for value in inside.values:
        attributes = value.__dict__ if type(value) in TENSORS else None
        if attributes is not None and not attributes:
            held.empty.append(attributes)
        elif not _is_built(attributes):
            rest.append(value)
    rest += [group for group in filled if not isinstance(group, dict)]
    held.inner = [
        value
        for value in rest
        if type(value) not in ATOMS
        and (type(value) is not tuple or not ATOMS.issuperset(map(type, value)))
    ]
    return held.inner


def hold_objects(
    roots: Iterable[Any],
    *,
    modules: Iterable[nn.Module] = (),
    beyond: Iterable[Any] = (),
    functions: bool = False,
    depth: int = DEPTH,
    most: int = MOST,
) -> Held:
    """Return the current content of everything that can be reached from the roots.

    What is only reached through an item of `beyond` is left out. With `functions`, also
    note what functions keep in closures, defaults and attributes. This visits every
    attribute of every module at each run, so the common kinds (a module, a tensor, an
    empty container) come first and cost least.
    """
    atoms = ATOMS if functions else SHUT
    held = Held(modules)
    seen = {id(value) for value in (*beyond, *held.objects)}
    started = (*roots, *_hold_modules(held, held.objects.copy()))
    empty, dicts = held.empty.append, held.dicts.append
    layer = [value for value in started if type(value) not in atoms]
    while layer and depth:
        inner: list[Any] = []
        push = inner.append
        for value in layer:
            key = id(value)
            if key in seen:
                continue
            seen.add(key)
            kind = type(value)
            if kind in BUILT_IN:
                containers: tuple[Any, ...] = (value,)
            else:
                held.objects.append(value)
                held.kinds.append(kind)
                containers = _find_containers(value, kind)
            for container in containers:
                exact = type(container) in BUILT_IN
                size = len(container) if exact else _get_size(container)
                if not size and exact:
                    empty(container)
                    continue
                if size > most:
                    continue
                most -= size
                if type(container) is dict:
                    dicts((container, container.copy()))
                    items: Iterable[Any] = container.values()
                else:
                    items = held.take(container)
                for item in items:
                    kind = type(item)
                    if kind in atoms:
                        continue
                    if kind in BUILT_IN:
                        if not item:
                            empty(item)
                        elif kind is not tuple or not atoms.issuperset(map(type, item)):
                            push(item)
                    elif kind in TENSORS and not item.__dict__:
                        empty(item.__dict__)
                    else:
                        push(item)
        layer = inner
        depth -= 1
    return held


SHUT = frozenset(ATOMS | {FunctionType})
TENSORS = frozenset({torch.Tensor, Parameter})
BUILT_IN = frozenset({dict, OrderedDict, list, set, tuple})


def _find_containers(value: Any, kind: type) -> tuple[Any, ...]:
    """Return the containers in which a value keeps its content."""
    if kind is Parameter or kind is torch.Tensor:
        return (value.__dict__,)
    if issubclass(kind, nn.Module):
        return () if issubclass(kind, torch.jit.ScriptModule) else (value.__dict__,)
    if isinstance(value, torch.Tensor):
        return (vars(value),)
    if kind is FunctionType:
        return _get_function_parts(value)
    if kind is MethodType:
        return ((value.__func__, value.__self__),)
    if kind is partial:
        return ((value.func, *value.args), value.keywords)
    if isinstance(value, CLOSED):
        return ()
    own = getattr(value, "__dict__", None)
    attributes = (own,) if type(own) is dict else ()
    if isinstance(value, dict | list | tuple | set | deque):
        return (value, *attributes)
    return attributes


def _get_function_parts(function: FunctionType) -> tuple[Any, ...]:
    """Return the containers of a function: its attributes, defaults and closure."""
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append(cell.cell_contents)
        except ValueError:  # not yet filled
            continue
    return (
        function.__dict__,
        tuple(function.__defaults__ or ()),
        tuple((function.__kwdefaults__ or {}).values()),
        tuple(cells),
    )


def restore_container(container: Any, saved: Any) -> None:
    """Restore the content of a container, ignoring overrides of its class."""
    kind: Any
    for kind, fill in FILLED:
        if isinstance(container, kind):
            kind.clear(container)
            if saved:
                fill(container, saved)
            return


FILLED: tuple[tuple[Any, Callable[[Any, Any], Any]], ...] = (
    (OrderedDict, OrderedDict.update),
    (dict, dict.update),
    (list, list.extend),
    (set, set.update),
    (deque, deque.extend),
)


def has_run_tensor(value: Any, depth: int = 4) -> bool:
    """Return whether a value contains a tensor that was made in a run."""
    if isinstance(value, torch.Tensor):
        return value.is_meta or "_sw" in vars(value)
    if depth == 0 or type(value) in ATOMS:
        return False
    return any(
        has_run_tensor(item, depth - 1)
        for container in _find_containers(value, type(value))
        for item in _get_items(container)
    )
