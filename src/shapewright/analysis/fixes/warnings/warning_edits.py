"""Edits for warnings: what usually mends each, to be tried like the fixes of errors.

An edit is shown only if the run with it has the warning no more, and no other one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from shapewright.analysis.fixes.autograd.uncut_losses import suggest_scores_for_rounded
from shapewright.analysis.fixes.index_edits import suggest_rows
from shapewright.analysis.fixes.mask_edits import suggest_mask_changes
from shapewright.analysis.fixes.position_edits import (
    suggest_batch_first,
)
from shapewright.analysis.fixes.warnings.accidental_shapes import (
    suggest_equal_ranks,
    suggest_equal_shapes,
    suggest_flat_array,
    suggest_squeezed_dim,
    suggest_transpose,
)
from shapewright.analysis.fixes.warnings.data_edits import (
    suggest_end_of_episode,
    suggest_filtered_rows,
    suggest_fitted_scaler,
    suggest_flip_of_result,
    suggest_inverse_permutation,
    suggest_loader_in_order,
    suggest_mean_of_features,
    suggest_normalize,
    suggest_one_permutation,
    suggest_one_repeat,
    suggest_one_seed,
    suggest_own_data_set,
    suggest_shuffle,
    suggest_softmax_of_groups,
    suggest_swapped_factors,
    suggest_unit_length,
)
from shapewright.analysis.fixes.warnings.dim_edits import (
    suggest_arrow,
    suggest_dim_of_features,
    suggest_kept_dim,
    suggest_other_axis,
    suggest_other_dim,
)
from shapewright.analysis.fixes.warnings.float_mask_edits import (
    suggest_mask_of_truths,
)
from shapewright.analysis.fixes.warnings.formula_edits import (
    suggest_assigned_weight,
    suggest_descending,
    suggest_exchanged_predictions,
    suggest_exchanged_quotient,
    suggest_exclusive_product,
    suggest_hardest,
    suggest_named_argument,
    suggest_straight_through,
)
from shapewright.analysis.fixes.warnings.label_edits import (
    suggest_class_name,
    suggest_cloned_targets,
    suggest_ignored_padding,
    suggest_nearest,
    suggest_shifted_items,
    suggest_sign,
    suggest_unshifted_labels,
)
from shapewright.analysis.fixes.warnings.layer_edits import (
    suggest_named_momentum,
    suggest_new_layer,
    suggest_weight_of_batch,
)
from shapewright.analysis.fixes.warnings.loop_edits import (
    suggest_added_loss,
    suggest_bound_names,
    suggest_return_behind_loop,
)
from shapewright.analysis.fixes.warnings.loss_edits import (
    suggest_logits_keyword,
    suggest_loss_edits,
    suggest_without_activation,
)
from shapewright.analysis.fixes.warnings.loss_term_edits import (
    suggest_added_noise,
    suggest_assigned_result,
    suggest_detached_operand,
    suggest_fill,
    suggest_pessimistic_bound,
    suggest_root_of_variance,
    suggest_signed_operands,
    suggest_subtracted_entropy,
    suggest_sum,
    suggest_truths,
    suggest_two_letters,
    suggest_unreduced_loss,
)
from shapewright.analysis.fixes.warnings.mean_edits import (
    suggest_count_of_samples,
    suggest_curve_of_mean,
)
from shapewright.analysis.fixes.warnings.padding_edits import suggest_last_of_each
from shapewright.analysis.fixes.warnings.reset_edits import (
    suggest_active_dropout,
    suggest_count_from_zero,
    suggest_later_load,
    suggest_model_of_fold,
    suggest_reset,
)
from shapewright.analysis.fixes.warnings.sampler_edits import suggest_set_epoch
from shapewright.analysis.fixes.warnings.schedule_edits import (
    suggest_direction,
    suggest_own_scheduler,
    suggest_rate_of_one,
    suggest_step_of_scaler,
    suggest_steps_of_loader,
    suggest_true_division,
)
from shapewright.analysis.fixes.warnings.shared_objects import (
    suggest_buffers,
    suggest_copied_state,
    suggest_model_copy,
    suggest_own_layers,
    suggest_part,
)
from shapewright.analysis.fixes.warnings.silent_edits import (
    suggest_added_tensor,
    suggest_carried_state,
    suggest_loss_of_each_class,
    suggest_no_state,
    suggest_old_order,
    suggest_rows_for_samples,
    suggest_tied_weight,
)
from shapewright.analysis.fixes.warnings.split_edits import suggest_shuffled_data
from shapewright.analysis.fixes.warnings.step_edits import (
    suggest_earlier_clipping,
    suggest_frozen_mode,
    suggest_loaded_states,
    suggest_loss_with_graph,
    suggest_no_clearing,
    suggest_other_loop,
    suggest_parentheses,
    suggest_unscaling,
    suggest_weights_of_samples,
)
from shapewright.analysis.fixes.warnings.tensor_edits import (
    suggest_classes,
    suggest_element_of_each_row,
    suggest_last_states,
    suggest_masked_mean,
    suggest_mode_of_module,
    suggest_one_order,
    suggest_parameter,
    suggest_probability,
)
from shapewright.analysis.fixes.warnings.training_edits import (
    suggest_clearing,
    suggest_count_of_batches,
    suggest_each_once,
    suggest_flag,
    suggest_inside_loop,
    suggest_last_batch,
    suggest_later_clearing,
    suggest_mode,
    suggest_no_grad,
    suggest_order_of_steps,
    suggest_own_counts,
    suggest_own_module,
    suggest_registration,
    suggest_step,
    suggest_value,
)
from shapewright.analysis.fixes.warnings.value_edits import (
    suggest_converted_boxes,
    suggest_exponential,
    suggest_filled_cells,
    suggest_flat_gradient,
    suggest_kept_labels,
    suggest_limit_inside,
    suggest_limited_value,
    suggest_other_sign,
    suggest_scaled_pixels,
    suggest_unchanged_draw,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.state_dicts import suggest_renamed_keys
from shapewright.findings.codes import (
    ADVANTAGE_WITH_GRAPH,
    ARRAYS_BROADCAST,
    ASCENDING_RISK_SET,
    BATCH_AXIS,
    BATCH_DEPENDENCE,
    BOX_FORMAT,
    BUILT_IN_FORWARD,
    CENTRED_AXIS,
    CHANGED_DRAW,
    CLASS_WEIGHTS_INVERTED,
    CLASSES_BY_TEXT,
    CLIPPED_AFTER_STEP,
    CLIPPED_SCALED,
    COMPARED_SCORES,
    COUNT_NOT_READ,
    COUNT_NOT_RESET,
    COUNT_OVER_BATCHES,
    DECAY_SWAPPED,
    DIAGONAL_ONLY,
    DRAWN_INDEX,
    DROPOUT_ALWAYS_ON,
    EINSUM_REDUCTION,
    EPOCH_NOT_SET,
    EQUAL_SAMPLES,
    EVALUATED_IN_TRAINING_MODE,
    EVALUATED_WITH_GRAPH,
    FILTERED_INDEX,
    FITTED_ANEW,
    FLAG_WITHOUT_EFFECT,
    FLIP_NOT_UNDONE,
    FLOAT_MASK,
    FLOORED_FACTOR,
    FOCAL_ON_MEAN,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    GRAPH_KEPT,
    IGNORED_LABELS_COUNTED,
    INCLUSIVE_TRANSMITTANCE,
    INDEX_OF_ALL_ROWS,
    INTERPOLATED_LABELS,
    INVERTED_INTEGERS,
    INVERTED_MOMENTUM,
    LARGE_EPS,
    LAST_STEP,
    LATE_BINDING,
    LAYOUT,
    LIMIT_AFTER_LOG,
    LOADED_WEIGHTS_LOST,
    LOG_OF_ZERO,
    LOGIT_THRESHOLD,
    LOSS_INPUT,
    LOSS_OVERWRITTEN,
    LOSS_SHAPES,
    LOST_BATCH,
    MASK_AXIS,
    MASKED_TARGETS,
    MEAN_OF_MEANS,
    MEAN_OVER_SAMPLES,
    METRIC_DIRECTION,
    MINIMIZED_ENTROPY,
    MISPLACED_ARGUMENT,
    MIXED_REDUCTIONS,
    MODEL_KEPT_OVER_FOLDS,
    MODEL_NOT_COPIED,
    NAN_IN_DATA,
    NEVER_STEPPED,
    NO_GRADIENT,
    NOT_A_PARAMETER,
    NOT_IN_OPTIMIZER,
    ONE_SAMPLE,
    ONE_SIDE_NORMALIZED,
    OPTIMISTIC_BOUND,
    OUTER_BROADCAST,
    PADDED_LAST_STEP,
    PADDED_MEAN,
    PADDED_TARGETS,
    PAIRED_ROWS,
    PARAMETER_REPEATED,
    PARAMETRIZED_WRITE,
    PARTIAL_NORM,
    PATIENCE_NOT_RESET,
    PERMUTED_TWICE,
    QUANTILES_SWAPPED,
    RATE_AS_FACTOR,
    REPEATED_LAYER,
    RESULT_DROPPED,
    RETURN_IN_LOOP,
    REVERSED_GUIDANCE,
    REVERSED_MINING,
    REVERSED_STRAIGHT_THROUGH,
    ROOT_OF_ZERO,
    SAMPLER_WEIGHTS,
    SCALED_STEP,
    SCHEDULER_OF_REPLACED,
    SCHEDULER_ORDER,
    SCHEDULER_TOO_LONG,
    SCHEDULER_UNIT,
    SEED_REPEATED,
    SEPARATE_PERMUTATIONS,
    SEVERAL_LABELS,
    SHARED_TRANSFORM,
    SHIFTED_TWICE,
    SHUFFLED_ORDER,
    SINGLE_CLASS,
    SIZE_ATTRIBUTE_SET,
    SOFTMAX_OVER_GROUPS,
    SORTED_LABELS,
    SPLIT_BY_CLASS,
    STATE_DROPPED,
    STATE_NOT_COPIED,
    STATE_NOT_RESUMED,
    STATE_OF_OTHER_SAMPLES,
    STATISTICS_NOT_COPIED,
    STATISTICS_NOT_FROZEN,
    SUM_AFTER_LOOP,
    TEACHER_WITH_GRAPH,
    TERM_WITHOUT_GRAPH,
    TERMINAL_IGNORED,
    TRAINED_IN_EVAL_MODE,
    UNEQUAL_TRANSFORMS,
    UNMATCHED_STATE_DICT,
    UNREACHABLE_TARGETS,
    UNRELATED_NOISE,
    UNSCALED_PIXELS,
    UNSHIFTED_TARGET,
    UNUSED_SPLIT,
    VARIANCE_AS_SCALE,
    VIEW_MIXES_DIMS,
    WEAK_MASK,
    WEIGHTS_NOT_TIED,
    WRAPPED_DIFFERENCE,
    WRONG_AXIS,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.program.source_text import SourceText

MOST = 6
"""Edits of one warning that are tried."""


def suggest_edits(program: Program, finding: Finding) -> list[Fix]:
    """Return the edits that may mend a warning, the likeliest first."""
    suggest = WAYS.get(finding.code)
    text_and_node = program.node(finding.span)
    if suggest is None or finding.span is None:
        return []
    if text_and_node is None:
        text = program.text(finding.span.file)
        near = text.near(finding.span.line) if text is not None else ()
        if text is None or not near:
            return []
        text_and_node = text, near[0]
    seen: dict[object, Fix] = {}
    for fix in suggest(program, finding, *text_and_node):
        seen.setdefault(tuple((e.span, e.text) for e in fix.edits), fix)
    return list(seen.values())[:MOST]


Suggest = Callable[[Program, Finding, SourceText, "ast.expr | ast.stmt"], Iterator[Fix]]


def _combine(*ways: Suggest) -> Suggest:
    """Return a function that suggests what the first of several others has."""

    def suggest(
        program: Program,
        finding: Finding,
        text: SourceText,
        node: ast.expr | ast.stmt,
    ) -> Iterator[Fix]:
        for way in ways:
            fixes = list(way(program, finding, text, node))
            yield from fixes
            if fixes:
                return

    return suggest


WAYS: dict[str, Suggest] = {
    OUTER_BROADCAST: _combine(suggest_rows_for_samples, suggest_equal_ranks),
    STATE_OF_OTHER_SAMPLES: suggest_no_state,
    STATE_DROPPED: suggest_carried_state,
    WEIGHTS_NOT_TIED: suggest_tied_weight,
    SEVERAL_LABELS: suggest_loss_of_each_class,
    LOSS_SHAPES: suggest_equal_shapes,
    LOST_BATCH: suggest_squeezed_dim,
    LOSS_INPUT: _combine(
        suggest_exponential, suggest_logits_keyword, suggest_loss_edits
    ),
    BUILT_IN_FORWARD: suggest_own_module,
    MASK_AXIS: suggest_mask_changes,
    WEAK_MASK: suggest_fill,
    FLOAT_MASK: suggest_mask_of_truths,
    FOCAL_ON_MEAN: suggest_unreduced_loss,
    MIXED_REDUCTIONS: suggest_sum,
    WRAPPED_DIFFERENCE: suggest_signed_operands,
    INVERTED_INTEGERS: suggest_truths,
    RESULT_DROPPED: suggest_assigned_result,
    UNRELATED_NOISE: suggest_added_noise,
    ADVANTAGE_WITH_GRAPH: suggest_detached_operand,
    TERM_WITHOUT_GRAPH: _combine(suggest_added_tensor, suggest_scores_for_rounded),
    TEACHER_WITH_GRAPH: suggest_detached_operand,
    DIAGONAL_ONLY: suggest_two_letters,
    DRAWN_INDEX: suggest_rows,
    MINIMIZED_ENTROPY: suggest_subtracted_entropy,
    NAN_IN_DATA: suggest_filled_cells,
    LOG_OF_ZERO: suggest_limited_value,
    ROOT_OF_ZERO: suggest_limited_value,
    MASKED_TARGETS: suggest_cloned_targets,
    SHIFTED_TWICE: suggest_unshifted_labels,
    BOX_FORMAT: suggest_converted_boxes,
    QUANTILES_SWAPPED: suggest_other_sign,
    PARTIAL_NORM: suggest_flat_gradient,
    UNSCALED_PIXELS: suggest_scaled_pixels,
    IGNORED_LABELS_COUNTED: suggest_kept_labels,
    VARIANCE_AS_SCALE: suggest_root_of_variance,
    VIEW_MIXES_DIMS: suggest_transpose,
    FITTED_ANEW: suggest_fitted_scaler,
    PADDED_MEAN: suggest_masked_mean,
    TERMINAL_IGNORED: suggest_end_of_episode,
    UNEQUAL_TRANSFORMS: suggest_normalize,
    NO_GRADIENT: _combine(suggest_parentheses, suggest_loss_with_graph),
    WRONG_AXIS: _combine(suggest_kept_dim, suggest_other_dim),
    BATCH_AXIS: suggest_other_axis,
    BATCH_DEPENDENCE: suggest_dim_of_features,
    LAYOUT: suggest_batch_first,
    EINSUM_REDUCTION: suggest_arrow,
    ONE_SAMPLE: suggest_last_batch,
    GRAPH_KEPT: suggest_value,
    MEAN_OVER_SAMPLES: suggest_count_of_batches,
    SUM_AFTER_LOOP: suggest_inside_loop,
    GRADIENTS_NOT_CLEARED: _combine(suggest_parentheses, suggest_clearing),
    GRADIENTS_CLEARED_UNUSED: _combine(suggest_no_clearing, suggest_later_clearing),
    NEVER_STEPPED: _combine(suggest_parentheses, suggest_step),
    COUNT_NOT_READ: suggest_own_counts,
    COUNT_OVER_BATCHES: suggest_count_of_samples,
    MEAN_OF_MEANS: _combine(suggest_curve_of_mean, suggest_count_of_samples),
    LAST_STEP: suggest_last_states,
    PADDED_LAST_STEP: suggest_last_of_each,
    DROPOUT_ALWAYS_ON: suggest_mode_of_module,
    NOT_A_PARAMETER: suggest_parameter,
    COMPARED_SCORES: suggest_classes,
    LOGIT_THRESHOLD: suggest_probability,
    PAIRED_ROWS: _combine(suggest_old_order, suggest_one_order, suggest_one_repeat),
    UNMATCHED_STATE_DICT: suggest_renamed_keys,
    REPEATED_LAYER: suggest_own_layers,
    INTERPOLATED_LABELS: suggest_nearest,
    PADDED_TARGETS: suggest_ignored_padding,
    UNSHIFTED_TARGET: suggest_shifted_items,
    STATE_NOT_RESUMED: suggest_loaded_states,
    STATISTICS_NOT_FROZEN: suggest_frozen_mode,
    SAMPLER_WEIGHTS: suggest_weights_of_samples,
    STATISTICS_NOT_COPIED: suggest_buffers,
    SINGLE_CLASS: suggest_sign,
    UNUSED_SPLIT: suggest_part,
    MODEL_KEPT_OVER_FOLDS: suggest_model_of_fold,
    MODEL_NOT_COPIED: suggest_model_copy,
    INDEX_OF_ALL_ROWS: suggest_element_of_each_row,
    EVALUATED_IN_TRAINING_MODE: suggest_mode,
    EVALUATED_WITH_GRAPH: suggest_no_grad,
    FLAG_WITHOUT_EFFECT: suggest_flag,
    RETURN_IN_LOOP: suggest_return_behind_loop,
    LOSS_OVERWRITTEN: suggest_added_loss,
    LATE_BINDING: suggest_bound_names,
    MISPLACED_ARGUMENT: suggest_named_argument,
    REVERSED_STRAIGHT_THROUGH: suggest_straight_through,
    PERMUTED_TWICE: suggest_inverse_permutation,
    FLIP_NOT_UNDONE: suggest_flip_of_result,
    FILTERED_INDEX: suggest_filtered_rows,
    REVERSED_MINING: suggest_hardest,
    CHANGED_DRAW: suggest_unchanged_draw,
    SIZE_ATTRIBUTE_SET: suggest_new_layer,
    TRAINED_IN_EVAL_MODE: suggest_mode,
    NOT_IN_OPTIMIZER: suggest_registration,
    PARAMETER_REPEATED: suggest_each_once,
    SCHEDULER_TOO_LONG: suggest_steps_of_loader,
    SCHEDULER_UNIT: suggest_other_loop,
    STATE_NOT_COPIED: suggest_copied_state,
    CLIPPED_AFTER_STEP: suggest_earlier_clipping,
    CLIPPED_SCALED: suggest_unscaling,
    FLOORED_FACTOR: suggest_true_division,
    RATE_AS_FACTOR: suggest_rate_of_one,
    SCHEDULER_ORDER: suggest_order_of_steps,
    SCHEDULER_OF_REPLACED: suggest_own_scheduler,
    SCALED_STEP: suggest_step_of_scaler,
    REVERSED_GUIDANCE: suggest_exchanged_predictions,
    CLASS_WEIGHTS_INVERTED: suggest_exchanged_quotient,
    METRIC_DIRECTION: suggest_direction,
    COUNT_NOT_RESET: suggest_reset,
    PATIENCE_NOT_RESET: suggest_count_from_zero,
    EQUAL_SAMPLES: suggest_active_dropout,
    LOADED_WEIGHTS_LOST: suggest_later_load,
    ARRAYS_BROADCAST: suggest_flat_array,
    SEED_REPEATED: suggest_one_seed,
    EPOCH_NOT_SET: suggest_set_epoch,
    SEPARATE_PERMUTATIONS: suggest_one_permutation,
    DECAY_SWAPPED: suggest_swapped_factors,
    CENTRED_AXIS: suggest_mean_of_features,
    SHARED_TRANSFORM: suggest_own_data_set,
    SHUFFLED_ORDER: suggest_loader_in_order,
    SORTED_LABELS: suggest_shuffle,
    SPLIT_BY_CLASS: suggest_shuffled_data,
    UNREACHABLE_TARGETS: suggest_without_activation,
    INCLUSIVE_TRANSMITTANCE: suggest_exclusive_product,
    PARAMETRIZED_WRITE: suggest_assigned_weight,
    ASCENDING_RISK_SET: suggest_descending,
    ONE_SIDE_NORMALIZED: suggest_unit_length,
    INVERTED_MOMENTUM: suggest_weight_of_batch,
    OPTIMISTIC_BOUND: suggest_pessimistic_bound,
    SOFTMAX_OVER_GROUPS: suggest_softmax_of_groups,
    CLASSES_BY_TEXT: suggest_class_name,
    LIMIT_AFTER_LOG: suggest_limit_inside,
    LARGE_EPS: suggest_named_momentum,
}
"""What suggests edits, by the code of a warning."""
