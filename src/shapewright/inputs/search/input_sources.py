"""Trace a tensor of a run back to the inputs that it derives from, and find the size
of an input that gives a needed size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from shapewright.analysis.provenance.origins import find_origin
from shapewright.inputs.search.hypotheses import Hypothesis, Path
from shapewright.record.ops import Fact, Op, collect_leaves
from shapewright.record.trace import Trace

LARGEST = 4096


@dataclass(slots=True)
class Observations:
    """The derived sizes that were observed, by the place that needed another size."""

    seen: dict[tuple[object, ...], list[tuple[int, int]]] = field(default_factory=dict)

    def estimates(
        self, key: tuple[object, ...], size: int, got: int, need: int, power: int
    ) -> Iterator[int]:
        """Yield sizes of an input to try, the likeliest first.

        `got` resulted from `size`, roughly as its `power`-th power; if two sizes were
        seen at this place, the line through them decides.
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
        near = [
            found,
            *find_usual_sizes(found),
            found + 1,
            found - 1,
            found + 2,
            found - 2,
        ]
        near += [(low + high) // 2] if low and high <= LARGEST else []
        for each in dict.fromkeys(near):
            if 1 <= each <= LARGEST and each not in tried and low < each < high:
                yield each


def find_usual_sizes(size: int) -> list[int]:
    """Return common sizes near a size, like 32 near 33 or 224 near 221."""
    found = []
    for unit in (32, 16, 28, 8, 4):
        below, above = size // unit * unit, -(-size // unit) * unit
        for each in (below, above):
            if each > 0 and abs(each - size) * 8 <= size + 8 and each not in found:
                found.append(each)
    return found


MOST = 20_000
"""Maximum number of tensors to visit on a single way back."""


@dataclass(frozen=True, slots=True)
class InputAxis:
    """A dim of an input; `exact` means that its size reaches the tensor unchanged."""

    path: Path
    dim: int
    exact: bool


@dataclass(slots=True)
class Back:
    """The paths from tensors back to inputs in a run."""

    inputs: dict[int, tuple[Path, Fact]]
    makers: dict[int, Op] = field(default_factory=dict)

    def input(self, fact: Fact) -> Path | None:
        """Return the path of an input tensor, or None for any other tensor."""
        found = self.inputs.get(fact.tensor)
        return found[0] if found is not None else None

    def sources(self, fact: Fact, dim: int) -> list[InputAxis]:
        """Return the dims of inputs that a dim of a tensor derives from."""
        return list(dict.fromkeys(self._sources(fact, dim)))

    def _sources(self, fact: Fact, dim: int) -> Iterator[InputAxis]:
        todo = [(fact, dim, True)]
        met = {(fact.tensor, dim)}
        for fact, dim, exact in todo:
            known = self.inputs.get(fact.tensor)
            if known is not None:
                if dim < len(known[1].shape):
                    yield InputAxis(known[0], dim, exact)
                continue
            op = self.makers.get(fact.tensor)
            if op is None:
                continue
            out = next(
                (each for each in op.outputs if each.tensor == fact.tensor), fact
            )
            came = find_origin(op, out, dim)
            if came is None:
                continue
            for at, place in came.places[:4]:
                key = op.inputs[at].tensor, place
                if key not in met and len(met) < MOST:
                    met.add(key)
                    todo.append((op.inputs[at], place, exact and came.how == "same"))

    def ancestors(self, fact: Fact) -> list[Path]:
        """Return the paths of the inputs of a tensor, the nearest first."""
        found = (self.inputs.get(number) for number in self._history(fact))
        return list(dict.fromkeys(each[0] for each in found if each is not None))

    def ops(self, fact: Fact) -> list[Op]:
        """Return the ops that a tensor results from, the nearest first."""
        numbers = [each for each in self._history(fact) if each not in self.inputs]
        return [self.makers[number] for number in numbers if number in self.makers]

    def _history(self, fact: Fact) -> list[int]:
        """Return the numbers of a tensor and its ancestors, the nearest first."""
        met, todo = {fact.tensor}, [fact.tensor]
        for number in todo:
            op = None if number in self.inputs else self.makers.get(number)
            for each in op.inputs if op is not None else ():
                if each.tensor not in met and len(met) < MOST:
                    met.add(each.tensor)
                    todo.append(each.tensor)
        return todo

    def find_carried(self, fact: Fact) -> Path | None:
        """Return the path of the input that provides a tensor's elements, or None."""
        for _ in range(MOST):
            path = self.input(fact)
            if path is not None:
                return path
            op = self.makers.get(fact.tensor)
            same = [one for one in op.inputs if one.dtype == fact.dtype] if op else []
            if not same:
                return None
            fact = next((one for one in same if self.ancestors(one)), same[0])
        return None


def find_way_back(made: Trace, hypothesis: Hypothesis) -> Back:
    """Return the paths from tensors back to the inputs in a run of a hypothesis."""
    given = collect_leaves(made.calls[0].inputs) if made.calls else []
    paths = [path for path, _ in hypothesis.tensors()]
    inputs: dict[int, tuple[Path, Fact]] = {}
    for path, fact in zip(paths, given, strict=False):
        inputs.setdefault(fact.tensor, (path, fact))
    makers: dict[int, Op] = {}
    for op in made.ops:
        taken = {each.tensor for each in op.inputs}
        for each in op.outputs:
            if each.tensor not in taken and each.tensor not in inputs:
                makers.setdefault(each.tensor, op)
    return Back(inputs, makers)
