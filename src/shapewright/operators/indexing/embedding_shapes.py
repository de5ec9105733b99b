"""Metadata rules for embeddings, bags of embeddings and one-hot vectors."""

from __future__ import annotations

from typing import Any

from shapewright.operators.metadata_rules import SCALAR_TYPE, Made, Meta, Misfit, rule
from shapewright.operators.promotion_and_broadcasting import FLOATING

_PLAIN = ("Float", "Double", "Long", "Int", "Short", "Char", "Byte", "Half")


def _type_name(dtype: str) -> str:
    """Return a tensor's legacy type: `torch.FloatTensor` for `float32`."""
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
    input: Meta,
    weight: Meta,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
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
