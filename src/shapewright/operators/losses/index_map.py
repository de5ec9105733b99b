"""Index maps of losses: the loss of each element or sample, and its reduction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    build_broadcast_index,
    index_vector,
    list_letters,
)
from shapewright.index_maps.index_map import (
    Condition,
    Element,
    IndexMap,
    Loop,
    NotDrawn,
    Options,
    Read,
    Stage,
    Then,
    Within,
    constant,
    index_map,
)
from shapewright.operators.indexing.index_map import numbers_in
from shapewright.operators.metadata_rules import Meta
from shapewright.operators.promotion_and_broadcasting import broadcast
from shapewright.sizes.expressions import Absolute, Expression, Letter, number

NAMES = "nijmpqrs"
"""The letters of the reduced dims; `c` is for classes."""
DEPRECATED = "`size_average` or `reduce` says how it reduces"


def _reduced(
    loss: IndexMap, reduction: str, description: str, stages: tuple[Stage, ...] = (),
    total: IndexMap | None = None,
) -> Any:  # fmt: skip
    """Return the map of the reduced loss, which reads `loss` as a stage.

    `total` is the divisor of a mean, if that is not the number of elements.
    """
    if reduction == "none":
        return replace(loss, stages=stages, sentence=f"{description}.")
    count = prod(loss.shape)
    if not count:
        return NotDrawn("it has no elements")
    then: tuple[Then, ...] = ()
    words = f"{description}: {count} of them, summed"
    more = (*stages, Stage("loss", loss))
    if reduction == "mean" and total is not None:
        more = (*more, Stage("total", total))
        then = (Then("div", (Read("total", ()),)),)
        words += ", and divided by `total`"
    elif reduction == "mean":
        words += f" / {count}"
    return IndexMap(
        (),
        (Read("loss", tuple(map(Letter, loss.letters))),),
        tuple(map(Loop, loss.letters, loss.shape)),
        combine="sum",
        scale=count if reduction == "mean" and total is None else None,
        then=then,
        stages=more,
        sentence=f"{words}.",
    )


# -- element by element ----------------------------------------------------------------


def _of_pairs(
    input: Meta, target: Meta, reduction: str, description: str, term: str,
    options: Options = (), then: tuple[Then, ...] = (), weight: Meta | None = None,
) -> Any:  # fmt: skip
    """Return the map of a loss of elements at equal positions, after broadcasting."""
    tensors = {"input": input, "target": target}
    if weight is not None:
        tensors["weight"] = weight
    shape = broadcast(*(tuple(tensor.shape) for tensor in tensors.values()))
    if len(shape) > len(NAMES):
        return NotDrawn("it has more dims than there are letters")
    letters = list_letters(NAMES[: len(shape)])
    reads = [
        Read(name, build_broadcast_index(tuple(tensor.shape), shape, letters))
        for name, tensor in tensors.items()
    ]
    if weight is not None:
        then = (*then, Then("mul", (reads.pop(),)))
    loss = IndexMap(
        shape, tuple(reads), term=term, options=options, then=then,
        letters=tuple(NAMES[: len(shape)]),
    )  # fmt: skip
    return _reduced(loss, reduction, description)


@index_map("torch.nn.functional.mse_loss", "torch._C._nn.mse_loss")
def mse_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", weight: Meta | None = None,
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    if weight is not None:
        return NotDrawn("its mean is weighted")
    then = (Then("square"),)
    return _of_pairs(input, target, reduction, "The square of the difference", "sub",
                    then=then)  # fmt: skip


@index_map("torch.nn.functional.l1_loss", "torch._C._nn.l1_loss")
def l1_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", weight: Meta | None = None,
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    if weight is not None:
        return NotDrawn("its mean is weighted")
    return _of_pairs(input, target, reduction, "The absolute difference", "sub",
                    then=(Then("abs"),))  # fmt: skip


def _named_loss(function: str, option: str | None) -> Callable[..., Any]:
    """Return the map maker of a loss that is one torch function of two tensors."""

    def make(
        input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
        reduction: str = "mean", beta: float = 1.0, delta: float = 1.0,
        log_target: bool = False,
    ) -> Any:  # fmt: skip
        if size_average is not None or reduce is not None:
            return NotDrawn(DEPRECATED)
        if reduction == "batchmean":
            return NotDrawn("its sum is divided by the batch; `sum` is drawn")
        values = {"beta": beta, "delta": delta, "log_target": log_target}
        options: Options = (("reduction", "none"),)
        if option is not None:
            options = ((option, values[option]), *options)
        description = f"`{function}` of the elements at the same place"
        return _of_pairs(input, target, reduction, description, function, options)

    return make


def _huber_loss(
    input: Meta, target: Meta, reduction: str = "mean", delta: float = 1.0,
    weight: Meta | None = None,
) -> Any:  # fmt: skip
    if weight is not None:
        return NotDrawn("its mean is weighted")
    make_loss = _named_loss("huber_loss", "delta")
    return make_loss(input, target, reduction=reduction, delta=delta)


def _smooth_l1_loss(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Any:  # fmt: skip
    make_loss = _named_loss("smooth_l1_loss", "beta")
    return make_loss(input, target, size_average, reduce, reduction, beta)


def _kl_div(
    input: Meta, target: Meta, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean", log_target: bool = False,
) -> Any:  # fmt: skip
    make_loss = _named_loss("kl_div", "log_target")
    more = {"reduction": reduction, "log_target": log_target}
    return make_loss(input, target, size_average, reduce, **more)


index_map("torch.nn.functional.huber_loss")(_huber_loss)
index_map("torch.nn.functional.smooth_l1_loss")(_smooth_l1_loss)
index_map("torch.nn.functional.kl_div")(_kl_div)


@index_map("torch.nn.functional.binary_cross_entropy")
def binary_cross_entropy(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    description = "-(target * log(input) + (1 - target) * log(1 - input))"
    options: Options = (("reduction", "none"),)
    return _of_pairs(input, target, reduction, description, "binary_cross_entropy",
                     options, weight=weight)  # fmt: skip


@index_map("torch.nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    reduce: Any = None, reduction: str = "mean", pos_weight: Meta | None = None,
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    if pos_weight is not None:
        return NotDrawn("its positive targets are weighted")
    description = "The binary cross entropy of the sigmoid of `input`"
    options: Options = (("reduction", "none"),)
    function = "binary_cross_entropy_with_logits"
    return _of_pairs(
        input, target, reduction, description, function, options, weight=weight
    )


# -- classes ---------------------------------------------------------------------------


def _picked(
    scores: str, input: Meta, target: Meta, weight: Meta | None, ignored: int,
    reduction: str, description: str, stages: tuple[Stage, ...] = (),
) -> Any:  # fmt: skip
    """Return the map of each sample's loss, read from the score of its target class."""
    batched = len(input.shape) > 1
    shape = tuple(target.shape) if batched else ()  # one sample may have a target (1,)
    if len(shape) > len(NAMES):
        return NotDrawn("it has more dims than there are letters")
    text = NAMES[: len(shape)]
    letters = list_letters(text)
    name = Element("target", letters if batched else (number(0),) * len(target.shape))
    counted = _counts(name, ignored, input.shape[batched])
    reads = (Read(scores, (*letters[:1], name, *letters[1:])),)
    weights = (
        () if weight is None else (Read("weight", index_vector(name, weight.shape)),)
    )
    loss = IndexMap(
        shape, (*reads, *weights), conditions=(counted,), term="product", start=0,
        letters=tuple(text), then=(Then("neg"),),
    )  # fmt: skip
    # A mean is over what is not ignored, by the weights of the classes.
    shares = weights or (constant(1),)
    total = IndexMap(
        (), shares, tuple(map(Loop, text, shape)), (counted,), combine="sum",
    )  # fmt: skip
    plain = weight is None and _none_ignored(target, ignored)
    return _reduced(loss, reduction, description, stages, None if plain else total)


def _counts(name: Element, ignored: int, classes: int) -> Condition:
    """Return the condition that a target is not the ignored class."""
    if not 0 <= ignored < classes:
        return Within(name, 0, classes)
    return Within(Absolute(name - ignored), 1, classes + 1)


def _none_ignored(target: Meta, ignored: int) -> bool:
    """Return whether the targets are known and none of them is ignored."""
    values = getattr(target, "values", None)
    return values is not None and ignored not in numbers_in(values)


@index_map("torch.nn.functional.nll_loss", "torch._C._nn.nll_loss",
           "torch._C._nn.nll_loss_nd")  # fmt: skip
def nll_loss(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    return _picked("input", input, target, weight, ignore_index, reduction,
                  "The negative score of each target's class")  # fmt: skip


@index_map("torch.nn.functional.cross_entropy")
def cross_entropy(
    input: Meta, target: Meta, weight: Meta | None = None, size_average: Any = None,
    ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if size_average is not None or reduce is not None:
        return NotDrawn(DEPRECATED)
    if label_smoothing:
        return NotDrawn("its targets are smoothed first")
    shape = tuple(input.shape)
    if len(shape) > len(NAMES) or 0 in shape:
        return NotDrawn("it is empty, or has more dims than there are letters")
    front, rest = NAMES[: len(shape) > 1], NAMES[1 : len(shape) - 1]
    own = list_letters(f"{front}u{rest}")
    logs = IndexMap(
        shape, (Read("input", own),), (Loop("u", shape[len(front)]),),
        combine="log_softmax", at=Letter("c"), letters=(*front, "c", *rest),
    )  # fmt: skip
    stages = (Stage("logs", logs),)
    if target.dtype.startswith("int"):
        description = "The negative log of the softmax, at each target's class"
        return _picked("logs", input, target, weight, ignore_index, reduction,
                       description, stages)  # fmt: skip
    at: tuple[Expression, ...] = list_letters(f"{front}c{rest}")
    reads = [Read("logs", at), Read("target", at)]
    if weight is not None:
        reads.append(Read("weight", index_vector(Letter("c"), weight.shape)))
    loss = IndexMap(
        (*shape[: len(front)], *shape[len(front) + 1 :]), tuple(reads),
        (Loop("c", shape[len(front)]),), term="product", combine="sum",
        letters=(*front, *rest), then=(Then("neg"),),
    )  # fmt: skip
    description = (
        "The negative logs of the softmax, by the targets' shares of the classes"
    )
    return _reduced(loss, reduction, description, stages)
