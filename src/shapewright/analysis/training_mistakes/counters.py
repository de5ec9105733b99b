"""Find counts of one loop that are printed in the place of those of another."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import COUNT_NOT_READ, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.unread_counts import find_unread_counts


@looks_for(COUNT_NOT_READ)
def find_counts_not_read(scene: RehearsalContext) -> Iterator[Finding]:
    """Find counts that are never read where the count of an earlier loop is."""
    for file in scene.program.trace.sources:
        text = scene.program.text(file)
        if text is None:
            continue
        is_main = scene.program.trace.target.endswith(file)
        for unread in find_unread_counts(text, is_main):
            names = " and ".join(f"`{name}`" for name, _ in unread.pairs)
            others = " and ".join(f"`{other}`" for _, other in unread.pairs)
            many = len(unread.pairs) > 1
            places = [
                (text.span(addition), f"`{text.written(addition)}`, in the loop above")
                for addition in unread.additions
            ]
            yield build_finding(
                COUNT_NOT_READ,
                f"{others} {'are' if many else 'is'} of an earlier loop:"
                f" {names} {'are' if many else 'is'} counted in the loop above and"
                " never read",
                text.span(unread.statement),
                *places,
            )
