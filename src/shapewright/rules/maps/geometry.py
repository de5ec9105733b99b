"""The size formulas of windows, with the numbers of a call put in, as text.

    >>> geometry(map_of_a_convolution)  # of 224 x 224, with weights of 7 x 7
    ('floor((224 + 2*3 - 1*(7 - 1) - 1) / 2) + 1 = 112', ...)

They are those of torch's documentation of `Conv2d`, `ConvTranspose2d`, `MaxPool2d`,
`AvgPool2d` and `Unfold`, one for each spatial dim.
"""

from __future__ import annotations

from shapewright.rules.maps.index_map import IndexMap
from shapewright.rules.windows import Window


def geometry(drawn: IndexMap) -> tuple[str, ...]:
    """The size formula for each spatial dim of a map that has windows.

    Empty for others. For `fold`, these are the numbers of blocks, whose product is the
    number of columns.
    """
    if drawn.sizing == "spread":
        sizes = drawn.shape[-len(drawn.windows) :]
        return tuple(map(spread, drawn.windows, sizes))
    return tuple(sliding(each, drawn.sizing != "average") for each in drawn.windows)


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


def spread(window: Window, size: int) -> str:
    """What a transposed convolution makes of a size: `(4 - 1)*2 - 2*0 + ... = 8`."""
    return (
        f"({window.size} - 1)*{window.stride} - 2*{window.before} + "
        f"{window.dilation}*({window.kernel} - 1) + {size - window.spread()} + 1"
        f" = {size}"
    )
