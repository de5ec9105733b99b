"""Calls that torch's data-free kernels take and its CPU's kernels refuse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch

from shapewright.engine import nests
from shapewright.engine.private import any_autocast
from shapewright.engine.values.representatives import is_small, make_stand_in

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine
    from shapewright.engine.identity import Info

Tensor = torch.Tensor
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def check_on_cpu(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs, infos: list[Info]
) -> None:
    """Raise the CPU's error for a call that it rejects.

    Of large operands only a corner is tried, which shows what is rejected for its
    dtypes, whatever the sizes.
    """
    from shapewright.engine.dispatch.results import convert_for_record, record_failure

    whole = is_small(infos)
    strided = all(info.meta.layout == "strided" for info in infos)
    if any_autocast() or not (whole or strided):
        return

    def replace(tensor: Tensor) -> Tensor:
        if whole:
            return make_stand_in(engine, tensor)
        meta = engine.info(tensor).meta
        corner = [min(size, 2) for size in meta.shape]
        return torch.ones(corner, dtype=meta.torch_dtype)

    physical = nests.replace_devices(nests.swap_tensors((args, kwargs), replace), "cpu")
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        try:
            func(*physical[0], **physical[1])
        except Exception as eager:  # torch refuses
            if not whole and not _is_of_dtypes(func, physical, eager):
                return
            arguments = convert_for_record(engine, args, kwargs)
            engine.raise_theirs(record_failure(engine, func, arguments, infos, eager))


def _is_of_dtypes(func: Any, physical: tuple[Args, Kwargs], eager: Exception) -> bool:
    """Return whether the CPU's kernel rejects a call for its dtypes: of floats it would
    take it.
    """
    if OF_DTYPES.search(str(eager)):
        return True
    args, kwargs = nests.swap_tensors(physical, lambda tensor: tensor.float())
    try:
        func(*args, **kwargs)
    except Exception:  # it is rejected for its sizes, too
        return False
    return True


OF_DTYPES = re.compile(
    r"not implemented for|expected scalar type|same (dtype|scalar type)|dtypes match"
    r"|only supports? floating"
)
"""Words of errors that depend on dtypes alone."""
