"""Which tests are long: `make test` leaves them out, `make test-all` has most of them.

`make test` is for the person who has just cloned, on two cores. Of tests with many
cases, and of files with many programs of a kind, it runs a fixed part, which names
decide; what takes long by itself is left to `make test-all`, and of the many programs
of a kind a part to `make zoo`. A new test that takes more than two seconds gets
`@pytest.mark.long` where it stands, or its place here if it has many cases.
"""

from __future__ import annotations

from collections.abc import Iterable
from zlib import crc32

import pytest

PARTS = {
    "rehearsing/test_ways_of_attention.py::test_a_mistake_is_told_in_each_way": 9,
    "rehearsing/test_ways_of_training.py::test_a_mistake_is_told_in_each_way": 9,
    "rehearsing/test_ways_of_agents.py::test_a_mistake_is_told_in_each_way": 12,
    "rehearsing/test_unread_layers.py::test_a_result_that_nothing_reads_is_named": 3,
    "checking/hazards/test_batch_norms.py::test_a_mean_of_all_channels_is_found": 3,
    "checking/hazards/test_batch_norms.py::test_other_norms_are_quiet": 3,
    "checking/hazards/test_step_numbers.py::test_the_place_of_a_step_is_found": 3,
    "rehearsing/test_repeated_counts.py::test_a_count_of_all_sums_is_found": 3,
    "rehearsing/test_repeated_counts.py::test_other_counts_are_quiet": 3,
    "rehearsing/test_exchanged_names.py::test_exchanged_results_are_found": 3,
    "checking/hazards/test_normalized_shortcuts.py::"
    "test_a_normalized_shortcut_is_found": 3,
    "checking/hazards/test_normalized_shortcuts.py::test_other_blocks_are_quiet": 3,
    "rehearsing/test_edits_of_drafts.py::"
    "test_the_first_edit_of_each_is_what_was_meant": 5,
    "rehearsing/test_edits_of_scripts.py::test_the_first_edit_of_each_mistake": 13,
    "rehearsing/test_model_outputs.py::"
    "test_the_values_are_taken_in_place_of_the_keys": 5,
    "rehearsing/test_wrapped_modules.py::test_the_module_inside_is_named": 3,
    "rehearsing/test_flattened_channels.py::test_rows_of_pixels_are_found": 4,
    "rehearsing/test_sampler_epochs.py::test_a_sampler_without_an_epoch_is_found": 3,
    "rehearsing/test_label_columns.py::test_labels_among_features_are_found": 4,
    "memory/test_kernel_scratch.py::test_a_recurrent_layer_keeps_what_cudnn_keeps": 10,
    "rehearsing/test_collated_lists.py::test_the_list_is_the_cause": 3,
    "memory/test_autocast.py::test_a_training_step_under_autocast": 8,
    "memory/test_what_if.py::test_a_change_is_the_changed_step": 3,
    "rehearsing/test_strides_of_layers.py::"
    "test_a_layer_gives_the_strides_of_a_real_run": 4,
    "rehearsing/test_drawn_indices.py::test_an_index_beyond_the_end_is_told": 3,
    "rehearsing/test_drawn_indices.py::test_an_index_within_is_not_told": 3,
    "rehearsing/test_dtypes_of_large_tensors.py::test_what_torch_refuses_is_refused": 3,
    "rehearsing/test_dtypes_of_large_tensors.py::test_what_torch_takes_is_taken": 3,
    "faces/test_bad_input.py::test_what_ends_early": 3,
    "faces/test_bad_input.py::test_what_ends_before_the_first_call": 3,
    "faces/test_bad_input.py::test_what_does_not_end_is_stopped": 3,
    "faces/test_bad_input.py::test_what_goes_on": 3,
    "faces/test_option_places.py::test_an_option_means_the_same_before_and_behind": 3,
    "files/test_commands.py::test_files_are_what_they_were": 3,
    "rehearsing/test_claimed_devices.py::test_flex_attention": 5,
    "rehearsing/test_command.py::test_a_script_may_end_itself": 6,
    "rehearsing/test_command.py::"
    "test_a_script_that_ends_its_process_leaves_its_story": 3,
    "capture/test_against_real_runs.py::test_corners_of_autograd": 8,
    "capture/test_against_real_runs.py::test_small_models": 4,
    "capture/test_autocast.py::test_calls_have_the_dtypes_of_the_cpu": 4,
    "capture/test_autocast.py::test_claimed_cuda_has_the_dtypes_of_cuda": 4,
    "capture/test_default_dtype.py::test_dtypes_are_those_of_a_real_run": 4,
    "capture/test_dtypes_below_autograd.py::test_torch_decides": 8,
    "capture/test_formats.py::test_text_is_refused_where_torch_refuses_it": 7,
    "capture/test_recurrent_layers.py::test_a_program_with_a_drawn_layer": 24,
    "capture/test_self_check.py::test_corners_of_autograd_agree": 8,
    "capture/test_self_check.py::test_small_models_agree": 4,
    "checking/edges/test_edges.py::test_what_breaks_at_another_size_is_told": 24,
    "checking/edges/test_edges.py::test_what_takes_every_size_it_should_is_quiet": 24,
    "checking/hazards/test_axes_of_softmax.py::test_legal": 5,
    "checking/hazards/test_axes_of_softmax.py::test_true": 5,
    "checking/hazards/test_batch.py::test_legal": 8,
    "checking/hazards/test_batch.py::test_true": 8,
    "checking/hazards/test_layout.py::test_legal": 8,
    "checking/hazards/test_layout.py::test_true": 8,
    "checking/hazards/test_legal_programs.py::test_legal": 7,
    "checking/hazards/test_mask_axis.py::test_legal": 8,
    "checking/hazards/test_mask_axis.py::test_true": 8,
    "checking/hazards/test_view_mixes_dims.py::test_legal": 5,
    "checking/hazards/test_view_mixes_dims.py::test_true": 5,
    "checking/needs/test_families.py::test_refused_calls_of_a_family_are_explained": 5,
    "checking/needs/test_packing.py::test_a_program_with_a_packed_sequence": 5,
    "checking/test_check_command.py::test_the_command_prints_and_exits_with_1": 5,
    "checking/test_fixes.py::test_the_first_fix": 6,
    "checking/test_layer_kinds.py::test_the_layer_of_as_many_dims_is_built": 6,
    "checking/test_meant_layers.py::test_the_first_fix_is_what_was_meant": 6,
    "rehearsing/test_usual_mistakes.py::test_the_first_fix_is_that_of_an_answer": 8,
    "rehearsing/test_everyday_errors.py::test_the_cause_and_the_only_fix": 6,
    "rehearsing/test_usual_silent_mistakes.py::"
    "test_a_warning_with_the_edit_of_the_answer": 4,
    "checking/test_other_dims.py::test_the_first_fix_is_what_was_meant": 6,
    "inputs/test_failed_search.py::test_a_right_program_has_no_error": 997,
    "inputs/test_failed_search.py::test_wrong_for_every_input_is_an_error": 4,
    "checking/test_several_on_a_line.py::test_calls_are_told_apart_by_what_they_are": 6,
    "explaining/test_calls.py::test_the_note_tells_what_does_not_fit": 4,
    "guards/test_models.py::test_a_watched_run_leaves_the_same_record": 4,
    "maps/test_costs.py::test_the_loop_makes_as_many_calls_as_are_said": 3,
    "maps/test_costs.py::test_what_is_read_again_is_read_so_often": 3,
    "maps/test_geometry.py::test_sizes_are_those_of_torch": 4,
    "maps/test_json.py::test_decoded_maps_give_the_same_elements": 4,
    "rehearsing/test_counts.py::test_a_turn_that_a_condition_waits_for_is_run": 6,
    "rehearsing/test_function.py::test_nothing_of_the_users_is_changed": 5,
    "rehearsing/test_pages.py::test_torch_runs_both_or_says_so_itself": 7,
    "rehearsing/test_pages.py::test_the_wrong_example_of_a_page_is_found": 2,
    "rehearsing/test_pages.py::test_nothing_is_found_in_the_right_example": 2,
    "rehearsing/test_pages_of_losses.py::test_the_wrong_example_of_a_page_is_found": 2,
    "rehearsing/test_pages_of_losses.py::test_nothing_is_found_in_the_right_example": 2,
    "rehearsing/test_scalers.py::test_an_order_is_refused_as_torch_refuses_it": 7,
    "rules/test_layers.py::test_random_calls_agree_with_torch": 4,
    "rules/test_layouts.py::test_elementwise_rule_on_random_layouts": 4,
    "rules/test_samples.py::test_rule_agrees_on_few_samples": 4,
    "seeds/test_seeds.py::test_trace_and_real_run_are_what_the_comments_say": 4,
    "solving/test_formulas.py::test_formulas_hold_at_other_sizes": 12,
    "solving/test_formulas.py::test_random_programs": 14,
    "solving/test_solve.py::test_domains_of_the_corpus": 6,
    "views/test_drawings_in_colour.py::"
    "test_without_its_colours_it_is_the_plain_page": 4,
}
"""Tests with many cases: the first and one of so many are in `make test`."""

FOLDERS = {"rehearsing": 30, "checking/hazards": 24}
"""Folders of programs of one kind: so is each file there that `FILES` does not name."""

OFTENER = 3
"""So many times as many of their tests are chosen for `make test-all`."""

FILES = {
    "rehearsing/test_other_settings.py": 60,
    "rehearsing/test_errors_in_settings.py": 12,
    "rehearsing/test_made_elsewhere.py": 12,
    "capture/test_recurrent_layers.py": 3,
    "capture/test_representatives.py": 3,
    "capture/test_scalars_given_as_tensors.py": 3,
    "capture/test_waiting_loops.py": 3,
    "checking/test_einops_errors.py": 6,
    "checking/test_fitting_sizes.py": 3,
    "checking/test_names_in_fixes.py": 6,
    "capture/test_dtypes_below_autograd.py": 2,
    "capture/test_nested_tensors.py": 2,
    "checking/test_definitions.py": 4,
    "faces/test_explain_line.py": 2,
    "faces/test_bad_input.py": 6,
    "files/test_commands.py": 3,
    "house/test_imports.py": 2,
    "memory/test_kept_graphs.py": 3,
    "memory/test_macs.py": 2,
    "memory/test_device_files.py": 3,
    "memory/test_quick_kernels.py": 2,
    "capture/test_formats.py": 3,
    "checking/test_findings_in_letters.py": 6,
    "solving/test_edges.py": 2,
    "bugs/test_labels.py": 5,
    "capture/test_beside.py": 5,
    "capture/test_known_indices.py": 5,
    "capture/test_model_is_theirs.py": 3,
    "checking/test_check_command.py": 6,
    "checking/test_fixes.py": 10,
    "checking/test_several_on_a_line.py": 10,
    "checking/test_words_for_tensors.py": 5,
    "checking/test_writing_fixes.py": 10,
    "explaining/test_faces.py": 3,
    "explaining/test_nothing_changes.py": 3,
    "guards/test_numbers.py": 5,
    "checking/test_state_dicts.py": 8,
    "guards/test_idioms.py": 3,
    "faces/test_progress.py": 3,
    "checking/test_chosen_inputs.py": 8,
    "inputs/test_failed_search.py": 3,
    "maps/test_composites.py": 3,
    "guards/test_models.py": 3,
    "memory/test_what_if.py": 6,
    "memory/test_real_allocations.py": 3,
    "checking/test_lost_dims.py": 8,
    "memory/test_unknown_memory.py": 4,
    "memory/test_device_kernels.py": 3,
    "memory/test_records.py": 3,
    "memory/test_rehearsed_memory.py": 3,
    "inputs/test_stated_inputs.py": 6,
    "faces/test_projects.py": 6,
    "faces/test_shared_options.py": 6,
    "inputs/test_bare_sizes.py": 3,
    "inputs/test_modes.py": 3,
    "inputs/test_notebooks.py": 2,
    "capture/test_fast_paths.py": 2,
    "faces/test_trace_command.py": 2,
    "faces/test_result_files.py": 3,
    "solve/test_labels.py": 5,
    "solving/test_deriving.py": 5,
    "solving/test_proving.py": 6,
    "solving/test_solve.py": 6,
}
"""Files of many programs of one kind: one test of so many is in `make test`, and of the
others every eleventh one in `make test-all`, the rest in `make zoo`."""

ZOO = {
    "house/test_snippets.py::test_snippets_print_what_the_page_says": 2,
    "rules/test_layouts.py::test_elementwise_rule_on_random_layouts": 2,
    "rules/test_samples.py::test_rule_agrees_on_few_samples": 2,
    "maps/test_derived.py::test_maps_agree_with_rules_and_needs_on_many_samples": 2,
    "capture/test_against_real_runs.py::test_corners_of_autograd": 2,
    "capture/test_against_real_runs.py::test_small_models": 2,
    "capture/test_autocast.py::test_calls_have_the_dtypes_of_the_cpu": 2,
    "capture/test_self_check.py::test_small_models_agree": 2,
    "inputs/test_stated_inputs.py::"
    "test_an_error_shows_at_the_size_that_the_file_states": 2,
    "memory/test_kernel_scratch.py::test_a_recurrent_layer_keeps_what_cudnn_keeps": 3,
    "capture/test_dtypes_below_autograd.py::test_torch_decides": 3,
    "capture/test_formats.py::test_text_is_refused_where_torch_refuses_it": 3,
    "capture/test_recurrent_layers.py::test_a_program_with_a_drawn_layer": 8,
    "capture/test_tracers.py::test_what_a_tracer_made_elsewhere": 6,
    "capture/test_tracers.py::test_what_any_tracer_made": 6,
    "inputs/test_failed_search.py::test_a_right_program_has_no_error": 5,
    "posts/test_posts.py::test_what_was_found_is_found": 36,
    "rehearsing/test_errors_in_settings.py::"
    "test_the_first_fix_is_what_an_author_would_write": 4,
    "rehearsing/test_errors_in_settings.py::test_the_mended_program_has_no_error": 10,
    "rehearsing/test_other_settings.py::test_the_mistake_is_told": 10,
    "rehearsing/test_other_settings.py::test_nothing_is_said_of_the_mended_program": 10,
}
"""Of what is long, one of so many is in `make test-all`, the rest in `make zoo`."""

LONG = (
    "rehearsing/test_absent_data.py::test_items_of_a_class_of_ones_own_are_its_own",
    "rehearsing/test_absent_data.py::test_an_error_shows_on_a_stand_in",
    "rehearsing/test_absent_data.py::test_files_of_annotated_pictures_and_of_points",
    "rehearsing/test_other_settings_of_training.py::"
    "test_numpy_reads_a_leaf_where_no_gradients_are_recorded",
    "rehearsals/test_fixtures.py::test_data_is_read_through_stand_ins",
    "house/test_contributing.py::test_a_package_that_is_not_installed",
    "rehearsing/test_function.py::"
    "test_gradients_of_a_live_model_come_again_after_they_were_cleared",
    "rehearsing/test_gradients.py::test_a_block_that_is_computed_again_may_end_early",
    "rehearsing/test_own_packages.py::"
    "test_an_endless_loop_elsewhere_ends_and_its_conditions_are_met",
    "rehearsing/test_parameter_groups.py::"
    "test_a_layer_is_left_out_of_the_group_of_its_model",
    "rehearsing/test_parameter_groups.py::test_the_group_that_was_added_is_shown",
    "memory/test_what_if.py::test_accumulation_is_that_of_a_real_step",
    "memory/test_full_devices.py::test_sentences_are_wrapped_to_the_width",
    "memory/test_full_devices.py::"
    "test_a_loop_that_is_full_in_a_turn_that_ran_has_no_room",
    "inputs/test_spec_round_trip.py::test_a_spec_written_out_reads_as_itself",
    "rehearsing/test_fixes_that_only_fit.py::"
    "test_another_number_is_no_fix_beside_another_order",
    "rehearsing/test_fixes.py::test_an_error_after_training",
    "guards/test_arithmetic.py::test_an_expression_says_what_other_sizes_would_give",
    "views/test_terminal_layout.py::test_any_table_keeps_its_width_and_rows",
    "memory/test_rehearsed_memory.py::test_a_function_takes_what_its_script_takes",
    "memory/test_rehearsed_memory.py::"
    "test_a_small_input_lives_as_long_as_the_graph_that_saves_it",
    "explaining/test_nothing_changes.py::"
    "test_without_an_error_nothing_is_imported_or_patched",
    "rehearsing/test_live_loops.py::test_a_file_that_was_edited_since_is_left_alone",
    "capture/test_self_check.py::test_a_run_of_meta_kernels_needs_no_symbolic_sizes",
    "guards/test_arithmetic.py::test_a_program_gives_the_same",
    "rehearsing/test_command.py::test_an_error_of_torch_is_passed_and_ends_with_1",
    "rehearsing/test_device_meshes.py::"
    "test_parameters_on_the_meta_device_are_refused_at_the_first_use",
    "rehearsing/test_fixes.py::"
    "test_a_last_batch_that_a_kept_state_does_not_fit_is_left_out",
    "checking/test_fixes.py::test_a_size_in_another_dim_is_no_excuse",
    "house/test_imports.py::test_symbolic_sizes_are_torchs_own_where_asked_for",
    "house/test_circles.py::test_there_are_no_circles_of_imports",
    "memory/test_generation.py::"
    "test_each_token_takes_what_it_takes_in_a_real_generation",
    "rehearsing/test_gradients.py::"
    "test_an_error_in_a_block_that_is_computed_again_is_told_once",
    "house/test_local_names.py::test_locals_say_what_they_hold",
    "house/test_operator_facts.py::test_lists_of_operators_are_facts",
    "house/test_findings.py::"
    "test_each_code_is_imported_by_name_where_its_kind_is_reported",
    "house/test_findings.py::test_no_code_is_written_as_text_where_a_finding_is_made",
    "house/test_workflow.py::test_a_project_without_a_mistake_passes",
    "rehearsing/test_fixes.py::test_a_view_takes_any_batch_and_none_is_left_out",
    "faces/test_result_files.py::"
    "test_each_ending_gets_its_format_and_can_be_written_again",
    "checking/test_writing_fixes.py::"
    "test_unsafe_fixes_make_it_run_and_touch_nothing_else",
    "files/test_commands.py::test_files_are_what_they_were_after_a_run_was_killed",
    "house/test_engine.py::test_the_engine_is_written_by_itself",
    "checking/test_check_command.py::test_json_has_the_fixed_fields",
    "house/test_private_names.py::test_what_only_its_own_file_uses_is_private",
    "checking/test_definitions.py::test_the_first_argument_of_a_class_has_any_name",
    "solving/test_solve.py::test_wanted_outputs_are_run",
    "checking/test_check_command.py::"
    "test_a_file_that_the_program_writes_is_not_written",
    "checking/test_chosen_inputs.py::"
    "test_inputs_are_looked_for_once_and_not_for_each_fix",
    "faces/test_trace_command.py::test_a_program_that_does_not_end_is_stopped",
    "faces/test_trace_command.py::test_ctrl_c_ends_it_with_130",
    "checking/test_definitions.py::test_another_target_is_not_hidden",
    "checking/test_definitions.py::test_json",
    "checking/test_chosen_inputs.py::test_other_formats",
    "explaining/test_faces.py::test_failing_tests_gain_the_note",
    "faces/test_trace_command.py::test_a_reader_that_has_gone_is_no_error",
    "faces/test_trace_command.py::test_piped_output_does_not_depend_on_the_terminal",
    "house/test_imports.py::test_a_step_of_an_optimizer_loads_no_dynamo",
    "rehearsing/test_fixes.py::test_a_change_that_mends_only_the_first_turn_is_no_fix",
    "inputs/test_spec_round_trip.py::test_other_sizes_written_out_read_as_themselves",
    "house/test_imports.py::test_a_trace_loads_neither_dynamo_nor_sympy",
    "capture/test_fast_paths.py::test_random_programs",
    "capture/test_waiting_loops.py::test_a_number_that_ends_a_loop_lies_in_its_range",
    "checking/test_writing_fixes.py::test_a_diff_is_shown_and_nothing_written",
    "memory/test_real_allocations.py::test_scratch_of_a_loss",
    "rehearsing/test_tensor_items.py::test_a_transform_of_a_kind_of_its_own_is_called",
    "memory/test_what_if.py::test_the_model_is_as_it_was",
    "memory/test_generation.py::test_arithmetic_is_that_of_the_prompt_and_of_one_token",
    "memory/test_autocast.py::test_a_checkpoint_under_autocast",
    "house/test_names.py::test_a_public_class_stands_once",
    "solving/test_edges.py::test_demand_of_windows",
    "solving/test_edges.py::test_limit_of_a_product_is_none_of_each_side",
    "solving/test_solve.py::test_where_some_sizes_fit_nothing_is_needed",
    "capture/test_replacements.py::test_a_rehearsal_does",
    "checking/test_definitions.py::test_findings_alone",
    "checking/test_definitions.py::test_traces_of_each",
    "inputs/test_failed_search.py::test_a_function_that_returns_a_module_is_its_builder",
    "rehearsing/test_command.py::test_what_was_found_until_the_limit_is_told",
    "solving/test_edges.py::test_batch_stays_a_letter_where_only_sizes_are_listed",
    "solving/test_solve.py::test_a_need_holds_in_steps_of_sizes_that_come_as_far",
    "capture/test_process_is_as_it_was.py::test_the_compiler_works_afterwards",
    "checking/test_check_command.py::test_first_fixes_together_make_the_program_run",
    "checking/test_messages.py::test_every_line_has_its_sentence",
    "checking/test_needs_in_programs.py::"
    "test_each_independent_mistake_has_its_code_and_its_line",
    "checking/test_writing_fixes.py::test_github_and_sarif_name_the_place",
    "explaining/test_places.py::test_a_script_prints_it_below_the_error",
    "guards/test_thresholds.py::test_no_change_is_missed_and_none_invented",
    "house/test_imports.py::test_a_drawing_loads_neither_dynamo_nor_sympy",
    "maps/test_geometry.py::test_that_product_of_matrices_gives_the_convolution",
    "rehearsals/test_labels.py::test_a_few_labels_are_true",
    "rehearsing/test_process_groups.py::test_what_gloo_refuses_is_refused",
)
"""Tests that take seconds, whose subject others in `make test` have too."""

PAGES = "house/test_snippets.py::test_snippets_print_what_the_page_says"
LONG_PAGES = (
    "docs/errors/", "docs/check.md", "docs/solve.md", "docs/rehearse.md",
    "docs/record.md", "docs/start/", "docs/memory.md", "README.md", "docs/trace.md",
)  # fmt: skip
"""Pages whose commands take long."""


def mark_long(items: Iterable[pytest.Item]) -> None:
    """Mark what `make test` leaves out as `long`, and what takes longest as `zoo`."""
    met: set[str] = set()
    for item in items:
        name, bracket, case = item.nodeid.removeprefix("tests/").partition("[")
        first = name not in met
        met.add(name)
        case = case.removesuffix("]") if bracket else ""
        if is_long(name, case, first):
            item.add_marker(pytest.mark.long)
        left = name in ZOO and crc32(case.encode()) % ZOO[name] != 0
        if (left or is_left_to_zoo(name, case)) and item.get_closest_marker("long"):
            item.add_marker(pytest.mark.zoo)


def is_left_to_zoo(name: str, case: str) -> bool:
    """Whether a case is one of ten in eleven of a file of programs of one kind; a
    test without cases is none.
    """
    file = name.partition("::")[0]
    is_of_folder = file not in FILES and file.rpartition("/")[0] in FOLDERS
    share = get_share(file) // (OFTENER if is_of_folder else 1)
    number = crc32(f"{name}[{case}]".encode())
    return bool(case) and share > 2 and number // share % 11 != 0


def get_share(file: str) -> int:
    """Of how many tests of a file one is in `make test`."""
    return FILES.get(file) or FOLDERS.get(file.rpartition("/")[0], 1)


def is_long(name: str, case: str, first: bool) -> bool:
    """Whether a case of a test is left out of `make test`."""
    if name in LONG:
        return True
    if name == PAGES:
        return case.startswith(LONG_PAGES)
    share = get_share(name.partition("::")[0])
    if crc32(f"{name}[{case}]".encode()) % share != 0:
        return True
    return name in PARTS and not first and crc32(case.encode()) % PARTS[name] != 0
