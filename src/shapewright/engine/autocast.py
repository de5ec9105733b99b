"""The casts that autocast applies to the operands of a call, by torch's cast lists.

Autocast does not act on meta tensors, so this module applies the lists of the claimed
device. They come from torch's `autocast_mode.cpp`; a test compares them with torch's
dispatcher.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from sys import _getframe
from typing import Any

import torch

from shapewright.engine import nests
from shapewright.engine.identity import Info, Meta
from shapewright.engine.private import is_autocast_function
from shapewright.engine.replacement import copy_attributes
from shapewright.operators.facts import operators_with, values_of

KINDS = ("cpu", "cuda")
LOWER = {
    kind: operators_with("autocast_lower", f"autocast_lower_{kind}") for kind in KINDS
}
"""Ops that run in the autocast dtype."""

FULL = {
    kind: operators_with("autocast_full", f"autocast_full_{kind}") for kind in KINDS
}
"""Ops that run in float32."""

WIDEST = {kind: operators_with(f"autocast_widest_{kind}") for kind in KINDS}
"""Ops that run in the widest dtype of their operands."""

REFUSED = {"cpu": frozenset[str](), "cuda": frozenset({"binary_cross_entropy"})}
UNSAFE = """\
torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.
Many models use a sigmoid layer right before the binary cross entropy layer.
In this case, combine the two layers using torch.nn.functional.\
binary_cross_entropy_with_logits
or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are
safe to autocast."""

CALLED = values_of("autocast_name")
"""Maps Python and kernel names to the names used in the lists."""

OPEN = operators_with("contains_autocast")
"""Composite ops that contain autocast ops: torch answers them, not a rule."""

CUDNN = operators_with("is_recurrent")
"""Ops that run in cuDNN on a GPU, and there in the autocast dtype."""

DTYPE_GIVEN = operators_with("overrides_autocast")
"""Ops whose explicit `dtype` argument overrides autocast."""


def get_autocast_state() -> Any:
    """Return the device types with autocast enabled, each with its autocast dtype."""
    return tuple(
        (kind, torch.get_autocast_dtype(kind))
        for kind in KINDS
        if torch.is_autocast_enabled(kind)
    )


def find_device_type(metas: list[Meta]) -> str | None:
    """Return the device type whose autocast applies to these operands, or None."""
    kinds = {meta.device.partition(":")[0] for meta in metas} - {"meta"}
    kind = "cuda" if "cuda" in kinds else "cpu"
    return kind if torch.is_autocast_enabled(kind) else None


def is_listed(name: str, kind: str) -> bool:
    """Return whether an autocast list has a function of this name."""
    called = CALLED.get(name, name)
    if kind == "cuda" and name in CUDNN:
        return True
    lists = (LOWER, FULL, WIDEST, REFUSED)
    return any(called in x[kind] for x in lists) and is_autocast_function(called, kind)


def _find_target_dtype(
    name: str, kind: str, dtypes: list[torch.dtype]
) -> torch.dtype | None:
    """Return the dtype to which autocast casts float operands; None means no cast."""
    called = CALLED.get(name, name)
    if kind == "cuda" and name in CUDNN:
        return torch.get_autocast_dtype(kind)
    if not is_autocast_function(called, kind):  # a list grew after this torch
        return None
    if called in LOWER[kind]:
        return torch.get_autocast_dtype(kind)
    if called in FULL[kind]:
        return torch.float32
    floats = {dtype for dtype in dtypes if dtype.is_floating_point}
    if called in WIDEST[kind] and len(floats) > 1 and torch.float32 in floats:
        return torch.float32
    return None


def is_castable(dtype: torch.dtype) -> bool:
    """Return whether autocast may cast this dtype: any float but float64."""
    return dtype.is_floating_point and dtype != torch.float64


def find_refusal(name: str, metas: list[Meta]) -> BaseException | None:
    """Return the error that torch raises if autocast forbids the call, else None."""
    kind = find_device_type(metas)
    return RuntimeError(UNSAFE) if kind and name in REFUSED[kind] else None


def cast_arguments(name: str, arguments: Any, infos: list[Info]) -> Any:
    """Return a rule's arguments after autocast; None if no rule can answer the call."""
    kind = find_device_type([info.meta for info in infos])
    if kind is None or _is_ruled_out(name, arguments[1], kind):
        return None if kind else arguments
    dtype = _find_target_dtype(name, kind, [info.meta.torch_dtype for info in infos])
    if dtype is None or (name in DTYPE_GIVEN and arguments[1].get("dtype")):
        return arguments

    def change(value: Any) -> Any:
        if isinstance(value, Meta) and is_castable(value.torch_dtype):
            return Meta(
                value.shape, value.stride, dtype, value.offset, value.device,
                value.requires_grad, value.layout,
            )  # fmt: skip
        if isinstance(value, tuple | list):
            return type(value)(change(item) for item in value)
        if isinstance(value, dict):
            return {key: change(item) for key, item in value.items()}
        return value

    return change(arguments)


def _is_ruled_out(name: str, kwargs: dict[str, Any], kind: str) -> bool:
    """Return whether the casts depend on the calls that a composite operator makes."""
    return name in OPEN and not is_listed(name, kind)


def cast_tensors(name: str, physical: Any, infos: list[Info]) -> tuple[Any, str | None]:
    """Return the operands on which torch is about to run, as autocast casts them.

    The second item is the device type whose lists apply to the kernels of a call that
    is in no list itself, else None.
    """
    kind = find_device_type([info.meta for info in infos])
    if kind is None:
        return physical, None
    if not is_listed(name, kind):
        return physical, kind
    if name in DTYPE_GIVEN and physical[1].get("dtype") is not None:
        return physical, None
    return cast_for_kernel(name, kind, physical), None


def cast_for_kernel(name: str, kind: str, physical: Any) -> Any:
    """Return the operands of a kernel or call, as autocast casts them."""
    dtypes = [tensor.dtype for tensor in nests.collect_tensors(physical)]
    dtype = _find_target_dtype(name, kind, dtypes)
    if dtype is None:
        return physical
    return nests.swap_tensors(
        physical,
        lambda t: t.to(dtype) if is_castable(t.dtype) and t.dtype != dtype else t,
    )


# -- CUDA autocast on a machine without CUDA -------------------------------------------


@contextmanager
def claim_cuda_autocast() -> Iterator[None]:
    """Let `torch.autocast("cuda")` take effect for tensors that claim to be on CUDA."""
    common: Any = torch.cuda.amp.common
    known, supported = common.amp_definitely_not_available, torch.cuda.is_bf16_supported

    def is_bf16_supported(*args: Any, **kwargs: Any) -> bool:
        caller = Path(_getframe(1).f_code.co_filename).name
        return caller == "autocast_mode.py" or supported(*args, **kwargs)

    common.amp_definitely_not_available = copy_attributes(lambda: False, known)
    torch.cuda.is_bf16_supported = copy_attributes(is_bf16_supported, supported)
    try:
        yield
    finally:
        common.amp_definitely_not_available = known
        torch.cuda.is_bf16_supported = supported
