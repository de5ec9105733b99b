"""Edits that would make a program run and do something else: they are not tried."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from math import prod

from shapewright.analysis.fixes.dtype_edits import CASTS
from shapewright.analysis.fixes.flattened_batches import is_of_whole_batch
from shapewright.analysis.fixes.grey_images import suggest_grey_images
from shapewright.analysis.fixes.index_edits import is_crossed, is_narrowed
from shapewright.analysis.fixes.map_products import is_of_rows_of_maps
from shapewright.analysis.fixes.pooled_maps import is_of_columns
from shapewright.analysis.fixes.refusals.labels import (
    is_of_fractions,
    is_of_many_classes,
    is_of_more_classes,
    is_of_other_features,
    is_of_other_labels,
    is_of_unsqueezed_scores,
    read_number,
)
from shapewright.analysis.fixes.refusals.numbers import (
    has_broken_square,
    has_emptied_setting,
    has_frozen_size,
    has_smaller_modulus,
    is_of_written_data,
)
from shapewright.analysis.fixes.signed_labels import find_signed_labels
from shapewright.analysis.fixes.stand_in_data import is_within
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    ATTENTION_MASK_SHAPE,
    BROADCAST_MISMATCH,
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    DTYPE_MISMATCH,
    EINSUM_SIZES,
    ELEMENT_COUNT_MISMATCH,
    INDEX_OUT_OF_RANGE,
    K_TOO_LARGE,
    NORMALIZED_SHAPE,
    NOT_FLATTENED,
    ONE_HOT_TARGET,
    RNN_INPUT_SIZE,
    STACKED_SHAPES_DIFFER,
    TARGET_SHAPE,
    WRONG_RANK,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import find_defining
from shapewright.program.syntax_nodes import get_called_name, get_shape_owner
from shapewright.record.ops import Fact, Op

TURNS = re.compile(
    r"\.(transpose|permute|swapaxes|movedim|mT|t\(|T\b|unsqueeze|flatten|view|reshape)"
)
ROWS = operators_with("regroups_dims")
"""Operators that may put several positions of a sample in rows of their own."""
COMPARING = operators_with("is_loss") | {"cosine_similarity"}
"""Operators that compare two tensors feature by feature."""
EQUALITIES = frozenset({"==", "!="})
FLATTENING = operators_with("regroups_dims")
MOST_STEPS = 6
"""Ops between a loss and the view that made its rows."""
OF_WIDTH = frozenset({"consumer", "layer", "number", "producer", "argument", "larger"})
"""Kinds of edits that make one network as wide as another, or that cut what it says."""
CONVOLUTIONS = operators_with("is_convolution")
KEEPING = operators_with("computes_each_element", "drops_elements", "concatenates")
OF_CHANNELS = ("_pool1d", "_pool2d", "_pool3d", "_norm", "interpolate")
"""Ends of the names of what leaves the channels of maps where they are."""
MOST_LAYERS = 12
CLASS_LOSSES = operators_with("takes_class_indices")
OF_DIMS = ("order", "layout", "turned", "joined", "rank")
"""Kinds of edits that give another order of dims, or other dims."""
OF_DATA = ("created", "table", "number")
"""Kinds of edits that may make data longer in place of an index smaller."""
DRAWS = operators_with("is_random") | {"tensor"}
COLOURS = (3, 4)
"""Channels of an image in RGB and RGBA."""


def is_refused(program: Program, failure: Failure, fix: Fix, kind: str = "") -> bool:
    """Return whether a fix cannot be what was meant, although the call may run."""
    code = failure.unmet.code if failure.unmet is not None else ""
    if is_of_whole_batch(program, failure, kind):
        return True
    if has_frozen_size(program, fix) or _is_crop_of_compared(program, failure, kind):
        return True
    if _is_each_with_each(program, failure, fix) or is_crossed(program, failure, fix):
        return True
    if is_narrowed(program, failure, fix) or is_of_rows_of_maps(program, failure, fix):
        return True
    if has_emptied_setting(program, fix) or _is_undone_at_once(program, fix):
        return True
    if kind in OF_DATA and is_of_written_data(program, fix):
        return True
    if has_broken_square(program, fix) or _is_lost_order(program, failure, fix, kind):
        return True
    if kind in ("swapped", "operands") and _is_trained_target(program, failure, fix):
        return True
    if code == TARGET_SHAPE and kind != "distant":
        is_of_rows = kind != "factor" and _is_of_merged_rows(program, failure, fix)
        is_of_rows = is_of_rows or is_of_unsqueezed_scores(program, failure, fix)
        return is_of_rows or _is_turned_in_vain(program, failure, fix)
    if code == ONE_HOT_TARGET and is_of_unsqueezed_scores(program, failure, fix):
        return True
    if code == DTYPE_MISMATCH and is_of_fractions(program, failure, fix):
        return True
    if code == DTYPE_MISMATCH and kind == "dropped":
        return not any(_is_cast(program, edit) for edit in fix.edits)
    if code == CHANNEL_MISMATCH and kind in OF_DIMS and _is_map(program, failure):
        return kind != "joined" or not all(map(_is_of_channels, fix.edits))
    is_of_number = code == CHANNEL_MISMATCH and kind in (*OF_WIDTH, *OF_DATA)
    if is_of_number and any(True for _ in suggest_grey_images(program, failure)):
        return True  # the images are to lose their colours
    if is_of_columns(program, failure, fix):
        return True
    if code == STACKED_SHAPES_DIFFER and kind == "method":
        return True  # what is joined is not what is stacked
    if code == NOT_FLATTENED and _is_single_pixel(program, failure):
        return kind not in ("rank", "left-out", "pooled")
    if code == RNN_INPUT_SIZE and kind in OF_WIDTH and _is_series(program, failure):
        return True
    if kind == "dtype" and "out of bounds" in failure.torch_message:
        return True  # no fraction is an index
    if code == INDEX_OUT_OF_RANGE and (
        kind == "source" or (kind == "created" and _is_of_one(fix))
    ):
        return True
    if code == INDEX_OUT_OF_RANGE and kind in OF_DATA and _is_draw(program, fix):
        return True
    if kind == "name" and _is_own_decision(program, failure, fix):
        return True
    if kind == "ignored" and find_signed_labels(program, failure)[0]:
        return True  # -1 is a class
    if code == INDEX_OUT_OF_RANGE and is_of_other_labels(program, failure, fix):
        return True
    if code == ELEMENT_COUNT_MISMATCH and kind in ("number", "argument"):
        return any(edit.text == "1" for edit in fix.edits)  # a dim would be lost
    if code == WRONG_RANK and _is_of_other_rows(program, failure, fix):
        return True
    if code == NORMALIZED_SHAPE and kind in ("consumer", "layer"):
        shapes = [fact.shape for fact in program.trace.ops[failure.op].inputs[:2]]
        if len(shapes) == 2 and len(shapes[0]) == 4 and shapes[0][1:2] == shapes[1]:
            return True  # a norm of channels is none of columns
    if (
        code == BROADCAST_MISMATCH
        and kind == "order"
        and _is_of_channel(program, failure)
    ):
        return True
    if code == EINSUM_SIZES and kind in ("order", "family"):
        return _is_lettered_alike(program, failure)
    if code == CHANNELS_LAST and kind in ("created", *OF_WIDTH):
        return kind != "created" or _is_draw(program, fix)  # it is the dims' order
    if code == EINSUM_SIZES and kind == "created":
        return any(ONE.search(edit.text) for edit in fix.edits)  # it is broadcast
    if code == K_TOO_LARGE and kind in OF_WIDTH:
        line = program.trace.ops[failure.op].span  # a model has no more classes
        return line is None or any(e.span.line != line.line for e in fix.edits)
    if code == ATTENTION_MASK_SHAPE and kind in ("swapped", "operands"):
        return True  # what attends to what is not exchanged for a mask
    if code == INDEX_OUT_OF_RANGE or failure.error == "IndexError":
        is_of_more = kind == "number" and is_of_more_classes(program, failure, fix)
        if is_of_unsqueezed_scores(program, failure, fix):
            return True
        if is_of_other_features(program, failure, fix):
            return True
        is_many = kind != "drawn" and is_of_many_classes(program, fix)
        is_of_more = is_of_more or is_many
        is_of_more = is_of_more or has_smaller_modulus(program, fix)
        return kind != "distant" and (is_of_more or _is_of_other_column(program, fix))
    return kind != "shortcut" and _is_fitted_to_colours(program, failure, fix)


LOSS = operators_with("is_loss")


def _is_trained_target(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a loss would take the target for the prediction: of the two it is
    what has no graph.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in LOSS or len(op.inputs) < 2 or op.span is None:
        return False
    prediction, target = op.inputs[:2]
    is_in_call = all(is_within(edit.span, [op.span]) for edit in fix.edits)
    return is_in_call and prediction.requires_grad and not target.requires_grad


def _is_of_channel(program: Program, failure: Failure) -> bool:
    """Return whether a number for each channel meets images: it lacks dims behind, and
    the images have theirs in their order.
    """
    shapes = [fact.shape for fact in program.trace.ops[failure.op].inputs[:2]]
    for small, large in (shapes, shapes[::-1]) if len(shapes) == 2 else ():
        if len(large) >= 4 and small == large[1:2]:
            return True
    return False


def _is_lettered_alike(program: Program, failure: Failure) -> bool:
    """Return whether an `einsum` reads what another one gave by the same letters: its
    dims are in their order.
    """
    op = program.trace.ops[failure.op]
    terms = _list_terms(op)[0]
    return any(
        maker is not None and _list_terms(maker)[1] == term != ""
        for fact, term in zip(op.inputs, terms, strict=False)
        for maker in [program.producers.get(fact.tensor)]
    )


def _list_terms(op: Op) -> tuple[list[str], str]:
    """Return the letters of the operands of an `einsum`, and of its result."""
    equation = dict(op.arguments).get("0") if op.name.endswith("einsum") else None
    left, _, right = str(equation or "").replace(" ", "").partition("->")
    return left.split(","), right


def _is_own_decision(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether a loss would compare scores with the classes that are chosen by
    scores: `preds` in the place of the labels.
    """
    if program.trace.ops[failure.op].name.rpartition(".")[2] not in COMPARING:
        return False
    for edit in fix.edits:
        text = program.text(edit.span.file)
        for value in find_defining(text, edit.text) if text is not None else ():
            if any(get_called_name(part) in DECIDING for part in ast.walk(value)):
                return True
    return False


DECIDING = operators_with("returns_indices") - operators_with("finds_nonzero")
"""Calls that choose a class by scores."""


def _is_cast(program: Program, edit: Edit) -> bool:
    """Return whether an edit leaves out a cast: `.float()`."""
    text = program.text(edit.span.file)
    written = text.at(edit.span) if text is not None else ""
    return any(f".{cast}()" in written for cast in CASTS.values()) or ".to(" in written


def _is_map(program: Program, failure: Failure) -> bool:
    """Return whether a layer gets what a convolution gave, whose channels stand in
    dim 1.
    """
    fact = program.trace.ops[failure.op].inputs[0]
    for _ in range(MOST_LAYERS):
        maker = program.producers.get(fact.tensor)
        if maker is None or not maker.inputs:
            return False
        name = maker.name.rpartition(".")[2]
        if name in CONVOLUTIONS or name.startswith("conv_transpose"):
            return True
        if name not in KEEPING and not name.endswith(OF_CHANNELS):
            return False
        fact = maker.inputs[0]
    return False


def _is_of_channels(edit: Edit) -> bool:
    """Return whether an edit joins tensors along their channels."""
    return edit.text.rpartition("=")[2].strip() in ("1", "-3")


def _is_single_pixel(program: Program, failure: Failure) -> bool:
    """Return whether a layer gets maps of one pixel, which have features only."""
    shape = program.trace.ops[failure.op].inputs[0].shape
    return len(shape) == len("NCHW") and shape[2:] == (1, 1)


def _is_series(program: Program, failure: Failure) -> bool:
    """Return whether a recurrent layer of one feature gets rows of numbers."""
    needs = failure.unmet.needs if failure.unmet is not None else None
    return needs == 1 and program.trace.ops[failure.op].inputs[0].ndim == len("NT")


def _is_of_one(fix: Fix) -> bool:
    """Return whether an edit writes the number 1."""
    return any(edit.text.strip() == "1" for edit in fix.edits)


def _is_draw(program: Program, fix: Fix) -> bool:
    """Return whether an edit makes the program's own data others, such as
    `torch.randn(60, 3)`.
    """
    for edit in fix.edits:
        text, span = program.text(edit.span.file), edit.span
        calls = [
            call
            for call in (text.near(span.line) if text is not None else ())
            if isinstance(call, ast.Call) and get_called_name(call) in DRAWS
        ]
        outer = [
            call
            for call in calls
            if text is not None and is_within(span, [text.span(call)])
        ]
        if text is None or not outer:
            return False
        if get_called_name(text.parent(outer[0]) or outer[0]) == "Parameter":
            return False
    return bool(fix.edits)


def _is_each_with_each(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether the entries of two lists that should be equal would each be
    compared with all of the other list.
    """
    op = program.trace.ops[failure.op]
    if op.name.rpartition(".")[2] not in EQUALITIES:
        return False
    is_flat = bool(op.inputs) and all(fact.ndim == 1 for fact in op.inputs)
    return is_flat and any(NEW_DIM.search(edit.text) for edit in fix.edits)


ONE = re.compile(r"\b1\b")
NEW_DIM = re.compile(r"keepdim|unsqueeze|None\]|view\(-1, 1|reshape\(-1, 1")


def _is_undone_at_once(program: Program, fix: Fix) -> bool:
    """Return whether a dim would be taken away in the call behind the one that adds it,
    or the reverse: the first of the two is to be left out.
    """
    for edit in fix.edits:
        text = program.text(edit.span.file)
        if text is None or edit.span.start != edit.span.end:
            continue
        before = text.lines[edit.span.line - 1][: edit.span.column - 1]
        for first, second in INVERSES:
            if first.search(before) and edit.text.startswith(second):
                return True
    return False


INVERSES = (
    (re.compile(r"\.unsqueeze\(-?\w*\)$"), (".squeeze(", ".flatten(")),
    (re.compile(r"\.squeeze\(-?\w*\)$"), (".unsqueeze(",)),
)


def _is_crop_of_compared(program: Program, failure: Failure, kind: str) -> bool:
    """Return whether a part of a tensor would be compared with another tensor, or the
    first numbers of a tensor that was flattened would meet those of another one.
    """
    op = program.trace.ops[failure.op]
    if kind not in ("larger", "larger?"):
        return False
    if op.name.rpartition(".")[2] in EQUALITIES:
        return all(fact.ndim == 1 for fact in op.inputs)  # some samples with others
    are_flat = [_is_flattened(program, fact) for fact in op.inputs]
    return op.name.rpartition(".")[2] in COMPARING or (all(are_flat) and bool(are_flat))


def _is_flattened(program: Program, fact: Fact) -> bool:
    """Return whether a tensor with one dim had several, perhaps before arithmetic."""
    if fact.ndim != 1:
        return False
    for maker in iter_first_makers(program, fact, MOST_STEPS):
        if maker.name.rpartition(".")[2] in FLATTENING:
            return maker.inputs[0].ndim > 1
        if not maker.inputs or maker.inputs[0].shape != maker.outputs[0].shape:
            return False
    return False


def _is_lost_order(program: Program, failure: Failure, fix: Fix, kind: str) -> bool:
    """Return whether a view is left out that gives a tensor as many dims as it had: it
    is there to put the elements in another order, unless it states their sizes but one.
    One that gives it more dims, of heads or steps, is what the next lines count on.
    """
    op = program.trace.ops[failure.op]
    if kind != "dropped" or op.name.rpartition(".")[2] not in ROWS or not op.inputs:
        return False
    text_and_call = program.call_at(op.span)
    if text_and_call is None:
        return False
    text, call = text_and_call
    end = text.span(call).end
    sizes = call.args
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = sizes[0].elts
    if any(isinstance(size, ast.Starred) for size in sizes):
        return False
    shape = op.inputs[0].shape
    if not any(not edit.text and edit.span.end == end for edit in fix.edits):
        return False
    wanted = [value for _, value in op.arguments if type(value) is int]
    others = sum(size != want for size, want in zip(shape, wanted, strict=False))
    if len(sizes) > len(shape) > 1:
        return True
    return len(sizes) == len(shape) > 1 and (others > 1 or len(wanted) != len(shape))


def _is_turned_in_vain(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether an operand of a loss is turned whose sizes are others than those
    of the target: the result would be broadcast.
    """
    shapes = [fact.shape for fact in program.trace.ops[failure.op].inputs[:2]]
    if len(shapes) < 2 or len(shapes[0]) != len(shapes[1]):
        return False
    if sorted(shapes[0]) == sorted(shapes[1]) or prod(shapes[1]) == shapes[0][0]:
        return False
    return any(TURNS.search(edit.text) for edit in fix.edits)


def _is_of_other_rows(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether an index with an entry for each row is made one row of indices."""
    op = program.trace.ops[failure.op]
    shapes = [fact.shape for fact in op.inputs[:2]]
    if op.name.rpartition(".")[2] != "gather" or len(shapes) < 2:
        return False
    is_of_rows = len(shapes[1]) == 1 and shapes[0][:1] == shapes[1]
    return is_of_rows and any("unsqueeze(0)" in edit.text for edit in fix.edits)


def _is_of_merged_rows(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether another number is written for the predictions of a loss that were
    put in rows by a view: as many targets as rows, or as many classes as give the rows
    that there are targets for.
    """
    inputs = program.trace.ops[failure.op].inputs[:2]
    if len(inputs) < 2 or inputs[0].shape[:1] == inputs[1].shape[:1]:
        return False
    fact = inputs[0]
    for _ in range(MOST_STEPS):
        maker = program.producers.get(fact.tensor)
        name = maker.name.rpartition(".")[2] if maker is not None else ""
        if maker is None or not maker.inputs or name in ("linear", "conv2d"):
            return False
        if name in ROWS and maker.inputs[0].shape[:1] != fact.shape[:1]:
            break
        fact = maker.inputs[0]
    else:
        return False
    rows = str(inputs[0].shape[0])
    for edit in fix.edits:
        text = program.text(edit.span.file)
        if rows in re.findall(r"\d+", edit.text):
            return True
        if read_number(text, edit.span) and edit.text.isdecimal():
            return True
    return False


def _is_fitted_to_colours(program: Program, failure: Failure, fix: Fix) -> bool:
    """Return whether the number of classes is changed to that of the colours of an
    image that stands for the classes.
    """
    inputs = program.trace.ops[failure.op].inputs[:2]
    data = [fact for fact in inputs if not fact.requires_grad and fact.ndim == 4]
    ours = [fact for fact in inputs if fact.requires_grad and fact.ndim == 4]
    if len(data) != 1 or len(ours) != 1 or data[0].shape[2:] != ours[0].shape[2:]:
        return False
    colours = data[0].shape[1]
    if colours not in COLOURS or ours[0].shape[1] in (1, *COLOURS):
        return False
    numbers = {str(colours), "1"}  # one class is broadcast over the colours
    return any(numbers & {*re.findall(r"\d+", edit.text)} for edit in fix.edits)


def _is_of_other_column(program: Program, fix: Fix) -> bool:
    """Return whether another column is read than the one that the program reads."""
    return any(True for _ in _iter_other_indices(program, fix))


def is_of_other_data(program: Program, fix: Fix) -> bool:
    """Return whether another place is read of anything but a shape."""
    others = _iter_other_indices(program, fix)
    return any(get_shape_owner(place.value) is None for place in others)


def _iter_other_indices(program: Program, fix: Fix) -> Iterator[ast.Subscript]:
    """Yield the subscripts in which a fix writes another number."""
    for edit in fix.edits:
        text_and_node = program.node(edit.span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        around = text.parent(node)
        if isinstance(around, ast.Tuple):
            around = text.parent(around)
        if isinstance(node, ast.Constant) and isinstance(around, ast.Subscript):
            yield around
