"""Find edits of the program's text that may repair a failure, the likeliest first; the
caller then tries them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shapewright.analysis.autograd_errors import find_cause
from shapewright.analysis.collated_lists import suggest_tensors
from shapewright.analysis.einops_errors import suggest_patterns
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
from shapewright.analysis.fixes import constructors as created
from shapewright.analysis.fixes.batch_edits import add_batch, suggest_batch_of_one
from shapewright.analysis.fixes.collate_edits import suggest_collate
from shapewright.analysis.fixes.expanded_operands import suggest_expanded
from shapewright.analysis.fixes.graph_edits import suggest_graph_edits
from shapewright.analysis.fixes.image_edits import (
    suggest_channels,
    suggest_fitting_images,
)
from shapewright.analysis.fixes.joined_dims import suggest_other_joined_dim
from shapewright.analysis.fixes.joined_sizes import suggest_joined_sizes
from shapewright.analysis.fixes.kept_dims import suggest_kept_dims, suggest_kept_size
from shapewright.analysis.fixes.label_edits import (
    suggest_class_targets,
    suggest_one_hot,
)
from shapewright.analysis.fixes.last_states import (
    suggest_both_directions,
    suggest_last_state,
)
from shapewright.analysis.fixes.lost_dims import (
    suggest_other_reduced_dim,
    suggest_whole_output,
)
from shapewright.analysis.fixes.mask_edits import suggest_masks
from shapewright.analysis.fixes.merged_dims import suggest_merged_dims
from shapewright.analysis.fixes.missing_padding import find_padding
from shapewright.analysis.fixes.norm_edits import move_channels_second
from shapewright.analysis.fixes.overwritten_names import suggest_unread_name
from shapewright.analysis.fixes.pattern_edits import suggest_pattern_orders
from shapewright.analysis.fixes.pooled_maps import suggest_pooled_map
from shapewright.analysis.fixes.refusals import is_of_other_data, is_refused
from shapewright.analysis.fixes.shortcuts import suggest_shortcut
from shapewright.analysis.fixes.stand_in_data import has_shared_source, make_filter
from shapewright.analysis.fixes.state_edits import (
    is_layer_meant,
    suggest_fewer_layers,
    suggest_joined_directions,
    suggest_repeated_state,
    suggest_second_direction,
    suggest_state_shapes,
    suggest_unbatched_sequence,
)
from shapewright.analysis.fixes.suspect_lines import find_error_suspects, find_suspects
from shapewright.analysis.fixes.target_edits import (
    suggest_flat_target,
    suggest_shifted_target,
)
from shapewright.analysis.fixes.token_edits import suggest_resized_embedding
from shapewright.analysis.fixes.uncut_losses import suggest_scores_for_failed_loss
from shapewright.analysis.fixes.upsampled_sizes import (
    suggest_all_output_paddings,
    suggest_fitting_output_padding,
    suggest_output_padding,
    suggest_target_size,
)
from shapewright.analysis.fixes.window_edits import (
    suggest_adaptive_pooling,
    suggest_global_pooling,
    suggest_kernel_numbers,
)
from shapewright.analysis.missing_values import suggest_values
from shapewright.analysis.mistaken_calls import suggest_meant
from shapewright.analysis.model_definitions import suggest_definitions
from shapewright.analysis.program_run import Program, as_far_as_known
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    CHANNELS_LAST,
    COLLATED_LIST,
    INNER_DIM_MISMATCH,
    KERNEL_TOO_LARGE,
    MISSING_TRANSPOSE,
    NOT_CONTIGUOUS,
    NOT_FLATTENED,
    WRONG_RANK,
)
from shapewright.findings.finding import Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span, apply_edits, is_installed
from shapewright.program.syntax_nodes import get_last_line

STEP = 0.01
"""How much dearer each further change of one kind is."""


GUESSED = frozenset({"number", "argument", "swapped", "name", "larger?"})
"""Kinds of edits that put another number or name on a suspect line, or cut data."""
DECIDED = frozenset({
    "any-batch", "batch", "created", "dtype", "expanded", "family", "graph", "hazard",
    "layout", "made-dtype", "numpy", "order", "padded",
    "unread", "rank", "size", "squeeze", "state", "storage", "turned",
})  # fmt: skip
"""Kinds of edits that follow from what the failing call needs of its operand."""


@dataclass(frozen=True, slots=True)
class FixOption:
    """A fix to try. The lower its `cost`, the likelier that it is what
    the user meant.
    """

    fix: Fix
    kind: str
    cost: float


def iter_options(kind: str, cost: float, fixes: Iterable[Fix]) -> Iterator[FixOption]:
    """Yield one option per fix, all of the same kind, each costing more than the
    previous one.
    """
    for n, fix in enumerate(as_far_as_known(fixes)):
        yield FixOption(fix, kind, cost + n * STEP)


ALONE: tuple[tuple[str, Callable[[Program, Failure], Iterable[Fix]]], ...] = (
    ("list", suggest_tensors),
    ("graph", suggest_scores_for_failed_loss),  # a label would fit the decisions
    ("state", suggest_joined_directions),
    ("order", suggest_one_hot),  # numbers of classes are no factors
    ("order", suggest_class_targets),  # other data would fit the loss
    ("expanded", index_edits.suggest_expanded_index),  # one feature would be taken
    ("rank", suggest_unbatched_sequence),  # a layer would fit the number of samples
    ("order", suggest_pattern_orders),  # another layer would join other dims
    ("created", suggest_joined_sizes),  # a number would stand for the factor
    ("tokens", suggest_resized_embedding),  # a number would not follow the tokenizer
    ("keyword", suggest_kept_dims),  # another dim would be reduced
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
            *_find_call_fixes(program, failure),
            *_find_line_fixes(program, failure),
        ],
    )
    options = [o for o in options if not is_refused(program, failure, o.fix, o.kind)]
    unmet = failure.unmet
    if (
        unmet is not None
        and unmet.code == BATCH_DIM_MISMATCH
        and any(option.kind == "layout" for option in options)
    ):  # data of another length would not be what the layers are given
        options = [option for option in options if option.kind != "created"]
    copies = [option for option in options if option.kind == "storage"]
    if copies and unmet is not None and unmet.code == NOT_CONTIGUOUS:
        return copies  # what needs no copy has other elements, or in another order
    if any(option.kind == "pooled" for option in options):
        options = [option for option in options if option.kind not in OF_MAPS]
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


OF_OPERANDS = frozenset({NOT_FLATTENED, CHANNELS_LAST, MISSING_TRANSPOSE})
"""Codes that say how an operand is to be changed."""


OF_MAPS = frozenset({"consumer", "layer", "number", "window"})
"""Kinds of edits that make room for all pixels of a map."""


def _is_input_fix(program: Program, fix: Fix) -> bool:
    """Return whether a fix changes the inputs of the trial instead of the program."""
    for edit in fix.edits:
        text = program.text(edit.span.file)
        for name, node in text.functions("example_inputs") if text is not None else ():
            inside = node.lineno <= edit.span.line <= get_last_line(node)
            if inside and name == "example_inputs":
                return True
    return False


OF_PLACES = ("IndexError", "KeyError")
"""Errors that another place in what is read may repair."""


def fix_error(program: Program, finding: Finding) -> list[FixOption]:
    """Return the fixes to try for an error that the program itself raised."""
    lines = find_error_suspects(program, finding.span)
    own = list(iter_options("pattern", 0.6, suggest_patterns(program, finding)))
    own += iter_options("unread", 0.5, suggest_unread_name(program, finding.span))
    if program.ending is not None and program.ending.error == "EinopsError":
        squeezed = squeeze_edits.suggest_squeeze_dim(program, lines)
        own += iter_options("squeeze", 1.5, squeezed)
        return _sort_fixes(program, own)
    if finding.code == COLLATED_LIST:
        own += iter_options("list", 0.5, suggest_tensors(program, None))
    last = common_mistakes.suggest_drop_last(program, len(program.trace.ops))
    numbers = numbers_and_names.change_numbers(program, lines, [])
    if program.ending is None or program.ending.error not in OF_PLACES:
        numbers = (fix for fix in numbers if not is_of_other_data(program, fix))
    return _sort_fixes(
        program,
        [
            *(option for option in own if option.kind == "list"),
            *iter_options("load", 0.4, suggest_collate(program, finding)),
            *iter_options("definition", 0.5, suggest_definitions(program, finding)),
            *iter_options("value", 0.6, suggest_values(program, finding)),
            *fix_mistaken_call(program, finding),
            *iter_options("squeeze", 0.9, squeeze_edits.fix_last_squeeze(program)),
            *iter_options("last-batch", 1.0, last),
            *iter_options(
                "words",
                2.0,
                keywords_and_methods.find_word_fixes(program, finding.span),
            ),
            *iter_options("unpacked", 2.0, operands.fix_unpacking(program, finding)),
            *iter_options(
                "squeeze", 1.5, squeeze_edits.suggest_squeeze_dim(program, lines)
            ),
            *iter_options("number", 3.0, numbers),
            *iter_options("argument", 3.0, other_names.replace_names(program, lines)),
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


def _find_call_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that follow from the failing call itself."""
    ordered = order_edits.fix_order(program, failure, sure=True)
    yield from iter_options(
        "any-batch", 0.9, common_mistakes.suggest_any_batch(program, failure)
    )
    yield from iter_options("order", 0.9, suggest_shifted_target(program, failure))
    yield from iter_options("order", 1.3, move_channels_second(program, failure))
    yield from iter_options("layout", 1.2, suggest_masks(program, failure))
    yield from iter_options("rank", 0.9, suggest_flat_target(program, failure))
    yield from iter_options(
        "last-batch", 1.0, common_mistakes.suggest_drop_last(program, failure.op)
    )
    yield from iter_options("expanded", 1.1, suggest_expanded(program, failure))
    yield from iter_options(
        "layout", 1.9, keywords_and_methods.suggest_batch_first(program, failure)
    )
    yield from iter_options("numpy", 0.8, operands.fix_for_numpy(program, failure))
    lost = squeeze_edits.fix_lost_batch(program, program.trace.ops[failure.op])
    yield from iter_options("squeeze", 0.9, lost)
    yield from iter_options("size", 1.0, suggest_target_size(program, failure))
    padded = keywords_and_methods.fix_padded_sequence(program, failure)
    yield from iter_options("padded", 0.9, padded)
    yield from iter_options("dtype", 1.0, dtype_edits.fix_dtype(program, failure))
    shared = dtype_edits.fix_shared_dtype(program, failure)
    yield from iter_options("dtype", 0.95, shared)
    yield from iter_options("storage", 1.0, operands.fix_storage(program, failure))
    yield from iter_options(
        "turned", 1.4, numbers_and_names.suggest_orders(program, failure, True)
    )
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
    transposed = order_edits.suggest_transposed_weight(program, failure)
    yield from iter_options("order", 1.1, transposed)
    fewer = suggest_fewer_layers(program, failure)
    yield from iter_options("state", 1.3, fewer)
    second = suggest_second_direction(program, failure)
    yield from iter_options("directions", 1.5, second)
    last = suggest_last_state(program, failure)
    yield from iter_options("last-state", 0.8, last)
    both = suggest_both_directions(program, failure)
    yield from iter_options("last-state", 0.8, both)
    unread = suggest_unread_name(program, program.trace.ops[failure.op].span)
    yield from iter_options("unread", 0.9, unread)
    reduced = suggest_other_reduced_dim(program, failure)
    yield from iter_options("reduced", 1.0, reduced)
    padding, is_forgotten = find_padding(program, failure)
    yield from iter_options("padding", 0.85 if is_forgotten else 1.15, padding)
    merged = suggest_merged_dims(program, failure)
    yield from iter_options("merged", 1.05, merged)
    kept = suggest_kept_size(program, failure)
    yield from iter_options("kept", 0.95, kept)
    joined = suggest_other_joined_dim(program, failure)
    yield from iter_options("joined", 1.6, joined)
    whole = suggest_whole_output(program, failure)
    yield from iter_options("whole", 1.4, whole)
    yield from iter_options("shortcut", 1.2, suggest_shortcut(program, failure))
    yield from iter_options("pooled", 1.1, suggest_pooled_map(program, failure))
    yield from iter_options("window", 1.7, suggest_adaptive_pooling(program, failure))
    yield from iter_options("window", 1.6, suggest_global_pooling(program, failure))
    yield from iter_options("window", 1.6, suggest_kernel_numbers(program, failure))
    images = suggest_fitting_images(program, failure)
    yield from iter_options("size", 1.3, images)
    yield from iter_options("size", 1.2, suggest_output_padding(program, failure))
    smaller = suggest_fitting_output_padding(program, failure)
    yield from iter_options("size", 0.9, smaller)
    paddings = suggest_all_output_paddings(program, failure)
    yield from iter_options("size", 1.25, paddings)
    yield from iter_options(
        "family", 1.8, common_mistakes.suggest_family_fixes(program, failure)
    )
    unmet = failure.unmet
    turned = unmet is not None and unmet.code in OF_OPERANDS
    cost = 3.5 if turned else 2.0
    if unmet is None or unmet.code != CHANNELS_LAST:
        # Another size would make room for channels where the data has none.
        yield from iter_options(
            "consumer", cost, constructors.fix_consumer(program, failure)
        )
        yield from iter_options(
            "layer", cost + 0.1, constructors.fix_expecting_layer(program, failure)
        )
    yield from iter_options("batch", 0.85, suggest_batch_of_one(program, failure))
    yield from iter_options("created", 0.9, suggest_channels(program, failure))
    yield from iter_options("batch", 1.3, add_batch(program, failure))
    yield from iter_options(
        "view", 1.3, numbers_and_names.fix_view_size(program, failure)
    )
    yield from iter_options("table", 2.0, index_edits.fix_table(program, failure))
    yield from iter_options(
        "table", 2.0, index_edits.fix_indexed_tensor(program, failure)
    )
    yield from iter_options(
        "ignored", 2.1, index_edits.suggest_ignored_class(program, failure)
    )
    yield from iter_options("shuffle", 1.9, constructors.fix_shuffle(program, failure))
    yield from iter_options("share", 2.2, constructors.fix_share(program, failure))
    masks = common_mistakes.swap_mask_dims(program, failure)
    yield from iter_options("turned", 3.6, masks)
    yield from iter_options("left-out", 2.8, operands.drop_norm(program, failure))
    yield from iter_options("dim", 2.2, numbers_and_names.fix_dims(program, failure))
    yield from iter_options(
        "created", 2.4, created.fix_created_tensor(program, failure)
    )
    yield from iter_options(
        "larger", 2.6, crop_edits.fix_larger_tensor(program, failure, True)
    )
    part = crop_edits.suggest_fitting_part(program, failure)
    yield from iter_options("larger", 1.2, part)
    yield from iter_options("eval", 1.2, operands.suggest_evaluation(program, failure))
    of_rank = unmet is not None and unmet.code == WRONG_RANK
    if failure.error != "IndexError" or of_rank:
        cost = 1.7 if turned else 3.0
        yield from iter_options("rank", cost, operands.fix_rank(program, failure))
    yield from iter_options("name", 3.2, other_names.replace_tensors(program, failure))
    yield from iter_options(
        "producer", 3.4, constructors.fix_producer(program, failure)
    )
    yield from iter_options(
        "operands", 3.6, numbers_and_names.swap_operands(program, failure)
    )


FUSED = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")
"""Kernels of evaluation; a flag that turns them off repairs nothing that they need."""


def _find_line_fixes(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that change a word, name or number on the lines that led
    to the call.
    """
    lines = find_suspects(program, failure)
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
    yield from iter_options(
        "dropped", 3.3, keywords_and_methods.drop_methods(program, lines)
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
