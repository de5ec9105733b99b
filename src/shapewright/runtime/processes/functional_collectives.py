"""Functional collectives, whose results are new tensors: they are C++ in torch.

The other ranks are assumed to hold the same: what is gathered are copies. Results have
a graph, as those of the variants with `_autograd`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from shapewright.engine.replacement import replace_attribute
from shapewright.runtime.absent.late_imports import change_when_imported

if TYPE_CHECKING:
    from shapewright.runtime.loops.loop_state import RehearsalState


MODULE = "torch.distributed._functional_collectives"


@contextmanager
def replace_functional_collectives(stage: RehearsalState) -> Iterator[None]:
    """Run functional collectives as one rank, unless the group is a real one."""

    def change(module: ModuleType, stack: ExitStack) -> None:
        for name, function in FUNCTIONS.items():
            if name in vars(module):
                stack.enter_context(
                    replace_attribute(module, name, _make_replacement(function))
                )

    with change_when_imported(MODULE, change):
        yield


def _make_replacement(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda original: lambda *args, **kwargs: function(*args, **kwargs)


def _find_group(group: Any, tag: str = "") -> Any:
    """Return the process group of a group, a mesh, a mesh and a dim, or ranks."""
    from torch.distributed import _functional_collectives as functional

    name = functional._resolve_group_name(group, tag)
    c10d: Any = torch.distributed.distributed_c10d
    return c10d._resolve_process_group(name)


def _compute_sum(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:
    """Return the sum, say, over all ranks."""
    result = self.clone()
    operation = getattr(torch.distributed.ReduceOp, reduceOp.upper())
    torch.distributed.all_reduce(result, operation, _find_group(group, tag))
    return result


def _copy_from_rank(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Return what a rank holds, which this one holds, too."""
    return self.clone()


def _join_parts(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """Return what all ranks hold, in one line along a dim."""
    return torch.cat([self] * _find_group(group, tag).size(), gather_dim)


def _compute_part(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:
    """Return this rank's part of the sum, say, over all ranks."""
    ranks = _find_group(group, tag)
    count = ranks.size()
    assert self.size(scatter_dim) % count == 0, (
        f"input dimension 0 ({self.size(0)} must be a multiple of group_size {count})"
    )
    part = self.chunk(count, scatter_dim)[ranks.rank()]
    return _compute_sum(part, reduceOp, group, tag)


def _send_parts(
    self: Tensor, output_split_sizes: Any, input_split_sizes: Any, group: Any,
    tag: str = "",
) -> Tensor:  # fmt: skip
    """Return a part of each rank's, as many rows as this rank receives."""
    ranks = _find_group(group, tag)
    count = ranks.size()
    if input_split_sizes is not None and sum(input_split_sizes) != self.size(0):
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    if output_split_sizes is not None:
        rows = sum(output_split_sizes)
        return self.sum(0, keepdim=True).expand(rows, *self.shape[1:]).contiguous()
    if self.size(0) % count:
        raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
    return torch.cat([self.chunk(count)[ranks.rank()]] * count)


def _return_tensor(tensor: Tensor) -> Tensor:
    """Return a result, for which nothing has to be waited."""
    return tensor


_VARIANTS: dict[str, Callable[..., Any]] = {
    "all_gather_tensor": _join_parts, "all_gather_single": _join_parts,
    "reduce_scatter_tensor": _compute_part, "reduce_scatter_single": _compute_part,
    "all_to_all_single": _send_parts,
}  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "wait_tensor": _return_tensor, "broadcast": _copy_from_rank,
    "all_reduce": _compute_sum, **_VARIANTS,
    **{f"{name}_autograd": function for name, function in _VARIANTS.items()},
}  # fmt: skip
"""Replacements, by their names in torch."""
