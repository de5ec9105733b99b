"""Snapshots of a target's state, taken before some runs and restored after each."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from shapewright.engine.identity import Info
from shapewright.runtime.restore.held_objects import (
    AROUND,
    Held,
    hold_objects,
    restore_container,
)
from shapewright.runtime.restore.process_state import apply_patches, note_process
from shapewright.runtime.restore.surroundings import note_surroundings

Undo = Callable[[], list[str]]


def _note_model(modules: list[tuple[str, nn.Module]]) -> tuple[list[Any], Undo]:
    """Note the attributes of modules; return their contents and an undo function.

    The function returns the names of the attributes that the program had changed. The
    list is of the modules' contents that are more than a plain value.
    """
    held = hold_objects((), modules=[module for _, module in modules])
    return held.inner, lambda: _restore_modules(modules, held)


def _note_inputs(modules: list[tuple[str, nn.Module]], roots: Iterable[Any]) -> Undo:
    """Return a function that restores the inputs, which may be caches of the user's."""
    held = hold_objects(roots, beyond=[module for _, module in modules], most=AROUND)
    return lambda: _restore_modules(modules, held)


def _prepare_modules(modules: list[tuple[str, nn.Module]]) -> None:
    """Prepare a model for a run: uncompiled, and with new lazy tensors."""
    for _, module in modules:
        if isinstance(module, LazyModuleMixin):
            _replace_lazy_tensors(module)
        if vars(module).get("_compiled_call_impl") is not None:
            module._compiled_call_impl = None


def _restore_modules(modules: list[tuple[str, nn.Module]], held: Held) -> list[str]:
    """Restore what has changed, and return the names of changed module attributes."""
    names: list[str] = []
    held.reclass()
    changes = list(held.changed())
    paths = {id(vars(module)): path for path, module in modules} if changes else {}
    for container, saved in changes:
        path = paths.get(id(container))
        if path is not None:
            names += [
                f"{path}.{name}" if path else name
                for name in {**container, **(saved or {})}
                if container.get(name) is not (saved or {}).get(name)
            ]
        restore_container(container, saved)
    return names


def _replace_lazy_tensors(module: nn.Module) -> None:
    """Replace lazy tensors, which a run materializes in place, by new ones."""
    groups: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    lazy: Any
    for group in groups:
        for name, tensor in group.items():
            for lazy in (UninitializedParameter, UninitializedBuffer):
                if isinstance(tensor, lazy):
                    group[name] = lazy(
                        tensor.requires_grad, device="meta", dtype=tensor.dtype
                    )


DEPTH = 3
MOST = 100
"""Items of a container that are looked at: a model does not stand in a data set."""


def _find_modules(
    target: Any, arguments: Iterable[Any] = ()
) -> list[tuple[str, nn.Module]]:
    """Return the modules of the target by path, or those that a function can reach.

    Example: for ``def step(x): return head(body(x))`` all of the two globals' modules.
    """
    roots = (
        [target]
        if isinstance(target, nn.Module)
        else _find_reached_modules((target, *arguments))
    )
    modules: dict[int, tuple[str, nn.Module]] = {}
    for root in roots:
        for path, module in root.named_modules():
            modules.setdefault(id(module), (path, module))
    return list(modules.values())


def _find_reached_modules(values: Iterable[Any], depth: int = DEPTH) -> list[nn.Module]:
    """Return the outermost modules that can be reached from some values."""
    modules: list[nn.Module] = []
    for value in values:
        if isinstance(value, nn.Module):
            modules.append(value)
        elif depth:
            modules += _find_reached_modules(_iter_contents(value), depth - 1)
    return modules


def _iter_contents(value: Any) -> Iterator[Any]:
    """Yield the contents of a function, a method, a partial or a container."""
    kind = type(value)
    if kind is FunctionType:
        yield from _iter_function_contents(value)
    elif kind is MethodType:
        yield value.__self__
        yield value.__func__
    elif kind is partial:
        yield from (value.func, *value.args, *value.keywords.values())
    elif kind in (list, tuple, set) and len(value) <= MOST:
        yield from value
    elif kind is dict and len(value) <= MOST:
        yield from value.values()
    elif not isinstance(value, type) and type(getattr(value, "__dict__", None)) is dict:
        yield from [v for v in vars(value).values() if isinstance(v, nn.Module)]


def _iter_function_contents(function: FunctionType) -> Iterator[Any]:
    """Yield the closure, the defaults, and the globals that a function's code names."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet filled
            continue
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    for name in _find_global_names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, nn.Module | FunctionType | list | tuple | dict):
            yield value


def _find_global_names(code: CodeType) -> set[str]:
    """Return the global names used in a function's code and in its inner functions."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _find_global_names(constant)
    return names


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The earlier state of a target and of everything around it.

    `modules` are the root's by path, `near` these or those that the arguments reach.
    Taking costs as much as some hundred calls, so runs that follow each other share it.
    """

    target: Any
    root: nn.Module | None
    modules: list[tuple[str, nn.Module]]
    near: list[tuple[str, nn.Module]]
    did: dict[str, Any]
    process: Callable[[], None]
    swept: list[str]
    around: Callable[[], None]
    model: Callable[[], list[str]]
    seen: dict[int, tuple[torch.Tensor, Info]] = field(default_factory=dict)
    """Facts that the first run learnt of the model's tensors, for those that follow."""
    needs: set[str] = field(default_factory=set)
    """Contains `graph` if a run needed torch's autograd: later runs begin with it."""


@dataclass(slots=True)
class _Changes:
    """The changes that a run made, which are known once everything is restored."""

    put_back: list[str] = field(default_factory=list)
    patched: list[str] = field(default_factory=list)


def take_snapshot(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Snapshot:
    """Take a snapshot of a target and its surroundings, without changing them."""
    root = find_module(target)
    modules = [] if root is None else list(root.named_modules())
    near = modules or _find_modules(target, (args, kwargs))
    did, process = note_process()
    inner, model = _note_model(near)
    swept, around = note_surroundings(near, target, inner)
    return Snapshot(target, root, modules, near, did, process, swept, around, model)


def find_module(target: Any) -> nn.Module | None:
    """Return the target if it is a module, or the module to which a method belongs."""
    if isinstance(target, nn.Module):
        return target
    owner = getattr(target, "__self__", None)
    return owner if isinstance(owner, nn.Module) else None


@contextmanager
def restore_snapshot(
    taken: Snapshot, args: tuple[Any, ...], kwargs: dict[str, Any], life: object
) -> Iterator[_Changes]:
    """Restore everything to the state of the snapshot after the block.

    Each tensor of the run holds a reference to `life`: if none is left, nothing has to
    be searched outside the model.
    """
    changes = _Changes()
    swept, patches = taken.swept, taken.did["patched"]
    swept.clear()
    patches.clear()
    alive = sys.getrefcount(life)

    def around() -> None:
        if sys.getrefcount(life) > alive:
            taken.around()
            changes.put_back += swept

    def process() -> None:
        taken.process()
        changes.patched += patches

    def model() -> None:
        changes.put_back += inputs()
        changes.put_back += taken.model()

    inputs = _note_inputs(taken.near, (taken.target, args, kwargs))
    with ExitStack() as stack:
        stack.callback(process)
        stack.enter_context(apply_patches())
        stack.callback(around)
        stack.callback(model)
        _prepare_modules(taken.near)
        yield changes
