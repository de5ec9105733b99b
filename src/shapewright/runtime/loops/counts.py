"""The counts of a loop, which conditions read and which skipped iterations advance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

LONGEST_PERIOD = 8
"""Most turns run to meet a condition `x % n == 0` on a value that nothing counts."""

MOST_WANTED = 12
"""Counts to which one loop advances because a condition waits for them, at most."""

Number = tuple[Callable[[], Any], bool]
"""A function that reads a count, and whether the loop's head provides it."""

Waiting = tuple[Callable[[], Any], int | None, bool, bool, int, str]
"""What a condition compares with, the place of the count, whether it divides, whether
its body says that it ran; its line and text."""

Guard = tuple[int, Callable[[int], Any]]
"""The place of a number of the head, and whether a turn with it counts."""

Told = tuple[Sequence[Number], Sequence[Waiting], Sequence[Guard], bool]
"""Numbers, conditions and guards, and whether only some turns add to a list."""

NOTHING: Told = ((), (), (), False)

MOST_ASKED = 1 << 16
"""Turns that were left out and are tested for whether they count, at most."""


class Counts:
    """The counts of one loop.

    `steps` is what each turn adds to each count, None if that changes.
    """

    def __init__(self, facts: Told) -> None:
        self.numbers, self.conditions, self.guards, self.uneven = facts
        self.values: list[int | None] = [None] * len(self.numbers)
        self.steps: list[int | None] = [None] * len(self.numbers)
        self.ahead = [0] * (len(self.numbers) + len(self.guards))
        self.wanted: set[tuple[int, int]] = set()
        self.cut = False  # the last turn did not come

    def forget(self) -> None:
        """Forget the counts, after iterations that were not observed."""
        self.values = [None] * len(self.numbers)
        self.steps = [None] * len(self.numbers)

    def read(self) -> None:
        """Read the counts at the end of an iteration."""
        for place in range(len(self.guards)):
            self.ahead[len(self.numbers) + place] = 0
        for index, (number, _) in enumerate(self.numbers):
            before, self.values[index] = self.values[index], _find_whole_number(number)
            value = self.values[index]
            if before is None or value is None:
                continue
            step = value - before - self.ahead[index]
            self.ahead[index] = 0
            same = self.steps[index] in (None, step)
            self.steps[index] = step if step and same else None

    def left_out(self, turns: int) -> None:
        """Account for `turns` iterations that are skipped before the next one."""
        if turns <= 0:
            return
        for index in range(len(self.numbers)):
            step = self.steps[index]
            self.ahead[index] = turns * step if step is not None else 0
        for place, (index, test) in enumerate(self.guards, len(self.numbers)):
            value, step = self.values[index], self.steps[index]
            if value is not None and step is not None and turns <= MOST_ASKED:
                passed = (value + step * (turn + 1) for turn in range(turns))
                self.ahead[place] = sum(
                    bool(_evaluate_test(test, count)) for count in passed
                )

    def set_on(self, index: int, value: Any) -> Any:
        """Return the value of a count, advanced by the skipped iterations."""
        ahead = self.ahead[index]
        return value + ahead if ahead and type(value) is int else value

    def next_wanted(self, total: int | None, reached: int) -> int | None:
        """Return how many iterations to skip to one in which a condition may change.

        None if there is none before the last.
        """
        turns_to_test: list[tuple[int, tuple[int, int]]] = []
        for place, (test, index, divides, *_) in enumerate(self.conditions):
            if index is None:
                continue
            value, step = self.values[index], self.steps[index]
            if value is None or step is None:
                continue
            ahead = step if self.numbers[index][1] else 0
            been = [count for at, count in self.wanted if at == place]
            for count in _find_counts(test, value, divides):
                if divides and been and count - 1 > max(been):
                    continue  # a multiple of it was met
                for near in (-1, 0) if divides else (-1, 0, 1):
                    more, rest = divmod(count + near - value - ahead, step)
                    if rest and step < 0:
                        continue
                    if more >= 0 and count + near not in been:
                        turns_to_test.append((more, (place, count + near)))
        if not turns_to_test or len(self.wanted) >= MOST_WANTED:
            return None
        more = min(turns for turns, _ in turns_to_test)
        if total is not None and reached + more >= total - 1:
            return None
        self.wanted |= {wanted for turns, wanted in turns_to_test if turns == more}
        return more

    def least(self) -> int:
        """Return how many iterations meet all conditions on uncounted values, or 0."""
        counts = [
            count
            for test, index, divides, *_ in self.conditions
            if index is None
            for count in _find_counts(test, 0, divides)
        ]
        return max((n + 1 for n in counts if n < LONGEST_PERIOD + 1), default=0)

    def waited(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the text of each condition that a whole run reaches."""
        for test, index, divides, says, line, text in self.conditions:
            if index is None or not says:
                continue
            value = self.values[index]
            counts = _find_counts(test, 0, divides)
            if value is None or not counts:
                continue
            if self.cut or any(count <= value for count in counts):
                yield line, text


def _find_counts(test: Callable[[], Any], value: int, divides: bool) -> list[int]:
    """Return the counts at which a condition may change: the next one for multiples."""
    answer = evaluate_condition(test)
    many = answer if isinstance(answer, tuple | list) else [answer]
    plain = [int(number) for number in many if type(number) is int or _is_count(number)]
    if not divides:
        return plain[:MOST_WANTED]
    if len(plain) < 2 or plain[0] < 2:
        return []
    period, rest = plain[0], plain[1] % plain[0]
    first = rest or period
    return [first + period * max(0, -(-(value - first) // period))]


def _is_count(value: Any) -> bool:
    """Return whether a value is an integral float, like `epochs / 2`."""
    return type(value) is float and value.is_integer()


def _find_whole_number(number: Callable[[], Any]) -> int | None:
    """Return the current value of a count, or None if it is not an integer."""
    value = evaluate_condition(number)
    return value if type(value) is int else None


def _evaluate_test(test: Callable[[int], Any], number: int) -> Any:
    """Return the value of a condition for a given value of the count."""
    return evaluate_condition(lambda: test(number))


def evaluate_condition(call: Callable[[], Any]) -> Any:
    try:
        with torch._C.DisableTorchFunction():
            return call()
    except Exception:  # a condition of the program's
        return None
