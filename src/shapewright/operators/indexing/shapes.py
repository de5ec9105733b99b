"""Metadata rules for indexing, `gather`, `scatter`, writes at indices, embeddings."""

from __future__ import annotations

from typing import Any

from shapewright.operators.indexing.scattered_elements import (
    INDEX,
    find_larger_dim,
    infer_scattered,
    infer_summed,
)
from shapewright.operators.metadata_rules import (
    SCALAR_TYPE,
    Made,
    Meta,
    Misfit,
    listed,
    rule,
    wrap_dim,
)
from shapewright.operators.promotion_and_broadcasting import (
    FLOATING,
    KIND,
    KNOWN,
    broadcast,
    likened,
    new,
)
from shapewright.sizes.strides import (
    Strided,
    compute_elementwise_strides,
    contiguous,
    is_dense,
)

Shape = tuple[int, ...]


@rule("torch.gather", "torch.Tensor.gather")
def gather(
    input: Meta, dim: int, index: Meta, *, sparse_grad: bool = False, out: Any = None
) -> Any:
    """Infer the output: `(8, 16)` at indices `(8, 3)` along dim 1 gives (8, 3)."""
    shape, want = input.shape, index.shape
    if out is not None or sparse_grad or not shape or not want:
        return NotImplemented
    if 0 in want or 0 in shape or type(dim) is not int:
        return NotImplemented
    at = wrap_dim(dim, len(shape))
    if index.dtype not in INDEX:
        raise Misfit("gather(): Expected dtype int32/int64 for index")
    if len(shape) != len(want):
        raise Misfit(
            "Index tensor must have the same number of dimensions as input tensor"
        )
    larger = find_larger_dim(want, shape, at)
    if larger is not None:
        raise Misfit(
            f"Size does not match at dimension {larger} expected index {listed(want)} "
            f"to be no larger than self {listed(shape)} apart from dimension {at}"
        )
    return Made(want, input.dtype, None, "GatherBackward0")


@rule("torch.scatter", "torch.Tensor.scatter")
def scatter(
    input: Meta, dim: int, index: Meta, src: Any = None, *, value: Any = None,
    reduce: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: `(8, 16)` with `(8, 3)` written along dim 1 gives (8, 16)."""
    src = value if src is None else src
    if reduce is not None:
        return NotImplemented
    return infer_scattered(input, dim, index, src, "ScatterBackward?")


@rule("torch.scatter_add", "torch.Tensor.scatter_add")
def scatter_add(input: Meta, dim: int, index: Meta, src: Meta) -> Any:
    """Infer the output as `scatter` does."""
    return infer_summed(input, dim, index, src)


@rule("torch.Tensor.scatter_", writes=0)
def scatter_in_place(
    self: Meta, dim: int, index: Meta, src: Any = None, *, value: Any = None,
    reduce: Any = None,
) -> Any:  # fmt: skip
    """Infer the result of `scatter` written into the tensor itself."""
    src = value if src is None else src
    if reduce is not None:
        return NotImplemented
    return _keep_layout(
        self, infer_scattered(self, dim, index, src, "ScatterBackward?")
    )


@rule("torch.Tensor.scatter_add_", writes=0)
def scatter_add_in_place(self: Meta, dim: int, index: Meta, src: Meta) -> Any:
    """Infer the result of `scatter_add` written into the tensor itself."""
    return _keep_layout(self, infer_summed(self, dim, index, src))


def _keep_layout(self: Meta, output: Any) -> Any:
    if output is NotImplemented:
        return output
    return Made(self.shape, self.dtype, self.stride, output.grad_fn)


@rule("torch.index_select", "torch.Tensor.index_select")
def index_select(input: Meta, dim: int, index: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(8, 16, 4)` at 3 indices along dim 1 gives (8, 3, 4)."""
    shape, want = input.shape, index.shape
    if out is not None or not shape or 0 in shape or type(dim) is not int:
        return NotImplemented
    at = wrap_dim(dim, len(shape))
    if len(want) > 1:
        raise Misfit("index_select(): Index is supposed to be a vector", "IndexError")
    if index.dtype not in INDEX:
        raise Misfit("index_select(): Expected dtype int32 or int64 for index")
    output_shape = (*shape[:at], want[0] if want else 1, *shape[at + 1 :])
    return Made(output_shape, input.dtype, None, "IndexSelectBackward0")


@rule("torch.Tensor.__getitem__")
def getitem(self: Meta, index: Any) -> Any:
    """Infer the output: `x[:, ids]`, `(8, 16, 4)`, ids `(2, 3)`, is (8, 2, 3, 4).

    Covers only indices that include an integer tensor; all others give a view, or
    depend on values.
    """
    items = index if type(index) is tuple else (index,)
    if all(
        item is None or item is Ellipsis or type(item) in (int, slice) for item in items
    ):
        return NotImplemented
    taken = _sliced(self, items)
    if taken is None:
        return NotImplemented
    shape, stride, indices = taken
    return _indexed(self.dtype, shape, stride, indices)


def _sliced(
    self: Meta, items: tuple[Any, ...]
) -> tuple[Shape, Shape, list[Meta | None]] | None:
    """Return shape and strides after ints, slices, None and `...`, and the tensors."""
    named = sum(item is not None and item is not Ellipsis for item in items)
    free = len(self.shape) - named
    if free < 0 or sum(item is Ellipsis for item in items) > 1:
        return None
    if not any(item is Ellipsis for item in items):
        items = (*items, Ellipsis)
    shape: list[int] = []
    stride: list[int] = []
    indices: list[Meta | None] = []
    at = 0
    for item in items:
        if item is Ellipsis:
            shape += self.shape[at : at + free]
            stride += self.stride[at : at + free]
            indices += [None] * free
            at += free
        elif item is None:
            shape.append(1)
            stride.append(0)
            indices.append(None)
        elif type(item) is int:
            if not -self.shape[at] <= item < self.shape[at]:
                return None
            at += 1
        elif type(item) is slice:
            cut = _cut(item, self.shape[at])
            if cut is None:
                return None
            shape.append(cut[0])
            stride.append(self.stride[at] * cut[1])
            indices.append(None)
            at += 1
        else:
            if getattr(item, "dtype", None) not in INDEX or not item.shape:
                return None
            shape.append(self.shape[at])
            stride.append(self.stride[at])
            indices.append(item)
            at += 1
    return tuple(shape), tuple(stride), indices


def _cut(item: slice, size: int) -> tuple[int, int] | None:
    parts = (item.start, item.stop, item.step)
    if any(part is not None and type(part) is not int for part in parts):
        return None
    if item.step is not None and item.step < 1:
        return None
    return len(range(*item.indices(size))), item.step or 1


def _indexed(
    dtype: str, shape: Shape, stride: Shape, indices: list[Meta | None]
) -> Any:
    """Return the shape with the indices' common shape in place of indexed dims."""
    used = [at for at, index in enumerate(indices) if index is not None]
    tensors = [index for index in indices if index is not None]
    if dtype not in KNOWN or 0 in shape:
        return NotImplemented
    try:
        common = broadcast(*(index.shape for index in tensors))
    except Misfit:
        shapes = ", ".join(listed(index.shape) for index in tensors)
        raise Misfit(
            "shape mismatch: indexing tensors could not be broadcast together with "
            f"shapes {shapes}",
            "IndexError",
        ) from None
    adjacent = used[-1] - used[0] + 1 == len(used)
    kept = [at for at, index in enumerate(indices) if index is None]
    before = [at for at in kept if adjacent and at < used[0]]
    after = [at for at in kept if at not in before]
    output_shape = (
        *(shape[at] for at in before),
        *common,
        *(shape[at] for at in after),
    )
    if 0 in output_shape:
        return NotImplemented
    source = (
        *(stride[at] for at in before),
        *(0,) * len(common),
        *(stride[at] for at in after),
    )
    operands: list[Strided] = [(output_shape, source)]
    for index in tensors:
        missing = len(common) - len(index.shape)
        operands.append(
            (
                (1,) * (len(before) + missing) + index.shape + (1,) * len(after),
                (0,) * (len(before) + missing) + index.stride + (0,) * len(after),
            )
        )
    strides = compute_elementwise_strides(output_shape, operands)
    if 1 in output_shape and (strides != contiguous(output_shape) or not adjacent):
        return NotImplemented
    return Made(output_shape, dtype, strides, "IndexBackward0")


def _rows(input: Meta, dim: Any, index: Meta) -> bool:
    """Return whether a single int64 vector selects rows along a dim."""
    ndim = len(input.shape)
    return (
        type(dim) is int
        and ndim > 0
        and -ndim <= dim < ndim
        and len(index.shape) == 1
        and index.dtype == "int64"
        and 0 not in input.shape
        and input.dtype in KNOWN
    )


def _write_rows(input: Meta, dim: int, index: Meta, source: Meta, node: str) -> Any:
    if not _rows(input, dim, index) or source.dtype != input.dtype:
        return NotImplemented
    at = dim % len(input.shape)
    want = (*input.shape[:at], index.shape[0], *input.shape[at + 1 :])
    if source.shape != want:
        return NotImplemented
    return new(input.shape, input.dtype, contiguous(input.shape), node)


@rule("torch.index_add", "torch.Tensor.index_add")
def index_add(
    input: Meta, dim: int, index: Meta, source: Meta, *, alpha: Any = 1, out: Any = None
) -> Any:
    """Infer the output: `(8, 16)` with (3, 16) added at three rows gives (8, 16)."""
    if out is not None or input.dtype == "bool" or type(alpha) not in (int, float):
        return NotImplemented
    if type(alpha) is float and KIND[input.dtype] < 2:
        return NotImplemented
    return _write_rows(input, dim, index, source, "IndexAddBackward0")


@rule("torch.index_copy", "torch.Tensor.index_copy")
def index_copy(
    input: Meta, dim: int, index: Meta, source: Meta, *, out: Any = None
) -> Any:
    """Infer the output: `(8, 16)` with (3, 16) at three rows gives (8, 16)."""
    if out is not None:
        return NotImplemented
    return _write_rows(input, dim, index, source, "IndexCopyBackward0")


@rule("torch.Tensor.index_add_", writes=0)
def index_add_in_place(
    self: Meta, dim: int, index: Meta, source: Meta, *, alpha: Any = 1
) -> Any:
    """Infer the result of `index_add` written into the tensor itself."""
    return _kept(self, index_add(self, dim, index, source, alpha=alpha))


@rule("torch.Tensor.index_copy_", writes=0)
def index_copy_in_place(self: Meta, dim: int, index: Meta, source: Meta) -> Any:
    """Infer the result of `index_copy` written into the tensor itself."""
    return _kept(self, index_copy(self, dim, index, source))


def _kept(self: Meta, output: Any) -> Any:
    """Return the written tensor, or NotImplemented if its elements share memory."""
    if output is NotImplemented or not is_dense(self.shape, self.stride):
        return NotImplemented
    return Made(self.shape, self.dtype, self.stride, output.grad_fn)


@rule("torch.index_fill", "torch.Tensor.index_fill")
def index_fill(input: Meta, dim: int, index: Meta, value: Any) -> Any:
    """Infer the output: `(8, 16)` with a number in some rows gives (8, 16)."""
    if not _rows(input, dim, index) or type(value) not in (int, float):
        return NotImplemented
    if KIND[input.dtype] < (1 if type(value) is int else 2):
        return NotImplemented
    return likened(input, input.dtype, "IndexFillBackward0")


@rule("torch.scatter_reduce", "torch.Tensor.scatter_reduce")
def scatter_reduce(
    input: Meta, dim: int, index: Meta, src: Meta, reduce: str, *,
    include_self: bool = True, out: Any = None,
) -> Any:  # fmt: skip
    """Infer the output: (3, 16) reduced into `(8, 16)` along dim 0 gives (8, 16)."""
    shape, want = input.shape, index.shape
    ndim = len(shape)
    if out is not None or reduce not in ("sum", "prod", "mean", "amax", "amin"):
        return NotImplemented
    if not 0 < ndim == len(want) == len(src.shape) or 0 in want or 0 in shape:
        return NotImplemented
    if type(dim) is not int or not -ndim <= dim < ndim or index.dtype != "int64":
        return NotImplemented
    if KIND.get(input.dtype) not in (1, 2) or src.dtype != input.dtype:
        return NotImplemented
    for at in range(ndim):
        if want[at] > src.shape[at] or (want[at] > shape[at] and at != dim % ndim):
            return NotImplemented
    return new(shape, input.dtype, contiguous(shape), "ScatterReduceBackward0")


@rule("torch.take_along_dim", "torch.Tensor.take_along_dim")
def take_along_dim(
    input: Meta, indices: Meta, dim: Any = None, *, out: Any = None
) -> Any:
    """Infer the output: `(8, 16)` at (8, 3) along dim 1, others broadcast: (8, 3)."""
    shape, places = input.shape, indices.shape
    ndim = len(shape)
    if out is not None or type(dim) is not int or not 0 < ndim == len(places):
        return NotImplemented
    if not -ndim <= dim < ndim or indices.dtype != "int64" or input.dtype not in KNOWN:
        return NotImplemented
    if 0 in shape or 0 in places:
        return NotImplemented
    at = dim % ndim
    apart = [(*sizes[:at], 1, *sizes[at + 1 :]) for sizes in (shape, places)]
    try:
        common = broadcast(*apart)
    except Misfit:
        return NotImplemented
    output_shape = (*common[:at], places[at], *common[at + 1 :])
    return new(output_shape, input.dtype, contiguous(output_shape), "GatherBackward0")


@rule("torch.take", "torch.Tensor.take")
def take(input: Meta, index: Meta, *, out: Any = None) -> Any:
    """Infer the output: `(8, 16)`, flattened, at indices (3,) gives (3,)."""
    if out is not None or index.dtype != "int64" or input.dtype not in KNOWN:
        return NotImplemented
    if 0 in input.shape or 0 in index.shape or index.stride != contiguous(index.shape):
        return NotImplemented
    return new(index.shape, input.dtype, index.stride, "TakeBackward0")


# -- embeddings ------------------------------------------------------------------------


_PLAIN = ("Float", "Double", "Long", "Int", "Short", "Char", "Byte", "Half")


def _type_name(dtype: str) -> str:
    """Return the legacy type of a tensor: `torch.FloatTensor` for `float32`."""
    name = SCALAR_TYPE.get(dtype, dtype)
    return f"torch.{name}Tensor" if name in _PLAIN[:-1] else f"CPU{name}Type"


def _looked_up(input: Meta, weight: Meta) -> Any:
    if len(weight.shape) != 2:
        raise Misfit("'weight' must be 2-D")
    if input.dtype not in ("int64", "int32"):
        raise Misfit(
            "Expected tensor for argument #1 'indices' to have one of the following "
            f"scalar types: Long, Int; but got {_type_name(input.dtype)} instead "
            "(while checking arguments for embedding)"
        )
    shape = (*input.shape, weight.shape[1])
    return Made(shape, weight.dtype, None, "EmbeddingBackward0")


@rule("torch.nn.functional.embedding")
def embedding(
    input: Meta, weight: Meta, padding_idx: int | None = None,
    max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """Infer the output: indices `(8, 16)`, table `(50257, 768)` give (8, 16, 768)."""
    if max_norm is not None or weight.dtype.startswith("complex"):
        return NotImplemented
    if padding_idx is not None and weight.shape:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise Misfit("Padding_idx must be within num_embeddings", "AssertionError")
    return _looked_up(input, weight)


@rule("torch.embedding")
def raw_embedding(
    weight: Meta,
    indices: Meta,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Infer the output of `torch.embedding`, whose first argument is the table."""
    return _looked_up(indices, weight)


@rule("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
def one_hot(self: Meta, num_classes: int = -1) -> Any:
    """Infer the output: `(8, 16)` with 10 classes gives (8, 16, 10) of int64."""
    if self.dtype != "int64":
        raise Misfit("one_hot is only applicable to index tensor of type LongTensor.")
    if type(num_classes) is not int or num_classes < 1:
        return NotImplemented
    return Made((*self.shape, num_classes), "int64", None, "")


@rule("torch.nn.functional.embedding_bag")
def embedding_bag(
    input: Meta,
    weight: Meta,
    offsets: Meta | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Meta | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Infer the output: bags `(8, 16)` in a table `(1000, 64)` give (8, 64)."""
    ids, table = input.shape, weight.shape
    if max_norm is not None or per_sample_weights is not None or sparse:
        return NotImplemented
    if len(table) != 2 or weight.dtype not in FLOATING or input.dtype != "int64":
        return NotImplemented
    if mode not in ("sum", "mean", "max") or padding_idx is not None or 0 in ids:
        return NotImplemented
    if len(ids) == 2 and offsets is None and not include_last_offset:
        bags = ids[0]
    elif len(ids) == 1 and offsets is not None and len(offsets.shape) == 1:
        bags = offsets.shape[0] - include_last_offset
        if offsets.dtype != "int64" or bags < 1:
            return NotImplemented
    else:
        return NotImplemented
    return Made((bags, table[1]), weight.dtype, None, "EmbeddingBagBackward0")
