"""Fixes of a call whose mistake is far from it: where a model is built, where a name
was set anew, which of two tensors is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.fixes.branch_sizes import (
    suggest_dim_of_joins,
    suggest_stride_of_shortcut,
    suggest_turned_input,
)
from shapewright.analysis.fixes.chosen_outputs import (
    suggest_boxes_of_class,
    suggest_scores_of_places,
)
from shapewright.analysis.fixes.class_sets import suggest_truths_of_classes
from shapewright.analysis.fixes.created_tensors import suggest_quotient
from shapewright.analysis.fixes.data_sizes import (
    suggest_first_fit,
    suggest_size_of_table,
)
from shapewright.analysis.fixes.default_numbers import (
    suggest_attributes_for_numbers,
)
from shapewright.analysis.fixes.default_sizes import suggest_size_for_default
from shapewright.analysis.fixes.feature_widths import suggest_projection
from shapewright.analysis.fixes.label_sources import suggest_counted_labels
from shapewright.analysis.fixes.list_orders import (
    suggest_order_of_columns,
    suggest_reversed_sizes,
)
from shapewright.analysis.fixes.loop_items import (
    suggest_exchanged_fields,
    suggest_items_of_samples,
    suggest_reversed_maps,
)
from shapewright.analysis.fixes.map_sizes import (
    suggest_one_size_of_maps,
    suggest_part_of_window,
)
from shapewright.analysis.fixes.mask_unions import (
    suggest_dims_of_padding,
    suggest_turned_picture,
)
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.other_lengths import (
    suggest_field_of_data_set,
    suggest_local_numbers,
    suggest_without_last,
)
from shapewright.analysis.fixes.overwritten_names import suggest_unreduced_rows
from shapewright.analysis.fixes.rebound_names import suggest_first_value
from shapewright.analysis.fixes.shorter_slices import (
    suggest_end_of_targets,
    suggest_width_of_batch,
)
from shapewright.analysis.fixes.solved_defaults import suggest_solved_default
from shapewright.analysis.fixes.state_sizes import (
    suggest_width_of_heads,
    suggest_width_of_rows,
)
from shapewright.analysis.fixes.taken_apart import suggest_other_outputs
from shapewright.analysis.fixes.written_weights import suggest_dims_of_weight
from shapewright.analysis.program_run import Program
from shapewright.operators.failed_calls import Failure


def find_distant_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes at lines that a call says nothing of."""
    for cost, suggest in SUGGESTIONS:
        yield from iter_options("distant", cost, suggest(program, failure))


SUGGESTIONS = (
    (0.42, suggest_one_size_of_maps),
    (0.43, suggest_part_of_window),
    (0.44, suggest_scores_of_places),
    (0.45, suggest_boxes_of_class),
    (0.46, suggest_dims_of_padding),
    (0.47, suggest_turned_picture),
    (0.48, suggest_attributes_for_numbers),
    (0.49, suggest_dims_of_weight),
    (0.5, suggest_end_of_targets),
    (0.51, suggest_width_of_batch),
    (0.52, suggest_solved_default),
    (0.53, suggest_other_outputs),
    (0.55, suggest_order_of_columns),
    (0.57, suggest_width_of_heads),
    (0.58, suggest_width_of_rows),
    (0.6, suggest_dim_of_joins),
    (0.61, suggest_stride_of_shortcut),
    (0.62, suggest_turned_input),
    (0.63, suggest_counted_labels),
    (0.64, suggest_items_of_samples),
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
    (0.88, suggest_quotient),
    (0.9, suggest_projection),
    (1.95, suggest_size_of_table),
)
