"""What functions need that take a part of a dim, or cut it into parts."""

from __future__ import annotations

from typing import Any

from shapewright.rules.meta import Made, Meta
from shapewright.rules.needs.dims import both, named, of_dim
from shapewright.rules.needs.kinds import no_complex
from shapewright.rules.needs.registry import needs
from shapewright.rules.needs.shapes import dims, text
from shapewright.rules.needs.unmet import Grant, Place, Unmet
from shapewright.rules.needs.windows import of_positive


@needs(*named(*both("unbind")))
def unbind(input: Meta, dim: int = 0) -> Unmet | None:
    """A dim that is there."""
    return of_dim("input", input, dim) if input.shape else None


@needs(*named(*both("chunk")))
def chunk(input: Meta, chunks: int, dim: int = 0) -> Unmet | None:
    """A dim that is there, and at least one part."""
    wrong = of_dim("input", input, dim, sure=True) if input.shape else None
    return wrong or of_positive("chunks", chunks)


@needs(*named(*both("select")))
def select(input: Meta, dim: Any, index: Any) -> Unmet | None:
    """A dim that is there, and an index within it."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(index) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    if -size <= index < size:
        return None
    return Unmet(
        "index-out-of-range",
        f"{{op}} reads index {index} of dim {dim % len(input.shape)} of {{input}}"
        f" {text(input.shape)}, which has 0 to {size - 1}",
        Place("input", dim % len(input.shape)),
        has=size,
        needs=index + 1 if index >= 0 else -index,
        grants=(Grant("index", 0),) if size else (),
    )


@needs(*named(*both("narrow")))
def narrow(input: Meta, dim: Any, start: Any, length: Any) -> Unmet | None:
    """A part that lies within the dim."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or type(start) is not int or not input.shape:
        return wrong
    size = input.shape[dim]
    begin = start + size if start < 0 else start
    wrong = of_positive("length", length, 0)
    if wrong is not None or type(length) is not int:
        return wrong
    if start < -size:
        return Unmet(
            "index-out-of-range",
            f"{{op}} begins at {start} of dim {dim % len(input.shape)} of {{input}}"
            f" {text(input.shape)}, which has -{size} to {size - 1}",
            Place("input", dim % len(input.shape)),
            has=size,
            needs=-start,
            grants=(Grant("start", 0), Grant("length", min(length, size))),
            guessed=True,
        )
    if begin + length <= size:
        return None
    at = dim % len(input.shape)
    made = (*input.shape[:at], begin + length, *input.shape[at + 1 :])
    return Unmet(
        "index-out-of-range",
        f"{{op}} takes {begin} to {begin + length} of dim {at} of {{input}}"
        f" {text(input.shape)}, which ends at {size}",
        Place("input", at),
        has=size,
        needs=begin + length,
        grants=(Grant("input", Made(made, input.dtype)),) if start >= 0 else (),
    )


@needs(*named(*both("topk", "kthvalue")))
def topk(
    input: Meta, k: Any, dim: Any = -1, *rest: Any, **options: Any
) -> Unmet | None:
    """No more than the dim has."""
    wrong = of_dim("input", input, dim, sure=True)
    if wrong is not None or type(k) is not int:
        return wrong
    at = dim % max(len(input.shape), 1)
    size = input.shape[at] if input.shape else 1
    if k <= size:
        least = 1 if size else 0
        return of_positive("k", k, least) if k < 0 else no_complex(("input", input))
    made = (*input.shape[:at], k, *input.shape[at + 1 :])
    return Unmet(
        "k-too-large",
        f"{{op}} takes the {k} largest of dim {at} of {{input}} {text(input.shape)},"
        f" which has {size}",
        Place("input", at if input.shape else None),
        has=size,
        needs=k,
        grants=(Grant("input", Made(made or (k,), input.dtype)),),
    )


@needs(*named("torch.nn.functional.glu"))
def glu(input: Meta, dim: int = -1) -> Unmet | None:
    """A dim of two halves."""
    wrong = of_dim("input", input, dim) if input.shape else None
    if wrong is not None or not input.shape or input.shape[dim] % 2 == 0:
        return wrong
    at = dim % len(input.shape)
    size = input.shape[at]
    made = (*input.shape[:at], size + 1, *input.shape[at + 1 :])
    return Unmet(
        "does-not-divide",
        f"{{op}} halves dim {at} of {{input}} {text(input.shape)}, which is {size}",
        Place("input", at),
        has=size,
        needs=2,
        grants=(Grant("input", Made(made, input.dtype)),),
        guessed=True,
    )


@needs(*named(*both("tensor_split")))
def tensor_split(
    input: Meta, indices_or_sections: Any = None, dim: Any = 0, **options: Any
) -> Unmet | None:
    """A dim that is there, and at least one part."""
    wrong = of_dim("input", input, dim) if input.shape else of_least(input, 1)
    sections = options.get("sections", indices_or_sections)
    if wrong is None and type(sections) is int:
        return of_positive("indices_or_sections", sections)
    return wrong


def of_least(input: Meta, least: int) -> Unmet | None:
    """At least so many dims."""
    rank = len(input.shape)
    if rank >= least:
        return None
    made = (*(1,) * (least - rank), *input.shape)
    return Unmet(
        "wrong-rank",
        f"{{op}} takes at least {dims(least)}, got {rank}: {{input}} is"
        f" {text(input.shape)}",
        Place("input"),
        has=rank,
        needs=least,
        grants=(Grant("input", Made(made, input.dtype)),),
        guessed=True,
    )


def splitting(word: str, least: int, along: int) -> None:
    """Register a split along the dim that its name says, of vectors along theirs."""

    def split(
        input: Meta, indices_or_sections: Any = None, **options: Any
    ) -> Unmet | None:
        wrong = of_least(input, least)
        parts = options.get("sections", indices_or_sections)
        if wrong is not None or type(parts) is not int:
            return wrong
        wrong = of_positive("indices_or_sections", parts)
        at = min(along, len(input.shape) - 1)
        size = input.shape[at]
        if wrong is not None or size % parts == 0:
            return wrong
        made = (*input.shape[:at], size - size % parts or parts, *input.shape[at + 1 :])
        return Unmet(
            "does-not-divide",
            f"{{op}} cannot divide dim {at} of {{input}} {text(input.shape)}, {size},"
            f" into {parts} equal parts: `tensor_split` makes unequal ones",
            Place("input", at),
            has=size,
            needs=parts,
            grants=(Grant("input", Made(made, input.dtype)),),
            guessed=True,
        )

    needs(*named(*both(word)))(split)


for _word, _least, _along in (("hsplit", 1, 1), ("vsplit", 2, 0), ("dsplit", 3, 2)):
    splitting(_word, _least, _along)


@needs("torch.Tensor.unfold")
def unfold(self: Meta, dimension: Any, size: Any, step: Any) -> Unmet | None:
    """A window that fits into the dim, and a step of at least 1."""
    wrong = of_dim("self", self, dimension, "dimension")
    wrong = wrong or of_positive("size", size, 0) or of_positive("step", step)
    have = (*self.shape, 1)[dimension % max(len(self.shape), 1)] if not wrong else 0
    if wrong is not None or type(size) is not int or size <= have:
        return wrong
    at = dimension % max(len(self.shape), 1)
    made = (*self.shape[:at], size, *self.shape[at + 1 :])
    return Unmet(
        "kernel-too-large",
        f"{{op}} needs room for a window of {size} in dim {at} of {{self}}"
        f" {text(self.shape)}, got {have}",
        Place("self", at if self.shape else None),
        has=have,
        needs=size,
        grants=(Grant("self", Made(made, self.dtype)),),
        guessed=True,
    )
