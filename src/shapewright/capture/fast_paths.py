"""Torch's fused kernels of evaluation, taken where a real run takes them.

`nn.MultiheadAttention` and `nn.TransformerEncoder` decide in Python whether one kernel
does a layer. They ask for everything that decides it, and besides whether a tensor has
`__torch_function__`, which our own mode answers with yes for every tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parameter import Buffer, Parameter

from shapewright.capture import nests
from shapewright.capture.asking import by_rule
from shapewright.capture.autocast import eligible, kind_of
from shapewright.capture.calling import call_op
from shapewright.capture.identity import DTYPE_NAMES
from shapewright.capture.names import plain_name
from shapewright.capture.padded_sequences import call_of_padded, padded_of
from shapewright.capture.private import any_autocast, function_modes, in_transform
from shapewright.capture.replacement import replaced
from shapewright.capture.settling import arguments_of, failed
from shapewright.rules.encoder_layer import UNMERGED
from shapewright.rules.wording import SCALAR_TYPE

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

PLAIN = frozenset({torch.Tensor, Parameter, Buffer, type(None)})
"""Types of arguments that have no `__torch_function__` of their own."""


@contextmanager
def fast_paths_decided(engine: Engine) -> Iterator[None]:
    """For the time of a run, torch's layers are told what they are told without it.

    Example: in `nn.TransformerEncoderLayer.forward`, under `eval()` and `no_grad()`,
    `torch.overrides.has_torch_function(tensors)` is False, and the layer is one call of
    `torch._transformer_encoder_layer_fwd`.
    """

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def has_torch_function(relevant_args: Any) -> Any:
            answer = original(relevant_args)
            if not answer or get_ident() not in engine.threads:
                return answer
            return not is_plain(engine, relevant_args)

        return has_torch_function

    def make_merge(original: Callable[..., Any]) -> Callable[..., Any]:
        def merge_masks(self: Any, attn_mask: Any, padding: Any, query: Any) -> Any:
            if get_ident() in engine.threads and is_misfit(attn_mask, query):
                return attn_mask, UNMERGED  # told of where the kernel gets it
            return original(self, attn_mask, padding, query)

        return merge_masks

    with (
        replaced(torch.overrides, "has_torch_function", make),
        replaced(nn.MultiheadAttention, "merge_masks", make_merge),
    ):
        yield


def is_misfit(mask: Any, query: Any) -> bool:
    """Whether a mask of queries and keys has not the elements for its sequences."""
    if not isinstance(mask, torch.Tensor) or query.is_nested:
        return False
    batch, length, _ = query.shape
    count, rows = mask.numel(), length * length
    if not count or not batch * rows:
        return False
    return bool(count % (batch * rows) if mask.dim() == 3 else count != rows)


def is_plain(engine: Engine, tensors: Any) -> bool:
    """Whether, without our mode, torch would call its kernels with these tensors.

    A mode of the program's own, such as `with torch.device("cpu"):`, is asked first in
    a real run, too.
    """
    return (
        all(type(each) in PLAIN for each in tensors)
        and all(mode is engine for mode in function_modes())
        and not in_transform()
    )


ATTENTION = "_native_multi_head_attention"
LAYER = "_transformer_encoder_layer_fwd"
WEIGHTS = {ATTENTION: 5, LAYER: 3}
"""The kernels that do a layer at once, and where their first weight stands."""

LAYERS = {ATTENTION: "nn.MultiheadAttention", LAYER: "nn.TransformerEncoderLayer"}
"""What they do at once."""


def fused(engine: Engine, func: Any, args: Args, kwargs: Kwargs | None) -> Any:
    """A call of a kernel that does a layer at once."""
    kwargs = kwargs or {}
    engine.note(
        f"`{LAYERS[plain_name(func)]}`: one fused kernel in evaluation, as in a real "
        "run; the modules inside are not called"
    )
    words = _refusal(engine, func, args, kwargs)
    if words:
        infos = [engine.info(tensor) for tensor in nests.tensors((args, kwargs))]
        arguments = arguments_of(engine, args, kwargs)
        engine.raise_theirs(failed(engine, func, arguments, infos, RuntimeError(words)))
    done = call_of_padded(engine, func, args, kwargs, _by_rule)
    return _by_rule(engine, func, args, kwargs) if done is NotImplemented else done


def _by_rule(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> Any:
    """With autograd below, too: torch's data-free kernels take what real ones refuse.

    A kernel is only called where nothing requires grad.
    """
    if engine.graph:
        infos = [engine.info(tensor) for tensor in nests.tensors((args, kwargs))]
        done = by_rule(engine, func, plain_name(func), args, kwargs, infos)
        if done is not None:
            return done[0]
    return call_op(engine, func, args, kwargs)


def _refusal(engine: Engine, func: Any, args: Args, kwargs: Kwargs) -> str | None:
    """What torch says of nested tensors and under the CPU's autocast, beside the rule.

    Autocast casts only some of the kernels inside. Example: an encoder layer of float32
    with a nested tensor, under bfloat16.
    """
    name, weight = plain_name(func), args[WEIGHTS[plain_name(func)]]
    padded = padded_of(args[0])
    if padded is not None and padded.batch.shape[-1] != weight.shape[-1]:
        return (
            "Shape mismatch for NestedTensor Matmul: Expected input's (a nested "
            f"tensor) 'last_dim' to equal 'weight.size(0), but got: last_dim = "
            f"{padded.batch.shape[-1]}, and weight.size(0) = {weight.shape[-1]}"
        )
    metas = [engine.info(tensor).meta for tensor in nests.tensors((args, kwargs))]
    if not any_autocast() or kind_of(metas) != "cpu" or not eligible(weight.dtype):
        return None
    cast = torch.get_autocast_dtype("cpu")
    if padded is not None and weight.dtype != cast:
        one, two = (SCALAR_TYPE[DTYPE_NAMES[each]] for each in (weight.dtype, cast))
        return f"expected scalar type {one} but found {two}"
    if name == LAYER and weight.dtype not in (torch.float32, cast):
        return "mixed dtype (CPU): expect parameter to have scalar type of Float"
    return None
