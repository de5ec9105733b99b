"""The user's model and inputs as they were: taken before a run, put back after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from shapewright.capture.holding import AROUND, Held, hold, put_back


@contextmanager
def kept(
    modules: list[tuple[str, nn.Module]], roots: Iterable[Any] = ()
) -> Iterator[list[str]]:
    """Put back each module's attributes, and what is reached through them.

    `roots` are the inputs: a cache that is passed in is the user's too. Yields a list
    that names, on leaving, the attributes that the program had changed.
    """
    names: list[str] = []
    own = [module for _, module in modules]
    held = hold((), modules=own), hold(roots, beyond=own, most=AROUND)
    for _, module in modules:
        if isinstance(module, LazyModuleMixin):
            blank_lazies(module)
        if vars(module).get("_compiled_call_impl") is not None:
            module._compiled_call_impl = None  # runs uncompiled
    try:
        yield names
    finally:
        for one in held:
            restore(modules, one, names)


def restore(modules: list[tuple[str, nn.Module]], held: Held, names: list[str]) -> None:
    """Put back what is not as it was, and name the attributes of modules."""
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
