"""Causes that are a sentence, places and edits: the finding and its fixes come from the
same functions.
"""

from __future__ import annotations

from collections.abc import Callable

from shapewright.analysis.batch_values import (
    find_keyed_tuple,
    find_unread_values,
    find_whole_batch,
)
from shapewright.analysis.config_keys import find_config_key
from shapewright.analysis.json_values import find_unwritten_tensor
from shapewright.analysis.late_attributes import (
    find_late_attribute,
    find_overwritten_attribute,
)
from shapewright.analysis.library_settings import find_missing_setting
from shapewright.analysis.missing_keys import find_missing_key
from shapewright.analysis.missing_returns import find_missing_return
from shapewright.analysis.missing_values import find_repeated_pair
from shapewright.analysis.misspelt_methods import (
    find_misspelt_method,
    find_misspelt_name,
)
from shapewright.analysis.module_names import find_dotted_name
from shapewright.analysis.older_programs import (
    find_removed_argument,
    find_uncalled_method,
)
from shapewright.analysis.optimizer_errors import find_optimizer_cause
from shapewright.analysis.overwritten_functions import find_overwritten_function
from shapewright.analysis.parameter_groups import (
    find_other_groups,
    find_repeated_parameters,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.argument_counts import find_missing_argument
from shapewright.analysis.refused_calls.arrays_for_tensors import find_array_for_tensor
from shapewright.analysis.refused_calls.broadcast_scores import (
    find_broadcast_scores,
)
from shapewright.analysis.refused_calls.called_containers import find_called_container
from shapewright.analysis.refused_calls.closures import find_missing_closure
from shapewright.analysis.refused_calls.collated_pictures import (
    find_collated_picture,
)
from shapewright.analysis.refused_calls.complex_losses import find_complex_loss
from shapewright.analysis.refused_calls.detector_boxes import find_boxes_of_sizes
from shapewright.analysis.refused_calls.empty_data_sets import (
    find_dropped_batches,
    find_empty_data_set,
    find_missing_rows,
)
from shapewright.analysis.refused_calls.encoded_masks import find_encoded_mask
from shapewright.analysis.refused_calls.fitted_steps import find_fitted_step
from shapewright.analysis.refused_calls.formatted_lists import find_formatted_list
from shapewright.analysis.refused_calls.handed_values import find_handed_value
from shapewright.analysis.refused_calls.hook_parameters import find_hook_parameters
from shapewright.analysis.refused_calls.initializers import find_refused_initializer
from shapewright.analysis.refused_calls.item_dims import find_item_dims
from shapewright.analysis.refused_calls.iterated_values import find_iterated_value
from shapewright.analysis.refused_calls.library_arguments import find_library_argument
from shapewright.analysis.refused_calls.library_models import find_library_model
from shapewright.analysis.refused_calls.library_outputs import (
    find_halved_model,
    find_missing_output,
    find_missing_targets,
    find_state_as_model,
    find_uncalled_state,
)
from shapewright.analysis.refused_calls.metric_calls import find_refused_metric
from shapewright.analysis.refused_calls.missing_groups import find_missing_group
from shapewright.analysis.refused_calls.node_names import find_node_name
from shapewright.analysis.refused_calls.number_losses import find_number_loss
from shapewright.analysis.refused_calls.numpy_values import find_numpy_value
from shapewright.analysis.refused_calls.other_methods import find_other_method
from shapewright.analysis.refused_calls.own_attributes import find_own_attribute
from shapewright.analysis.refused_calls.plain_values import find_plain_value
from shapewright.analysis.refused_calls.pruned_parameters import find_unpruned_parameter
from shapewright.analysis.refused_calls.raw_ids import find_raw_ids
from shapewright.analysis.refused_calls.recomputed_parts import (
    find_reentrant_checkpoint,
)
from shapewright.analysis.refused_calls.refused_arrays import find_refused_array
from shapewright.analysis.refused_calls.refused_choices import find_refused_choice
from shapewright.analysis.refused_calls.registered_names import find_registered_name
from shapewright.analysis.refused_calls.resumed_optimizers import find_resumed_optimizer
from shapewright.analysis.refused_calls.sample_conditions import find_batch_as_sample
from shapewright.analysis.refused_calls.sampler_indices import (
    find_batch_sampler,
    find_indices_of_whole,
)
from shapewright.analysis.refused_calls.saved_files import find_unwritten_file
from shapewright.analysis.refused_calls.scalar_items import find_scalar_item
from shapewright.analysis.refused_calls.scaled_columns import find_scaled_column
from shapewright.analysis.refused_calls.scaled_targets import find_scaled_target
from shapewright.analysis.refused_calls.several_losses import find_several_losses
from shapewright.analysis.refused_calls.short_lists import find_short_list
from shapewright.analysis.refused_calls.single_calls import find_single_call
from shapewright.analysis.refused_calls.size_reads import find_size_read
from shapewright.analysis.refused_calls.split_lengths import find_split_lengths
from shapewright.analysis.refused_calls.text_tensors import find_texts
from shapewright.analysis.refused_calls.transform_inputs import find_transform_input
from shapewright.analysis.refused_calls.transformed_functions import (
    find_read_in_vmap,
    find_returned_values,
)
from shapewright.analysis.refused_calls.transformer_layouts import (
    find_transformer_layout,
)
from shapewright.analysis.refused_calls.truth_values import find_ambiguous_truth
from shapewright.analysis.refused_calls.unapplied_layers import (
    find_class_for_instance,
    find_unapplied_layer,
)
from shapewright.analysis.refused_calls.unbound_methods import find_unbound_method
from shapewright.analysis.refused_calls.unpacked_results import (
    find_unpacked_results,
)
from shapewright.analysis.refused_calls.unpassed_arguments import find_unpassed_argument
from shapewright.analysis.refused_calls.unscaled_losses import find_unscaled_loss
from shapewright.analysis.refused_calls.unset_names import find_unset_name
from shapewright.analysis.refused_calls.weightless_modules import (
    find_weightless_module,
)
from shapewright.analysis.returned_tuples import find_returned_tuple
from shapewright.analysis.sequential_layers import find_sequential_layer
from shapewright.analysis.short_schedules import find_short_schedule
from shapewright.analysis.text_labels import find_text_labels
from shapewright.analysis.transform_orders import find_transform_order
from shapewright.analysis.wrapped_data import find_wrapped_data
from shapewright.analysis.wrapped_modules import find_wrapped_module
from shapewright.findings.faults import raise_in_tests
from shapewright.findings.finding import Explanation, Finding

FindCause = Callable[[Program, Finding], Explanation | None]
"""Returns the cause of an error with its edits, or None where the error is another."""

FINDERS: tuple[FindCause, ...] = (
    find_optimizer_cause,
    find_short_schedule,
    find_misspelt_method,
    find_overwritten_function,
    find_late_attribute,
    find_unbound_method,
    find_wrapped_module,
    find_sequential_layer,
    find_transform_order,
    find_collated_picture,
    find_text_labels,
    find_returned_tuple,
    find_whole_batch,
    find_unread_values,
    find_missing_setting,
    find_missing_key,
    find_dotted_name,
    find_unwritten_tensor,
    find_wrapped_data,
    find_repeated_parameters,
    find_other_groups,
    find_removed_argument,
    find_uncalled_method,
    find_misspelt_name,
)

SOLE: tuple[FindCause, ...] = (
    find_unpacked_results,
    find_repeated_pair,
    find_raw_ids,
    find_broadcast_scores,
    find_encoded_mask,
    find_unapplied_layer,
    find_refused_array,
    find_number_loss,
    find_several_losses,
    find_unpassed_argument,
    find_refused_metric,
    find_fitted_step,
    find_scaled_target,
    find_scaled_column,
    find_formatted_list,
    find_unwritten_file,
    find_library_model,
    find_config_key,
    find_ambiguous_truth,
    find_complex_loss,
    find_library_argument,
    find_read_in_vmap,
    find_returned_values,
    find_resumed_optimizer,
    find_unscaled_loss,
    find_boxes_of_sizes,
    find_overwritten_attribute,
    find_transform_input,
    find_empty_data_set,
    find_dropped_batches,
    find_missing_rows,
    find_called_container,
    find_missing_closure,
    find_missing_group,
    find_hook_parameters,
    find_node_name,
    find_weightless_module,
    find_refused_initializer,
    find_registered_name,
    find_split_lengths,
    find_batch_sampler,
    find_indices_of_whole,
    find_unpruned_parameter,
    find_refused_choice,
    find_reentrant_checkpoint,
    find_iterated_value,
    find_keyed_tuple,
    find_single_call,
    find_numpy_value,
    find_plain_value,
    find_texts,
    find_missing_output,
    find_missing_targets,
    find_halved_model,
    find_uncalled_state,
    find_state_as_model,
    find_missing_return,
    find_handed_value,
    find_own_attribute,
    find_other_method,
    find_short_list,
    find_class_for_instance,
    find_missing_argument,
    find_array_for_tensor,
    find_unset_name,
    find_size_read,
    find_item_dims,
    find_batch_as_sample,
    find_transformer_layout,
    find_scalar_item,
)
"""Causes of what torch or a library refused in its own words: beside their edits no
others are tried.
"""


def find_sole_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return the first cause that fits a call that torch or a library refused."""
    return _find_first(SOLE, program, finding)


def find_error_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return the first cause that fits an error, or None."""
    return _find_first((*SOLE, *FINDERS), program, finding)


def _find_first(
    finders: tuple[FindCause, ...], program: Program, finding: Finding
) -> Explanation | None:
    """Return the first cause that a function finds; one that fails finds none."""
    for find in finders:
        try:
            cause = find(program, finding)
        except Exception as fault:  # ours: another cause is looked for
            raise_in_tests(fault)
            continue
        if cause is not None:
            return cause
    return None
