"""The size of an input at which a derived size becomes what is needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LARGEST = 4096


@dataclass(slots=True)
class Observations:
    """Derived sizes that were seen, by the place where they were needed."""

    seen: dict[tuple[object, ...], list[tuple[int, int]]] = field(default_factory=dict)

    def estimates(
        self, key: tuple[object, ...], size: int, got: int, need: int, power: int
    ) -> Iterator[int]:
        """Sizes of an input to try, the likeliest first.

        `got` came of `size`, about as its `power`-th power; where two sizes were seen
        at this place, the line through them decides.
        """
        known = self.seen.setdefault(key, [])
        if (size, got) not in known:
            known.append((size, got))
        root, wanted = got ** (1 / power), need ** (1 / power)
        if root <= 0 or wanted <= 0:
            return
        guess = size * wanted / root
        others = [pair for pair in known if pair[0] != size and pair[1] != got]
        if others:
            other, theirs = min(others, key=lambda pair: abs(pair[1] - need))
            step = (root - theirs ** (1 / power)) / (size - other)
            if step > 0:
                guess = size + (wanted - root) / step
        found = round(guess)
        tried = {pair[0] for pair in known}
        low = max((s for s, g in known if g < need), default=0)
        high = min((s for s, g in known if g > need), default=LARGEST + 1)
        near = [found, *nice(found), found + 1, found - 1, found + 2, found - 2]
        near += [(low + high) // 2] if low and high <= LARGEST else []
        for each in dict.fromkeys(near):
            if 1 <= each <= LARGEST and each not in tried and low < each < high:
                yield each


def nice(size: int) -> list[int]:
    """Sizes near this one that people choose: 32 near 33, 224 near 221."""
    found = []
    for unit in (32, 16, 28, 8, 4):
        below, above = size // unit * unit, -(-size // unit) * unit
        for each in (below, above):
            if each > 0 and abs(each - size) * 8 <= size + 8 and each not in found:
                found.append(each)
    return found
