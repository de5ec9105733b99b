"""Layers of flash_attn that other packages have too: a norm, and cross entropy."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class RMSNorm(nn.RMSNorm):
    """The last dim, divided by its root mean square."""

    def __init__(
        self, hidden_size: int, eps: float = 1e-5, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(hidden_size, eps=eps, device=device, dtype=dtype)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """logits (rows, classes), labels (rows,): a number, or (rows,)."""

    def __init__(
        self, ignore_index: int = -100, reduction: str = "mean",
        label_smoothing: float = 0.0, logit_scale: float = 1.0,
        lse_square_scale: float = 0.0, inplace_backward: bool = False,
        process_group: Any = None, return_z_loss: bool = False,
    ) -> None:  # fmt: skip
        if reduction not in ("mean", "none", "sum"):
            raise NotImplementedError(
                "Only support reduction = 'mean' or 'none' or 'sum'"
            )
        super().__init__(None, None, ignore_index, None, reduction, label_smoothing)
        self.logit_scale, self.lse_square_scale = logit_scale, lse_square_scale
        self.return_z_loss = return_z_loss

    def forward(
        self, input: Tensor, target: Tensor, precomputed_lse: Any = None
    ) -> Any:
        logits = input.float() * self.logit_scale
        loss = super().forward(logits, target)
        squares = self.lse_square_scale * logits.logsumexp(-1).square()
        squares = squares.masked_fill(target == self.ignore_index, 0.0)
        if self.reduction != "none":
            squares = squares.sum()
        if self.reduction == "mean":
            squares = squares / (target != self.ignore_index).sum()
        loss = loss + squares if self.lse_square_scale else loss
        return (loss, squares) if self.return_z_loss else loss
