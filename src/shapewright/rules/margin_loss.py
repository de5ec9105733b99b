"""Losses made of several steps: margins, similarities, likelihoods.

Where the reduction is "none", only operands in row-major order are answered, since each
step's layout would follow from the one before. Deprecated arguments, and calls that
torch warns about, are left to torch.
"""

from __future__ import annotations

from typing import Any

from shapewright.rules.distance import common_shape
from shapewright.rules.elementwise import is_plain
from shapewright.rules.meta import Made, Meta
from shapewright.rules.promotion import FLOATING
from shapewright.rules.registry import rule

Shape = tuple[int, ...]


def _reduced(shape: Shape, dtype: str, reduction: str, node: str) -> Any:
    """The loss of that shape, or its mean or sum. `node` is that of "none"."""
    if reduction == "none":
        return Made(shape, dtype, None, node)
    nodes = {"mean": "MeanBackward0", "sum": "SumBackward0"}
    if reduction not in nodes:
        return NotImplemented
    return Made((), dtype, (), nodes[reduction])


def _alike(reduction: str, node: str, *metas: Meta) -> Any:
    """An elementwise loss of float tensors of one shape and dtype."""
    first = metas[0]
    if first.dtype not in FLOATING or 0 in first.shape:
        return NotImplemented
    if any((m.shape, m.dtype) != (first.shape, first.dtype) for m in metas):
        return NotImplemented
    if reduction == "none" and not is_plain(*metas):
        return NotImplemented
    return _reduced(first.shape, first.dtype, reduction, node)


@rule("torch.nn.functional.kl_div")
def kl_div(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    """Two of (8, 10) give a 0-dim tensor; torch warns of "mean", so it answers."""
    if size_average is not None or reduce is not None or reduction == "mean":
        return NotImplemented
    node = "MulBackward0" if log_target else "SubBackward0"
    if reduction != "batchmean":
        return _alike(reduction, node, input, target)
    made = _alike("sum", node, input, target)
    if made is NotImplemented or not input.shape:
        return NotImplemented
    return Made((), input.dtype, (), "DivBackward0")


@rule("torch.nn.functional.triplet_margin_loss")
def triplet_margin_loss(
    anchor: Meta, positive: Meta, negative: Meta, margin: float = 1.0, p: float = 2,
    eps: float = 1e-6, swap: bool = False, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Three of (8, 64) give a 0-dim tensor, or (8,) where nothing is reduced."""
    if size_average is not None or reduce is not None or margin <= 0:
        return NotImplemented
    if len({len(meta.shape) for meta in (anchor, positive, negative)}) > 1:
        return NotImplemented
    shape = common_shape(anchor, positive, negative)
    if not shape:
        return NotImplemented
    return _reduced(shape[:-1], anchor.dtype, reduction, "ClampMinBackward0")


@rule("torch.nn.functional.margin_ranking_loss")
def margin_ranking_loss(
    input1: Meta, input2: Meta, target: Meta, margin: float = 0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Three of (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return _alike(reduction, "ClampMinBackward0", input1, input2, target)


@rule("torch.nn.functional.hinge_embedding_loss")
def hinge_embedding_loss(
    input: Meta, target: Meta, margin: float = 1.0, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Two of (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return _alike(reduction, "AddBackward0", input, target)


@rule("torch.nn.functional.soft_margin_loss")
def soft_margin_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Two of (8, 10) give a 0-dim tensor; the target has no gradient."""
    if size_average is not None or reduce is not None or target.requires_grad:
        return NotImplemented
    made = _alike(reduction, "SoftMarginLossBackward0", input, target)
    if made is NotImplemented:
        return made
    return Made(made.shape, made.dtype, None, "SoftMarginLossBackward0")


@rule("torch.nn.functional.cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Meta, input2: Meta, target: Meta, margin: float = 0,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Two of (8, 64) with a target (8,) give a 0-dim tensor."""
    shape, dtype = input1.shape, input1.dtype
    if size_average is not None or reduce is not None or dtype not in FLOATING:
        return NotImplemented
    if len(shape) != 2 or shape != input2.shape or target.shape != shape[:1]:
        return NotImplemented
    if 0 in shape or input2.dtype != dtype or target.dtype not in (dtype, "int64"):
        return NotImplemented
    return _reduced(shape[:1], dtype, reduction, "AddBackward0")


@rule("torch.nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """Two of (8, 10) give a 0-dim tensor, or (8,) where nothing is reduced."""
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    made = _alike("sum", "", input, target)
    if made is NotImplemented or not input.shape:
        return NotImplemented
    return _reduced(input.shape[:-1], input.dtype, reduction, "DivBackward0")


@rule("torch.nn.functional.poisson_nll_loss")
def poisson_nll_loss(
    input: Meta, target: Meta, log_input: bool = True, full: bool = False,
    size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Two of (8, 10) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    if full and reduction == "none":
        return NotImplemented
    return _alike(reduction, "SubBackward0", input, target)


@rule("torch.nn.functional.multi_margin_loss")
def multi_margin_loss(
    input: Meta, target: Meta, p: int = 1, margin: float = 1.0,
    weight: Meta | None = None, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Scores (8, 10) and classes (8,) give a 0-dim tensor."""
    if size_average is not None or reduce is not None or p not in (1, 2):
        return NotImplemented
    return _of_labels(input, target, weight, input.shape[:1], reduction, "MultiMargin")


@rule("torch.nn.functional.multilabel_margin_loss")
def multilabel_margin_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Scores (8, 10) and labels (8, 10) give a 0-dim tensor."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    shape = input.shape
    return _of_labels(input, target, None, shape, reduction, "MultilabelMargin")


def _of_labels(
    input: Meta, target: Meta, weight: Any, want: Shape, reduction: str, name: str
) -> Any:
    shape, dtype = input.shape, input.dtype
    if dtype not in ("float32", "float64") or len(shape) != 2 or 0 in shape:
        return NotImplemented
    if target.shape != want or target.dtype != "int64" or weight is not None:
        return NotImplemented
    node = f"{name}LossBackward0"
    made = _reduced(shape[:1], dtype, reduction, node)
    if made is NotImplemented:
        return made
    return Made(made.shape, dtype, None, node)
