"""What is told of formulas: the trace, where they hold, what has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shapewright.dims.expression import Expression
from shapewright.reasoning.formulas.aligning import parting
from shapewright.reasoning.formulas.fitted import CallFormulas, Dims, Varying
from shapewright.reasoning.formulas.lettered import lettered
from shapewright.reasoning.formulas.naming import names_of
from shapewright.reasoning.formulas.shortening import shortened, without
from shapewright.reasoning.formulas.turning import Turn
from shapewright.solving.deriving import Sizes
from shapewright.solving.evidence import Evidence
from shapewright.solving.planning import telling_apart
from shapewright.source.span import Span
from shapewright.trace.formulas import Branch, Checked, Formulas
from shapewright.trace.record import Trace


class Telling(Evidence):
    """The record of what is known of a program."""

    def told(self) -> Trace:
        """The base's trace with its formulas, and where they hold."""
        low, high = self.bounds()
        letters = {
            name: Checked(low[name], high[name], max(self.lattices[name].step, 1))
            for name in self.base.sizes
        }
        trace = self.base.trace
        formulas = Formulas(
            letters,
            len(self.accepted),
            self.runner.tried,
            len(self.within_range(low, high)),
            {each.name: self.seen(each) for each in self.fitted.varying},
            self.branches(),
        )
        steps = {
            name: each.step
            for name, each in letters.items()
            if each.step > 1 and each.low % each.step == 0
        }
        calls = without(self.fitted.calls, self.open())
        calls = shortened(calls, steps) if steps else calls
        made = lettered(trace, calls, self.given(), self.returned(calls))
        names = names_of(made, self.runner.numbers())
        return replace(made, formulas=replace(formulas, names=names))

    def returned(self, calls: Sequence[CallFormulas]) -> list[Dims] | None:
        """The strides of what the target returned, where its run was watched."""
        if self.watched is None or not self.base.watched:
            return None
        places = self.watched.seen.output
        return [
            calls[call].strides[nth]
            if call >= 0 and nth < len(calls[call].strides)
            else ()
            for call, nth in places
        ]

    def within_range(self, low: Sizes, high: Sizes) -> list[Any]:
        """What rules told to the end within the range, where no run was made."""
        return [
            each
            for key, each in (self.derived.made if self.derived else {}).items()
            if self.derived is not None
            and self.derived.full(each)
            and key not in self.runner.made
            and all(low[n] <= size <= high[n] for n, size in each.letters.items())
        ]

    def seen(self, varying: Varying) -> Branch:
        """What a size without a formula was, run by run."""
        span = self.span_of(varying.call)
        letters = self.runner.free
        seen = ", ".join(
            f"{size} at {', '.join(f'{n}={sizes[n]}' for n in letters)}"
            for sizes, size in varying.seen[:6]
        )
        return Branch(f"varies: {seen}", span)

    def branches(self) -> Sequence[Branch]:
        """Lines after which runs went different ways."""
        found: dict[object, Branch] = {each.span: each for each in self.parted}
        for run in self.runs[1:]:
            at = parting(self.base.sample, run.sample) if run.accepted else None
            if at is None:
                continue
            span = self.turned(run.sizes) or self.span_of(at)
            sizes = ", ".join(f"{n}={v}" for n, v in run.sizes.items())
            text = f"the program goes another way at {sizes}"
            found.setdefault(span, Branch(text, span))
        return tuple(found.values())

    def turned(self, sizes: Mapping[str, int]) -> Span | None:
        """The first line that compares sizes and comes out otherwise at these."""
        base = self.base.sizes
        differ = (t for t in self.turns if t.outcome(sizes) != t.outcome(base))
        return next((self.span_at(each) for each in differ), None)

    def span_at(self, turn: Turn) -> Span | None:
        """The line of a comparison, or of a slice."""
        return turn.span if turn.call is None else self.span_of(turn.call)

    def span_of(self, call: int) -> Span | None:
        """The line of a call of the base run."""
        ops = self.base.trace.ops
        return ops[call].span if call < len(ops) else None

    def open(self) -> set[Expression]:
        """Formulas with a rival that says otherwise within the range."""
        low, high = self.bounds()
        base = self.base.sizes
        return {
            pair[0]
            for pair in self.fitted.rivals
            if telling_apart([pair], base, self.lattices, low, high) is not None
        }
