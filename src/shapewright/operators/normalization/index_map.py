"""Index maps of layers: embedding, one_hot, the normalisations, prelu, dropout."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.index_maps.index_expressions import (
    MOST,
    flatten_index,
    index_vector,
    list_letters,
)
from shapewright.index_maps.index_map import (
    LOOPS,
    Element,
    Equal,
    IndexMap,
    Loop,
    NotDrawn,
    Read,
    Then,
    constant,
    index_map,
    out_letters,
)
from shapewright.operators.metadata_rules import Meta
from shapewright.sizes.expressions import Expression, Letter, number

Shape = tuple[int, ...]
IMAGE = {2: "nc", 3: "ncl", 4: "nchw", 5: "ncdhw", 6: "nctdhw"}
"""Letters of a batch with channels, by rank."""

EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10,
           "bfloat16": 2.0**-7}  # fmt: skip


# -- looking up ------------------------------------------------------------------------


def _looked_up(ids: str, input: Meta, table: str, weight: Meta) -> IndexMap:
    """Return the map that reads row `ids[i, j]` of a table for each of the `ids`."""
    letters = out_letters(len(input.shape) + 1)
    row = Element(ids, letters[:-1])
    rows, width = weight.shape
    return IndexMap(
        (*input.shape, width),
        (Read(table, (row, letters[-1])),),
        sentence=f"Each number of `{ids}` is replaced by that row of {rows} rows.",
    )


@index_map("torch.nn.functional.embedding")
def embedding(
    input: Meta, weight: Meta, padding_idx: int | None = None,
    max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    if max_norm is not None:
        return NotDrawn("it shortens rows of the table first")
    if len(input.shape) >= MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    return _looked_up("input", input, "weight", weight)


@index_map("torch.embedding")
def raw_embedding(
    weight: Meta, indices: Meta, padding_idx: int = -1,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    return _looked_up("indices", indices, "weight", weight)


@index_map("torch.nn.functional.one_hot", "torch._C._nn.one_hot")
def one_hot(tensor: Meta, num_classes: int = -1) -> Any:
    if num_classes < 0:
        return NotDrawn("the number of classes depends on the values")
    *letters, last = out_letters(len(tensor.shape) + 1)
    hit = Equal(Element("tensor", tuple(letters)), last)
    return IndexMap(
        (*tensor.shape, num_classes),
        (constant(1, (hit,)), constant(0)),
        sentence=f"1 at the place that each number names, of {num_classes}, else 0.",
    )


# -- normalising -----------------------------------------------------------------------


def _inner(count: int, taken: str = "") -> tuple[Letter, ...]:
    """Return `count` letters of loops that the output does not use."""
    return tuple(map(Letter, [name for name in LOOPS if name not in taken][:count]))


def _along(channel: Expression, weight: Meta | None, bias: Meta | None) -> Any:
    """Return the operations that apply one weight and one bias for each channel."""
    parameters = (("mul", "weight", weight), ("add", "bias", bias))
    return _affine(
        *(
            (*parameter, index_vector(channel, parameter[2].shape))
            for parameter in parameters
            if parameter[2] is not None
        )
    )


def _affine(*parameters: tuple[str, str, Meta | None, tuple[Expression, ...]]) -> Any:
    """Return the operations that apply the affine parameters that are given."""
    return tuple(
        Then(function, (Read(name, at),))
        for function, name, value, at in parameters
        if value is not None
    )


def _normalized(
    input: Meta, function: str, size: int, eps: float, description: str, **more: Any
) -> IndexMap:
    """Return the map of an element that is normalized over `size` elements."""
    return IndexMap(
        tuple(input.shape),
        combine=function,
        options=(("normalized_shape", (size,)), ("eps", eps)),
        sentence=f"Each element is normalised among {size}: {description}.",
        **more,
    )


def _last_dims(
    input: Meta, normalized_shape: Any, weight: Meta | None, bias: Meta | None,
    function: str, eps: float,
) -> Any:  # fmt: skip
    rank = len(input.shape)
    sizes = tuple(normalized_shape)
    if rank > MOST or 0 in sizes:
        return NotDrawn("it has no elements" if 0 in sizes else "it has too many dims")
    letters = out_letters(rank)
    own = letters[rank - len(sizes) :]
    inner = _inner(len(sizes))
    after = _affine(("mul", "weight", weight, own), ("add", "bias", bias, own))
    dims = "dim" if len(sizes) == 1 else f"{len(sizes)} dims"
    return _normalized(
        input, function, prod(sizes), eps, f"those along the last {dims}",
        reads=(Read("input", (*letters[: rank - len(sizes)], *inner)),),
        loops=tuple(Loop(x.name, n) for x, n in zip(inner, sizes, strict=True)),
        at=flatten_index(own, sizes), then=after,
    )  # fmt: skip


@index_map("torch.nn.functional.layer_norm", "torch.layer_norm")
def layer_norm(
    input: Meta, normalized_shape: Any, weight: Meta | None = None,
    bias: Meta | None = None, eps: float = 1e-5, cudnn_enable: bool = True,
) -> Any:  # fmt: skip
    return _last_dims(input, normalized_shape, weight, bias, "layer_norm", eps)


@index_map("torch.nn.functional.rms_norm", "torch.rms_norm")
def rms_norm(
    input: Meta, normalized_shape: Any, weight: Meta | None = None,
    eps: float | None = None,
) -> Any:  # fmt: skip
    least = EPSILON.get(input.dtype) if eps is None else eps
    if least is None:
        return NotDrawn(f"its eps of {input.dtype} is not known")
    return _last_dims(input, normalized_shape, weight, None, "rms_norm", least)


@index_map("torch.nn.functional.group_norm")
def group_norm(
    input: Meta, num_groups: int, weight: Meta | None = None, bias: Meta | None = None,
    eps: float = 1e-5,
) -> Any:  # fmt: skip
    return _grouped(input, input.shape[1] // num_groups, weight, bias, eps)


@index_map("torch.nn.functional.instance_norm")
def instance_norm(
    input: Meta, running_mean: Meta | None = None, running_var: Meta | None = None,
    weight: Meta | None = None, bias: Meta | None = None, use_input_stats: bool = True,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    if not use_input_stats:
        return NotDrawn("it uses statistics of earlier inputs")
    return _grouped(input, 1, weight, bias, eps)


def _grouped(
    input: Meta, group: int, weight: Meta | None, bias: Meta | None, eps: float
) -> Any:
    """Map a normalization per sample over the channels of a group and all positions."""
    rank = len(input.shape)
    if rank not in IMAGE:
        return NotDrawn(f"it has {rank} dims, not those of a batch with channels")
    letters = list_letters(IMAGE[rank])
    n, c, *places = letters
    sizes = (group, *input.shape[2:])
    inner = _inner(len(sizes), IMAGE[rank])
    # A group of one channel has no loop over channels.
    first = c if group == 1 else (c // group) * group + inner[0]
    loops = [Loop(x.name, size) for x, size in zip(inner, sizes, strict=True)]
    after = _along(c, weight, bias)
    members = "those of its sample and "
    members += "channel" if group == 1 else f"group of {group} channels"
    return _normalized(
        input, "layer_norm", prod(sizes), eps, members,
        reads=(Read("input", (n, first, *inner[1:])),),
        loops=tuple(loops[1:] if group == 1 else loops),
        at=flatten_index((c % group, *places), sizes), then=after,
        letters=tuple(IMAGE[rank]),
    )  # fmt: skip


@index_map("torch.nn.functional.batch_norm")
def batch_norm(
    input: Meta, running_mean: Meta | None, running_var: Meta | None,
    weight: Meta | None = None, bias: Meta | None = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    rank = len(input.shape)
    if rank not in IMAGE:
        return NotDrawn(f"it has {rank} dims, not those of a batch with channels")
    letters = list_letters(IMAGE[rank])
    if not training:
        parameters = {"running_mean": running_mean, "running_var": running_var,
                 "weight": weight, "bias": bias}  # fmt: skip
        if bias is not None and weight is None:
            return NotDrawn("it has a bias without a weight")
        reads = [Read("input", letters)]
        reads += [
            Read(name, index_vector(letters[1], value.shape))
            for name, value in parameters.items()
            if value is not None
        ]
        words = "(x - running_mean) / sqrt(running_var + eps), by the channel's numbers"
        words += ", times weight" if weight is not None else ""
        words += ", plus bias" if bias is not None else ""
        return IndexMap(
            tuple(input.shape), tuple(reads), term="batch_norm",
            options=(("eps", eps),), letters=tuple(IMAGE[rank]), sentence=f"{words}.",
        )  # fmt: skip
    sizes = (input.shape[0], *input.shape[2:])
    inner = _inner(len(sizes), IMAGE[rank])
    after = _along(letters[1], weight, bias)
    return _normalized(
        input, "layer_norm", prod(sizes), eps, "those of its channel, in all samples",
        reads=(Read("input", (inner[0], letters[1], *inner[1:])),),
        loops=tuple(Loop(x.name, n) for x, n in zip(inner, sizes, strict=True)),
        at=flatten_index((letters[0], *letters[2:]), sizes), then=after,
        letters=tuple(IMAGE[rank]),
    )  # fmt: skip


# -- others ----------------------------------------------------------------------------


@index_map("torch.prelu", "torch.Tensor.prelu", "torch.nn.functional.prelu")
def prelu(input: Meta, weight: Meta) -> Any:
    letters = out_letters(len(input.shape))
    if len(letters) > MOST:
        return NotDrawn(f"it has more than {MOST} dims")
    shared = prod(weight.shape) == 1
    at: tuple[Expression, ...] = (number(0) if shared else letters[1],)
    slope = Read("weight", at if weight.shape else ())
    words = "Itself where it is positive, else times the slope of its channel, dim 1."
    reads = (Read("input", letters), slope)
    return IndexMap(tuple(input.shape), reads, term="prelu", sentence=words)


@index_map("torch.nn.functional.dropout", "torch.nn.functional.alpha_dropout")
def dropout(
    input: Meta, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Any:
    if training and p:
        return NotDrawn("which elements it drops is random")
    letters = out_letters(len(input.shape))
    return IndexMap(
        tuple(input.shape), (Read("input", letters),), sentence="It drops nothing here."
    )
