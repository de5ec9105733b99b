"""Calls in which two tensors meet element by element."""

from __future__ import annotations

ARITHMETIC = frozenset(
    "- + * / == != > < >= <= sub add mul div eq ne gt lt ge le subtract multiply "
    "divide true_divide rsub __sub__ __rsub__ __mul__ __rmul__ __add__ __radd__ "
    "pow ** maximum minimum dist isclose & | ^ logical_and logical_or where".split()
)
LOSSES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy "
    "binary_cross_entropy_with_logits kl_div poisson_nll_loss".split()
)
