"""Tensors that torch did not compute, hung on what they came of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from shapewright.capture import nests
from shapewright.capture.hanging import tie
from shapewright.capture.identity import BLANK, Info

if TYPE_CHECKING:
    from shapewright.capture.engine import Engine

Tensor = torch.Tensor


class Joined(torch.autograd.Function):
    """Hangs a substitute on its inputs, so that backward finds its way."""

    of_ours = True

    @staticmethod
    def forward(context: Any, made: list[Tensor], *inputs: Tensor) -> Tensor:
        context.like = [(t.shape, t.dtype, t.requires_grad) for t in inputs]
        return made[0].detach()

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        made = (
            torch.empty(shape, dtype=dtype, device="meta") if wanted else None
            for shape, dtype, wanted in context.like
        )
        if not torch.is_grad_enabled():
            return None, *made
        known = [each for each in gradients if each is not None]
        return None, *(None if one is None else tie(one, known) for one in made)


def joined(engine: Engine, out: Any, tensors: list[Tensor]) -> Any:
    """What comes out, with a node that leads to what went in."""
    blanks = [engine.blank_of(tensor) for tensor in tensors]

    def with_node(tensor: Tensor) -> Tensor:
        info = engine.info(tensor)
        if tensor.dtype.is_floating_point and any(b.requires_grad for b in blanks):
            function: Any = Joined.apply
            tied = function([tensor], *blanks)
            same = Info(info.meta, info.storage, BLANK, info.grad_fn, info.number)
            return engine.tell(tied, same)
        return tensor

    if any(out is tensor for tensor in tensors):
        return out
    return nests.swap(out, with_node)


def tied(engine: Engine, out: Any, tensors: list[Tensor], before: list[Tensor]) -> Any:
    """The same for what no record knows yet: its node is called as torch calls it."""
    if not engine.graph or not torch.is_grad_enabled():
        return out
    blanks = [engine.blank_of(tensor) for tensor in tensors]
    if not any(blank.requires_grad for blank in blanks):
        return out

    def with_node(tensor: Tensor) -> Tensor:
        own = any(tensor is physical for physical in before)
        if own or not tensor.is_meta or not tensor.dtype.is_floating_point:
            return tensor
        function: Any = Joined.apply
        hung: Tensor = function([tensor], *blanks)
        node = vars(tensor).get("_sw_node")
        if node is not None:
            vars(hung)["_sw_node"] = node
        return hung

    return nests.swap(out, with_node)
