"""Edits for warnings: what usually mends each, to be tried like the fixes of errors.

An edit is shown only if the run with it has the warning no more, and no other one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from math import prod

from shapewright.analysis.fixes.constructors import (
    change_layer_size,
    resize_producer,
)
from shapewright.analysis.fixes.data_edits import (
    suggest_loader_in_order,
    suggest_mean_of_features,
    suggest_one_permutation,
    suggest_one_seed,
    suggest_own_data_set,
    suggest_swapped_factors,
)
from shapewright.analysis.fixes.head_views import (
    is_cut_around_tokens,
    suggest_heads_behind_tokens,
)
from shapewright.analysis.fixes.index_edits import suggest_rows
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.label_edits import (
    suggest_ignored_padding,
    suggest_nearest,
    suggest_sign,
)
from shapewright.analysis.fixes.loss_edits import (
    suggest_logits_keyword,
    suggest_loss_edits,
)
from shapewright.analysis.fixes.loss_term_edits import (
    suggest_added_noise,
    suggest_assigned_result,
    suggest_detached_operand,
    suggest_fill,
    suggest_root_of_variance,
    suggest_signed_operands,
    suggest_subtracted_entropy,
    suggest_sum,
    suggest_truths,
    suggest_two_letters,
    suggest_unreduced_loss,
)
from shapewright.analysis.fixes.mask_edits import suggest_mask_changes
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.order_edits import find_view_back
from shapewright.analysis.fixes.position_edits import (
    suggest_batch_first,
    suggest_positions,
)
from shapewright.analysis.fixes.reset_edits import (
    suggest_active_dropout,
    suggest_later_load,
    suggest_reset,
)
from shapewright.analysis.fixes.schedule_edits import (
    suggest_direction,
    suggest_own_scheduler,
    suggest_step_of_scaler,
    suggest_steps_of_loader,
)
from shapewright.analysis.fixes.shared_objects import (
    suggest_buffers,
    suggest_copied_state,
    suggest_model_copy,
    suggest_own_layers,
    suggest_part,
)
from shapewright.analysis.fixes.silent_edits import (
    suggest_added_tensor,
    suggest_loss_of_each_class,
    suggest_no_state,
    suggest_old_order,
    suggest_rows_for_samples,
    suggest_tied_weight,
)
from shapewright.analysis.fixes.step_edits import (
    suggest_earlier_clipping,
    suggest_frozen_mode,
    suggest_loaded_states,
    suggest_other_loop,
    suggest_unscaling,
    suggest_weights_of_samples,
)
from shapewright.analysis.fixes.tensor_edits import (
    suggest_classes,
    suggest_element_of_each_row,
    suggest_last_states,
    suggest_mode_of_module,
    suggest_one_order,
    suggest_parameter,
)
from shapewright.analysis.fixes.training_edits import (
    suggest_clearing,
    suggest_count_of_batches,
    suggest_count_of_samples,
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
from shapewright.analysis.fixes.uncut_losses import suggest_scores_for_rounded
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.state_dicts import suggest_renamed_keys
from shapewright.findings.codes import (
    ADVANTAGE_WITH_GRAPH,
    BATCH_AXIS,
    BUILT_IN_FORWARD,
    CENTRED_AXIS,
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
    EQUAL_SAMPLES,
    EVALUATED_IN_TRAINING_MODE,
    EVALUATED_WITH_GRAPH,
    FLAG_WITHOUT_EFFECT,
    FOCAL_ON_MEAN,
    GRADIENTS_CLEARED_UNUSED,
    GRADIENTS_NOT_CLEARED,
    GRAPH_KEPT,
    INDEX_OF_ALL_ROWS,
    INTERPOLATED_LABELS,
    INVERTED_INTEGERS,
    LAST_STEP,
    LAYOUT,
    LOADED_WEIGHTS_LOST,
    LOSS_INPUT,
    LOSS_SHAPES,
    LOST_BATCH,
    MASK_AXIS,
    MEAN_OF_MEANS,
    MEAN_OVER_SAMPLES,
    METRIC_DIRECTION,
    MINIMIZED_ENTROPY,
    MIXED_REDUCTIONS,
    MODEL_NOT_COPIED,
    NEVER_STEPPED,
    NOT_A_PARAMETER,
    NOT_IN_OPTIMIZER,
    ONE_SAMPLE,
    OUTER_BROADCAST,
    PADDED_TARGETS,
    PAIRED_ROWS,
    PARAMETER_REPEATED,
    REPEATED_LAYER,
    RESULT_DROPPED,
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
    SHUFFLED_ORDER,
    SINGLE_CLASS,
    STATE_NOT_COPIED,
    STATE_NOT_RESUMED,
    STATE_OF_OTHER_SAMPLES,
    STATISTICS_NOT_COPIED,
    STATISTICS_NOT_FROZEN,
    SUM_AFTER_LOOP,
    TEACHER_WITH_GRAPH,
    TERM_WITHOUT_GRAPH,
    TRAINED_IN_EVAL_MODE,
    UNMATCHED_STATE_DICT,
    UNRELATED_NOISE,
    UNUSED_SPLIT,
    VARIANCE_AS_SCALE,
    VIEW_MIXES_DIMS,
    WEAK_MASK,
    WEIGHTS_NOT_TIED,
    WRAPPED_DIFFERENCE,
    WRONG_AXIS,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.record.ops import Op

JOINS = operators_with("concatenates")
SUMMING = frozenset({"mean", "sum", "amax"})
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


def _find_op(program: Program, finding: Finding) -> Op | None:
    """Return the first call at a finding's place."""
    return next((op for op in program.trace.ops if op.span == finding.span), None)


# -- shapes that meet by accident ------------------------------------------------------


def _suggest_equal_ranks(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pred.squeeze(-1)` or `target.unsqueeze(1)`."""
    for op in program.trace.ops:
        if op.span != finding.span or len(op.inputs) < 2:
            continue
        left_shape, right_shape = op.inputs[0].shape, op.inputs[1].shape
        if left_shape and right_shape == (*left_shape[:-1], 1) != left_shape:
            yield from resize_producer(program, op.inputs[0], -1, 1)
        if len(left_shape) == len(right_shape):
            continue
        long = 0 if len(left_shape) > len(right_shape) else 1
        shape = op.inputs[long].shape
        if abs(len(left_shape) - len(right_shape)) > 1 and set(shape[2:]) == {1}:
            places = find_tensor_expressions(program, op)
            place = places[long] if len(places) > long else None
            if place is not None:
                yield append_method(text, place[0], ".flatten(1)")
        ones = [dim for dim, size in enumerate(shape) if size == 1]
        places = find_tensor_expressions(program, op)
        if ones and len(places) > 1:
            dim = ones[-1] - len(shape) if ones[-1] == len(shape) - 1 else ones[-1]
            slim, wide = places[1 - long], places[long]
            squeezed = (wide, f".squeeze({dim})")
            widened = (slim, f".unsqueeze({ones[-1]})")
            first = op.inputs[long].requires_grad
            for place, method in (squeezed, widened) if first else (widened, squeezed):
                if place is not None:
                    yield append_method(text, place[0], method)
        return


def _suggest_equal_shapes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `target.view_as(prediction)`."""
    op = _find_op(program, finding)
    places = find_tensor_expressions(program, op) if op is not None else []
    if len(places) > 1 and places[0] is not None and places[1] is not None:
        wanted = join_lines(text.written(places[0][0]))
        if isinstance(places[0][0], ast.Name | ast.Attribute):
            yield append_method(text, places[1][0], f".view_as({wanted})")
    yield from _suggest_equal_ranks(program, finding, text, node)


def _suggest_squeezed_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `squeeze(-1)` for `squeeze()`, or `flatten(1)` for several dims."""
    op = _find_op(program, finding)
    if op is None or not isinstance(node, ast.Call) or not op.inputs:
        return
    shape = op.inputs[0].shape
    ones = [dim for dim, size in enumerate(shape) if size == 1 and dim > 0]
    if not ones or not isinstance(node.func, ast.Attribute):
        return
    if len(ones) > 1:
        span = text.span(node)
        start = text.span(node.func.value)
        edit = Edit(Span(span.file, *_get_end(start), *_get_end(span)), ".flatten(1)")
        yield Fix("fits", f"`{text.at(start)}.flatten(1)`", (edit,))
    for dim in reversed(ones):
        number = dim - len(shape) if dim == len(shape) - 1 else dim
        if not node.args and not node.keywords:
            span = text.span(node)
            end = Span(span.file, span.end_line, span.end_column - 1, *_get_end(span))
            shown = join_lines(text.written(node))[:-1] + f"{number})"
            yield Fix("fits", f"`{shown}`", (Edit(end, f"{number})"),))


def _get_end(span: Span) -> tuple[int, int]:
    """Return the line and column at which a span ends."""
    return span.end_line, span.end_column


def _suggest_transpose(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `permute` for a view, or a transpose before or after it."""
    op = _find_op(program, finding)
    if op is None or not isinstance(node, ast.Call) or not op.outputs:
        return
    if not isinstance(node.func, ast.Attribute):
        return
    if is_cut_around_tokens(op):
        yield from suggest_heads_behind_tokens(program, op, text, node)
        return
    before, after = op.inputs[0].shape, op.outputs[0].shape
    owner = text.span(node.func.value)
    span = text.span(node)
    tail = Span(span.file, *_get_end(owner), *_get_end(span))
    rank = len(before)
    if "several samples in one row" in finding.message and rank > 2:
        yield from _suggest_row_per_sample(program, op, text, tail)
    if sorted(before) == sorted(after):
        for order in permutations(range(rank)):
            if tuple(before[d] for d in order) == after and order != tuple(range(rank)):
                moved = [at for at, d in enumerate(order) if at != d]
                new = f".permute({', '.join(map(str, order))})"
                if len(moved) == 2:
                    new = f".transpose({moved[0]}, {moved[1]})"
                yield Fix("fits", f"`{text.at(owner)}{new}`", (Edit(tail, new),))
    sizes = text.at(tail).partition("(")[2]
    for source, target in ((1, rank - 1), (rank - 1, 1)) if rank == 4 else ():
        moved = [d for d in range(rank) if d != source]
        moved.insert(target, source)
        new = f".permute({', '.join(map(str, moved))}).reshape({sizes}"
        shown = join_lines(text.at(owner) + new)
        back = find_view_back(program, op, text, node) if source == 1 else None
        if back is not None:
            message = f"`{shown}` and {back.message}"
            yield Fix("fits", message, (Edit(tail, new), *back.edits))
        yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
    for first_dim, second_dim in combinations(range(len(before)), 2):
        if (first_dim, second_dim) != (0, rank - 1) or rank == 2:
            new = f".transpose({first_dim}, {second_dim}).reshape({sizes}"
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))
    written = [text.written(argument) for argument in node.args]
    if len(written) == len(after) and len(written) > 2:
        for first_dim, second_dim in combinations(range(len(written)), 2):
            turned = list(written)
            turned[first_dim], turned[second_dim] = (
                turned[second_dim],
                turned[first_dim],
            )
            new = (
                f".{node.func.attr}({', '.join(turned)}).transpose({first_dim},"
                f" {second_dim})"
            )
            shown = join_lines(text.at(owner) + new)
            yield Fix("fits", f"`{shown}`", (Edit(tail, new),))


def _suggest_row_per_sample(
    program: Program, op: Op, text: SourceText, tail: Span
) -> Iterator[Fix]:
    """Suggest `flatten(1)`, with a layer that takes so many features."""
    before, after = op.inputs[0].shape, op.outputs[0].shape
    sizes = [str(size) for size in before[1:] if size > 1]
    flat = Edit(tail, ".flatten(1)")
    for user in program.trace.ops[op.index + 1 :]:
        layer = program.layer(user)
        if layer is None or not user.inputs or after[-1:] != user.inputs[0].shape[-1:]:
            continue
        written = " * ".join(sizes)
        for fix in change_layer_size(
            program, layer.path, after[-1], prod(before[1:]), written
        ):
            yield Fix("fits", f"`.flatten(1)` and {fix.message}", (flat, *fix.edits))
        return


# -- the axis that a call runs along ---------------------------------------------------


def _suggest_other_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the last dim, then the others, for the `dim` of a call; the last step for
    the last sample.
    """
    op = _find_op(program, finding)
    if isinstance(node, ast.Subscript):
        yield from _suggest_last_step(text, node)
        return
    if op is None or not op.inputs:
        return
    rank = len(op.inputs[0].shape)
    for where, call in _iter_calls_with_dim(program, op, text, node):
        place = _find_dim_argument(where, call)
        shape = op.inputs[0].shape
        match = re.search(r"along dim (\d+)$", finding.message)
        own = re.search(r"along dim (\d+)", finding.message)
        wide = [dim for dim in range(rank - 1, -1, -1) if shape[dim] > 1]
        dims = [-1, *wide[1:]] if wide[:1] == [rank - 1] else wide
        if own is not None:
            dims = [dim for dim in dims if dim % rank != int(own[1]) % rank]
        if match is not None and match.start() != (own.start() if own else -1):
            right = int(match[1])
            dims = [-1 if right == rank - 1 else right, *dims]
        alone = "has size 1" in finding.message
        if (op.name.rpartition(".")[2] in SUMMING or alone) and rank > 2:
            dims = [1, *dims]  # the steps, not the features
        dims = list(dict.fromkeys(dims))
        if "without `dim`" in finding.message and own is not None:
            dims = [-1, int(own[1])] if rank == 3 else [int(own[1])]
        if op.name.rpartition(".")[2] in JOINS:
            dims = [1, -1]
        for dim in dims:
            if place is None:
                yield with_keyword(where, call, f"dim={dim}")
            elif where.written(place) != str(dim):
                span = where.span(place)
                shown = join_lines(where.written(call))
                old = where.written(place)
                shown = shown.replace(old, str(dim)) if shown.count(old) == 1 else ""
                message = f"`{shown}`" if shown else f"`dim={dim}`"
                yield Fix("fits", message, (Edit(span, str(dim)),))


def _iter_calls_with_dim(
    program: Program, op: Op, text: SourceText, node: ast.AST
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the call that has a dim: of the function, or where its layer is built."""
    layer = program.layer(op)
    if layer is not None and layer.path in program.built:
        text_and_call = program.call_at(program.built[layer.path].span)
        if text_and_call is not None:
            yield text_and_call
    elif isinstance(node, ast.Call):
        yield text, node


def _find_dim_argument(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the `dim` of a call, if the text has one."""
    for word in call.keywords:
        if word.arg in ("dim", "axis"):
            return word.value
    for argument in call.args:
        inner = argument.operand if isinstance(argument, ast.UnaryOp) else argument
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            return argument
    return None


def _suggest_last_step(text: SourceText, node: ast.Subscript) -> Iterator[Fix]:
    """Suggest `out[:, -1]` for `out[-1]`, and `h[-1]` for `h[:, -1]`."""
    index = text.written(node.slice)
    owner = text.written(node.value)
    items = [part.strip() for part in index.split(",")]
    if items[0] != ":":
        new = f"{owner}[:, {index}]"
    else:
        new = f"{owner}[{', '.join(items[1:])}]"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_other_axis(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest another dim, or positions along another one."""
    yield from _suggest_other_dim(program, finding, text, node)
    yield from suggest_positions(program, finding, text, node)


def _suggest_arrow(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest an equation with an arrow that keeps the letter all operands share."""
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    terms = [term.strip() for term in first.value.split(",")]
    if "->" in first.value or len(terms) < 2:
        return
    letters = [c for c in dict.fromkeys("".join(terms)) if c.isalpha()]
    front = terms[0][0] if all(term.startswith(terms[0][0]) for term in terms) else ""
    once = [c for c in letters if "".join(terms).count(c) == 1]
    out = "".join(dict.fromkeys([*front, *once]))
    quote = text.written(first)[0]
    new = f"{quote}{first.value} -> {out}{quote}"
    yield Fix("fits", f"`{new}`", (Edit(text.span(first), new),))


WAYS: dict[str, Suggest] = {
    OUTER_BROADCAST: _combine(suggest_rows_for_samples, _suggest_equal_ranks),
    STATE_OF_OTHER_SAMPLES: suggest_no_state,
    WEIGHTS_NOT_TIED: suggest_tied_weight,
    SEVERAL_LABELS: suggest_loss_of_each_class,
    LOSS_SHAPES: _suggest_equal_shapes,
    LOST_BATCH: _suggest_squeezed_dim,
    LOSS_INPUT: _combine(suggest_logits_keyword, suggest_loss_edits),
    BUILT_IN_FORWARD: suggest_own_module,
    MASK_AXIS: suggest_mask_changes,
    WEAK_MASK: suggest_fill,
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
    VARIANCE_AS_SCALE: suggest_root_of_variance,
    VIEW_MIXES_DIMS: _suggest_transpose,
    WRONG_AXIS: _suggest_other_dim,
    BATCH_AXIS: _suggest_other_axis,
    LAYOUT: suggest_batch_first,
    EINSUM_REDUCTION: _suggest_arrow,
    ONE_SAMPLE: suggest_last_batch,
    GRAPH_KEPT: suggest_value,
    MEAN_OVER_SAMPLES: suggest_count_of_batches,
    SUM_AFTER_LOOP: suggest_inside_loop,
    GRADIENTS_NOT_CLEARED: suggest_clearing,
    GRADIENTS_CLEARED_UNUSED: suggest_later_clearing,
    NEVER_STEPPED: suggest_step,
    COUNT_NOT_READ: suggest_own_counts,
    COUNT_OVER_BATCHES: suggest_count_of_samples,
    MEAN_OF_MEANS: suggest_count_of_samples,
    LAST_STEP: suggest_last_states,
    DROPOUT_ALWAYS_ON: suggest_mode_of_module,
    NOT_A_PARAMETER: suggest_parameter,
    COMPARED_SCORES: suggest_classes,
    PAIRED_ROWS: _combine(suggest_old_order, suggest_one_order),
    UNMATCHED_STATE_DICT: suggest_renamed_keys,
    REPEATED_LAYER: suggest_own_layers,
    INTERPOLATED_LABELS: suggest_nearest,
    PADDED_TARGETS: suggest_ignored_padding,
    STATE_NOT_RESUMED: suggest_loaded_states,
    STATISTICS_NOT_FROZEN: suggest_frozen_mode,
    SAMPLER_WEIGHTS: suggest_weights_of_samples,
    STATISTICS_NOT_COPIED: suggest_buffers,
    SINGLE_CLASS: suggest_sign,
    UNUSED_SPLIT: suggest_part,
    MODEL_NOT_COPIED: suggest_model_copy,
    INDEX_OF_ALL_ROWS: suggest_element_of_each_row,
    EVALUATED_IN_TRAINING_MODE: suggest_mode,
    EVALUATED_WITH_GRAPH: suggest_no_grad,
    FLAG_WITHOUT_EFFECT: suggest_flag,
    TRAINED_IN_EVAL_MODE: suggest_mode,
    NOT_IN_OPTIMIZER: suggest_registration,
    PARAMETER_REPEATED: suggest_each_once,
    SCHEDULER_TOO_LONG: suggest_steps_of_loader,
    SCHEDULER_UNIT: suggest_other_loop,
    STATE_NOT_COPIED: suggest_copied_state,
    CLIPPED_AFTER_STEP: suggest_earlier_clipping,
    CLIPPED_SCALED: suggest_unscaling,
    SCHEDULER_ORDER: suggest_order_of_steps,
    SCHEDULER_OF_REPLACED: suggest_own_scheduler,
    SCALED_STEP: suggest_step_of_scaler,
    METRIC_DIRECTION: suggest_direction,
    COUNT_NOT_RESET: suggest_reset,
    EQUAL_SAMPLES: suggest_active_dropout,
    LOADED_WEIGHTS_LOST: suggest_later_load,
    SEED_REPEATED: suggest_one_seed,
    SEPARATE_PERMUTATIONS: suggest_one_permutation,
    DECAY_SWAPPED: suggest_swapped_factors,
    CENTRED_AXIS: suggest_mean_of_features,
    SHARED_TRANSFORM: suggest_own_data_set,
    SHUFFLED_ORDER: suggest_loader_in_order,
}
"""What suggests edits, by the code of a warning."""
