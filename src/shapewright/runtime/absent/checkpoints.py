"""State dicts of files that do not exist."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.given_values import make_values
from shapewright.runtime.absent.paths import AbsentPaths
from shapewright.runtime.absent.settings import GivenTensors, PlainValue
from shapewright.runtime.model_building import Downloaded


@contextmanager
def replace_checkpoints(paths: AbsentPaths) -> Iterator[None]:
    """Let an absent file of weights fit the model that loads it."""

    def replace(original: Any) -> Any:
        def load(f: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(f, *args, **kwargs)
            except FileNotFoundError:
                if not isinstance(f, str | os.PathLike):
                    raise
                if not paths.stands_in(f, sys._getframe(1)):
                    raise
            data = paths.find(f)
            if data is not None and isinstance(data.holds, GivenTensors | PlainValue):
                paths.tell(f"`{os.fspath(f)}`", f"`{data.text}`", "given")
                if isinstance(data.holds, PlainValue):
                    return data.holds.value
                return make_values(data.holds)
            by = "weights that fit what loads them"
            paths.tell(f"`{os.fspath(f)}`", by, "read")
            return Downloaded()

        return load

    with replace_attribute(torch, "load", replace):
        yield
