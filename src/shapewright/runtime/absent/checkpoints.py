"""State dicts of files that do not exist."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.model_building import Downloaded

Tell = Callable[[str], None]


@contextmanager
def replace_checkpoints(tell: Tell) -> Iterator[None]:
    """Let an absent file of weights fit the model that loads it."""

    def replace(original: Any) -> Any:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(f, *args, **kwargs)
            except FileNotFoundError:
                if not isinstance(f, str | os.PathLike):
                    raise
            tell(f"stood in for `{os.fspath(f)}`: weights that fit what loads them")
            return Downloaded()

        return load

    with replace_attribute(torch, "load", replace):
        yield
