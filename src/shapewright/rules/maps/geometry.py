"""The size formulas of windows, with the numbers of a call put in, as text.

    >>> geometry("torch.conv2d", image, weight, stride=2, padding=3)  # 224, 7 x 7
    ('floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112', ...)

They are those of torch's documentation of `Conv2d`, `ConvTranspose2d`, `MaxPool2d`,
`AvgPool2d` and `Unfold`, one for each spatial dim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from shapewright.rules.maps import convolving, pooling
from shapewright.rules.maps.windows import Window, per_dim
from shapewright.rules.meta import Meta

Formulas = tuple[str, ...]


def geometry(name: str, *args: Any, **kwargs: Any) -> Formulas:
    """The size formula for each spatial dim of a call that torch takes.

    `name` is the dotted torch name, and the arguments are those of the call, with
    metadata (`.shape`) for tensors. Empty for functions that have no such formula. For
    `fold`, these are the numbers of blocks, whose product is the number of columns.
    """
    find = FORMULAS.get(name)
    return () if find is None else find(*args, **kwargs)


def sliding(window: Window, dilated: bool = True) -> str:
    """How often a window fits: `floor((8 + 2*1 - 1*(3 - 1) - 1) / 2) + 1 = 4`."""
    if window.before == window.after:
        padding = f" + 2*{window.before}"
    else:
        padding = f" + {window.before} + {window.after}"
    if dilated:
        reach = f"{window.dilation}*({window.kernel} - 1) - 1"
    else:
        reach = f"{window.kernel}"
    rounding = "ceil" if window.rounded_up else "floor"
    # A last window that would start past the input is left out.
    less = " - 1" if window.drops_last else ""
    return (
        f"{rounding}(({window.size}{padding} - {reach}) / {window.stride}) + 1{less}"
        f" = {window.places}"
    )


def convolution(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Formulas:
    kernel = weight.shape[2:]
    sizes = input.shape[-len(kernel) :]
    over = convolving.windows(sizes, kernel, stride, padding, dilation)
    return tuple(map(sliding, over))


def transposed(
    input: Meta,
    weight: Meta,
    bias: Meta | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Formulas:
    kernel = weight.shape[2:]
    sizes = input.shape[-len(kernel) :]
    over = convolving.windows(sizes, kernel, stride, padding, dilation)
    more = per_dim(output_padding, len(kernel))
    return tuple(
        f"({window.size} - 1)*{window.stride} - 2*{window.before} + "
        f"{window.dilation}*({window.kernel} - 1) + {extra} + 1"
        f" = {convolving.spread(window, extra)}"
        for window, extra in zip(over, more, strict=True)
    )


def pooled(dims: int, dilated: bool) -> Callable[..., Formulas]:
    """`max_pool`, and with `dilated` False `avg_pool`, of so many dims."""
    maker = pooling.max_pool_functional(dims) if dilated else pooling.avg_pool(dims)
    parameters = signature(maker)

    def find(*args: Any, **kwargs: Any) -> Formulas:
        bound = parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        over = pooling.windows(
            given["input"],
            per_dim(given["kernel_size"], dims),
            given["stride"],
            given["padding"],
            given.get("dilation", 1),
            given["ceil_mode"],
        )
        return tuple(sliding(window, dilated) for window in over)

    return find


def unfold(
    input: Meta, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Formulas:
    return blocks(input.shape[-2:], kernel_size, dilation, padding, stride)


def fold(
    input: Meta,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Formulas:
    return blocks(per_dim(output_size, 2), kernel_size, dilation, padding, stride)


def blocks(
    sizes: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any
) -> Formulas:
    """How many blocks there are along each dim of an image."""
    kernel = per_dim(kernel_size, 2)
    return tuple(
        map(sliding, convolving.windows(sizes, kernel, stride, padding, dilation))
    )


FORMULAS: dict[str, Callable[..., Formulas]] = {
    "torch.nn.functional.unfold": unfold,
    "torch.nn.functional.fold": fold,
}
for _dims in (1, 2, 3):
    for _where in ("torch.", "torch.nn.functional."):
        FORMULAS[f"{_where}conv{_dims}d"] = convolution
        FORMULAS[f"{_where}conv_transpose{_dims}d"] = transposed
        for _ending in ("", "_with_indices"):
            FORMULAS[f"{_where}max_pool{_dims}d{_ending}"] = pooled(_dims, True)
        FORMULAS[f"{_where}avg_pool{_dims}d"] = pooled(_dims, False)
    FORMULAS[f"torch._C._nn.avg_pool{_dims}d"] = pooled(_dims, False)
