"""Derive hypotheses that avoid an error raised by the program's own Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shapewright.findings.codes import PROGRAM_ERROR
from shapewright.inputs.search.docstrings import SHAPE, read_dims
from shapewright.inputs.search.first_hypotheses import settle_letters
from shapewright.inputs.search.hypotheses import Hypothesis, Path
from shapewright.inputs.search.next_hypotheses import (
    Mender,
    change_rank,
    find_numbers,
    replace_dim,
)
from shapewright.operators.failed_calls import Ending
from shapewright.record.ops import Fact

UNPACKING = re.compile(r"(?:not enough|too many) values to unpack \(expected (\d+)")
NOTHING = re.compile(
    r"NoneType|is None|must (?:be )?(?:given|specif|provide|pass)|[Yy]ou have to"
    r"|[Pp]rovide|need to (?:be )?(?:give|specif|pass)|required"
)
DIVIDING = re.compile(r"\bdivi(?:de|ded|sible)\b|\bmultiples? of\b")
DIVISIBLE = (256, 512, 384, 192, 128, 64)
"""Sides of images that are halved often without a rest."""


def mend_ending(mender: Mender, ending: Ending | None) -> Iterator[Hypothesis]:
    """Yield hypotheses that may avoid an exception raised by the program itself."""
    error = mender.made.findings[-1] if mender.made.findings else None
    if error is None or mender.made.complete:
        return
    message = f"{error.message} {error.torch_message or ''}"
    named = dict(_iter_named_tensors(mender, ending)) if ending is not None else {}
    unpacking = UNPACKING.search(message)
    if unpacking:
        yield from _mend_unpacking(mender, named, int(unpacking[1]))
    yield from _add_arguments(mender, message)
    yield from _resize_by_message(mender, message)
    yield from _read_message(mender, message)
    paths = [path for fact in named.values() for path in mender.way.ancestors(fact)]
    if not mender.failures:
        paths += [path for path, _ in mender.hypothesis.tensors()]
        paths += [(name,) for name in mender.hypothesis.arguments]
    for path in dict.fromkeys(paths):
        yield from mender.known.alternatives(mender.hypothesis, path)


def _iter_named_tensors(mender: Mender, ending: Ending) -> Iterator[tuple[str, Fact]]:
    """Yield the tensors that the failing line names, with their names."""
    line = _get_failing_line(mender)
    for name, fact in ending.tensors.items():
        if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", line):
            yield name, fact


def _get_failing_line(mender: Mender) -> str:
    """Return the text of the line that ended the run."""
    span = mender.made.findings[-1].span
    source = mender.made.sources.get(span.file) if span is not None else None
    if span is None or source is None or source.text is None:
        return ""
    lines = source.text.split("\n")
    return "\n".join(lines[span.line - 1 : span.end_line])


def _mend_unpacking(
    mender: Mender, named: Mapping[str, Fact], count: int
) -> Iterator[Hypothesis]:
    """Change the rank of inputs to that into which a tensor's shape is unpacked."""
    for fact in named.values():
        more = count - len(fact.shape)
        for path in mender.way.ancestors(fact):
            yield from change_rank(mender, path, more)


def _add_arguments(mender: Mender, message: str) -> Iterator[Hypothesis]:
    """Pass optional arguments that may be missing.

    Those that the message or the failing line names come first, then those that the
    program uses without asking whether they are None.
    """
    arguments = mender.hypothesis.arguments
    left = [name for name in mender.known.left if name not in arguments]
    missing = NOTHING.search(message) is not None
    text = f"{message} {_get_failing_line(mender)}" if missing else message
    mentioned = [n for n in left if re.search(rf"\b{re.escape(n)}\b", text)]
    words = set(re.findall(r"[a-z]+_\w+", message)) if missing else set()
    mentioned += [n for n in left if any(n.endswith(f"_{word}") for word in words)]
    wanted = [n for n in left if n not in mentioned and mender.known.wanted(n)]
    others = [n for n in left if n not in mentioned and n not in wanted]
    for names, cost in (
        (mentioned, 0.2),
        (wanted, 0.4 if missing else 3.0),
        (others, 3.0 if not missing else 1.2 if mentioned or wanted else 0.6),
    ):
        for n, name in enumerate(names):
            more = mender.known.with_more(mender.hypothesis, name, cost + 0.2 * n)
            yield more
    if len(mentioned) + len(wanted) > 1 and missing:
        more = mender.hypothesis
        for name in (*mentioned, *wanted):
            more = mender.known.with_more(more, name, 0.1)
        yield more
    for name, value in arguments.items():
        if value is None:
            path: Path = (name,)
            for alternative in mender.known.alternatives(mender.hypothesis, path):
                yield replace(alternative, cost=mender.hypothesis.cost + 0.5)


def _resize_by_message(mender: Mender, message: str) -> Iterator[Hypothesis]:
    """Try sizes that a message names or hints at, then usual image sizes."""
    sizes, numbers = mender.hypothesis.sizes, find_numbers(message)
    used = {dim for _, tensor in mender.hypothesis.tensors() for dim in tensor.dims}
    for number in dict.fromkeys(numbers):
        letters = [size for size in sizes if size in used and sizes[size] == number]
        if not letters:
            continue
        for other in dict.fromkeys(numbers):
            if other != number and 0 < other <= 8192:
                change = dict.fromkeys(letters, other)
                why = f"the program asks for {other}"
                yield mender.hypothesis.with_sizes(change, why, 0.5)
    if mender.made.findings[-1].code == PROGRAM_ERROR:
        yield from _fix_dim(mender, numbers)
    if "H" in used and "too small" in message:
        for n, times in enumerate((4, 2)):
            change = {side: sizes[side] * times for side in ("H", "W")}
            why = f"{sizes['H']} is too small"
            yield mender.hypothesis.with_sizes(change, why, 0.3 + 0.1 * n)
    if {"H", "W"} <= used and DIVIDING.search(message):
        for n, side in enumerate(DIVISIBLE):
            if side != sizes["H"]:
                why = f"{sizes['H']} is not divided as the program wants"
                change = {"H": side, "W": side}
                yield mender.hypothesis.with_sizes(change, why, 0.5 + 0.1 * n)
    usual = [256, 288, 384, 448, 512, 192, 128, 96, 64, 32, 299, 240, 260, 336]
    for number in numbers:
        if "H" in used and "W" in used and 8 <= number <= 1024 and number != sizes["H"]:
            change = {"H": number, "W": number}
            yield mender.hypothesis.with_sizes(change, f"the program names {number}", 1)
    if {"H", "W"} & used:
        for n, side in enumerate(usual):
            if side != sizes["H"]:
                change = {"H": side, "W": side}
                yield mender.hypothesis.with_sizes(change, "", 3 + 0.2 * n)


def _fix_dim(mender: Mender, numbers: list[int]) -> Iterator[Hypothesis]:
    """Change a fixed dim to the other size that a message names."""
    for path, tensor in mender.hypothesis.tensors():
        for place, dim in enumerate(tensor.dims):
            others = [
                number for number in numbers if number != dim and 0 < number <= 8192
            ]
            for n, other in enumerate(others if dim in numbers else ()):
                changed = replace(tensor, dims=replace_dim(tensor.dims, place, other))
                why = f"the program asks for {other}"
                yield mender.hypothesis.with_value(path, changed, why, 0.6 + 0.2 * n)


def _read_message(mender: Mender, message: str) -> Iterator[Hypothesis]:
    """Read dims from a message: `of shape (batch_size, 2, height, width)`."""
    of_program = mender.made.findings[-1].code == PROGRAM_ERROR
    for written in SHAPE.finditer(message if of_program else ""):
        words = written[1].strip(" ,").split(",")
        dims = read_dims(words, (None, None)) if len(words) > 1 else None
        tensors = mender.hypothesis.tensors() if dims else ()
        for path, tensor in list(tensors)[:2]:
            if dims and dims != tensor.dims:
                changed = replace(tensor, dims=dims)
                why = f"the program asks for ({written[1].strip()})"
                hypothesis = mender.hypothesis.with_value(path, changed, why, 0.4)
                yield settle_letters(hypothesis)
