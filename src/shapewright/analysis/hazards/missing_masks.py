"""Find models of next tokens whose attention has no mask: each place sees the tokens
that it has to predict.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import JOINING
from shapewright.analysis.hazards.loss_terms import REARRANGING, find_ancestors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import find_softmax_dim
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import FUNCTIONS
from shapewright.record.ops import Fact

CLASSES = operators_with("takes_class_indices")
COPIES = REARRANGING | {"masked_fill", "where"}
"""Calls whose tokens are those of their operand, place by place."""
SCORED = operators_with("is_product")
SCALING = operators_with("leads_to_softmax") | REARRANGING | {"dropout"}
"""Calls between a product of queries and keys and its softmax: they hide keys of each
query if one of their operands has a number for each pair."""
FARTHEST = 12
DEEPEST = 4000
"""Calls between the tokens and the loss of a deep model."""


@dataclass(frozen=True, slots=True)
class _Attention:
    """A call that lets places of one sequence see each other without a mask."""

    call: OperatorCall
    queries: Fact
    keys: Fact


def find_missing_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find attention without a mask between tokens and the tokens behind them."""
    seen: set[object] = {None}
    for loss in scene.calls:
        if loss.name not in CLASSES or len(loss.op.inputs) < 2:
            continue
        scores, target = loss.op.inputs[:2]
        if loss.op.span in seen or not target.dtype.startswith("int"):
            continue
        if target.numel < 2 or scores.numel % target.numel:
            continue
        seen.add(loss.op.span)
        ancestors = find_ancestors(scene, scores, DEEPEST)
        read = find_shifted_tokens(scene, ancestors, target)
        if read is None:
            continue
        steps = read.op.inputs[0].shape[-1]
        unmasked = _find_unmasked(scene, ancestors, read, steps)
        if unmasked is None:
            continue
        message = (
            f"no mask hides the future: each of the {steps} places but the last sees"
            f" the next token, which {scene.operation(loss.op)} asks the model to"
            " predict"
        )
        yield scene.finding(
            MASK_AXIS,
            unmasked.call.op,
            message,
            (loss.op, "the targets here are the tokens, moved by one place"),
            (read.op, "the model reads the tokens here"),
        )
        return


def find_shifted_tokens(
    scene: HazardContext, ancestors: dict[int, OperatorCall], target: Fact
) -> OperatorCall | None:
    """Return the embedding that reads, for each target, the token before it."""
    readers = []
    for call in ancestors.values():
        tokens = call.op.inputs[0] if call.name == "embedding" else None
        if tokens is None or tokens.ndim < 2 or tokens.shape[-1] < 3:
            continue
        if tokens.numel == target.numel:
            readers.append(call)
    for call in readers:
        sources = _get_sources(scene, call.op.inputs[0], target)
        if _is_next(scene, *sources):
            return call
    # Arrays have no calls: their text shows the shift, if no other tokens are read.
    if len(readers) != 1 or not _has_shifted_slices(scene):
        return None
    facts = readers[0].op.inputs[0], target
    are_arrays = all(_is_made_of_arrays(scene, fact) for fact in facts)
    return readers[0] if are_arrays else None


def _is_made_of_arrays(scene: HazardContext, fact: Fact) -> bool:
    """Return whether tokens come from arrays, of which the trace knows no calls."""
    for _ in range(FARTHEST):
        fact = _find_source(scene, fact)
        call = scene.maker(fact)
        if call is None:
            return True
        if call.name in ("tensor", "as_tensor"):
            return str(call.given(0, "data")).startswith("<ndarray")
        if call.name not in JOINING or not call.op.inputs:
            return False
        fact = call.op.inputs[0]
    return False


def _find_source(scene: HazardContext, fact: Fact) -> Fact:
    """Return the tensor of which a tensor shows all elements in their order."""
    for _ in range(FARTHEST):
        call = scene.maker(fact)
        if call is None or call.name not in COPIES or not call.op.inputs:
            break
        numbers = [f for f in call.op.inputs if f.dtype.startswith("int")]
        if not numbers or numbers[0].numel != fact.numel:
            break
        fact = numbers[0]
    return fact


def _is_next(scene: HazardContext, fact: Fact, other: Fact, depth: int = 0) -> bool:
    """Return whether a tensor begins one element behind another one, in one storage
    or in all parts that both were joined of.
    """
    if fact.storage == other.storage:
        return other.storage_offset - fact.storage_offset == 1
    call, second = scene.maker(fact), scene.maker(other)
    if call is None or second is None or call.name != second.name or depth > 3:
        return False
    if call.name in ("tensor", "as_tensor"):
        return _is_list_shifted(call.given(0, "data"), second.given(0, "data"))
    parts, others = call.op.inputs, second.op.inputs
    if call.name not in JOINING or len(parts) != len(others) or not parts:
        # Rows that one index chooses of two tables, or a batch of such rows.
        return call.name == "[]" and bool(parts) and (
            [f.tensor for f in parts[1:]] == [f.tensor for f in others[1:]]
            and call.given(1) == second.given(1)
            and _is_next(scene, *_get_sources(scene, parts[0], others[0]), depth + 1)
        )  # fmt: skip
    pairs = [_get_sources(scene, a, b) for a, b in zip(parts, others, strict=True)]
    return all(_is_next(scene, a, b, depth + 1) for a, b in pairs[:4])


def _get_sources(scene: HazardContext, *facts: Fact) -> tuple[Fact, Fact]:
    """Return what two tensors show the elements of."""
    first, second = (_find_source(scene, fact) for fact in facts)
    return first, second


def _is_list_shifted(own: object, rest: object) -> bool:
    """Return whether a list of numbers is another one, moved by one place."""
    if not isinstance(own, list | tuple) or not isinstance(rest, list | tuple):
        return False
    if len(own) != len(rest) or len(own) < 3 or own == rest:
        return False
    if isinstance(own[0], list | tuple):
        pairs = zip(own, rest, strict=True)
        return all(_is_list_shifted(a, b) for a, b in pairs)
    return own[1:] == rest[:-1]


def _has_shifted_slices(scene: HazardContext) -> bool:
    """Return whether a function takes `data[i : i + n]` and `data[i + 1 : i + n + 1]`,
    or `chunk[:-1]` and `chunk[1:]`, of the same tokens.
    """
    return any(_is_slicing_twice(text) for text in scene.program.own_texts())


def _is_slicing_twice(text: SourceText) -> bool:
    """Return whether a function of a file takes slices one place apart."""
    slices: dict[tuple[object, str], list[ast.Slice]] = {}
    for node in text.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            key = text.around(node, *FUNCTIONS), text.written(node.value)
            slices.setdefault(key, []).append(node.slice)
    return any(
        _write_lower(text, other) in _write_next(text, part)
        for parts in slices.values()
        for part in parts
        for other in parts
        if part is not other
    )


def _write_lower(text: SourceText, part: ast.Slice) -> str:
    """Return the first place of a slice as text, without spaces."""
    return text.written(part.lower).replace(" ", "") if part.lower else "0"


def _write_next(text: SourceText, part: ast.Slice) -> tuple[str, ...]:
    """Return how the place behind the first one of a slice may be written."""
    lower = _write_lower(text, part)
    return ("1",) if lower == "0" else (f"{lower}+1", f"1+{lower}")


def _find_unmasked(
    scene: HazardContext,
    ancestors: dict[int, OperatorCall],
    read: OperatorCall,
    steps: int,
) -> _Attention | None:
    """Return the first attention between the tokens, if none of them has a mask."""
    first = None
    for call in sorted(ancestors.values(), key=lambda call: call.op.index):
        if call.op.span is None or call.op.index < read.op.index:
            continue
        if not _is_attention(call, steps) or not _is_along_steps(scene, call, read):
            continue
        attention = _get_unmasked(scene, call)
        if attention is None:
            return None
        follows = all(
            read.op.outputs[0].tensor in find_ancestors(scene, fact, DEEPEST)
            for fact in (attention.queries, attention.keys)
        )
        if follows and first is None:
            first = attention
    return first


def _is_attention(call: OperatorCall, steps: int) -> bool:
    """Return whether a call weights the places of a sequence of so many steps."""
    ins = call.op.inputs
    if call.name == "scaled_dot_product_attention":
        return all(fact.shape[-2] == steps for fact in ins[:2])
    if call.name == "multi_head_attention_forward":
        return all(fact.shape[0] == steps for fact in ins[:2])
    if call.name not in ("softmax", "_softmax"):
        return False
    shape = call.shape
    dim = find_softmax_dim(call)
    return len(shape) > 2 and shape[-2:] == (steps, steps) and dim == len(shape) - 1


def _is_along_steps(
    scene: HazardContext, call: OperatorCall, read: OperatorCall
) -> bool:
    """Return whether keys are the places of the tokens, and not features of them."""
    steps = read.dims[0][-1]
    at = -1 if call.name.endswith("softmax") else 0
    if call.name == "scaled_dot_product_attention":
        at = -2
    dims = call.dims[0][at]
    axes = {id(axis.root) for axis in dims}
    return not axes.isdisjoint(id(axis.root) for axis in steps)


def _get_unmasked(scene: HazardContext, call: OperatorCall) -> _Attention | None:
    """Return the queries and keys of an attention without a mask, else None."""
    ins = call.op.inputs
    if call.name == "scaled_dot_product_attention":
        is_causal = call.given(5, "is_causal", default=False)
        masked = len(ins) > 3 or is_causal is not False
        return None if masked else _Attention(call, *ins[:2])
    if call.name == "multi_head_attention_forward":
        square = [fact for fact in ins[3:] if _is_square(call, fact)]
        masked = bool(square) or call.arguments.get("is_causal") is True
        return None if masked else _Attention(call, *ins[:2])
    fact = ins[0]
    for _ in range(FARTHEST):
        maker = scene.maker(fact)
        if maker is None or not maker.op.inputs:
            return None
        if maker.name in SCORED and len(maker.op.inputs) == 2:
            return _Attention(call, *maker.op.inputs)
        if maker.name == "einsum" and len(maker.op.inputs) == 2:
            return _Attention(call, *maker.op.inputs)
        if maker.name not in SCALING or any(
            _is_square(call, f) for f in maker.op.inputs[1:]
        ):
            return None
        fact = maker.op.inputs[0]
    return None


def _is_square(call: OperatorCall, fact: Fact) -> bool:
    """Return whether a tensor has a number for each pair of places."""
    steps = call.op.inputs[0].shape[0]
    if call.name != "multi_head_attention_forward":
        steps = call.shape[-1]
    is_weight = fact.requires_grad and fact.is_leaf
    return fact.shape[-2:] == (steps, steps) and not is_weight
