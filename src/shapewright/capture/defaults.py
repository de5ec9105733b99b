"""Default devices are claimed like any other: torch must not put tensors there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _device

from shapewright.capture.devices import normal_device
from shapewright.capture.replacement import resemble

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine


@contextmanager
def claimed_defaults(engine: Engine) -> Iterator[None]:
    """`with torch.device("cuda"):` adds its device to what the program asks only.

    Its mode may stand below ours (`set_default_device` puts it at the foot of the
    stack), where it would add the device to what we ask of torch.
    """
    kind: Any = _device.DeviceContext
    original = kind.__torch_function__
    for mode in torch.overrides._get_current_function_mode_stack():
        if isinstance(mode, kind):
            engine.home_of_factories = normal_device(mode.device)

    def aside(
        self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        modes = torch.overrides._get_current_function_mode_stack()
        if get_ident() in engine.threads and engine not in modes:
            return func(*args, **(kwargs or {}))
        return original(self, func, types, args, kwargs)

    kind.__torch_function__ = resemble(aside, original)
    try:
        yield
    finally:
        kind.__torch_function__ = original
