"""Build models without memory, and read the numbers from which they were built."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from threading import get_ident
from typing import Any

import torch
from torch import nn

from shapewright.engine.devices import claim_default_device, claim_generators
from shapewright.engine.engine import Engine, EngineOptions
from shapewright.engine.identity import BLANK, Info, Storage, intern_meta
from shapewright.engine.layers.nested_tensors import refuse_nested_tensors
from shapewright.engine.mode import Mode
from shapewright.engine.private import (
    UninitializedTensor,
    disable_gpus,
    patch_unless_aside,
)
from shapewright.engine.replacement import copy_attributes, replace_attribute
from shapewright.engine.threads import follow_threads
from shapewright.engine.tracers import keep_tracers
from shapewright.record.formulas import ModuleNumbers
from shapewright.runtime.processes.child_processes import is_own_process
from shapewright.runtime.restore.process_state import apply_patches, guard_surroundings

LOADER = "load_state_dict_from_url"


class Downloaded(dict[str, Any]):
    """The stand-in for a downloaded state dict, which fits any module."""


@contextmanager
def replace_downloads(
    suppose: Callable[[str], None], loaded: Callable[[nn.Module], None] | None = None
) -> Iterator[None]:
    """Prevent downloads in the block; call `suppose` with each assumption made.

    `loaded` is called with each module that a state dict was loaded into.
    """
    within = [True]

    def downloaded(original: Any) -> Any:
        def load(url: str, *args: Any, **kwargs: Any) -> Any:
            if not within:  # kept by name, in a module imported in the block
                return original(url, *args, **kwargs)
            suppose(f"the weights of {url} are not here; they are assumed to fit")
            return Downloaded()

        return load

    def loading(original: Any) -> Any:
        def load_state_dict(
            self: Any, state_dict: Any, *args: Any, **kwargs: Any
        ) -> Any:
            if isinstance(state_dict, Downloaded):
                out = original(self, self.state_dict(), strict=False)
            else:
                out = original(self, state_dict, *args, **kwargs)
            if loaded is not None:
                loaded(self)
            return out

        return load_state_dict

    try:
        with ExitStack() as stack:
            for module in _find_modules_with_loader():
                stack.enter_context(replace_attribute(module, LOADER, downloaded))
            stack.enter_context(
                replace_attribute(nn.Module, "load_state_dict", loading)
            )
            yield
    finally:
        within.clear()


def _find_modules_with_loader() -> list[Any]:
    """Return `torch.hub` and the modules that imported its loading function by name."""
    original = vars(torch.hub)[LOADER]
    return [
        module
        for module in list(sys.modules.values())
        if getattr(module, "__dict__", {}).get(LOADER) is original
    ]


@contextmanager
def build_without_data(
    *, put_back: bool = True, supposed: list[str] | None = None
) -> Iterator[Engine]:
    """Run constructors for real, but allocate no data.

    Without `put_back`, what the program sets in the process (a default dtype, a seed)
    stays for the run that follows. Weights are not downloaded; `supposed` notes that.

    Example: inside it, ``nn.Linear(16384, 53248)`` costs no memory and `nn.init` no
    time, while ``torch.linspace(0, 0.1, 12)[3].item()`` is a number as ever.
    """
    engine = Mode(options=EngineOptions(recording=False))
    with ExitStack() as stack:
        stack.enter_context(guard_surroundings() if put_back else apply_patches())
        stack.enter_context(patch_torch(engine))
        assumptions = [] if supposed is None else supposed
        stack.enter_context(replace_downloads(assumptions.append))
        stack.enter_context(follow_threads(engine))
        stack.enter_context(engine)
        yield engine


@contextmanager
def patch_torch(engine: Engine) -> Iterator[None]:
    """Apply the patches of torch that a program needs while an engine runs it.

    A command's own process finds no real GPU from then on.
    """
    if is_own_process():
        disable_gpus()
    with (
        _make_blank_parameters(engine),
        claim_generators(engine),
        keep_tracers(),
        refuse_nested_tensors(engine),
        claim_default_device(engine),
    ):
        yield


@contextmanager
def _make_blank_parameters(engine: Engine) -> Iterator[None]:
    """Make `nn.Parameter(x)` keep the metadata that `x` claims, but none of its data.

    `Parameter.__new__` ends in `Tensor._make_subclass`, which no mode sees.
    """
    original = torch.Tensor._make_subclass
    inherited = "_make_subclass" not in vars(torch.Tensor)

    def make_subclass(cls: Any, data: Any, *rest: Any, **named: Any) -> Any:
        if type(data) is not torch.Tensor and not isinstance(data, torch.nn.Parameter):
            return original(cls, data, *rest, **named)
        if get_ident() not in engine.threads:
            return original(cls, data, *rest, **named)
        info = engine.info(data)
        if info.meta.layout != "strided":
            return original(cls, data, *rest, **named)
        with torch._C.DisableTorchFunction():
            blank = engine.blank_of(data).detach()
            parameter = original(cls, blank, *rest, **named)
            # Read here, or the run would adopt it as yours.
            rg = parameter.requires_grad
            if isinstance(parameter, UninitializedTensor):
                return (
                    parameter  # without a shape: claimed once its first input gives one
                )
            meta = intern_meta(engine.memo.metas, parameter, info.meta.device, rg)
        storage = info.storage if info.kind == BLANK else Storage(info.meta.device)
        new = Info(meta, storage, BLANK)
        if rg and not engine.graph:
            new.twin = blank
        engine.tell(parameter, new)
        return parameter

    copy_attributes(make_subclass, original)

    def patch() -> None:
        torch.Tensor._make_subclass = staticmethod(make_subclass)  # type: ignore[method-assign]

    def unpatch() -> None:
        if inherited:
            del torch.Tensor._make_subclass
        else:
            torch.Tensor._make_subclass = original  # type: ignore[method-assign]

    with patch_unless_aside(patch, unpatch):
        yield


CONFIGS = ("config", "cfg", "conf", "args")
"""Attributes in which models keep the numbers from which they were built."""


def find_numbers(modules: Iterable[tuple[str, nn.Module]]) -> dict[str, ModuleNumbers]:
    """Return the named integers of each module that is not a layer of torch, by path.

    No code of the program runs: values of properties are not known.
    """
    return {
        path: ModuleNumbers(
            tuple(base.__name__ for base in _find_classes(type(module))),
            _find_whole_numbers(module),
            {
                name: _find_whole_numbers(value)
                for name in CONFIGS
                if (value := vars(module).get(name)) is not None
            },
        )
        for path, module in modules
        if _find_classes(type(module))[:1] == [type(module)]
    }


def _find_classes(kind: type) -> list[type]:
    """Return a class and its bases, except those of torch and Python."""
    known = ("torch", "builtins")
    return [
        base for base in kind.__mro__ if base.__module__.partition(".")[0] not in known
    ]


def _find_whole_numbers(value: Any) -> dict[str, int]:
    """Return the public integers of a dict, or of an object and its class, by name."""
    if type(value) is dict:
        return _select_public(value)
    numbers: dict[str, int] = {}
    kind = value if isinstance(value, type) else type(value)
    for base in reversed(_find_classes(kind)):
        numbers.update(_select_public(vars(base)))
    if kind is not value:
        numbers.update(_select_public(getattr(value, "__dict__", {})))
    return numbers


def _select_public(values: Mapping[Any, Any]) -> dict[str, int]:
    """Return the integers whose names are public."""
    return {
        name: value
        for name, value in values.items()
        if type(value) is int and isinstance(name, str) and not name.startswith("_")
    }
