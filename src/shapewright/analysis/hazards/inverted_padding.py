"""Find masks of padding that are true where the words are: `key_padding_mask` is true
where a key is to be left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.causal_masks import (
    FILLS,
    HIDES,
    INVERTING,
    SUMS,
    find_hiding_term,
    is_range,
)
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import REARRANGING
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_name,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

ATTENTION = "multi_head_attention_forward"
PASSING = operators_with("keeps_mask") | REARRANGING | {
    "bool", "to", "[]", "clone", "all",
}  # fmt: skip
LENGTHENING = operators_with("concatenates") | {"pad"}
"""What gives a mask a place more, for a token of the whole."""
WORDS = ("src_key_padding_mask", "key_padding_mask", "tgt_key_padding_mask")
OF_WORDS = frozenset({"attention_mask", "input_mask"})
"""Names of masks that tokenizers make: 1 where a word is."""
NEGATIVE = {"==": False, "eq": False, "!=": True, "ne": True}
"""What a mask is compared with to be inverted."""
FARTHEST = 10


def find_inverted_padding(scene: HazardContext) -> Iterator[Finding]:
    """Find masks of padding that hide the words and show the padding."""
    seen: set[object] = set()
    for call in scene.calls:
        mask, is_keeping = _find_mask(scene, call), False
        if call.name == FUSED:
            mask, is_keeping = _find_kept_keys(call), True
        words = None
        if mask is not None:
            words = _find_word_comparison(scene, mask, is_inverted=is_keeping)
        if words is None or words.span in seen:
            continue
        seen.add(words.span)
        if is_keeping:
            message = (
                "the mask is true where the padding is: attention reads what is true,"
                " and leaves the words out"
            )
            where = "the mask is made here"
            yield scene.finding(MASK_AXIS, call.op, message, (words, where))
            continue
        message = (
            "the padding mask is true where the words are: attention leaves these out,"
            " and reads the padding"
        )
        place = scene.program.node(call.op.span)
        is_written = place is None or get_called_name(place[1]) in FILLS
        is_fill = call.name in FILLS and is_written
        name = "masked_fill" if is_fill else "key_padding_mask"
        where = f"`{name}` is true where a key is left out"
        if call.name in SUMS:
            where = "the mask is made here"
            yield scene.finding(MASK_AXIS, call.op, message, (words, where))
            continue
        if is_fill and _has_other_readers(scene, words):
            where = "the mask is made here, and read elsewhere as it is"
            yield scene.finding(MASK_AXIS, call.op, message, (words, where))
            continue
        yield scene.finding(MASK_AXIS, words, message, (call.op, where))
    if not seen:
        yield from _find_named_masks(scene)


def _has_other_readers(scene: HazardContext, words: Op) -> bool:
    """Return whether a mask is read by more than what hides scores: it weighs a mean,
    or chooses elements.
    """
    waiting, known = [words.outputs[0].tensor], set[int]()
    while waiting and len(known) < MOST_READERS:
        tensor = waiting.pop()
        known.add(tensor)
        for user in scene.users.get(tensor, ()):
            if user.name in FILLS or user.name == ATTENTION:
                continue
            if user.name in PASSING and len(user.op.inputs) == 1:
                out = user.op.outputs[0]
                if out.dtype != "bool":
                    return True
                waiting += [out.tensor] if out.tensor not in known else []
            elif not _is_inverting(user):
                return True
    return False


MOST_READERS = 64


def _find_mask(scene: HazardContext, call: OperatorCall) -> Fact | None:
    """Return the truths that a call hides keys by, for all queries of a sample."""
    op = call.op
    if call.name == ATTENTION:
        for place, fact in zip(op.places, op.inputs, strict=False):
            if place == "key_padding_mask" and fact.dtype == "bool":
                return fact
    if call.name in FILLS and len(op.inputs) == 2:
        value = call.given(2, "value")
        users = scene.users.get(op.outputs[0].tensor, ())
        if not isinstance(value, int | float) or value > HIDES:
            return None
        scores, mask = op.inputs
        if mask.ndim == 2 and any(user.name == ATTENTION for user in users):
            return mask
        if _is_for_all_queries(scores, mask) and any(_is_over_keys(u) for u in users):
            return mask
    at = find_hiding_term(scene, call) if call.name in SUMS else None
    if at is not None and len(op.inputs) == 2:
        term = scene.maker(op.inputs[at])
        users = scene.users.get(op.outputs[0].tensor, ())
        mask = term.op.inputs[0] if term is not None else op.inputs[at]
        is_for_all = _is_for_all_queries(op.inputs[1 - at], mask)
        if is_for_all and any(_is_over_keys(user) for user in users):
            return mask
    return None


def _is_for_all_queries(scores: Fact, mask: Fact) -> bool:
    """Return whether a mask of each sample hides the same keys from all queries."""
    shape = scores.shape[0], *mask.shape[1:-1], scores.shape[-1]
    is_same = {*mask.shape[1:-1]} <= {1} and 2 < scores.ndim == mask.ndim
    return mask.shape == shape and is_same


def _is_over_keys(call: OperatorCall) -> bool:
    """Return whether a call is a softmax over the last dim."""
    dim = call.given(1, "dim")
    return call.name == "softmax" and dim in (-1, call.op.inputs[0].ndim - 1)


def _find_kept_keys(call: OperatorCall) -> Fact | None:
    """Return the truths by which `scaled_dot_product_attention` takes keys of each
    sample in, for all queries.
    """
    masks = call.op.inputs[3:]
    if len(masks) != 1 or masks[0].dtype != "bool":
        return None
    query, key = call.op.inputs[:2]
    shape = masks[0].shape
    is_same = len(shape) == query.ndim > 2 and {*shape[1:-1]} <= {1}
    is_of_keys = shape[:1] == query.shape[:1] and shape[-1:] == key.shape[-2:-1]
    return masks[0] if is_same and is_of_keys else None


FUSED = "scaled_dot_product_attention"


def _find_word_comparison(
    scene: HazardContext, fact: Fact, *, is_inverted: bool = False
) -> Op | None:
    """Return the comparison that is true where a word is, or what inverted it to be
    so, or None.
    """
    place = None
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        write = _find_row_write(scene, fact)
        if write is not None:
            is_word = write[1]
            return (place or write[0]) if is_word != is_inverted else None
        if call is None or not call.op.inputs:
            return None
        if _is_inverting(call):
            is_inverted, place = not is_inverted, call.op
        elif call.name in ("!=", "ne", "==", "eq"):
            is_word = call.name in ("!=", "ne")
            if is_word == is_inverted or not _is_padding_of_tokens(scene, call):
                return None
            return place or call.op
        elif call.name in ("<", "lt", ">=", "ge") and len(call.op.inputs) == 2:
            steps, lengths = call.op.inputs
            is_word = call.name in ("<", "lt")
            of_steps = is_range(scene, steps) and not is_range(scene, lengths)
            per_sample = lengths.ndim == 2 and lengths.shape[1] == 1
            is_found = of_steps and per_sample and is_word != is_inverted
            return (place or call.op) if is_found else None
        elif call.name not in LENGTHENING and (
            call.name not in PASSING or len(call.op.inputs) > 1
        ):
            return None
        fact = max(call.op.inputs, key=lambda part: part.shape[-1:])
    return None


def _find_row_write(scene: HazardContext, fact: Fact) -> tuple[Op, bool] | None:
    """Return the last write of a truth into the rows of a mask, and whether the mask is
    true where the data is: `mask[i, :n] = True` beside `data[i, :n] = row`.
    """
    writes = scene.writes.get(fact.storage, ())
    if not writes or any(write.name != "[]=" for write in writes):
        return None
    op = writes[-1].op
    place = scene.program.node(op.span)
    text = place[0] if place is not None else None
    statement = text.statement_of(place[1]) if text is not None and place else None
    if text is None or not isinstance(statement, ast.Assign):
        return None
    target, value = statement.targets[0], statement.value
    is_truth = isinstance(value, ast.Constant) and value.value in (True, 1, False, 0)
    if not isinstance(target, ast.Subscript) or not is_truth:
        return None
    index, scope = text.written(target.slice), text.around(statement, ast.For)
    is_of_data = any(
        isinstance(other, ast.Subscript)
        and text.written(other.slice) == index
        and other is not target
        and not isinstance(row, ast.Constant)
        for other, row in iter_assignments(scope)
    )
    assert isinstance(value, ast.Constant)
    return (op, bool(value.value)) if is_of_data else None


def _is_inverting(call: OperatorCall) -> bool:
    """Return whether a call turns a mask round: `~mask`, `mask == False`."""
    if call.name in INVERTING:
        return True
    if "rsub" in (call.op.function or call.name) and call.given(1) == 1:
        return True  # `1 - mask`
    is_of_truths = call.name in NEGATIVE and call.op.inputs[0].dtype == "bool"
    return is_of_truths and call.given(1, "other") == NEGATIVE[call.name]


def _is_padding_of_tokens(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether a call compares tokens that are embedded with their padding."""
    number = call.given(1, "other")
    if type(number) is not int or len(call.op.inputs) != 1:
        return False
    return any(
        embedding.name == "embedding"
        and any(
            fact.storage == call.op.inputs[0].storage for fact in embedding.op.inputs
        )
        and embedding.given(2, "padding_idx") in (number, None)
        for embedding in scene.calls
    )


def _find_named_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find the mask of a tokenizer that is passed as it is, told by its name."""
    texts = list(scene.program.own_texts())
    for text in texts:
        for node in text.nodes:
            for word in node.keywords if isinstance(node, ast.Call) else ():
                name = _get_mask_name(word.value)
                if word.arg not in WORDS or name not in OF_WORDS:
                    continue
                if any(_is_made_otherwise(own, name) for own in texts):
                    continue
                yield Finding(
                    MASK_AXIS,
                    "warning",
                    f"`{name}` is 1 where a word is, and `{word.arg}` is true where a"
                    " key is left out: attention reads the padding",
                    text.span(word.value),
                )


def _get_mask_name(node: ast.expr) -> str:
    """Return the name behind casts of a mask, or an empty string if it is inverted."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in ("bool", "to", "type", "long", "float"):
            return ""
        node = node.func.value
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
        right = node.comparators[0]
        if not isinstance(right, ast.Constant) or right.value != 1:
            return ""
        node = node.left
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return get_last_name(node)


def _is_made_otherwise(text: SourceText, name: str) -> bool:
    """Return whether the program makes a mask itself in a way that may be the other."""
    return any(
        isinstance(part, ast.Eq | ast.Invert | ast.Not | ast.GtE)
        or get_called_name(part) in INVERTING | {"eq", "ge"}
        for value in find_defining(text, name)
        for part in ast.walk(value)
    )
