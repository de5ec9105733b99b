"""What suggests edits for mistakes of a training, by the code of the warning."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from shapewright.analysis.fixes.warnings.accidental_shapes import suggest_flat_array
from shapewright.analysis.fixes.warnings.copy_edits import (
    suggest_called_target,
    suggest_new_item,
    suggest_other_way,
    suggest_written_parameter,
)
from shapewright.analysis.fixes.warnings.data_edits import (
    suggest_end_of_episode,
    suggest_filtered_rows,
    suggest_fitted_scaler,
    suggest_loader_in_order,
    suggest_normalize,
    suggest_one_seed,
    suggest_own_data_set,
    suggest_shuffle,
)
from shapewright.analysis.fixes.warnings.draw_edits import (
    suggest_one_draw,
    suggest_turned_mask,
)
from shapewright.analysis.fixes.warnings.formula_edits import (
    suggest_exchanged_predictions,
    suggest_exchanged_quotient,
    suggest_named_argument,
    suggest_ranks,
    suggest_scaled_deviation,
)
from shapewright.analysis.fixes.warnings.gradient_edits import (
    suggest_backward,
    suggest_kept_graph,
    suggest_made_data,
    suggest_optimizer_of_new_layer,
    suggest_other_flags,
    suggest_read_result,
    suggest_samples_with_graph,
    suggest_true_head,
    suggest_unwrapped_block,
)
from shapewright.analysis.fixes.warnings.idle_edits import (
    suggest_added_term,
    suggest_count_by_one,
    suggest_drawn_seed,
)
from shapewright.analysis.fixes.warnings.label_column_edits import (
    suggest_features_without_label,
)
from shapewright.analysis.fixes.warnings.label_edits import suggest_class_name
from shapewright.analysis.fixes.warnings.layer_edits import suggest_new_layer
from shapewright.analysis.fixes.warnings.limit_moves import suggest_ends_of_steps
from shapewright.analysis.fixes.warnings.loop_edits import (
    suggest_added_loss,
    suggest_bound_names,
    suggest_own_length,
    suggest_passes_inside_loop,
    suggest_return_behind_loop,
    suggest_single_pass,
)
from shapewright.analysis.fixes.warnings.mean_edits import (
    suggest_count_behind_loop,
    suggest_count_of_batches,
    suggest_count_of_samples,
    suggest_curve_of_mean,
    suggest_divided_loss,
    suggest_own_sum,
)
from shapewright.analysis.fixes.warnings.metric_edits import suggest_formula
from shapewright.analysis.fixes.warnings.mode_edits import (
    suggest_frozen_mode,
    suggest_mode,
)
from shapewright.analysis.fixes.warnings.order_moves import (
    suggest_head_behind,
    suggest_largest_first,
    suggest_metric,
    suggest_model_before,
    suggest_rows_behind,
    suggest_scaled_back,
    suggest_sorted_names,
)
from shapewright.analysis.fixes.warnings.reset_edits import (
    suggest_count_from_zero,
    suggest_model_of_fold,
    suggest_own_clearing,
    suggest_reset,
)
from shapewright.analysis.fixes.warnings.sampler_edits import (
    suggest_sampled_data,
    suggest_set_epoch,
    suggest_share_of_worker,
)
from shapewright.analysis.fixes.warnings.scale_edits import suggest_trained_scale
from shapewright.analysis.fixes.warnings.schedule_edits import (
    suggest_direction,
    suggest_own_scheduler,
    suggest_rate_of_one,
    suggest_step_in_any_case,
    suggest_step_of_scaler,
    suggest_step_of_scheduler,
    suggest_steps_of_loader,
    suggest_true_division,
)
from shapewright.analysis.fixes.warnings.setting_edits import (
    suggest_frozen_parameters,
    suggest_unread_option,
)
from shapewright.analysis.fixes.warnings.shared_objects import (
    suggest_buffers,
    suggest_copied_state,
    suggest_loaded_states,
    suggest_model_copy,
    suggest_part,
)
from shapewright.analysis.fixes.warnings.sign_edits import (
    suggest_labels_first,
    suggest_order_of_returns,
)
from shapewright.analysis.fixes.warnings.silent_edits import suggest_no_state
from shapewright.analysis.fixes.warnings.split_edits import (
    suggest_later_scaler,
    suggest_shuffled_data,
    suggest_training_categories,
    suggest_training_columns,
)
from shapewright.analysis.fixes.warnings.statistic_edits import (
    suggest_saved_statistics,
)
from shapewright.analysis.fixes.warnings.step_edits import (
    suggest_clearing,
    suggest_earlier_clipping,
    suggest_later_clearing,
    suggest_loss_with_graph,
    suggest_no_clearing,
    suggest_other_loop,
    suggest_parentheses,
    suggest_unscaling,
    suggest_weights_of_samples,
)
from shapewright.analysis.fixes.warnings.sub_batch_edits import (
    suggest_share_of_batch,
)
from shapewright.analysis.fixes.warnings.training_edits import (
    suggest_each_once,
    suggest_flag,
    suggest_inside_loop,
    suggest_no_grad,
    suggest_order_of_steps,
    suggest_own_counts,
    suggest_registration,
    suggest_step,
    suggest_value,
)
from shapewright.analysis.fixes.warnings.transform_edits import suggest_plain_samples
from shapewright.analysis.fixes.warnings.value_edits import (
    suggest_called_normalizer,
    suggest_unchanged_draw,
)
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    ARRAYS_BROADCAST,
    AUGMENTED_EVALUATION,
    CHANGED_DRAW,
    CLASS_WEIGHTS_INVERTED,
    CLASSES_BY_TEXT,
    CLIPPED_AFTER_STEP,
    CLIPPED_SCALED,
    COPIES_BEFORE_SPLIT,
    COUNT_NOT_READ,
    COUNT_NOT_RESET,
    COUNT_OVER_BATCHES,
    DEVIATION_SHIFTED,
    EPOCH_NOT_SET,
    EVALUATED_IN_TRAINING_MODE,
    EVALUATED_WITH_GRAPH,
    FILTERED_INDEX,
    FITTED_ANEW,
    FITTED_BEFORE_SPLIT,
    FLAG_WITHOUT_EFFECT,
    FLOORED_FACTOR,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    GRAPH_KEPT,
    ITEM_WRITTEN,
    LABEL_AMONG_FEATURES,
    LATE_BINDING,
    LOSS_OVERWRITTEN,
    MEAN_OF_MEANS,
    MEAN_OVER_SAMPLES,
    METRIC_ARGUMENTS,
    METRIC_DIRECTION,
    METRIC_FORMULA,
    MISPLACED_ARGUMENT,
    MODEL_KEPT_OVER_FOLDS,
    MODEL_NOT_COPIED,
    NEVER_STEPPED,
    NO_GRADIENT,
    NOT_IN_OPTIMIZER,
    ORDER_AS_RANK,
    PARAMETER_REPEATED,
    PATIENCE_NOT_RESET,
    RATE_AS_FACTOR,
    REBOUND_PARAMETER,
    REPEATED_BY_WORKERS,
    RESTARTED_LOADER,
    RETURN_IN_LOOP,
    RETURN_ORDER,
    REVERSED_GUIDANCE,
    REVERSED_UPDATE,
    SAMPLER_WEIGHTS,
    SCALED_STEP,
    SCHEDULE_RESTARTED,
    SCHEDULER_OF_REPLACED,
    SCHEDULER_ORDER,
    SCHEDULER_TOO_LONG,
    SCHEDULER_UNIT,
    SEED_REPEATED,
    SEPARATE_DRAWS,
    SHARED_TRANSFORM,
    SHUFFLED_ORDER,
    SIZE_ATTRIBUTE_SET,
    SORTED_LABELS,
    SPLIT_BY_CLASS,
    STATE_NOT_COPIED,
    STATE_NOT_RESUMED,
    STATE_OF_OTHER_SAMPLES,
    STATISTICS_NOT_COPIED,
    STATISTICS_NOT_FROZEN,
    SUM_AFTER_LOOP,
    TERMINAL_IGNORED,
    TRAINED_IN_EVAL_MODE,
    UNDIVIDED_LOSS,
    UNEQUAL_TRANSFORMS,
    UNUSED_SPLIT,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.program.source_text import SourceText

Suggest = Callable[[Program, Finding, SourceText, "ast.expr | ast.stmt"], Iterator[Fix]]


def combine(*ways: Suggest) -> Suggest:
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


TRAINING_WAYS: dict[str, Suggest] = {
    STATE_OF_OTHER_SAMPLES: suggest_no_state,
    DEVIATION_SHIFTED: suggest_scaled_deviation,
    FITTED_ANEW: combine(
        suggest_training_categories,
        suggest_fitted_scaler,
        suggest_training_columns,
        suggest_saved_statistics,
    ),
    TERMINAL_IGNORED: combine(suggest_ends_of_steps, suggest_end_of_episode),
    UNEQUAL_TRANSFORMS: combine(
        suggest_scaled_back,
        suggest_trained_scale,
        suggest_called_normalizer,
        suggest_normalize,
    ),
    NO_GRADIENT: combine(
        suggest_head_behind,
        suggest_made_data,
        suggest_true_head,
        suggest_read_result,
        suggest_optimizer_of_new_layer,
        suggest_parentheses,
        suggest_loss_with_graph,
        suggest_backward,
        suggest_samples_with_graph,
        suggest_kept_graph,
        suggest_unwrapped_block,
    ),
    GRAPH_KEPT: suggest_value,
    MEAN_OVER_SAMPLES: combine(
        suggest_count_by_one, suggest_count_behind_loop, suggest_count_of_batches
    ),
    UNDIVIDED_LOSS: combine(suggest_divided_loss, suggest_share_of_batch),
    SUM_AFTER_LOOP: suggest_inside_loop,
    GRADIENTS_NOT_CLEARED: combine(
        suggest_own_clearing, suggest_parentheses, suggest_clearing
    ),
    GRADIENTS_CLEARED_UNUSED: combine(suggest_no_clearing, suggest_later_clearing),
    NEVER_STEPPED: combine(
        suggest_step_in_any_case,
        suggest_parentheses,
        suggest_step_of_scheduler,
        suggest_step,
    ),
    COUNT_NOT_READ: combine(suggest_own_length, suggest_own_counts, suggest_own_sum),
    COUNT_OVER_BATCHES: suggest_count_of_samples,
    MEAN_OF_MEANS: combine(suggest_curve_of_mean, suggest_count_of_samples),
    STATE_NOT_RESUMED: suggest_loaded_states,
    STATISTICS_NOT_FROZEN: suggest_frozen_mode,
    SAMPLER_WEIGHTS: suggest_weights_of_samples,
    STATISTICS_NOT_COPIED: suggest_buffers,
    UNUSED_SPLIT: suggest_part,
    MODEL_KEPT_OVER_FOLDS: suggest_model_of_fold,
    MODEL_NOT_COPIED: combine(suggest_called_target, suggest_model_copy),
    EVALUATED_IN_TRAINING_MODE: suggest_mode,
    EVALUATED_WITH_GRAPH: suggest_no_grad,
    FLAG_WITHOUT_EFFECT: combine(
        suggest_frozen_parameters,
        suggest_unread_option,
        suggest_flag,
        suggest_other_flags,
    ),
    METRIC_ARGUMENTS: suggest_labels_first,
    METRIC_FORMULA: suggest_formula,
    ITEM_WRITTEN: suggest_new_item,
    REBOUND_PARAMETER: suggest_written_parameter,
    REVERSED_UPDATE: suggest_other_way,
    RETURN_ORDER: suggest_order_of_returns,
    RETURN_IN_LOOP: suggest_return_behind_loop,
    LOSS_OVERWRITTEN: combine(
        suggest_added_term, suggest_passes_inside_loop, suggest_added_loss
    ),
    LATE_BINDING: suggest_bound_names,
    MISPLACED_ARGUMENT: combine(
        suggest_metric, suggest_sampled_data, suggest_named_argument
    ),
    FILTERED_INDEX: suggest_filtered_rows,
    ORDER_AS_RANK: suggest_ranks,
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
    METRIC_DIRECTION: combine(suggest_largest_first, suggest_direction),
    COPIES_BEFORE_SPLIT: suggest_rows_behind,
    SCHEDULE_RESTARTED: suggest_model_before,
    COUNT_NOT_RESET: suggest_reset,
    PATIENCE_NOT_RESET: suggest_count_from_zero,
    ARRAYS_BROADCAST: suggest_flat_array,
    SEED_REPEATED: combine(suggest_drawn_seed, suggest_one_seed),
    EPOCH_NOT_SET: suggest_set_epoch,
    REPEATED_BY_WORKERS: suggest_share_of_worker,
    SEPARATE_DRAWS: combine(suggest_one_draw, suggest_turned_mask),
    SHARED_TRANSFORM: suggest_own_data_set,
    AUGMENTED_EVALUATION: suggest_plain_samples,
    SHUFFLED_ORDER: suggest_loader_in_order,
    RESTARTED_LOADER: suggest_single_pass,
    SORTED_LABELS: suggest_shuffle,
    SPLIT_BY_CLASS: suggest_shuffled_data,
    FITTED_BEFORE_SPLIT: suggest_later_scaler,
    LABEL_AMONG_FEATURES: suggest_features_without_label,
    CLASSES_BY_TEXT: combine(suggest_sorted_names, suggest_class_name),
}
"""What suggests edits, by the code of a mistake of a training."""
