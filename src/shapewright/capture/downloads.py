"""Weights that a real run downloads: without data they are supposed to fit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import nn

from shapewright.capture.replacement import replaced

LOADER = "load_state_dict_from_url"


class Downloaded(dict[str, Any]):
    """A state dict that a real run downloads: whatever it is loaded into has it."""


@contextmanager
def downloads_stood_for(
    suppose: Callable[[str], None], loaded: Callable[[nn.Module], None] | None = None
) -> Iterator[None]:
    """Nothing is downloaded in the block; `suppose` is told what is taken to fit.

    `loaded` is called with each module that a state dict was loaded into.
    """
    within = [True]

    def downloaded(original: Any) -> Any:
        def load(url: str, *args: Any, **kwargs: Any) -> Any:
            if not within:  # kept by name, in a module imported in the block
                return original(url, *args, **kwargs)
            suppose(f"the weights of {url} are not here; taken to fit")
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
            for module in _modules_with_loader():
                stack.enter_context(replaced(module, LOADER, downloaded))
            stack.enter_context(replaced(nn.Module, "load_state_dict", loading))
            yield
    finally:
        within.clear()


def _modules_with_loader() -> list[Any]:
    """`torch.hub`, and the modules that imported its function by name."""
    original = vars(torch.hub)[LOADER]
    return [
        module
        for module in list(sys.modules.values())
        if getattr(module, "__dict__", {}).get(LOADER) is original
    ]
