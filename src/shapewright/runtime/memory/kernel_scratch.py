"""What the kernels of a GPU allocate for themselves, and free before they return.

No operator returns it, and no tensor shows it: partial sums of a reduction, copies of
an image in another layout, sums of gradients in float32. All of it goes through torch's
allocator. The sizes are those of torch 2.11 on an H200, where each of the rules was
compared with what the allocator was asked for (`bench/gpu_memory.py --history`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from shapewright.analysis.memory.device_memory import Processors
from shapewright.runtime.memory.convolution_scratch import (
    list_backward_scratch,
    list_convolution_scratch,
)
from shapewright.runtime.memory.reduction_scratch import Wave, count_partial_sums

_ATEN: Any = torch.ops.aten

MIB = 1 << 20

Waves = Sequence[Wave]

Scratch = Callable[[Any, tuple[Any, ...], Any, Processors], Waves]
"""Takes an operator, its arguments, what it returned, and the GPU."""


def list_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return what a kernel allocates besides its outputs, in groups."""
    kernel = _SCRATCH.get(func)
    return kernel(func, args, output, processors) if kernel is not None else ()


# -- workspaces of cuBLAS, which stay --------------------------------------------------

PRODUCTS = {
    _ATEN.mm.default, _ATEN.addmm.default, _ATEN.bmm.default, _ATEN.baddbmm.default,
    _ATEN.addbmm.default, _ATEN.mv.default, _ATEN.addmv.default, _ATEN.dot.default,
    _ATEN._addmm_activation.default, _ATEN._trilinear.default, _ATEN.mm.out,
    _ATEN.addmm.out, _ATEN.bmm.out,
}  # fmt: skip
"""Products of matrices, which cuBLAS computes."""

BIASED = MIB
"""Bytes more for the first product that adds a bias: cuBLASLt has its own."""


def find_new_workspaces(
    func: Any, args: tuple[Any, ...], held: set[str], processors: Processors
) -> list[Wave]:
    """Return the workspaces that cuBLAS takes at a product, and keeps.

    `held` says what a thread has already; backward runs in a thread of its own.
    """
    if func not in PRODUCTS:
        return []
    sizes = []
    if "products" not in held:
        held.add("products")
        sizes.append(processors.workspace)
    if "biased" not in held and func is _ATEN.addmm.default and args[0].dim() == 1:
        held.add("biased")
        sizes.append(BIASED)
    return [Wave(sizes, is_kept=True)] if sizes else []


# -- reductions ------------------------------------------------------------------------


def _list_reduction_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    x = args[0]
    place = 2 if func in (_ATEN.linalg_vector_norm.default,) else 1
    dims = args[place] if len(args) > place else None
    results = output if isinstance(output, tuple) else (output,)
    sizes, size = list[int](), _ACCUMULATED.get(func, 4)
    if not x.is_floating_point() and func in _SUMS:
        size = 8
        if x.dtype != torch.int64:  # is converted first
            sizes.append(x.numel() * 8)
    elif x.dtype == torch.float64:
        size *= 2
    sizes += count_partial_sums(x, dims, results[0].numel(), size, processors)
    return [Wave(sizes)] if sizes else []


_SUMS = {_ATEN.sum.default, _ATEN.sum.dim_IntList}

_ACCUMULATED = {
    _ATEN.var.correction: 16, _ATEN.std.correction: 16, _ATEN.var_mean.correction: 16,
    _ATEN.argmax.default: 16, _ATEN.argmin.default: 16,
}  # fmt: skip
"""Bytes of what a reduction carries along, where it is not a number in float32."""

_REDUCTIONS = (
    *_SUMS, *_ACCUMULATED, _ATEN.mean.default, _ATEN.mean.dim, _ATEN.amax.default,
    _ATEN.amin.default, _ATEN.prod.default, _ATEN.linalg_vector_norm.default,
    _ATEN.max.default, _ATEN.min.default,
)  # fmt: skip


def _list_convolution_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the scratch of a convolution's backward, with that of its bias' sum."""
    return list_backward_scratch(args, output, processors)


# -- softmax ---------------------------------------------------------------------------


def _list_safe_softmax_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the masks of what is minus infinity, and of rows that are."""
    rows = output.numel() // max(1, output.shape[args[1]])
    return [Wave((output.numel(), rows, 4))]


def _list_softmax_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the product of gradient and output."""
    return [Wave((args[0].numel() * args[0].itemsize,))]


# -- attention -------------------------------------------------------------------------


def _round_size(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _list_efficient_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the sums for the gradient of the queries: blocks with a lock each."""
    query, out = args[1], args[5]
    batch, heads, length, width = query.shape
    sums = batch * heads * length * 4
    rows = 64 if query.dtype == torch.float32 or width <= 64 else 128
    columns = 64 if width <= 64 else 128
    blocks = -(-length // rows) * -(-width // columns)
    workspace = batch * heads * blocks * (rows * columns * 4 + 16)
    if query.dtype != torch.float32:
        return [Wave((sums, workspace))]
    return [Wave((out.numel() * 4, sums, sums)), Wave((sums, workspace))]


def _list_flash_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the sums in float32, and copies of what is not laid out row by row."""
    gradient, query, key, out = args[0], args[1], args[2], args[4]
    batch, heads, length, width = query.shape
    sizes = [
        t.numel() * t.itemsize
        for t in (gradient, out)
        if not t.transpose(1, 2).is_contiguous()
    ]
    rows = batch * heads * _round_size(length, 128)
    sizes += [rows * 4, rows * _round_size(width, 32) * 4]
    return [Wave((*sizes, *_list_expanded_heads(query, key)))]


def _list_cudnn_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    query, key = args[1], args[2]
    batch, heads, length, width = query.shape
    rows = batch * heads * length
    workspace = rows * width * 4 + rows * 4 + 256
    return [Wave((workspace + sum(_list_expanded_heads(query, key)),))]


def _list_expanded_heads(query: torch.Tensor, key: torch.Tensor) -> tuple[int, ...]:
    """Return gradients of keys and values for each head of the queries, where these
    have more.
    """
    if query.shape[1] == key.shape[1]:
        return ()
    size = key.numel() // key.shape[1] * query.shape[1] * key.itemsize
    return size, size


# -- recurrent layers ------------------------------------------------------------------

SMALL_STATE = 512
"""Numbers of a state below which cuDNN takes more, `SMALL_LAYER` in float32."""

SMALL_LAYER, SMALL_LAYER_HALF = 10 * MIB, 8 * MIB


CELLS = 2
"""The place of the last states among what a recurrent layer returns."""


def _count_recurrent_workspace(
    x: torch.Tensor, hx: torch.Tensor, weights: Sequence[torch.Tensor], size: int
) -> int:
    """Return the bytes that cuDNN takes while a recurrent layer runs.

    It keeps the matrices in two forms, and six numbers for each of a layer's output.
    Measured on an H200: near for states of 512 numbers, else within a few MiB.
    """
    matrices = sum(weight.numel() for weight in weights if weight.dim() > 1)
    steps = x.numel() // x.shape[-1]
    total = matrices * (x.itemsize + 4) + 6 * steps * size * x.itemsize
    total += 10 * hx.shape[0] * hx.shape[1] * size * x.itemsize
    if size < SMALL_STATE:
        small = SMALL_LAYER if x.itemsize == 4 else SMALL_LAYER_HALF
        total += hx.shape[0] * small
    return total


def _list_recurrent_layer_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    x, weights, hx, size, first = args[0], args[1], args[4], args[7], args[10]
    workspace = _count_recurrent_workspace(x, hx, weights, size)
    copies = x.numel() * x.itemsize if first else 0
    return [Wave((copies, workspace), CELLS, is_whole=True)]


def _list_recurrent_backward_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    x, weights, hx, gradient = args[0], args[1], args[4], args[7]
    size, first = args[11], args[14]
    workspace = _count_recurrent_workspace(x, hx, weights, size)
    copies = x.numel() * x.itemsize if first else 0
    gradients = gradient.numel() * x.itemsize if first and gradient is not None else 0
    return [Wave((copies, gradients, workspace), CELLS), Wave((copies, workspace))]


# -- embeddings ------------------------------------------------------------------------

UNSORTED = 3072
"""Ids of which the gradient of an embedding is summed without sorting them."""

SHARE = 10
"""Ids of one row whose gradients are summed together."""


def _list_embedding_scratch(
    func: Any, args: tuple[Any, ...], output: Any, processors: Processors
) -> Waves:
    """Return the sorted ids, and the partial sums of their gradients."""
    gradient, ids, rows, padding = args[:4]
    count = ids.numel()
    if count <= UNSORTED and padding < 0:
        return []
    sizes = [8 * count] * 3
    segments = count // SHARE + min(count, rows)
    width = gradient.shape[-1]
    few = [8 * min(count, rows)] * 2
    sums = 8 * segments, segments * width * 4
    return [Wave((*sizes, 17 * count)), Wave((*sizes, *few, *sums))]


_SCRATCH: dict[Any, Scratch] = {
    **dict.fromkeys(_REDUCTIONS, _list_reduction_scratch),
    _ATEN.convolution.default: list_convolution_scratch,
    _ATEN.convolution_backward.default: _list_convolution_backward_scratch,
    _ATEN._safe_softmax.default: _list_safe_softmax_scratch,
    _ATEN._softmax_backward_data.default: _list_softmax_backward_scratch,
    _ATEN._scaled_dot_product_efficient_attention_backward.default: (
        _list_efficient_backward_scratch
    ),
    _ATEN._scaled_dot_product_flash_attention_backward.default: (
        _list_flash_backward_scratch
    ),
    _ATEN._scaled_dot_product_cudnn_attention_backward.default: (
        _list_cudnn_backward_scratch
    ),
    _ATEN.embedding_dense_backward.default: _list_embedding_scratch,
    _ATEN._cudnn_rnn.default: _list_recurrent_layer_scratch,
    _ATEN._cudnn_rnn_backward.default: _list_recurrent_backward_scratch,
}
