"""Fused attention: the fast paths of evaluation, and `flex_attention`.

The result of `flex_attention` has the layout of the query. The program's `score_mod`
and `mask_mod` are tried on numbers for a single score, since torch refuses results that
are not numbers.

`nn.MultiheadAttention` and `nn.TransformerEncoder` decide in Python whether to run a
layer as a single kernel. Besides other conditions they check whether a tensor has
`__torch_function__`, which is true of every tensor under our own mode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.nn.parameter import Buffer, Parameter

from shapewright.engine import nests
from shapewright.engine.autocast import find_device_type, is_castable
from shapewright.engine.dispatch.ordinary_calls import call_op
from shapewright.engine.dispatch.results import (
    convert_for_record,
    get_versions,
    record_failure,
    record_results,
)
from shapewright.engine.dispatch.torch_answers import answer_graph_by_rule
from shapewright.engine.function_names import get_plain_name
from shapewright.engine.identity import DTYPE_NAMES
from shapewright.engine.layers.nested_tensors import answer_padded_call, find_padded
from shapewright.engine.private import any_autocast, get_function_modes, is_in_transform
from shapewright.engine.replacement import replace_attribute
from shapewright.operators.attention.shapes import UNMERGED
from shapewright.operators.metadata_rules import SCALAR_TYPE

if TYPE_CHECKING:
    from shapewright.engine.engine import Engine


Args = tuple[Any, ...]
Kwargs = dict[str, Any]

PLAIN = frozenset({torch.Tensor, Parameter, Buffer, type(None)})
"""Types of arguments whose `__torch_function__` torch does not call."""


@contextmanager
def decide_fast_paths(engine: Engine) -> Iterator[None]:
    """Make torch's layers choose fast paths in a run as they would without our mode.

    Example: in `nn.TransformerEncoderLayer.forward`, under `eval()` and `no_grad()`,
    `torch.overrides.has_torch_function(tensors)` is False, and the layer is one call of
    `torch._transformer_encoder_layer_fwd`.
    """

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def has_torch_function(relevant_args: Any) -> Any:
            answer = original(relevant_args)
            if not answer or get_ident() not in engine.threads:
                return answer
            return not _is_plain(engine, relevant_args)

        return has_torch_function

    def make_merge(original: Callable[..., Any]) -> Callable[..., Any]:
        def merge_masks(self: Any, attn_mask: Any, padding: Any, query: Any) -> Any:
            if get_ident() in engine.threads and _is_misfit(attn_mask, query):
                return attn_mask, UNMERGED  # told of where the kernel gets it
            return original(self, attn_mask, padding, query)

        return merge_masks

    with (
        replace_attribute(torch.overrides, "has_torch_function", make),
        replace_attribute(nn.MultiheadAttention, "merge_masks", make_merge),
    ):
        yield


def _is_misfit(mask: Any, query: Any) -> bool:
    """Return whether a mask has the wrong number of elements for its sequences."""
    if not isinstance(mask, torch.Tensor) or query.is_nested:
        return False
    batch, length, _ = query.shape
    count, rows = mask.numel(), length * length
    if not count or not batch * rows:
        return False
    return bool(count % (batch * rows) if mask.dim() == 3 else count != rows)


def _is_plain(engine: Engine, tensors: Any) -> bool:
    """Return whether torch would call kernels with these tensors without our mode.

    A mode of the program's own, such as `with torch.device("cpu"):`, is asked first in
    a real run, too.
    """
    return (
        all(type(tensor) in PLAIN for tensor in tensors)
        and all(mode is engine for mode in get_function_modes())
        and not is_in_transform()
    )


ATTENTION = "_native_multi_head_attention"
LAYER = "_transformer_encoder_layer_fwd"
WEIGHTS = {ATTENTION: 5, LAYER: 3}
"""Kernels that run a whole layer, with the index of their first weight argument."""

LAYERS = {ATTENTION: "nn.MultiheadAttention", LAYER: "nn.TransformerEncoderLayer"}
"""The layers that these kernels run."""


def answer_fused_layer(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Answer a call to a kernel that computes a whole layer."""
    kwargs = kwargs or {}
    engine.note(
        f"`{LAYERS[get_plain_name(func)]}`: one fused kernel in evaluation, as in a "
        "real run; the modules inside are not called"
    )
    words = _find_refusal(engine, func, args, kwargs)
    if words:
        infos = [
            engine.info(tensor) for tensor in nests.collect_tensors((args, kwargs))
        ]
        arguments = convert_for_record(engine, args, kwargs)
        engine.raise_theirs(
            record_failure(engine, func, arguments, infos, RuntimeError(words))
        )
    done = answer_padded_call(engine, func, args, kwargs, _answer_by_rule)
    return (
        _answer_by_rule(engine, func, args, kwargs) if done is NotImplemented else done
    )


def _answer_by_rule(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """Answer by a rule if one covers the call, even with autograd.

    Data-free kernels accept calls that real ones refuse. A kernel is only called if
    nothing requires grad.
    """
    if engine.graph:
        infos = [
            engine.info(tensor) for tensor in nests.collect_tensors((args, kwargs))
        ]
        done = answer_graph_by_rule(
            engine, func, get_plain_name(func), args, kwargs, infos
        )
        if done is not None:
            return done[0]
    return call_op(engine, func, args, kwargs)


def _find_refusal(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> str | None:
    """Return torch's error for nested tensors or CPU autocast, which rules lack.

    Autocast casts only some of the kernels inside. Example: an encoder layer of float32
    with a nested tensor, under bfloat16.
    """
    name, weight = get_plain_name(func), args[WEIGHTS[get_plain_name(func)]]
    padded = find_padded(args[0])
    if padded is not None and padded.batch.shape[-1] != weight.shape[-1]:
        return (
            "Shape mismatch for NestedTensor Matmul: Expected input's (a nested "
            f"tensor) 'last_dim' to equal 'weight.size(0), but got: last_dim = "
            f"{padded.batch.shape[-1]}, and weight.size(0) = {weight.shape[-1]}"
        )
    metas = [
        engine.info(tensor).meta for tensor in nests.collect_tensors((args, kwargs))
    ]
    if (
        not any_autocast()
        or find_device_type(metas) != "cpu"
        or not is_castable(weight.dtype)
    ):
        return None
    cast = torch.get_autocast_dtype("cpu")
    if padded is not None and weight.dtype != cast:
        weight_type, cast_type = (
            SCALAR_TYPE[DTYPE_NAMES[dtype]] for dtype in (weight.dtype, cast)
        )
        return f"expected scalar type {weight_type} but found {cast_type}"
    if name == LAYER and weight.dtype not in (torch.float32, cast):
        return "mixed dtype (CPU): expect parameter to have scalar type of Float"
    return None


def answer_attention(
    engine: Engine, func: Any, args: Args, kwargs: Kwargs | None
) -> Any:
    """Return the output, the log-sum-exps and the largest scores, without data."""
    tensors = args[:3]
    infos = [engine.info(tensor) for tensor in tensors]
    shape, others = infos[0].meta.shape, infos[1].meta.shape
    _check_batches(engine, shape[0], others[0])
    score = _compute_first_score(engine, args[3], args[4])
    scored = engine.info(score)
    grad = any(info.meta.requires_grad for info in (*infos, scored))
    if grad and torch.is_grad_enabled() and not engine.graph:
        from shapewright.engine.engine import NeedsGraph

        raise NeedsGraph("flex_attention")
    # No mode is active here, except for hooks of a checkpoint, which enter ours.
    before = [engine.blank_of(tensor) for tensor in tensors]
    versions = get_versions(before)
    query, key, value = before
    key, value = (
        tensor.to(query.dtype)
        .expand(shape[0], *tensor.shape[1:])
        .repeat_interleave(shape[1] // tensor.shape[1], dim=1)
        for tensor in (key, value)
    )
    attended = functional.scaled_dot_product_attention(query, key, value)
    if scored.meta.requires_grad:  # it has parameters of the program's
        attended = attended + engine.blank_of(score).to(attended.dtype)
    working = torch.promote_types(query.dtype, torch.float32)
    sums = attended.detach().sum(-1, dtype=working)
    if attended.requires_grad:
        sums = attended.sum(-1, dtype=working)
    out = attended.new_empty_strided(
        attended.shape, _compute_strides_like(attended.shape, infos[0].meta.stride)
    ).copy_(attended)
    outs = out, sums, sums.clone()
    kept = (
        *tensors,
        *(argument for argument in args[5:6] if isinstance(argument, float)),
    )
    return record_results(
        engine, func, kept, {}, infos, before, versions, outs, known=False
    )


def _compute_strides_like(
    shape: tuple[int, ...], model: tuple[int, ...]
) -> tuple[int, ...]:
    """Return strides of a dense tensor with dims ordered in memory as another's.

    Example: for a query that is a transposed ``(B, T, H, D)``, so is the output.
    """
    order = sorted(range(len(shape)), key=lambda dim: (model[dim], -dim))
    order.remove(len(shape) - 1)  # kernels read along the last dim
    strides, step = [1] * len(shape), shape[-1]
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def _check_batches(engine: Engine, query: int, keys: int) -> None:
    if query != keys and keys != 1:
        engine.raise_theirs(
            RuntimeError(f"Bq and Bkv must broadcast. Got Bq={query} and Bkv={keys}")
        )


def _compute_first_score(
    engine: Engine, score_mod: Any, block_mask: Any
) -> torch.Tensor:
    """Call the program's functions as torch does, and return the first score.

    What they save for a backward pass is no part of what a checkpoint counts, since the
    kernel has one number for all of them.
    """
    keep = saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)
    try:
        with engine.suspend_recording(), engine, keep:
            places = [torch.tensor(0, dtype=torch.int32) for _ in range(4)]
            score = score_mod(torch.tensor(1.0), *places)
            mask_mod = block_mask[-1]
            mask = mask_mod(*places) if callable(mask_mod) else None
    except Exception as error:  # the program's function
        engine.raise_theirs(error)
    for name, result in (("score_mod", score), ("mask_mod", mask)):
        if isinstance(result, torch.Tensor) and result.dim():
            engine.raise_theirs(
                RuntimeError(
                    f"`{name}` must give one number for one score, and gives "
                    f"{tuple(result.shape)}"
                )
            )
    return score if isinstance(score, torch.Tensor) else torch.tensor(score)
