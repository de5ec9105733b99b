"""What `ctc_loss` needs: time first, and lengths of inputs and targets."""

from __future__ import annotations

from math import prod
from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dtype_unmet, is_tensor, text, turned
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.promotion import FLOATING


@needs("torch.nn.functional.ctc_loss")
def ctc(
    log_probs: Meta,
    targets: Meta,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    *rest: Any,
    **options: Any,
) -> Unmet | None:
    """Time first, then the batch, then the classes; a length for each sample."""
    shape = log_probs.shape
    if len(shape) not in (2, 3):
        return Unmet(
            "wrong-rank",
            f"{{op}} takes 3 dims (time, batch, classes), or 2, got {len(shape)}:"
            f" {{log_probs}} is {text(shape)}",
            Place("log_probs"),
            has=len(shape),
            needs=3,
        )
    lengths = (("input_lengths", input_lengths), ("target_lengths", target_lengths))
    for name, each in lengths:
        if is_tensor(each) and each.dtype in FLOATING:
            return dtype_unmet(name, each, "int64", "{op} takes lengths of int64")
    if log_probs.dtype not in ("float32", "float64"):
        why = "{op} takes float32 or float64"
        return dtype_unmet("log_probs", log_probs, "float32", why)
    wrong = of_batch(log_probs, *lengths)
    for name, each in lengths:
        most = shape[0] if name == "input_lengths" else None
        wrong = wrong or of_values(name, each, most, "steps of {log_probs}")
    return wrong or of_targets(log_probs, targets, target_lengths)


def numbers(lengths: Any) -> tuple[int, ...] | None:
    """Lengths that are known."""
    if isinstance(lengths, tuple | list) and all(type(each) is int for each in lengths):
        return tuple(lengths)
    found: tuple[int, ...] | None = getattr(lengths, "values", None)
    return None if callable(found) else found


def count_of(lengths: Any) -> int | None:
    """How many lengths there are."""
    if is_tensor(lengths):
        return int(prod(lengths.shape))
    listed = isinstance(lengths, tuple | list)
    return len(lengths) if listed else None


def of_batch(log_probs: Meta, *lengths: tuple[str, Any]) -> Unmet | None:
    """A length for each sample; what only one of three says is wrong."""
    shape = log_probs.shape
    batch = shape[1] if len(shape) == 3 else 1
    counts = [count_of(each) for _, each in lengths]
    wrong = [n for n, count in enumerate(counts) if count not in (None, batch)]
    if not wrong:
        return None
    name, each = lengths[wrong[0]]
    count = counts[wrong[0]]
    assert count is not None
    both = counts[0] == counts[1]
    swapped = both and len(shape) == 3 and shape[0] == count
    more = ": it takes (time, batch, classes)" if swapped else ""
    dim = " in dim 1" if len(shape) == 3 else ""
    fits: Any = (shape[0] if name == "input_lengths" else 1,) * batch
    if both:
        grown = (shape[0], count, shape[-1])
        made = turned(log_probs, (1, 0, 2)) if swapped else Made(grown, log_probs.dtype)
        grant = Grant("log_probs", made)
    else:
        fits = Made((batch,), each.dtype) if is_tensor(each) else fits
        grant = Grant(name, fits)
    one = is_tensor(each) and len(each.shape) == 1
    plural = "samples" if batch != 1 else "sample"
    return Unmet(
        "ctc-lengths",
        f"{{op}} needs a length for each of {batch} {plural}{dim} of {{log_probs}}"
        f" {text(shape)}, got {count} as `{name}`{more}",
        Place("log_probs", 1 if len(shape) == 3 else None),
        Place(name, 0) if one else None,
        batch,
        count,
        (grant,),
    )


def of_values(name: str, lengths: Any, most: int | None, what: str) -> Unmet | None:
    """Lengths of at least 0, and no more than what is there."""
    for n, value in enumerate(numbers(lengths) or ()):
        if value >= 0 and (most is None or value <= most):
            continue
        fits: Any = tuple(max(min(v, most or v), 0) for v in numbers(lengths) or ())
        if is_tensor(lengths):
            fits = Made(lengths.shape, lengths.dtype)
        said = f"0 to {most}, the {what}" if most is not None else "at least 0"
        return Unmet(
            "ctc-lengths",
            f"{{op}} takes `{name}` of {said}, got {value} at [{n}]",
            Place(name) if is_tensor(lengths) else None,
            has=value,
            needs=most if most is not None else 0,
            grants=(Grant(name, fits),),
        )
    return None


def of_targets(log_probs: Meta, targets: Meta, lengths: Any) -> Unmet | None:
    """A padded row of labels for each sample, or all labels one after the other."""
    given, shape = targets.shape, log_probs.shape
    batch = shape[1] if len(shape) == 3 else 1
    known = numbers(lengths)
    if len(shape) == 2 and len(given) == 1:
        given = (1, *given)
    if len(given) == 1 and known is not None and given[0] != sum(known):
        said = f"{sum(known)} labels, the sum of `target_lengths`"
        wanted: tuple[int, ...] = (sum(known),)
    elif len(given) == 2 and given[0] != batch:
        said, wanted = f"a row of labels for each of {batch} samples", (batch, given[1])
    elif len(given) not in (1, 2):
        said, wanted = "1 or 2 dims of labels", (batch, *given[-1:])
    elif len(given) == 2:
        return of_values("target_lengths", lengths, given[1], "labels of a row")
    else:
        return None
    return Unmet(
        "ctc-lengths",
        f"{{op}} takes {said}, got {{targets}} {text(targets.shape)}",
        Place("targets"),
        Place("log_probs"),
        text(targets.shape),
        text(wanted),
        (Grant("targets", Made(wanted, targets.dtype)),),
    )
