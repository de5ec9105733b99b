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
        estimate = round(guess)
        tried = {pair[0] for pair in known}
        low = max((s for s, g in known if g < need), default=0)
        high = min((s for s, g in known if g > need), default=LARGEST + 1)
        near = [
            estimate,
            *find_usual_sizes(estimate),
            estimate + 1,
            estimate - 1,
            estimate + 2,
            estimate - 2,
        ]
        near += [(low + high) // 2] if low and high <= LARGEST else []
        for candidate in dict.fromkeys(near):
            if (
                1 <= candidate <= LARGEST
                and candidate not in tried
                and low < candidate < high
            ):
                yield candidate


def find_usual_sizes(size: int) -> list[int]:
    """Return common sizes near a size, like 32 near 33 or 224 near 221."""
    usual = []
    for unit in (32, 16, 28, 8, 4):
        below, above = size // unit * unit, -(-size // unit) * unit
        for candidate in (below, above):
            if (
                candidate > 0
                and abs(candidate - size) * 8 <= size + 8
                and candidate not in usual
            ):
                usual.append(candidate)
    return usual


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
        known = self.inputs.get(fact.tensor)
        return known[0] if known is not None else None

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
                (output for output in op.outputs if output.tensor == fact.tensor), fact
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
        ancestors = (self.inputs.get(number) for number in self._history(fact))
        return list(
            dict.fromkeys(ancestor[0] for ancestor in ancestors if ancestor is not None)
        )

    def ops(self, fact: Fact) -> list[Op]:
        """Return the ops that a tensor results from, the nearest first."""
        numbers = [
            number for number in self._history(fact) if number not in self.inputs
        ]
        return [self.makers[number] for number in numbers if number in self.makers]

    def _history(self, fact: Fact) -> list[int]:
        """Return the numbers of a tensor and its ancestors, the nearest first."""
        met, todo = {fact.tensor}, [fact.tensor]
        for number in todo:
            op = None if number in self.inputs else self.makers.get(number)
            for operand in op.inputs if op is not None else ():
                if operand.tensor not in met and len(met) < MOST:
                    met.add(operand.tensor)
                    todo.append(operand.tensor)
        return todo

    def find_carried(self, fact: Fact) -> Path | None:
        """Return the path of the input that provides a tensor's elements, or None."""
        for _ in range(MOST):
            path = self.input(fact)
            if path is not None:
                return path
            op = self.makers.get(fact.tensor)
            same = (
                [operand for operand in op.inputs if operand.dtype == fact.dtype]
                if op
                else []
            )
            if not same:
                return None
            fact = next(
                (operand for operand in same if self.ancestors(operand)), same[0]
            )
        return None


def find_way_back(trace: Trace, hypothesis: Hypothesis) -> Back:
    """Return the paths from tensors back to the inputs in a run of a hypothesis."""
    operands = collect_leaves(trace.calls[0].inputs) if trace.calls else []
    paths = [path for path, _ in hypothesis.tensors()]
    inputs: dict[int, tuple[Path, Fact]] = {}
    for path, fact in zip(paths, operands, strict=False):
        inputs.setdefault(fact.tensor, (path, fact))
    makers: dict[int, Op] = {}
    for op in trace.ops:
        taken = {fact.tensor for fact in op.inputs}
        for output in op.outputs:
            if output.tensor not in taken and output.tensor not in inputs:
                makers.setdefault(output.tensor, op)
    return Back(inputs, makers)
