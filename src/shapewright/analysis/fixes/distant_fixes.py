"""Fixes of a call whose mistake is far from it: where a model is built, where a name
was set anew, which of two tensors is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.fixes.class_sets import suggest_truths_of_classes
from shapewright.analysis.fixes.data_sizes import (
    suggest_first_fit,
    suggest_size_of_table,
)
from shapewright.analysis.fixes.default_sizes import suggest_size_for_default
from shapewright.analysis.fixes.list_orders import suggest_reversed_sizes
from shapewright.analysis.fixes.loop_items import (
    suggest_exchanged_fields,
    suggest_reversed_maps,
)
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.other_lengths import (
    suggest_field_of_data_set,
    suggest_local_numbers,
    suggest_without_last,
)
from shapewright.analysis.fixes.overwritten_names import suggest_unreduced_rows
from shapewright.analysis.fixes.rebound_names import suggest_first_value
from shapewright.analysis.program_run import Program
from shapewright.operators.failed_calls import Failure


def find_distant_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes at lines that a call says nothing of."""
    for cost, suggest in SUGGESTIONS:
        yield from iter_options("distant", cost, suggest(program, failure))


SUGGESTIONS = (
    (0.65, suggest_exchanged_fields),
    (0.66, suggest_reversed_maps),
    (0.67, suggest_without_last),
    (0.68, suggest_field_of_data_set),
    (0.69, suggest_truths_of_classes),
    (0.69, suggest_local_numbers),
    (0.7, suggest_reversed_sizes),
    (0.75, suggest_unreduced_rows),
    (0.8, suggest_first_value),
    (0.82, suggest_first_fit),
    (0.85, suggest_size_for_default),
    (1.95, suggest_size_of_table),
)
