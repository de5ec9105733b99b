"""Edits for warnings: what usually mends each, to be tried like the fixes of errors.

An edit is shown only if the run with it has the warning no more, and no other one.
"""

from __future__ import annotations

from shapewright.analysis.fixes.autograd.uncut_losses import suggest_scores_for_rounded
from shapewright.analysis.fixes.class_ranges import suggest_rows
from shapewright.analysis.fixes.last_states import suggest_last_of_broadcast
from shapewright.analysis.fixes.mask_edits import suggest_mask_changes
from shapewright.analysis.fixes.position_edits import suggest_batch_first
from shapewright.analysis.fixes.single_scores import suggest_binary_loss_of_one
from shapewright.analysis.fixes.warnings.accidental_shapes import (
    suggest_coordinates,
    suggest_equal_ranks,
    suggest_equal_shapes,
    suggest_squeezed_dim,
    suggest_transpose,
)
from shapewright.analysis.fixes.warnings.box_edits import suggest_converted_boxes
from shapewright.analysis.fixes.warnings.causal_edits import suggest_left_padding
from shapewright.analysis.fixes.warnings.convolution_edits import suggest_turned_steps
from shapewright.analysis.fixes.warnings.copy_edits import suggest_cloned_output
from shapewright.analysis.fixes.warnings.data_edits import (
    suggest_flip_of_result,
    suggest_inverse_permutation,
    suggest_mean_of_features,
    suggest_one_permutation,
    suggest_one_repeat,
    suggest_softmax_of_groups,
    suggest_swapped_factors,
    suggest_unit_length,
)
from shapewright.analysis.fixes.warnings.dim_edits import (
    suggest_arrow,
    suggest_channels_last,
    suggest_dim_of_features,
    suggest_kept_dim,
    suggest_other_axis,
    suggest_other_dim,
)
from shapewright.analysis.fixes.warnings.direction_edits import (
    suggest_both_directions,
)
from shapewright.analysis.fixes.warnings.float_mask_edits import (
    suggest_mask_of_truths,
    suggest_opposite_mask,
    suggest_plain_mask,
)
from shapewright.analysis.fixes.warnings.formula_edits import (
    suggest_assigned_weight,
    suggest_chain_rule,
    suggest_descending,
    suggest_exclusive_product,
    suggest_hardest,
    suggest_own_derivatives,
    suggest_share_of_difference,
    suggest_straight_through,
    suggest_turned_lengths,
)
from shapewright.analysis.fixes.warnings.idle_edits import suggest_call
from shapewright.analysis.fixes.warnings.initial_weights import (
    suggest_random_weights,
    suggest_zero_row,
)
from shapewright.analysis.fixes.warnings.label_edits import (
    suggest_cloned_targets,
    suggest_ignored_padding,
    suggest_nearest,
    suggest_sign,
    suggest_unshifted_labels,
)
from shapewright.analysis.fixes.warnings.layer_edits import (
    suggest_named_momentum,
    suggest_normed_branch,
    suggest_turned_norm,
    suggest_weight_of_batch,
)
from shapewright.analysis.fixes.warnings.limit_edits import (
    suggest_larger_limit,
    suggest_logsumexp,
)
from shapewright.analysis.fixes.warnings.limit_moves import (
    suggest_limited_sides,
    suggest_step_before,
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
    suggest_tracked_draw,
    suggest_tracked_samples,
    suggest_truths,
    suggest_two_letters,
    suggest_unreduced_loss,
)
from shapewright.analysis.fixes.warnings.margin_edits import suggest_other_margins
from shapewright.analysis.fixes.warnings.mask_edits import suggest_counted_elements
from shapewright.analysis.fixes.warnings.mean_edits import suggest_whole_batch
from shapewright.analysis.fixes.warnings.mixture_edits import (
    suggest_exchanged_shares,
    suggest_share_of_classes,
    suggest_threshold,
)
from shapewright.analysis.fixes.warnings.padding_edits import (
    suggest_last_of_each,
    suggest_mask_of_columns,
    suggest_mask_of_tokens,
    suggest_shifted_numbers,
)
from shapewright.analysis.fixes.warnings.pair_edits import (
    suggest_factor_of_two,
    suggest_matrix_product,
    suggest_negated_similarity,
    suggest_opposite_score,
    suggest_other_order,
    suggest_token_before,
)
from shapewright.analysis.fixes.warnings.part_edits import suggest_written_source
from shapewright.analysis.fixes.warnings.policy_edits import (
    suggest_chosen_action,
    suggest_largest_of_sample,
    suggest_ratio,
)
from shapewright.analysis.fixes.warnings.recurrent_stacks import (
    suggest_own_norm,
    suggest_stacked_layers,
)
from shapewright.analysis.fixes.warnings.reset_edits import (
    suggest_active_dropout,
    suggest_kept_gradient,
    suggest_later_load,
    suggest_trained_only,
)
from shapewright.analysis.fixes.warnings.rotated_edits import suggest_turned_heads
from shapewright.analysis.fixes.warnings.rounded_edits import suggest_logs_of_scores
from shapewright.analysis.fixes.warnings.row_index_edits import (
    suggest_element_of_each_row,
    suggest_step_of_place,
)
from shapewright.analysis.fixes.warnings.row_mask_edits import suggest_opposite_rows
from shapewright.analysis.fixes.warnings.shared_objects import suggest_own_layers
from shapewright.analysis.fixes.warnings.shift_edits import (
    suggest_previous_steps,
    suggest_shifted_items,
)
from shapewright.analysis.fixes.warnings.sign_edits import (
    suggest_added_divergence,
    suggest_label_of_side,
    suggest_lost_overlap,
    suggest_negative,
    suggest_normal_noise,
    suggest_probabilities,
    suggest_signed_target,
    suggest_values_of_actions,
)
from shapewright.analysis.fixes.warnings.silent_edits import (
    suggest_added_tensor,
    suggest_carried_state,
    suggest_loss_of_each_class,
    suggest_masked_diagonal,
    suggest_old_order,
    suggest_rows_for_samples,
    suggest_same_settings,
    suggest_tied_weight,
)
from shapewright.analysis.fixes.warnings.temperature_edits import (
    suggest_divided_scores,
    suggest_root_of_features,
)
from shapewright.analysis.fixes.warnings.tensor_edits import (
    suggest_classes,
    suggest_last_states,
    suggest_masked_mean,
    suggest_mode_of_module,
    suggest_one_order,
    suggest_parameter,
    suggest_probability,
)
from shapewright.analysis.fixes.warnings.training_edits import suggest_own_module
from shapewright.analysis.fixes.warnings.training_ways import (
    TRAINING_WAYS,
    Suggest,
    combine,
)
from shapewright.analysis.fixes.warnings.unrecorded_edits import (
    suggest_recorded_term,
    suggest_tensor_for_copy,
    suggest_written_items,
)
from shapewright.analysis.fixes.warnings.value_edits import (
    suggest_added_entries,
    suggest_exponential,
    suggest_filled_cells,
    suggest_flat_gradient,
    suggest_kept_labels,
    suggest_limit_inside,
    suggest_limited_count,
    suggest_limited_value,
    suggest_other_sign,
    suggest_scaled_pixels,
    suggest_whole_labels,
)
from shapewright.analysis.program_run import Program, as_far_as_known
from shapewright.analysis.state_dicts import suggest_renamed_keys
from shapewright.findings.codes import (
    ADVANTAGE_WITH_GRAPH,
    ADVERSARIAL_LABELS,
    ASCENDING_RISK_SET,
    BATCH_AXIS,
    BATCH_DEPENDENCE,
    BOX_FORMAT,
    BUILT_IN_FORWARD,
    CENTRED_AXIS,
    COMPARED_SCORES,
    DECAY_SWAPPED,
    DIAGONAL_ONLY,
    DRAWN_INDEX,
    DROPOUT_ALWAYS_ON,
    EINSUM_REDUCTION,
    EQUAL_SAMPLES,
    EQUAL_STEPS,
    EQUAL_UNITS,
    FLIP_NOT_UNDONE,
    FLOAT_MASK,
    FOCAL_ON_MEAN,
    GRAD_OF_RESULT,
    GRADIENT_LEFT_OUT,
    IGNORED_LABELS_COUNTED,
    INCLUSIVE_TRANSMITTANCE,
    INDEX_AS_VALUE,
    INDEX_OF_ALL_ROWS,
    INTERPOLATED_LABELS,
    INVERTED_INTEGERS,
    INVERTED_MOMENTUM,
    LARGE_EPS,
    LAST_STEP,
    LAYOUT,
    LIMIT_AFTER_LOG,
    LOADED_WEIGHTS_LOST,
    LOG_OF_ZERO,
    LOGIT_THRESHOLD,
    LOSS_INPUT,
    LOSS_SHAPES,
    LOST_BATCH,
    MASK_AXIS,
    MASKED_TARGETS,
    MEAN_OF_NONE,
    MINIMIZED_ENTROPY,
    MINIMIZED_OVERLAP,
    MIXED_REDUCTIONS,
    NAN_IN_DATA,
    NOT_A_PARAMETER,
    ONE_SAMPLE,
    ONE_SIDE_NORMALIZED,
    OPTIMISTIC_BOUND,
    OUTER_BROADCAST,
    PADDED_LAST_STEP,
    PADDED_MEAN,
    PADDED_TARGETS,
    PADDING_AS_TOKEN,
    PAIRED_ROWS,
    PARAMETRIZED_WRITE,
    PARTIAL_NORM,
    PERMUTED_TWICE,
    QUANTILES_SWAPPED,
    REPEATED_INDEX,
    REPEATED_LAYER,
    RESULT_DROPPED,
    REVERSED_DIVERGENCE,
    REVERSED_MINING,
    REVERSED_POLICY,
    REVERSED_STRAIGHT_THROUGH,
    ROOT_OF_ZERO,
    SAME_TENSOR_KEPT,
    SCALED_LABELS,
    SCORE_SCALE,
    SELF_AS_CANDIDATE,
    SEPARATE_PERMUTATIONS,
    SEVERAL_LABELS,
    SHIFTED_TWICE,
    SINGLE_CLASS,
    SOFTMAX_OVER_GROUPS,
    STATE_DROPPED,
    SUMMED_DERIVATIVES,
    TEACHER_WITH_GRAPH,
    TEMPERATURE_CANCELS,
    TERM_WITHOUT_GRAPH,
    UNIFORM_NOISE,
    UNLIKE_INVERSE,
    UNMATCHED_STATE_DICT,
    UNREACHABLE_TARGETS,
    UNRELATED_NOISE,
    UNSCALED_PIXELS,
    UNSHIFTED_TARGET,
    VARIANCE_AS_SCALE,
    VIEW_MIXES_DIMS,
    WEAK_MASK,
    WEIGHTS_NOT_TIED,
    WRAPPED_DIFFERENCE,
    WRONG_AXIS,
)
from shapewright.findings.finding import Finding, Fix

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
    for fix in as_far_as_known(suggest(program, finding, *text_and_node)):
        seen.setdefault(tuple((e.span, e.text) for e in fix.edits), fix)
    return list(seen.values())[:MOST]


WAYS: dict[str, Suggest] = {
    **TRAINING_WAYS,
    OUTER_BROADCAST: combine(
        suggest_coordinates,
        suggest_rows_for_samples,
        suggest_last_of_broadcast,
        suggest_chosen_action,
        suggest_equal_ranks,
    ),
    STATE_DROPPED: suggest_carried_state,
    WEIGHTS_NOT_TIED: suggest_tied_weight,
    SEVERAL_LABELS: suggest_loss_of_each_class,
    LOSS_SHAPES: suggest_equal_shapes,
    LOST_BATCH: suggest_squeezed_dim,
    LOSS_INPUT: combine(
        suggest_share_of_classes,
        suggest_probabilities,
        suggest_exponential,
        suggest_logits_keyword,
        suggest_loss_edits,
    ),
    BUILT_IN_FORWARD: suggest_own_module,
    MASK_AXIS: combine(
        suggest_plain_mask,
        suggest_opposite_rows,
        suggest_opposite_mask,
        suggest_mask_changes,
        suggest_mask_of_tokens,
        suggest_mask_of_columns,
    ),
    WEAK_MASK: suggest_fill,
    FLOAT_MASK: suggest_mask_of_truths,
    FOCAL_ON_MEAN: suggest_unreduced_loss,
    MIXED_REDUCTIONS: suggest_sum,
    WRAPPED_DIFFERENCE: suggest_signed_operands,
    INVERTED_INTEGERS: suggest_truths,
    RESULT_DROPPED: combine(
        suggest_call,
        suggest_normed_branch,
        suggest_written_source,
        suggest_assigned_result,
    ),
    UNRELATED_NOISE: suggest_added_noise,
    ADVANTAGE_WITH_GRAPH: suggest_detached_operand,
    TERM_WITHOUT_GRAPH: combine(
        suggest_tracked_draw,
        suggest_tracked_samples,
        suggest_added_tensor,
        suggest_recorded_term,
        suggest_tensor_for_copy,
        suggest_written_items,
        suggest_scores_for_rounded,
        suggest_other_margins,
    ),
    TEACHER_WITH_GRAPH: suggest_detached_operand,
    DIAGONAL_ONLY: combine(suggest_matrix_product, suggest_two_letters),
    DRAWN_INDEX: suggest_rows,
    MINIMIZED_ENTROPY: suggest_subtracted_entropy,
    NAN_IN_DATA: suggest_filled_cells,
    LOG_OF_ZERO: combine(
        suggest_logs_of_scores,
        suggest_logsumexp,
        suggest_larger_limit,
        suggest_limited_value,
    ),
    ROOT_OF_ZERO: suggest_limited_value,
    MEAN_OF_NONE: suggest_limited_count,
    MASKED_TARGETS: suggest_cloned_targets,
    SHIFTED_TWICE: suggest_unshifted_labels,
    BOX_FORMAT: combine(suggest_limited_sides, suggest_converted_boxes),
    QUANTILES_SWAPPED: suggest_other_sign,
    PARTIAL_NORM: suggest_flat_gradient,
    UNSCALED_PIXELS: suggest_scaled_pixels,
    IGNORED_LABELS_COUNTED: suggest_kept_labels,
    VARIANCE_AS_SCALE: suggest_root_of_variance,
    REVERSED_DIVERGENCE: suggest_added_divergence,
    INDEX_AS_VALUE: combine(suggest_step_of_place, suggest_values_of_actions),
    SELF_AS_CANDIDATE: suggest_masked_diagonal,
    SAME_TENSOR_KEPT: suggest_cloned_output,
    SCALED_LABELS: suggest_whole_labels,
    MINIMIZED_OVERLAP: combine(
        suggest_negated_similarity, suggest_factor_of_two, suggest_lost_overlap
    ),
    ADVERSARIAL_LABELS: combine(suggest_opposite_score, suggest_label_of_side),
    REVERSED_POLICY: combine(suggest_ratio, suggest_negative),
    UNIFORM_NOISE: suggest_normal_noise,
    VIEW_MIXES_DIMS: combine(suggest_transpose, suggest_channels_last),
    PADDED_MEAN: combine(suggest_counted_elements, suggest_masked_mean),
    REPEATED_INDEX: suggest_added_entries,
    WRONG_AXIS: combine(
        suggest_turned_heads, suggest_kept_dim, suggest_turned_norm, suggest_other_dim
    ),
    BATCH_AXIS: combine(suggest_largest_of_sample, suggest_other_axis),
    BATCH_DEPENDENCE: suggest_dim_of_features,
    LAYOUT: combine(suggest_turned_steps, suggest_batch_first),
    EINSUM_REDUCTION: suggest_arrow,
    ONE_SAMPLE: suggest_whole_batch,
    LAST_STEP: combine(suggest_both_directions, suggest_last_states),
    PADDED_LAST_STEP: combine(suggest_step_before, suggest_last_of_each),
    DROPOUT_ALWAYS_ON: suggest_mode_of_module,
    NOT_A_PARAMETER: suggest_parameter,
    COMPARED_SCORES: suggest_classes,
    LOGIT_THRESHOLD: combine(suggest_threshold, suggest_probability),
    PAIRED_ROWS: combine(
        suggest_exchanged_shares,
        suggest_old_order,
        suggest_one_order,
        suggest_one_repeat,
    ),
    UNMATCHED_STATE_DICT: suggest_renamed_keys,
    REPEATED_LAYER: combine(
        suggest_stacked_layers, suggest_own_norm, suggest_own_layers
    ),
    INTERPOLATED_LABELS: suggest_nearest,
    PADDED_TARGETS: suggest_ignored_padding,
    PADDING_AS_TOKEN: suggest_shifted_numbers,
    UNSHIFTED_TARGET: combine(
        suggest_token_before, suggest_shifted_items, suggest_left_padding
    ),
    SINGLE_CLASS: combine(suggest_sign, suggest_binary_loss_of_one),
    INDEX_OF_ALL_ROWS: suggest_element_of_each_row,
    REVERSED_STRAIGHT_THROUGH: combine(
        suggest_straight_through, suggest_detached_operand
    ),
    PERMUTED_TWICE: suggest_inverse_permutation,
    SUMMED_DERIVATIVES: suggest_own_derivatives,
    UNLIKE_INVERSE: suggest_same_settings,
    GRADIENT_LEFT_OUT: suggest_chain_rule,
    FLIP_NOT_UNDONE: suggest_flip_of_result,
    REVERSED_MINING: combine(suggest_other_order, suggest_hardest),
    EQUAL_SAMPLES: suggest_active_dropout,
    LOADED_WEIGHTS_LOST: combine(
        suggest_zero_row, suggest_later_load, suggest_trained_only
    ),
    SEPARATE_PERMUTATIONS: suggest_one_permutation,
    DECAY_SWAPPED: combine(suggest_share_of_difference, suggest_swapped_factors),
    CENTRED_AXIS: suggest_mean_of_features,
    UNREACHABLE_TARGETS: combine(suggest_signed_target, suggest_without_activation),
    INCLUSIVE_TRANSMITTANCE: suggest_exclusive_product,
    PARAMETRIZED_WRITE: suggest_assigned_weight,
    ASCENDING_RISK_SET: suggest_descending,
    GRAD_OF_RESULT: suggest_kept_gradient,
    ONE_SIDE_NORMALIZED: combine(suggest_turned_lengths, suggest_unit_length),
    INVERTED_MOMENTUM: suggest_weight_of_batch,
    OPTIMISTIC_BOUND: combine(suggest_ratio, suggest_pessimistic_bound),
    SOFTMAX_OVER_GROUPS: suggest_softmax_of_groups,
    LIMIT_AFTER_LOG: suggest_limit_inside,
    LARGE_EPS: suggest_named_momentum,
    TEMPERATURE_CANCELS: suggest_divided_scores,
    SCORE_SCALE: suggest_root_of_features,
    EQUAL_UNITS: suggest_random_weights,
    EQUAL_STEPS: suggest_previous_steps,
}
"""What suggests edits, by the code of a warning."""
