"""Input tensors made from a spec, and the same arguments at other sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import nn

from shapewright.engine import nests
from shapewright.engine.engine import KNOWN_LIMIT
from shapewright.engine.identity import (
    BLANK,
    DTYPE_NAMES,
    DTYPES,
    VALUED,
    Info,
    Metas,
    Storage,
    intern_meta,
)


def make_input_tensor(
    shape: tuple[int, ...],
    dtype: str,
    device: str,
    name: str,
    values: torch.Tensor | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """Return an input tensor for the program, with `values` if given, or without data.

    Small integers and booleans without stated values are ones: they decide control flow
    and sizes. Reading them is an assumption of the run.
    """
    metas: Metas = {}
    kind = DTYPES[dtype]
    count = 1
    for size in shape:
        count *= size
    assumed = None
    whole = not kind.is_floating_point and not kind.is_complex
    if values is None and whole and count <= KNOWN_LIMIT:
        values = torch.ones(shape, dtype=kind)
        assumed = f"the input `{name}`, taken as ones"
    if values is None or values.numel() > KNOWN_LIMIT:
        tensor = torch.empty(shape, dtype=kind, device="meta")
    else:
        tensor = values
    if requires_grad:
        tensor.requires_grad_()
    known = not tensor.is_meta
    meta = intern_meta(metas, tensor, device, requires_grad)
    storage = Storage(device, known=known, assumed=assumed)
    info = Info(meta, storage, VALUED if known else BLANK)
    claimed: Any = tensor
    claimed._sw = info
    return tensor


PLAIN = (int, float, str, bool, type(None))


def can_resize(nest: Any) -> bool:
    """Return whether nested arguments hold only dense tensors and plain values."""
    if isinstance(nest, torch.Tensor):
        return type(nest) is torch.Tensor and nest.layout == torch.strided
    if isinstance(nest, dict):
        return all(can_resize(item) for item in nest.values())
    if isinstance(nest, list | tuple):
        return all(can_resize(item) for item in nest)
    return isinstance(nest, PLAIN)


def _find_numbers(nest: Any) -> set[int]:
    """Return the integers among nested arguments."""
    if isinstance(nest, dict):
        nest = list(nest.values())
    if isinstance(nest, list | tuple):
        return {number for item in nest for number in _find_numbers(item)}
    return {nest} if type(nest) is int else set()


Sizes = Mapping[tuple[int, int], int]
"""New sizes, by tensor (each counted once, in order) and dim."""


def resize_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sizes
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments with their tensors resized to the given sizes.

    Example: ``resized((x,), {}, {(0, 0): 1})`` gives `x` (8, 3) as (1, 3). Known values
    are taken again from the first on; lengths that counted to the old size of a dim
    count to the new one.
    """
    resized: dict[int, torch.Tensor] = {}
    shrunk = {
        tensor.shape[dim]: size
        for (at, dim), size in sizes.items()
        for tensor in _find_distinct_tensors((args, kwargs))[at : at + 1]
        if size < tensor.shape[dim]
    }
    for at, tensor in enumerate(_find_distinct_tensors((args, kwargs))):
        mine = {dim: size for (n, dim), size in sizes.items() if n == at}
        resized[id(tensor)] = _resize_tensor(tensor, mine, shrunk) if mine else tensor
    nest: tuple[tuple[Any, ...], dict[str, Any]] = nests.swap_tensors(
        (args, kwargs), lambda tensor: resized[id(tensor)]
    )
    return nest


def list_tensors(nest: Any) -> list[tuple[str, tuple[int, ...]]]:
    """Return the dtype and the shape of each tensor among nested arguments."""
    return [
        (str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape))
        for tensor in _find_distinct_tensors(nest)
    ]


def _find_distinct_tensors(nest: Any) -> list[torch.Tensor]:
    """Return the tensors among nested arguments, without duplicates."""
    return list({id(tensor): tensor for tensor in nests.collect_tensors(nest)}.values())


def _resize_tensor(
    tensor: torch.Tensor, sizes: dict[int, int], shrunk: dict[int, int]
) -> torch.Tensor:
    """Return a tensor like `tensor`, with the given sizes in some dims."""
    info = getattr(tensor, "_sw", None)
    shape = tuple(sizes.get(dim, size) for dim, size in enumerate(tensor.shape))
    device = info.meta.device if info is not None else str(tensor.device)
    count = 1
    for size in shape:
        count *= size
    values = None
    guessed = info is not None and info.storage.assumed is not None
    if not tensor.is_meta and not guessed and count <= KNOWN_LIMIT:
        values = tensor.detach()
        for dim, size in sizes.items():
            index = torch.arange(size) % values.shape[dim]
            values = values.index_select(dim, index)
        values = _clamp_lengths(values, shrunk)
    kind = DTYPE_NAMES[tensor.dtype]
    return make_input_tensor(shape, kind, device, "", values, tensor.requires_grad)


def _clamp_lengths(values: torch.Tensor, shrunk: dict[int, int]) -> torch.Tensor:
    """Clamp a vector of lengths to the new, smaller sizes."""
    whole = not values.is_floating_point() and not values.is_complex()
    if values.dim() != 1 or not whole or values.dtype == torch.bool:
        return values
    for old, new in shrunk.items():
        if values.numel() and int(values.min()) >= 1 and int(values.max()) <= old:
            values = values.clamp(max=new)
    return values


def has_own_mode(module: nn.Module) -> bool:
    """Return whether the module or a submodule overrides `train` or `eval`."""
    kinds = {type(submodule) for submodule in module.modules()}
    return any(
        kind.train is not nn.Module.train or kind.eval is not nn.Module.eval
        for kind in kinds
    )


def run_as_evaluated(
    module: nn.Module | None, training: bool | None
) -> AbstractContextManager[None]:
    """Disable gradients if a module with attention runs in evaluation mode.

    Only then does torch use its fused kernels, which refuse masks that training
    ignores.
    """
    if module is None or training is not False:
        return nullcontext()
    attends = any(
        isinstance(submodule, nn.MultiheadAttention) for submodule in module.modules()
    )
    return torch.no_grad() if attends else nullcontext()


@contextmanager
def set_mode(module: nn.Module | None, training: bool | None) -> Iterator[None]:
    """Set a module to training or evaluation mode in the block, then restore it."""
    if module is None or training is None:
        yield
        return
    before = [(submodule, submodule.training) for submodule in module.modules()]
    try:
        module.train(training)
        yield
    finally:
        for changed, was in before:
            changed.training = was
