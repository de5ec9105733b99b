"""An argument list before argparse reads it: what is ours, and what is a script's."""

from __future__ import annotations

import re
from collections.abc import Sequence

from shapewright.faces.cli.parser import PROOF_SECONDS, read_seconds

ANYWHERE = ("trace", "check", "explain", "solve")
"""Commands whose options stand anywhere, and a script's own arguments after `--`."""

_CALL = re.compile(r"-(?!-|o|i(?!\d))[^=]*\[", re.DOTALL)
"""A call of `explain` that begins with a minus: `-f32[3]`, but not `-if32[3]`."""


def split_arguments(given: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """What argparse reads, and the arguments of the script that stand after `--`.

    Example: ``trace train.py --by op -- --epochs 3`` gives
    ``["trace", "train.py", "--by", "op"]`` and ``("--epochs", "3")``.
    """
    ours = list(given)
    if not ours or ours[0] not in ANYWHERE:
        return ours, ()
    theirs: tuple[str, ...] = ()
    if "--" in ours:
        at = ours.index("--")
        ours, theirs = ours[:at], tuple(ours[at + 1 :])
    if ours[0] == "explain":
        if theirs and _CALL.match(theirs[0]):
            ours, theirs = [*ours, theirs[0]], theirs[1:]
        ours = [f" {each}" if _CALL.match(each) else each for each in ours]
    if ours[0] == "solve":
        ours = _with_proof_time(ours)
    return ours, theirs


def _with_proof_time(ours: Sequence[str]) -> list[str]:
    """`--prove` with its usual time where no number follows: a target is none."""
    following = [*ours[1:], ""]
    return [
        f"--prove={PROOF_SECONDS:g}"
        if each == "--prove" and read_seconds(behind) is None
        else each
        for each, behind in zip(ours, following, strict=True)
    ]
