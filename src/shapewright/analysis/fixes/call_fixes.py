"""The fixes for a call that torch refused: those that follow from the call, and those
that change a word, a name or a number on the lines that led to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from shapewright.analysis.fixes import (
    common_mistakes,
    constructors,
    crop_edits,
    dtype_edits,
    index_edits,
    keywords_and_methods,
    numbers_and_names,
    operands,
    order_edits,
    other_names,
    squeeze_edits,
)
from shapewright.analysis.fixes import created_tensors as created
from shapewright.analysis.fixes.attention_edits import (
    suggest_exchanged_widths,
    suggest_widths_of_memory,
)
from shapewright.analysis.fixes.batch_edits import (
    add_batch,
    suggest_batch_of_one,
    suggest_counted_batch,
    suggest_larger_batch,
    suggest_size_of_loop_batch,
)
from shapewright.analysis.fixes.channel_dims import suggest_channel_dims
from shapewright.analysis.fixes.class_counts import (
    suggest_counted_outputs,
    suggest_fewer_largest,
)
from shapewright.analysis.fixes.class_ranges import (
    suggest_class_beside_0,
    suggest_drawn_classes,
    suggest_drawn_rows,
    suggest_more_classes,
)
from shapewright.analysis.fixes.colour_masks import suggest_class_of_colours
from shapewright.analysis.fixes.conditional_sizes import suggest_parentheses
from shapewright.analysis.fixes.counted_positions import suggest_counted_positions
from shapewright.analysis.fixes.distant_fixes import find_distant_fixes
from shapewright.analysis.fixes.dividing_numbers import suggest_dividing_number
from shapewright.analysis.fixes.expanded_operands import (
    suggest_expanded,
    suggest_other_repeats,
)
from shapewright.analysis.fixes.flattened_batches import suggest_kept_batch
from shapewright.analysis.fixes.grey_images import (
    suggest_colour_images,
    suggest_grey_images,
)
from shapewright.analysis.fixes.halved_images import suggest_multiple
from shapewright.analysis.fixes.image_edits import (
    suggest_channels,
    suggest_channels_before_transform,
    suggest_fitting_images,
)
from shapewright.analysis.fixes.joined_dims import (
    suggest_joined_batches,
    suggest_other_joined_dim,
)
from shapewright.analysis.fixes.kept_dims import suggest_kept_size
from shapewright.analysis.fixes.last_states import (
    suggest_both_directions,
    suggest_last_of_steps,
    suggest_last_state,
)
from shapewright.analysis.fixes.literal_sizes import suggest_read_sizes
from shapewright.analysis.fixes.log_probabilities import (
    suggest_summed_log_probabilities,
)
from shapewright.analysis.fixes.lost_dims import (
    suggest_other_reduced_dim,
    suggest_whole_output,
)
from shapewright.analysis.fixes.maker_edits import (
    suggest_argument_of_caller,
    suggest_divided_lengths,
    suggest_index_for_all,
    suggest_labels_from_0,
    suggest_number_of_classes,
    suggest_ones_as_outputs,
    suggest_picture_mode,
    suggest_rows_of_empty,
)
from shapewright.analysis.fixes.mask_edits import suggest_masks
from shapewright.analysis.fixes.meant_keywords import (
    suggest_meant_keywords,
)
from shapewright.analysis.fixes.merged_dims import (
    suggest_merged_dims,
    suggest_other_merged_dims,
)
from shapewright.analysis.fixes.missing_padding import find_padding
from shapewright.analysis.fixes.named_sizes import suggest_named_size
from shapewright.analysis.fixes.norm_edits import move_channels_second
from shapewright.analysis.fixes.numpy_weights import suggest_float32_weights
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.other_calls import (
    suggest_any_product,
    suggest_argument_of_other_call,
)
from shapewright.analysis.fixes.overwritten_names import (
    suggest_kept_features,
    suggest_unread_name,
)
from shapewright.analysis.fixes.pooled_maps import suggest_pooled_map
from shapewright.analysis.fixes.ragged_items import (
    suggest_turned_items,
)
from shapewright.analysis.fixes.residual_crops import suggest_last_steps
from shapewright.analysis.fixes.running_offsets import suggest_smaller_offset
from shapewright.analysis.fixes.sequence_layouts import (
    suggest_batch_first_of_stack,
    suggest_total_length,
)
from shapewright.analysis.fixes.shape_reads import (
    suggest_other_shape_dim,
    suggest_own_sizes,
)
from shapewright.analysis.fixes.shortcuts import (
    suggest_built_shortcuts,
    suggest_shortcut,
    suggest_shortcut_condition,
)
from shapewright.analysis.fixes.sibling_calls import suggest_permute_of_sibling
from shapewright.analysis.fixes.state_edits import (
    suggest_fewer_layers,
    suggest_second_direction,
)
from shapewright.analysis.fixes.state_sizes import suggest_size_of_state
from shapewright.analysis.fixes.suspect_lines import find_suspects
from shapewright.analysis.fixes.swapped_padding import suggest_all_pads
from shapewright.analysis.fixes.target_edits import (
    suggest_flat_target,
    suggest_float_column,
    suggest_indexed_target,
    suggest_made_columns,
    suggest_rows_of_target,
    suggest_shifted_target,
    suggest_squeezed_items,
)
from shapewright.analysis.fixes.token_edits import (
    suggest_padding_for_ignored,
    suggest_whole_vocabulary,
)
from shapewright.analysis.fixes.unread_sizes import suggest_unread_size
from shapewright.analysis.fixes.upsampled_sizes import (
    suggest_all_output_paddings,
    suggest_channels_of_maps,
    suggest_fitting_output_padding,
    suggest_output_padding,
    suggest_output_size,
    suggest_resized_map,
    suggest_spatial_size,
    suggest_target_size,
)
from shapewright.analysis.fixes.vocabulary_sizes import suggest_grown_vocabulary
from shapewright.analysis.fixes.warnings.loss_edits import suggest_single_loss
from shapewright.analysis.fixes.window_edits import (
    suggest_adaptive_pooling,
    suggest_global_pooling,
    suggest_half_kernel_padding,
    suggest_kernel_numbers,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.table_labels import (
    suggest_columns_of_training,
    suggest_one_column,
    suggest_shifted_codes,
)
from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    KERNEL_TOO_LARGE,
    MISSING_TRANSPOSE,
    NOT_FLATTENED,
    WRITTEN_SHAPE,
    WRONG_RANK,
)
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure

JOINS = operators_with("concatenates")
OF_OPERANDS = frozenset({NOT_FLATTENED, CHANNELS_LAST, MISSING_TRANSPOSE})
"""Codes that say how an operand is to be changed."""


def find_call_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that follow from the failing call itself."""
    ordered = order_edits.fix_order(program, failure, sure=True)
    yield from iter_options(
        "any-batch", 0.9, common_mistakes.suggest_any_batch(program, failure)
    )
    rows = chain(
        suggest_counted_batch(program, failure),
        suggest_size_of_loop_batch(program, failure),
    )
    yield from iter_options("any-batch", 0.92, rows)
    yield from iter_options("kept-batch", 0.6, suggest_kept_batch(program, failure))
    yield from iter_options("order", 0.9, suggest_shifted_target(program, failure))
    yield from iter_options("order", 1.3, move_channels_second(program, failure))
    yield from iter_options("layout", 1.2, suggest_masks(program, failure))
    yield from iter_options("rank", 0.9, suggest_flat_target(program, failure))
    yield from iter_options("column", 0.7, suggest_float_column(program, failure))
    yield from iter_options("rank", 0.6, suggest_rows_of_target(program, failure))
    yield from iter_options("column", 0.72, suggest_made_columns(program, failure))
    length = index_edits.suggest_true_length(program, failure)
    yield from iter_options("length", 0.6, length)
    yield from iter_options("rank", 0.9, suggest_squeezed_items(program, failure))
    yield from iter_options(
        "last-batch", 1.0, common_mistakes.suggest_drop_last(program, failure.op)
    )
    yield from iter_options("expanded", 1.1, suggest_expanded(program, failure))
    yield from iter_options("channels", 0.8, suggest_channel_dims(program, failure))
    yield from iter_options("colours", 0.7, suggest_colour_images(program, failure))
    yield from iter_options("colours", 0.7, suggest_grey_images(program, failure))
    yield from iter_options("expanded", 0.7, suggest_other_repeats(program, failure))
    as_other = suggest_argument_of_other_call(program, failure)
    yield from iter_options("other-call", 0.7, as_other)
    yield from iter_options("product", 0.7, suggest_any_product(program, failure))
    padded_kernel = suggest_half_kernel_padding(program, failure)
    yield from iter_options("padding", 0.9, padded_kernel)
    yield from iter_options("dividing", 0.7, suggest_dividing_number(program, failure))
    yield from iter_options(
        "layout", 1.9, keywords_and_methods.suggest_batch_first(program, failure)
    )
    stacked = suggest_batch_first_of_stack(program, failure)
    yield from iter_options("layout", 0.9, stacked)
    yield from iter_options("spatial", 0.7, suggest_spatial_size(program, failure))
    yield from iter_options("maps", 0.8, suggest_channels_of_maps(program, failure))
    yield from iter_options("pads", 0.7, suggest_all_pads(program, failure))
    yield from iter_options("padded", 0.7, suggest_total_length(program, failure))
    yield from iter_options("row", 0.7, suggest_one_column(program, failure))
    yield from iter_options("numpy", 0.8, operands.fix_for_numpy(program, failure))
    lost = squeeze_edits.fix_lost_batch(program, program.trace.ops[failure.op])
    yield from iter_options("squeeze", 0.9, lost)
    yield from iter_options("size", 1.0, suggest_target_size(program, failure))
    yield from iter_options("meant", 0.7, suggest_meant_keywords(program, failure))
    yield from iter_options("turned-items", 0.8, suggest_turned_items(program, failure))
    yield from iter_options("codes", 0.7, suggest_shifted_codes(program, failure))
    yield from iter_options("read", 1.1, suggest_other_shape_dim(program, failure))
    named = suggest_widths_of_memory(program, failure, is_named=True)
    yield from iter_options("memory", 0.8, named)
    yield from iter_options("memory", 0.7, suggest_exchanged_widths(program, failure))
    numbered = suggest_widths_of_memory(program, failure, is_named=False)
    yield from iter_options("memory", 2.5, numbered)
    yield from iter_options("size", 0.95, suggest_output_size(program, failure))
    yield from iter_options("size", 1.25, suggest_resized_map(program, failure))
    padded = keywords_and_methods.fix_padded_sequence(program, failure)
    yield from iter_options("padded", 0.9, padded)
    weights = dtype_edits.suggest_cast_of_weights(program, failure)
    yield from iter_options("dtype", 0.9, weights)
    drawn = suggest_float32_weights(program, failure)
    yield from iter_options("made-dtype", 0.85, drawn)
    together = dtype_edits.suggest_casts_together(program, failure)
    yield from iter_options("dtype", 0.97, together)
    yield from iter_options("dtype", 1.0, dtype_edits.fix_dtype(program, failure))
    floating = dtype_edits.suggest_floating_entries(program, failure)
    yield from iter_options("dtype", 0.9, floating)
    floats = dtype_edits.suggest_cast_of_floats(program, failure)
    yield from iter_options("dtype", 0.9, floats)
    shared = dtype_edits.fix_shared_dtype(program, failure)
    yield from iter_options("dtype", 0.95, shared)
    yield from iter_options("storage", 1.0, operands.fix_storage(program, failure))
    yield from iter_options(
        "turned", 1.4, numbers_and_names.suggest_orders(program, failure, True)
    )
    of_maker = order_edits.suggest_order_where_made(program, failure)
    yield from iter_options("order", 1.48, of_maker)
    in_loop = order_edits.suggest_order_in_loop(program, failure)
    yield from iter_options("order", 1.49, in_loop)
    yield from iter_options("order", 1.5, ordered)
    yield from iter_options(
        "turned", 1.6, numbers_and_names.suggest_orders(program, failure, False)
    )
    product = order_edits.suggest_swapped_product(program, failure)
    yield from iter_options("order", 0.8, product)
    laid = order_edits.suggest_view_order(program, failure)
    yield from iter_options("order", 1.0, laid)
    of_maker = dtype_edits.suggest_dtype_where_made(program, failure)
    yield from iter_options("made-dtype", 0.9, of_maker)
    floats = dtype_edits.suggest_floats_where_made(program, failure)
    yield from iter_options("made-dtype", 0.85, floats)
    transposed = order_edits.suggest_transposed_weight(program, failure)
    yield from iter_options("order", 1.1, transposed)
    yield from iter_options("state", 1.3, suggest_fewer_layers(program, failure))
    second = suggest_second_direction(program, failure)
    yield from iter_options("directions", 1.5, second)
    yield from iter_options("last-state", 0.8, suggest_last_state(program, failure))
    yield from iter_options("last-state", 0.85, suggest_last_of_steps(program, failure))
    both = suggest_both_directions(program, failure)
    yield from iter_options("last-state", 0.8, both)
    unread = suggest_unread_name(program, program.trace.ops[failure.op].span)
    yield from iter_options("unread", 0.9, unread)
    yield from iter_options("unread", 0.7, suggest_kept_features(program, failure))
    yield from iter_options("expanded", 0.9, suggest_read_sizes(program, failure))
    yield from iter_options("reduced", 1.0, suggest_other_reduced_dim(program, failure))
    padding, is_forgotten = find_padding(program, failure)
    yield from iter_options("padding", 0.85 if is_forgotten else 1.15, padding)
    channels = suggest_channels_before_transform(program, failure)
    yield from iter_options("turned", 0.7, channels)
    yield from iter_options("own", 0.75, suggest_own_sizes(program, failure))
    yield from iter_options("merged", 1.05, suggest_merged_dims(program, failure))
    yield from iter_options("merged", 0.9, suggest_other_merged_dims(program, failure))
    yield from iter_options("kept", 0.85, suggest_kept_size(program, failure))
    yield from iter_options("joined", 1.6, suggest_other_joined_dim(program, failure))
    yield from iter_options("batches", 1.75, suggest_joined_batches(program, failure))
    turned_view = suggest_permute_of_sibling(program, failure)
    yield from iter_options("sibling", 0.7, turned_view)
    sums = suggest_summed_log_probabilities(program, failure)
    yield from iter_options("summed", 0.7, sums)
    yield from iter_options("whole", 1.4, suggest_whole_output(program, failure))
    yield from iter_options("larger", 1.1, suggest_last_steps(program, failure))
    yield from iter_options("shortcut", 1.2, suggest_shortcut(program, failure))
    yield from iter_options("shortcut", 0.9, suggest_built_shortcuts(program, failure))
    yield from iter_options("unread-size", 0.8, suggest_unread_size(program, failure))
    yield from find_distant_fixes(program, failure)
    condition = suggest_shortcut_condition(program, failure)
    yield from iter_options("shortcut", 1.0, condition)
    yield from iter_options("pooled", 1.1, suggest_pooled_map(program, failure))
    yield from iter_options("window", 1.7, suggest_adaptive_pooling(program, failure))
    yield from iter_options("window", 1.6, suggest_global_pooling(program, failure))
    yield from iter_options("window", 1.6, suggest_kernel_numbers(program, failure))
    yield from iter_options("size", 1.3, suggest_fitting_images(program, failure))
    yield from iter_options("size", 1.27, suggest_multiple(program, failure))
    yield from iter_options("size", 1.2, suggest_output_padding(program, failure))
    smaller = suggest_fitting_output_padding(program, failure)
    yield from iter_options("size", 0.9, smaller)
    yield from iter_options("size", 1.25, suggest_all_output_paddings(program, failure))
    yield from iter_options(
        "family", 1.8, common_mistakes.suggest_family_fixes(program, failure)
    )
    unmet = failure.unmet
    turned = unmet is not None and unmet.code in OF_OPERANDS
    cost = 3.5 if turned else 2.0
    if unmet is not None and _is_twice_as_wide(program, failure):
        cost = 0.98  # what is joined is what the layer is meant to read
    if unmet is None or unmet.code != CHANNELS_LAST:
        # Another size would make room for channels where the data has none.
        yield from iter_options(
            "consumer", cost, constructors.fix_consumer(program, failure)
        )
        yield from iter_options(
            "layer", cost + 0.1, constructors.fix_expecting_layer(program, failure)
        )
    hidden = other_names.suggest_attributes(program, failure)
    yield from iter_options("attribute", 0.8, hidden)
    yield from iter_options("batch", 0.85, suggest_batch_of_one(program, failure))
    yield from iter_options("created", 0.9, suggest_channels(program, failure))
    yield from iter_options("batch", 1.3, add_batch(program, failure))
    yield from iter_options(
        "view", 1.3, numbers_and_names.fix_view_size(program, failure)
    )
    yield from iter_options("colours", 0.5, suggest_class_of_colours(program, failure))
    yield from iter_options("named", 0.9, suggest_named_size(program, failure))
    yield from iter_options("rank", 0.7, suggest_single_loss(program, failure))
    factors = numbers_and_names.suggest_swapped_factors(program, failure)
    yield from iter_options("turned", 0.8, factors)
    counts = index_edits.suggest_later_count(program, failure)
    yield from iter_options("counted", 0.8, counts)
    yield from iter_options("counted", 0.75, suggest_whole_vocabulary(program, failure))
    yield from iter_options("counted", 0.8, suggest_grown_vocabulary(program, failure))
    yield from iter_options("counted", 0.85, suggest_smaller_offset(program, failure))
    positions = suggest_counted_positions(program, failure)
    yield from iter_options("counted", 0.9, positions)
    yield from iter_options("handed", 0.9, suggest_argument_of_caller(program, failure))
    yield from iter_options("classes", 0.7, suggest_number_of_classes(program, failure))
    yield from iter_options("empty", 0.7, suggest_rows_of_empty(program, failure))
    yield from iter_options("lengths", 0.7, suggest_divided_lengths(program, failure))
    yield from iter_options("outputs", 0.7, suggest_ones_as_outputs(program, failure))
    filled = suggest_padding_for_ignored(program, failure)
    yield from iter_options("filled", 0.75, filled)
    yield from iter_options("gathered", 0.7, suggest_index_for_all(program, failure))
    yield from iter_options("labels", 0.95, suggest_labels_from_0(program, failure))
    yield from iter_options("labels", 0.6, suggest_indexed_target(program, failure))
    yield from iter_options("drawn", 0.97, suggest_drawn_classes(program, failure))
    yield from iter_options("drawn", 1.9, suggest_drawn_rows(program, failure))
    beside = suggest_class_beside_0(program, failure)
    yield from iter_options("classes", 2.15, beside)
    yield from iter_options("classes", 4.1, suggest_more_classes(program, failure))
    yield from iter_options("picture", 0.7, suggest_picture_mode(program, failure))
    columns = suggest_columns_of_training(program, failure)
    yield from iter_options("columns", 0.8, columns)
    yield from iter_options("table", 2.0, index_edits.fix_table(program, failure))
    yield from iter_options(
        "table", 2.0, index_edits.fix_indexed_tensor(program, failure)
    )
    yield from iter_options(
        "ignored", 2.1, index_edits.suggest_ignored_class(program, failure)
    )
    yield from iter_options("classes", 0.5, suggest_fewer_largest(program, failure))
    yield from iter_options("classes", 2.5, suggest_counted_outputs(program, failure))
    yield from iter_options("shuffle", 1.9, constructors.fix_shuffle(program, failure))
    yield from iter_options("share", 2.2, constructors.fix_share(program, failure))
    masks = common_mistakes.swap_mask_dims(program, failure)
    yield from iter_options("turned", 3.6, masks)
    yield from iter_options("left-out", 2.8, operands.drop_norm(program, failure))
    yield from iter_options("dim", 2.2, numbers_and_names.fix_dims(program, failure))
    yield from iter_options(
        "created",
        1.05 if unmet is not None and unmet.code == WRITTEN_SHAPE else 2.4,
        created.fix_created_tensor(program, failure),
    )
    factor = created.suggest_factor_of_created(program, failure)
    yield from iter_options("created", 1.1, factor)
    yield from iter_options(
        "larger", 2.6, crop_edits.fix_larger_tensor(program, failure, True)
    )
    yield from iter_options("buffer", 1.4, suggest_size_of_state(program, failure))
    part = crop_edits.suggest_fitting_part(program, failure)
    yield from iter_options("larger", 1.2, part)
    yield from iter_options("batch", 0.8, suggest_larger_batch(program, failure))
    of_rank = unmet is not None and unmet.code == WRONG_RANK
    if failure.error != "IndexError" or of_rank:
        cost = 1.7 if turned else 3.0
        yield from iter_options("rank", cost, operands.fix_rank(program, failure))
    yield from iter_options("name", 3.2, other_names.replace_tensors(program, failure))
    yield from iter_options(
        "producer", 3.4, constructors.fix_producer(program, failure)
    )
    yield from iter_options("factor", 2.3, constructors.fix_factor(program, failure))
    yield from iter_options(
        "operands", 3.6, numbers_and_names.swap_operands(program, failure)
    )


FUSED = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")
"""Kernels of evaluation; a flag that turns them off repairs nothing that they need."""


def find_line_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that change a word, name or number on the lines that led
    to the call.
    """
    lines = find_suspects(program, failure)
    yield from iter_options("precedence", 0.7, suggest_parentheses(program, lines))
    yield from iter_options(
        "keyword", 3.0, keywords_and_methods.suggest_keywords(program, lines)
    )
    yield from iter_options(
        "flattened", 1.9, operands.suggest_flatten_dim(program, lines)
    )
    yield from iter_options(
        "copied", 3.2, keywords_and_methods.copy_settings(program, lines)
    )
    if not program.trace.ops[failure.op].name.endswith(FUSED):
        flags = keywords_and_methods.suggest_flags(program, lines)
        if failure.unmet is not None and failure.unmet.code == KERNEL_TOO_LARGE:
            flags = (fix for fix in flags if "ceil_mode" not in fix.message)
        yield from iter_options("flag", 4.1, flags)
    yield from iter_options(
        "squeeze", 3.0, squeeze_edits.suggest_squeeze_dim(program, lines)
    )
    is_backward = program.trace.ops[failure.op].name.endswith(".backward")
    yield from iter_options(
        "dropped",
        2.9 if is_backward else 3.3,  # a gradient has the shape of its tensor
        keywords_and_methods.drop_methods(program, lines),
    )
    yield from iter_options(
        "method", 3.5, keywords_and_methods.suggest_methods(program, lines[:1])
    )
    yield from iter_options(
        "number", 4.0, numbers_and_names.fix_numbers(program, failure, lines)
    )
    yield from iter_options(
        "swapped", 4.0, numbers_and_names.swap_arguments(program, lines)
    )
    yield from iter_options("argument", 4.2, other_names.replace_names(program, lines))
    yield from iter_options(
        "larger?", 4.6, crop_edits.fix_larger_tensor(program, failure, False)
    )
    yield from iter_options("source", 4.5, operands.fix_sources(program, failure))
    unsure = order_edits.fix_order(program, failure, sure=False)
    yield from iter_options("order?", 5.0, unsure)


def _is_twice_as_wide(program: Program, failure: Failure) -> bool:
    """Return whether a layer gets the channels of two equal maps that were joined, as
    behind a skip connection, and was built for those of one.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != CHANNEL_MISMATCH or not op.inputs:
        return False
    maker = program.producers.get(op.inputs[0].tensor)
    if maker is None or maker.name.rpartition(".")[2] not in JOINS:
        return False
    halves = {fact.shape[1:2] for fact in maker.inputs}
    doubled = isinstance(unmet.needs, int) and unmet.has == 2 * unmet.needs
    return len(maker.inputs) == 2 and len(halves) == 1 and doubled
