"""What undoing a max pooling needs: its indices, and a size that it can have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.kinds import no_bools, no_complex
from shapewright.rules.needs.pooling import of_rank
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import differs, dtype_unmet, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import axis, each, of_positive


def unpooling(spatial: int) -> None:
    """Register the undoing of a pooling of so many dims."""

    def unpool(
        input: Meta,
        indices: Meta,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Unmet | None:
        wrong = of_rank(input, spatial) or of_indices(input, indices)
        if wrong is not None:
            return wrong
        kernel, pads = each(kernel_size, spatial), each(padding, spatial)
        steps = kernel if stride is None else each(stride, spatial)
        usual = tuple(
            (size - 1) * step + width - 2 * pad
            for size, step, width, pad in zip(
                input.shape[-spatial:], steps, kernel, pads, strict=True
            )
        )
        wrong = of_output(usual, steps, output_size)
        if wrong is None and min(usual) < 0:
            wrong = of_positive("kernel_size", kernel_size)
        made = usual if output_size is None else tuple(output_size)[-spatial:]
        wrong = wrong or of_places(indices, made)
        return wrong or no_bools(("input", input)) or no_complex(("input", input))

    needs(f"torch.nn.functional.max_unpool{spatial}d")(unpool)


for _spatial in (1, 2, 3):
    unpooling(_spatial)


def of_indices(input: Meta, indices: Meta) -> Unmet | None:
    """Indices of the pooling that it undoes: int64, one for each element."""
    if indices.dtype != "int64":
        why = "{op} takes the indices that pooling returned, int64"
        return dtype_unmet("indices", indices, "int64", why)
    if indices.shape == input.shape:
        return None
    dim = differs(indices.shape, input.shape)
    return Unmet(
        "indices-of-another-pooling",
        f"{{op}} needs an index for each element: {{input}} is {text(input.shape)},"
        f" {{indices}} is {text(indices.shape)}",
        Place("indices", dim),
        Place("input", dim),
        text(indices.shape),
        text(input.shape),
        (Grant("indices", Made(input.shape, "int64")),),
        guessed=True,
    )


def of_output(
    usual: Sequence[int], steps: Sequence[int], output_size: Any
) -> Unmet | None:
    """A size that this pooling would have made what comes in."""
    spatial = len(usual)
    if output_size is None:
        return None
    given = tuple(output_size)
    wanted = given[2:] if len(given) == spatial + 2 else given
    if len(wanted) != spatial:
        return Unmet(
            "unpooled-size",
            f"{{op}} takes {spatial} numbers as `output_size`, or {spatial + 2}, got"
            f" {len(given)}: {text(given)}",
            has=len(given),
            needs=spatial,
            grants=(Grant("output_size", list(usual)),),
        )
    for at, (size, middle, step) in enumerate(zip(wanted, usual, steps, strict=True)):
        low, high = max(middle - step + 1, 0), middle + step - 1
        if low <= size <= high:
            continue
        return Unmet(
            "unpooled-size",
            f"{{op}} gives {axis(at, spatial)} {low} to {high} with this kernel and"
            f" stride, got {size} in `output_size`",
            has=size,
            needs=middle,
            grants=(Grant("output_size", list(usual)),) if middle >= 0 else (),
        )
    return None


def of_places(indices: Meta, size: Sequence[int]) -> Unmet | None:
    """Indices within what comes out, where they are known."""
    values: tuple[int, ...] = getattr(indices, "values", None) or ()
    count = 1
    for one in size:
        count *= one
    bad = next((value for value in values if not 0 <= value < count), None)
    if bad is None or not count:
        return None
    return Unmet(
        "indices-of-another-pooling",
        f"{{op}} puts elements at 0 to {count - 1} of {text(size)}, but {{indices}} has"
        f" {bad}",
        Place("indices"),
        has=bad,
        needs=count,
        grants=(Grant("indices", Made(indices.shape, "int64")),),
    )
