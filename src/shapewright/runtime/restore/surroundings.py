"""State that a program keeps outside its model: globals, closures, classes, caches.

A tensor without data that stays in any of them would surprise the next real run. Places
that hold such a tensor are restored; the rest (a counter, a list of shapes) is the
program's to keep.

A run leaves tensors alone. A training changes more: rates of optimizers and counts of
schedulers, lists of losses, names of modules and of closures.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from shapewright.engine.call_sites import SITE_PACKAGES, USER, classify_file
from shapewright.runtime.restore.held_objects import (
    AROUND,
    ATOMS,
    MOST,
    has_run_tensor,
    hold_objects,
    restore_container,
)
from shapewright.runtime.restore.held_objects import (
    restore_container as container_put_back,
)

Undo = Callable[[], None]
CACHED: Any = functools._lru_cache_wrapper
_judged: set[str] = set()
_own: set[str] = set()
_newest: list[tuple[int, str]] = [(0, "")]
"""Names of imported modules that were checked, and of the user's own among them; how
many modules there were then, and the last of them."""


def note_surroundings(
    modules: list[tuple[str, nn.Module]], target: Any, inner: list[Any]
) -> tuple[list[str], Undo]:
    """Note the state outside the model; return the changed names and an undo function.

    The function restores places that came to hold tensors of the run; it has nothing to
    do if the run left none alive. Of an installed library only the names of its modules
    are taken, of the user's own files what can be reached through them, and through the
    functions among `inner`, the contents of the modules. The list names, after that,
    the globals that were restored.
    """
    names: list[str] = []
    everywhere = _find_namespaces(modules, target)
    spaces = [space for space in everywhere if _is_own_namespace(space)]
    kinds = [kind for space in spaces for kind in _find_classes(space)]
    kinds += {type(m) for _, m in modules if not _is_given(type(m).__module__)} - {
        *kinds
    }
    undo = [_make_namespace_undo(space, names) for space in everywhere]
    undo += [_make_class_undo(kind, names) for kind in kinds]
    # What the modules themselves hold comes first: the walk is bounded.
    inside = [value for value in inner if type(value) in CALLABLE]
    inside += [
        value
        for held_by in (*spaces, *map(vars, kinds))
        for name, value in held_by.items()
        if type(value) not in SHUT_OUT and name[:2] != "__"
    ]
    undo += [_make_cache_undo(value) for value in inside if isinstance(value, CACHED)]
    bare = {id(value): value for value in inside if _is_bare(value)}
    rest = [value for value in inside if id(value) not in bare]
    beyond = [module for _, module in modules]
    # The target has a walk of its own: what else a file holds may be large.
    held = [
        hold_objects(roots, beyond=beyond, functions=True, depth=5, most=AROUND)
        for roots in ((target,), rest)
    ]

    def put_back() -> None:
        for put in undo:
            put()
        for function in bare.values():
            if function.__dict__ and has_run_tensor(function):
                function.__dict__.clear()
        for container, saved in chain(
            *(held_objects.changed() for held_objects in held)
        ):
            if has_run_tensor(container):
                container_put_back(container, saved)

    return names, put_back


SHUT_OUT = frozenset({*ATOMS, type, ModuleType, property})
CALLABLE = frozenset({FunctionType, functools.partial, CACHED})
OWN_CLASS = ("__class__",)
"""The closure of a method that calls `super()`."""


def _is_bare(value: Any) -> bool:
    """Return whether a value is a function without closure, defaults or attributes."""
    return (
        type(value) is FunctionType
        and (value.__closure__ is None or value.__code__.co_freevars == OWN_CLASS)
        and value.__defaults__ is None
        and value.__kwdefaults__ is None
        and not value.__dict__
    )


def _find_namespaces(
    modules: Iterable[tuple[str, nn.Module]], target: Any
) -> list[Any]:
    """Return the namespaces of the user's modules and of model classes."""
    names = {type(module).__module__ for _, module in modules}
    modules_by_name = {
        name: sys.modules.get(name) for name in names if not _is_given(name)
    }
    loaded = sys.modules
    newest = len(loaded), next(reversed(loaded), "")
    if newest != _newest[0]:  # what was removed since may hide what came
        _newest[0] = newest
        for name in loaded.keys() - _judged:
            _judged.add(name)
            if _is_ours(name, sys.modules[name]):
                _own.add(name)
    modules_by_name |= {name: sys.modules.get(name) for name in sorted(_own)}
    spaces = [
        vars(module)
        for module in modules_by_name.values()
        if type(module) is ModuleType
    ]
    own = getattr(target, "__globals__", None)
    if own is not None and not any(own is space for space in spaces):
        spaces.append(own)
    return spaces


def _is_own_namespace(space: dict[str, Any]) -> bool:
    """Return whether a namespace belongs to one of the user's files."""
    name = space.get("__name__", "")
    return name not in sys.modules or name in _own


def _is_given(name: str) -> bool:
    """Return whether a module belongs to torch, torchvision, numpy or Shapewright."""
    return name.partition(".")[0] in ("torch", "torchvision", "shapewright", "numpy")


def _is_ours(name: str, module: ModuleType | None) -> bool:
    """Return whether a module is the user's own, and not installed or Python's."""
    if name == "__main__":
        return True
    file = getattr(module, "__file__", None)
    return (
        isinstance(file, str)
        and not _is_given(name)
        and not file.startswith(SITE_PACKAGES)
        and classify_file(file) == USER
    )


def _find_classes(space: dict[str, Any]) -> list[type]:
    """Return the classes that a namespace defines."""
    name = space.get("__name__")
    return [
        value
        for value in space.values()
        if isinstance(value, type) and value.__module__ == name
    ]


def _make_namespace_undo(space: dict[str, Any], names: list[str]) -> Undo:
    """Return a function that restores names that came to hold a tensor of the run."""
    before = dict(space)

    def undo() -> None:
        for name, value in list(space.items()):
            if before.get(name) is value or not has_run_tensor(value):
                continue
            names.append(name)
            if name in before:
                space[name] = before[name]
            else:
                del space[name]

    return undo


def _make_class_undo(kind: type, names: list[str]) -> Undo:
    """Return a function that restores class attributes holding a tensor of the run."""
    before = dict(vars(kind))

    def undo() -> None:
        for name, value in list(vars(kind).items()):
            if before.get(name) is value or not has_run_tensor(value):
                continue
            names.append(f"{kind.__name__}.{name}")
            if name in before:
                setattr(kind, name, before[name])
            else:
                delattr(kind, name)

    return undo


def _make_cache_undo(function: Any) -> Undo:
    """Return a function that clears a `functools.cache` holding a tensor of the run."""
    before = function.cache_info()

    def undo() -> None:
        if function.cache_info() == before:
            return
        referents = gc.get_referents(function)
        referents += [
            link
            for cache in referents
            if isinstance(cache, dict)
            for entry in cache.values()
            for link in (entry, *gc.get_referents(entry))
        ]
        if any(has_run_tensor(value) for value in referents if not callable(value)):
            function.cache_clear()

    return undo


OWNED = Optimizer, LRScheduler, nn.Module
"""Classes whose objects are restored wherever they stand."""


@contextmanager
def keep_owned(target: Any, arguments: tuple[Any, ...]) -> Iterator[None]:
    """Restore what the block changes in a function's globals and closures."""
    spaces = [
        space for space in _find_namespaces([], target) if _is_own_namespace(space)
    ]
    named = [(space, space.copy()) for space in spaces]
    functions = list(_iter_functions(target))
    for function in functions:
        own = function.__globals__
        if not any(own is space for space, _ in named):
            named.append((own, own.copy()))
    cells = [
        (cell, cell.cell_contents)
        for function in functions
        for cell in function.__closure__ or ()
        if _is_filled(cell)
    ]
    alive = [item for item in gc.get_objects() if issubclass(type(item), OWNED)]
    values = [value for _, saved in named for value in saved.values()]
    held = [
        hold_objects(roots, functions=True, most=MOST)
        for roots in ((target, *arguments), alive, values)
    ]
    try:
        yield
    finally:
        for cell, content in cells:
            if not _is_filled(cell) or cell.cell_contents is not content:
                cell.cell_contents = content
        for held_objects in held:
            for container, saved in held_objects.changed():
                restore_container(container, saved)
        for space, before in named:
            _restore_namespace(space, before)


@contextmanager
def keep_optimizers() -> Iterator[None]:
    """Restore all optimizers and schedulers after the block."""
    kinds = Optimizer, LRScheduler
    alive = [item for item in gc.get_objects() if issubclass(type(item), kinds)]
    held = hold_objects(alive, functions=True, most=MOST) if alive else None
    try:
        yield
    finally:
        for container, saved in held.changed() if held is not None else ():
            restore_container(container, saved)


def _restore_namespace(space: dict[str, Any], before: dict[str, Any]) -> None:
    """Restore the names of a namespace, and delete new ones."""
    for name in [*space]:
        if name not in before:
            del space[name]
    for name, value in before.items():
        if name not in space or space[name] is not value:
            space[name] = value


def _iter_functions(target: Any, depth: int = 4) -> Iterator[FunctionType]:
    """Yield a function and the functions in its closure."""
    waiting: list[tuple[Any, int]] = [(target, depth)]
    seen: set[int] = set()
    while waiting:
        value, left = waiting.pop()
        if isinstance(value, MethodType):
            value = value.__func__
        elif isinstance(value, partial):
            value = value.func
        if not isinstance(value, FunctionType) or id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        if left:
            inner = filter(_is_filled, value.__closure__ or ())
            waiting += [(cell.cell_contents, left - 1) for cell in inner]


def _is_filled(cell: CellType) -> bool:
    """Return whether the cell of a closure has a value."""
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def find_place(target: Callable[..., Any]) -> tuple[str, int]:
    """Return the file and line of a function, or of a module's `forward`."""
    own = (
        getattr(target, "forward", target) if isinstance(target, nn.Module) else target
    )
    function = next(_iter_functions(own), None)
    if function is None:
        return "", 0
    code = function.__code__
    return code.co_filename, code.co_firstlineno
