"""How many refused calls of each family have an answer: a table.

    PYTHONPATH=.:tests:tests/rules python tests/checking/needs/coverage.py [FAMILY ...]

Of the answers, `as meant` goes on with the shapes that the call had before it was
broken; others took the other side for the right one, or a number that no size decides
was changed. What is not answered is listed with torch's words.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from checking.needs.breaking import broken
from checking.needs.families import FAMILIES
from checking.needs.metas import leaves
from checking.needs.oracle import ANSWERED, TAKEN, UNKNOWN, asked_of, followed, real

TIMES = 60
"""Each call is broken so many times."""


def shapes(out: Any) -> list[torch.Size]:
    """The shapes of the tensors that come out."""
    return [leaf.shape for leaf in leaves(out) if isinstance(leaf, torch.Tensor)]


def measured(family: str) -> tuple[Counter[str], Counter[str]]:
    """Counts of a family, and torch's words where nothing is said."""
    counts: Counter[str] = Counter()
    words: Counter[str] = Counter()
    fill = FAMILIES[family].fill
    for each, meant in broken_calls(family):
        func, args, kwargs = each.func, each.args, each.kwargs
        try:
            need = asked_of(func)
            verdict, out = followed(func, need, args, kwargs, fill)
        except Exception as error:
            verdict, out = "wrong", None
            words[f"WRONG {str(error)[:400]}"] += 1
        counts[verdict] += 1
        if verdict == ANSWERED and shapes(out) == shapes(meant):
            counts["as meant"] += 1
        if verdict == UNKNOWN:
            words[f"{getattr(func, '__name__', func)}: {str(out)[:150]}"] += 1
    return counts, words


def broken_calls(family: str) -> Iterator[tuple[Any, Any]]:
    """Each broken call, and what came out before it was broken."""
    draw = random.Random(1)
    for right in FAMILIES[family].right():
        meant = real(right.func, right.args, right.kwargs)
        assert not isinstance(meant, Exception), (right, meant)
        for _ in range(TIMES):
            each = broken(draw, right, FAMILIES[family].numbers)
            if each is not None:
                yield each, meant


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    print("| family | refused | answered | as meant |\n|---|---|---|---|")
    below = []
    for family in sys.argv[1:] or FAMILIES:
        counts, words = measured(family)
        refused = sum(counts[verdict] for verdict in (ANSWERED, UNKNOWN, "wrong"))
        assert counts[TAKEN] or refused
        row = f"{refused} | {counts[ANSWERED]} | {counts['as meant']} |"
        print(f"| {family} | {row}", flush=True)
        below += [f"{family}: {n} of {said}" for said, n in words.most_common(12)]
    print("\n".join(["", *below]))


if __name__ == "__main__":
    main()
