"""The user's model and inputs as they were: taken before a run, put back after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from shapewright.capture.holding import AROUND, Held, hold, put_back

Undo = Callable[[], list[str]]


def model_taken(modules: list[tuple[str, nn.Module]]) -> tuple[list[Any], Undo]:
    """Each module's attributes, and what is reached through them: how to put it back.

    That returns the names of the attributes that the program had changed. The list
    is of what the modules hold that is more than a plain value.
    """
    held = hold((), modules=[module for _, module in modules])
    return held.inner, lambda: restore(modules, held)


def inputs_taken(modules: list[tuple[str, nn.Module]], roots: Iterable[Any]) -> Undo:
    """The same for the inputs: a cache that is passed in is the user's too."""
    held = hold(roots, beyond=[module for _, module in modules], most=AROUND)
    return lambda: restore(modules, held)


def made_ready(modules: list[tuple[str, nn.Module]]) -> None:
    """What a run needs of a model: uncompiled, and lazy tensors of its own."""
    for _, module in modules:
        if isinstance(module, LazyModuleMixin):
            blank_lazies(module)
        if vars(module).get("_compiled_call_impl") is not None:
            module._compiled_call_impl = None


def restore(modules: list[tuple[str, nn.Module]], held: Held) -> list[str]:
    """Put back what is not as it was, and name the attributes of modules."""
    names: list[str] = []
    held.reclass()
    found = list(held.changed())
    paths = {id(vars(module)): path for path, module in modules} if found else {}
    for container, saved in found:
        path = paths.get(id(container))
        if path is not None:
            names += [
                f"{path}.{name}" if path else name
                for name in {**container, **(saved or {})}
                if container.get(name) is not (saved or {}).get(name)
            ]
        put_back(container, saved)
    return names


def blank_lazies(module: nn.Module) -> None:
    """Lazy parameters are materialised in place: the run gets its own."""
    groups: tuple[dict[str, Any], ...] = (module._parameters, module._buffers)
    lazy: Any
    for group in groups:
        for name, tensor in group.items():
            for lazy in (UninitializedParameter, UninitializedBuffer):
                if isinstance(tensor, lazy):
                    group[name] = lazy(
                        tensor.requires_grad, device="meta", dtype=tensor.dtype
                    )
