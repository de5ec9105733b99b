"""Find edits of the program's text that may repair a failure, the likeliest first; the
caller then tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from shapewright.analysis.autograd_errors import find_cause
from shapewright.analysis.collated_lists import suggest_tensors
from shapewright.analysis.einops_errors import suggest_patterns
from shapewright.analysis.exported_sizes import suggest_dynamic_shapes
from shapewright.analysis.fixes import (
    common_mistakes,
    index_edits,
    keywords_and_methods,
    numbers_and_names,
    operands,
    other_names,
    squeeze_edits,
)
from shapewright.analysis.fixes.autograd.graph_edits import suggest_graph_edits
from shapewright.analysis.fixes.autograd.uncut_losses import (
    suggest_scores_for_failed_loss,
)
from shapewright.analysis.fixes.batch_edits import suggest_batches_of_one
from shapewright.analysis.fixes.call_fixes import find_call_fixes, find_line_fixes
from shapewright.analysis.fixes.chained_layers import suggest_chained_layers
from shapewright.analysis.fixes.class_counts import (
    suggest_all_classes,
    suggest_listed_classes,
)
from shapewright.analysis.fixes.class_tables import suggest_count_of_ids
from shapewright.analysis.fixes.coarse_logits import suggest_interpolated_logits
from shapewright.analysis.fixes.collate_edits import suggest_collate
from shapewright.analysis.fixes.counted_nodes import suggest_counted_nodes
from shapewright.analysis.fixes.dtype_edits import suggest_floats_between
from shapewright.analysis.fixes.evaluation_edits import suggest_evaluation
from shapewright.analysis.fixes.exchanged_arguments import suggest_exchanged_arguments
from shapewright.analysis.fixes.flat_images import (
    suggest_flat_map,
    suggest_unflattened_images,
    suggest_whole_rows,
)
from shapewright.analysis.fixes.grown_batches import suggest_side_of_grid
from shapewright.analysis.fixes.halved_crops import suggest_whole_differences
from shapewright.analysis.fixes.ignored_labels import suggest_valid_labels
from shapewright.analysis.fixes.image_edits import suggest_divided_images
from shapewright.analysis.fixes.interpolation_modes import suggest_interpolation_mode
from shapewright.analysis.fixes.joined_sizes import suggest_joined_sizes
from shapewright.analysis.fixes.kept_dims import suggest_kept_dims, suggest_only_dim
from shapewright.analysis.fixes.kept_sizes import suggest_kept_sizes
from shapewright.analysis.fixes.kept_states import (
    suggest_batch_of_sequence,
    suggest_reset_before_loop,
    suggest_state_of_batch,
)
from shapewright.analysis.fixes.largest_ids import suggest_largest_id
from shapewright.analysis.fixes.last_states import suggest_collected_states
from shapewright.analysis.fixes.meant_keywords import suggest_keywords_on
from shapewright.analysis.fixes.module_lists import suggest_registered_lists
from shapewright.analysis.fixes.optional_values import sort_edits_of_optional
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.order_edits import suggest_without_permute
from shapewright.analysis.fixes.overwritten_names import suggest_unread_name
from shapewright.analysis.fixes.pattern_edits import (
    suggest_pattern_orders,
    suggest_second_letter,
)
from shapewright.analysis.fixes.ragged_items import get_collate_kind
from shapewright.analysis.fixes.refusals import (
    OF_WIDTH,
    is_of_other_data,
    is_refused,
)
from shapewright.analysis.fixes.renewed_heads import suggest_loss_beside_head
from shapewright.analysis.fixes.rounded_logarithms import suggest_rounded_logarithms
from shapewright.analysis.fixes.sequence_layouts import (
    suggest_flat_bags,
    suggest_time_first,
)
from shapewright.analysis.fixes.signal_lengths import suggest_signal_length
from shapewright.analysis.fixes.signed_labels import suggest_classes_from_0
from shapewright.analysis.fixes.single_numbers import (
    suggest_formatted_number,
    suggest_single_number,
)
from shapewright.analysis.fixes.single_scores import suggest_binary_loss
from shapewright.analysis.fixes.slice_steps import suggest_slice_step
from shapewright.analysis.fixes.square_grids import suggest_square_grid
from shapewright.analysis.fixes.stand_in_data import has_shared_source, make_filter
from shapewright.analysis.fixes.state_edits import (
    is_batch_first_meant,
    is_layer_meant,
    suggest_joined_directions,
    suggest_repeated_state,
    suggest_state_shapes,
    suggest_unbatched_sequence,
)
from shapewright.analysis.fixes.suspect_lines import find_error_suspects
from shapewright.analysis.fixes.swapped_padding import suggest_swapped_pads
from shapewright.analysis.fixes.target_edits import suggest_soft_targets
from shapewright.analysis.fixes.token_edits import (
    suggest_last_tokens,
    suggest_resized_embedding,
)
from shapewright.analysis.fixes.turned_rows import suggest_columns, suggest_row
from shapewright.analysis.fixes.turned_sequences import suggest_kept_layout
from shapewright.analysis.fixes.turned_tables import suggest_turned_table
from shapewright.analysis.fixes.view_labels import suggest_labels_of_views
from shapewright.analysis.fixes.viewed_images import suggest_viewed_size
from shapewright.analysis.fixes.vocabulary_sizes import suggest_counted_vocabulary
from shapewright.analysis.fixes.warnings.label_edits import (
    suggest_class_targets,
    suggest_one_hot,
)
from shapewright.analysis.fixes.written_vocabularies import suggest_written_file
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.missing_values import suggest_values
from shapewright.analysis.mistaken_calls import suggest_meant
from shapewright.analysis.model_definitions import suggest_definitions
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_calls.item_dims import suggest_class_numbers
from shapewright.analysis.refused_numbers import NOT_DIVISIBLE, find_number_cause
from shapewright.analysis.table_labels import suggest_row_positions
from shapewright.analysis.traced_constants import suggest_traced_sizes
from shapewright.analysis.unused_parameters import suggest_finding_unused
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    COLLATED_LIST,
    INNER_DIM_MISMATCH,
    NOT_CONTIGUOUS,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span, apply_edits, is_installed
from shapewright.program.syntax_nodes import get_last_line

GUESSED = frozenset({"number", "argument", "swapped", "name", "larger?"})
"""Kinds of edits that put another number or name on a suspect line, or cut data."""
DECIDED = frozenset({
    "any-batch", "batch", "created", "distant", "dtype", "expanded", "family", "graph",
    "hazard", "layout", "made-dtype", "numpy", "order", "padded",
    "unread", "rank", "size", "squeeze", "state", "storage", "turned",
})  # fmt: skip
"""Kinds of edits that follow from what the failing call needs of its operand."""


ALONE: tuple[tuple[str, Callable[[Program, Failure], Iterable[Fix]]], ...] = (
    ("list", suggest_tensors),
    ("graph", suggest_scores_for_failed_loss),  # a label would fit the decisions
    ("state", suggest_joined_directions),
    ("state", suggest_state_of_batch),  # other samples would fit the state
    ("state", suggest_reset_before_loop),
    ("state", suggest_batch_of_sequence),
    ("order", suggest_collected_states),  # other targets would fit the joined batch
    ("order", suggest_one_hot),  # numbers of classes are no factors
    ("order", suggest_class_numbers),  # more tokens would fit the labels
    ("loss", suggest_loss_beside_head),  # one-hot labels would keep the old loss
    ("order", suggest_class_targets),  # other data would fit the loss
    ("expanded", index_edits.suggest_expanded_index),  # one feature would be taken
    ("rows", index_edits.suggest_all_rows),  # all columns of all rows would be taken
    ("size", suggest_signal_length),  # a crop would leave out the last point
    ("single", suggest_formatted_number),  # another tensor would be shown
    ("single", suggest_single_number),  # a part of the losses is no mean
    ("rows", index_edits.suggest_masked_rows),  # numbers are no mask
    ("order", suggest_unflattened_images),  # rows of pixels would be read as an image
    ("distant", suggest_slice_step),  # other numbers would cut or mix the points
    ("size", suggest_whole_rows),  # another sample would be made of each part of one
    ("order", suggest_flat_map),  # each row of a map would be classified
    ("rank", suggest_unbatched_sequence),  # a layer would fit the number of samples
    ("loss", suggest_binary_loss),  # the batch would be taken for the classes
    ("dtype", suggest_soft_targets),  # shares are no numbers of classes
    ("dtype", suggest_floats_between),  # floats are no targets of a loss
    ("order", suggest_pattern_orders),  # another layer would join other dims
    ("letter", suggest_second_letter),  # a crop would leave out features
    ("turned", suggest_row),  # a layer of one feature would take them as samples
    ("size", suggest_interpolated_logits),  # a mask of fewer pixels is another one
    ("order", suggest_without_permute),  # a second one would turn the image
    ("order", suggest_swapped_pads),  # a resized map would blur what is padded
    ("created", suggest_joined_sizes),  # a number would stand for the factor
    ("order", suggest_labels_of_views),  # a slice would leave out a view
    ("tokens", suggest_last_tokens),  # one position would stand for all
    ("filled", suggest_valid_labels),  # no table has rows below 0
    ("classes", suggest_listed_classes),  # another number would not follow the names
    ("classes", suggest_all_classes),  # a model would have an output less
    ("mode", suggest_interpolation_mode),  # other dims would be no volume
    ("exchanged", suggest_exchanged_arguments),  # another number would only fit
    ("rows", suggest_count_of_ids),  # other numbers would only fit these ids
    ("rows", suggest_largest_id),  # ids may leave numbers out
    ("rows", suggest_written_file),  # a number would not follow the file
    ("rows", suggest_counted_vocabulary),  # a number would not follow the tokens
    ("nodes", suggest_counted_nodes),  # other data would only fit this graph
    ("tokens", suggest_resized_embedding),  # a number would not follow the tokenizer
    ("keyword", suggest_only_dim),  # a stack of vectors would be compared by row
    ("keyword", suggest_kept_dims),  # another dim would be reduced
    ("registered", suggest_registered_lists),  # a cast would leave them untrained
    ("bags", suggest_flat_bags),  # another number would not fit the offsets
    ("eval", suggest_evaluation),  # one sample has no statistics at any width
    ("order", suggest_chained_layers),  # other layers would all read the first input
    ("size", suggest_side_of_grid),  # other edits would fit the larger batch
    ("size", suggest_viewed_size),  # other numbers would mix the images
    ("size", suggest_whole_differences),  # a resized map would undo the crop
    ("order", suggest_classes_from_0),  # a class would be left out
    ("size", suggest_kept_sizes),  # other images would only hide what is not read
    ("time-first", suggest_time_first),  # the layers have their own layout
    ("layout", suggest_kept_layout),  # a mask of the samples would hide other steps
    ("layout", suggest_turned_table),  # a cut would count positions by the batch
)
"""Edits beside which no others are tried: those would run and mean something else."""


def find_fixes(program: Program, failure: Failure) -> list[FixOption]:
    """Return the fixes to try, without duplicates, the likeliest first."""
    if failure.of_history:
        cause = find_cause(program, failure)
        fixes = suggest_graph_edits(program, cause) if cause is not None else ()
        return _sort_fixes(program, iter_options("graph", 1.0, fixes))
    for kind, suggest in ALONE:
        alone = list(iter_options(kind, 1.0, suggest(program, failure)))
        if alone:
            return alone
    shapes = list(iter_options("state", 0.9, suggest_state_shapes(program, failure)))
    shapes += iter_options("state", 1.0, suggest_repeated_state(program, failure))
    if shapes and is_layer_meant(program, failure):
        return shapes  # another layer would fit, too, and be another model
    options = _sort_fixes(
        program,
        [
            *shapes,
            *iter_options("definition", 0.4, suggest_rounded_logarithms(program)),
            *find_call_fixes(program, failure),
            *find_line_fixes(program, failure),
        ],
    )
    options = [o for o in options if not is_refused(program, failure, o.fix, o.kind)]
    options = sort_edits_of_optional(program, options)
    unmet = failure.unmet
    if (
        unmet is not None
        and unmet.code == BATCH_DIM_MISMATCH
        and any(option.kind == "layout" for option in options)
    ):  # data of another length would not be what the layers are given
        options = [option for option in options if option.kind != "created"]
    if is_batch_first_meant(program, failure):  # a number would be that of the steps
        options = [option for option in options if option.kind != "created"]
    copies = [option for option in options if option.kind == "storage"]
    if copies and unmet is not None and unmet.code == NOT_CONTIGUOUS:
        return copies  # what needs no copy has other elements, or in another order
    if any(option.kind == "pooled" for option in options):
        options = [option for option in options if option.kind not in OF_MAPS]
    of_target = unmet is not None and unmet.code == TARGET_SHAPE
    if of_target and _is_of_a_network(program, failure):  # as wide as it is meant
        options = [option for option in options if option.kind not in OF_WIDTH]
    wide = unmet is not None and unmet.code == INNER_DIM_MISMATCH
    if wide and any(option.kind == "window" for option in options):
        sized = ("consumer", "layer", "number")  # fit one size of the images
        options = [option for option in options if option.kind not in sized]
    if not has_shared_source(program, failure):
        return options
    is_of_data = make_filter(program)
    if any(option.kind == "size" for option in options):  # fits every size
        options = [option for option in options if option.kind != "family"]
    return [
        option
        for option in options
        if option.kind == "family" or not is_of_data(option.fix)
    ]


OF_MAPS = frozenset({"consumer", "layer", "number", "window"})
"""Kinds of edits that make room for all pixels of a map."""


LAYERS = operators_with("is_convolution", "gives_logits")


def _is_of_a_network(program: Program, failure: Failure) -> bool:
    """Return whether the target of a loss was computed by layers, as a teacher does."""
    op = program.trace.ops[failure.op]
    target = op.inputs[1] if len(op.inputs) > 1 else None
    makers = iter_first_makers(program, target) if target is not None else ()
    return any(maker.name.rpartition(".")[2] in LAYERS for maker in makers)


def _is_input_fix(program: Program, fix: Fix) -> bool:
    """Return whether a fix changes the inputs of the trial instead of the program."""
    for edit in fix.edits:
        text = program.text(edit.span.file)
        for name, node in text.functions("example_inputs") if text is not None else ():
            inside = node.lineno <= edit.span.line <= get_last_line(node)
            if inside and name == "example_inputs":
                return True
    return False


ALONE_OF_ERRORS = (
    suggest_finding_unused,
    suggest_dynamic_shapes,
    suggest_traced_sizes,
    suggest_row_positions,
)
"""Edits for errors of the program beside which no others are tried."""

OF_PLACES = ("IndexError", "KeyError")
"""Errors that another place in what is read may repair."""


def fix_error(program: Program, finding: Finding) -> list[FixOption]:
    """Return the fixes to try for an error that the program itself raised."""
    from shapewright.analysis.causes_with_edits import (  # as they edit
        find_error_cause,
        find_sole_cause,
    )

    sole = find_sole_cause(program, finding)
    if sole is not None:
        return list(iter_options("cause", 0.5, sole.fixes))
    of_number = find_number_cause(program, finding)
    if of_number is not None and of_number.fixes:  # others change what is computed
        return _sort_fixes(program, iter_options("cause", 0.5, of_number.fixes))
    cause = find_error_cause(program, finding)
    lines = find_error_suspects(program, finding.span)
    own = list(iter_options("size", 0.5, suggest_divided_images(program, finding)))
    own += iter_options("pattern", 0.55, suggest_square_grid(program, finding))
    own += iter_options("pattern", 0.6, suggest_patterns(program, finding))
    own += iter_options("unread", 0.5, suggest_unread_name(program, finding.span))
    for suggest in ALONE_OF_ERRORS:
        alone = list(iter_options("word", 0.5, suggest(program, finding)))
        if alone:
            return alone
    if program.ending is not None and program.ending.error == "EinopsError":
        squeezed = squeeze_edits.suggest_squeeze_dim(program, lines)
        own += iter_options("squeeze", 1.5, squeezed)
        return _sort_fixes(program, own)
    if finding.code == COLLATED_LIST:
        own += iter_options("list", 0.5, suggest_tensors(program, None))
    names = other_names.replace_names(program, lines)
    if NOT_DIVISIBLE.search(finding.words):  # a width divides itself
        names = iter(())
    last = common_mistakes.suggest_drop_last(program, len(program.trace.ops))
    numbers = numbers_and_names.change_numbers(program, lines, [])
    if program.ending is None or program.ending.error not in OF_PLACES:
        numbers = (fix for fix in numbers if not is_of_other_data(program, fix))
    return _sort_fixes(
        program,
        [
            *(option for option in own if option.kind == "list"),
            *iter_options(
                get_collate_kind(finding),
                0.4,
                suggest_collate(program, finding),
            ),
            *iter_options("definition", 0.5, suggest_definitions(program, finding)),
            *iter_options("cause", 0.5, cause.fixes if cause is not None else ()),
            *iter_options("value", 0.6, suggest_values(program, finding)),
            *fix_mistaken_call(program, finding),
            *iter_options("turned", 0.5, suggest_columns(program, finding)),
            *iter_options("squeeze", 0.9, squeeze_edits.fix_last_squeeze(program)),
            *iter_options("last-batch", 1.0, last),
            *iter_options("meant", 0.7, suggest_keywords_on(program, lines)),
            *iter_options(
                "words",
                2.0,
                keywords_and_methods.find_word_fixes(program, finding.span),
            ),
            *iter_options("batch", 0.5, suggest_batches_of_one(program)),
            *iter_options("unpacked", 2.0, operands.fix_unpacking(program, finding)),
            *iter_options(
                "squeeze", 1.5, squeeze_edits.suggest_squeeze_dim(program, lines)
            ),
            *iter_options("number", 3.0, numbers),
            *iter_options("argument", 3.0, names),
            *iter_options(
                "swapped", 3.2, numbers_and_names.swap_arguments(program, lines)
            ),
        ],
    )


def fix_mistaken_call(program: Program, finding: Finding) -> Iterator[FixOption]:
    """Yield the fixes to try for a line that takes a value for another thing."""
    return iter_options("value", 0.6, suggest_meant(program, finding))


def fix_missing_value(program: Program, finding: Finding) -> Iterator[FixOption]:
    """Yield the fixes to try for a tuple in the place of a tensor."""
    return iter_options("value", 0.6, suggest_values(program, finding))


def _sort_fixes(program: Program, options: Iterable[FixOption]) -> list[FixOption]:
    """Return the fixes sorted by cost, without those that change the inputs or repeat a
    result.
    """
    seen: dict[object, FixOption] = {}
    for option in sorted(options, key=lambda option: option.cost):
        seen.setdefault(_apply_edits(program, option.fix), option)
    return [
        option
        for option in seen.values()
        if not _is_input_fix(program, option.fix) and not _is_of_library(option.fix)
    ]


def _is_of_library(fix: Fix) -> bool:
    """Return whether a fix changes the text of an installed library."""
    return any(is_installed(edit.span.file) for edit in fix.edits)


def _apply_edits(program: Program, fix: Fix) -> frozenset[tuple[str, str]]:
    """Return the files that a fix changes, each with its text after the fix.

    Two fixes may write the same text with edits of different spans.
    """
    edits: dict[str, list[tuple[Span, str]]] = {}
    for edit in fix.edits:
        edits.setdefault(edit.span.file, []).append((edit.span, edit.text))
    texts = {file: program.text(file) for file in edits}
    return frozenset(
        (file, apply_edits(text.text, edits[file]) if text else str(edits[file]))
        for file, text in texts.items()
    )
