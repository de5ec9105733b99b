"""Find attention masks of ones over tokens that the program fills up: they hide no
padding from a model of `transformers`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_targets import JOINING
from shapewright.analysis.hazards.loss_terms import REARRANGING
from shapewright.analysis.hazards.padded_lists import (
    find_padded_list,
    get_rows,
    iter_list_parts,
)
from shapewright.analysis.hazards.padded_rows import find_padded_rows
from shapewright.analysis.hazards.padded_tokens import MASK, list_encoders
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import values_of
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

FILLED = values_of("fills_with")
COPIES = REARRANGING | {"clone", "to", "long", "bool", "int", "float"}
LISTS = frozenset({"tensor", "as_tensor"})
FARTHEST = 64


def find_full_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find calls of encoders whose mask has a one for each padded token too."""
    for span, model in list_encoders(scene).items():
        args, keywords = model.inputs
        tokens = args[0] if args else keywords.get("input_ids")
        mask = args[1] if len(args) > 1 else keywords.get(MASK)
        if not isinstance(tokens, Fact) or not isinstance(mask, Fact):
            continue
        if tokens.shape != mask.shape or not tokens.dtype.startswith("int"):
            continue
        ones = _list_makers(scene, mask)
        if not ones or not all(_is_of_ones(scene, op) for op in ones):
            continue
        padding = _find_padding(scene, _list_makers(scene, tokens))
        if padding is None or span is None:
            continue
        value, where = padding
        text = scene.program.text(ones[0].span.file) if ones[0].span else None
        place = _find_written_ones(text, ones[0]) if text is not None else None
        message = (
            f"the `{MASK}` is 1 everywhere, and the tokens are padded with {value}:"
            f" `{model.class_name}` attends to the padding, so that an output depends"
            " on how far its row is filled up"
        )
        related = [Related(where, "the tokens are padded here")]
        if place is not None:
            related.insert(0, Related(place, "the mask is made here"))
        yield Finding(MASK_AXIS, "warning", message, span, related=tuple(related))
        return


def _list_makers(scene: HazardContext, fact: Fact) -> list[Op]:
    """Return the calls that made the parts of a tensor, before they were joined; none
    if one is not known.
    """
    makers, waiting = list[Op](), [fact]
    for _ in range(FARTHEST):
        if not waiting:
            return makers
        call = scene.maker(waiting.pop())
        if call is None:
            return []
        joins = call.name in JOINING and find_padded_rows(scene, call.op) is None
        if (
            call.op.inputs
            and call.name != "pad_sequence"
            and (joins or call.name in COPIES)
        ):
            waiting += call.op.inputs
        else:
            makers.append(call.op)
    return []


def _is_of_ones(scene: HazardContext, op: Op) -> bool:
    """Return whether a call makes a tensor of ones in which nothing is written."""
    name = op.name.rpartition(".")[2]
    arguments = dict(op.arguments)
    if name in LISTS:
        rows = get_rows(arguments.get("0", arguments.get("data")))
        is_full = bool(rows) and all(number == 1 for row in rows for number in row)
    elif name == "full":
        is_full = arguments.get("1", arguments.get("fill_value")) in (1, True)
    else:
        is_full = FILLED.get(name) == 1
    storages = {fact.storage for fact in op.outputs}
    return is_full and not any(
        call.op.kind == "inplace" and call.op.inputs[0].storage in storages
        for call in scene.calls
        if call.op.inputs
    )


def _find_padding(scene: HazardContext, makers: list[Op]) -> tuple[str, Span] | None:
    """Return with which number one of several calls fills tokens up, as the text writes
    it, and where.
    """
    for op in makers:
        rows = find_padded_rows(scene, op)
        if rows is not None and op.span is not None:
            return f"{rows.value:g}", op.span
        lists = find_padded_list(scene.program, op)
        if lists is None or len(set(lists.runs)) == 1 == len(makers):
            continue
        return str(lists.value), lists.text.span(lists.node)
    return None


def _find_written_ones(text: SourceText, op: Op) -> Span | None:
    """Return where the text writes the ones of a mask: `[1] * length`, or the call."""
    call = text.node(op.span) if op.span is not None else None
    if not isinstance(call, ast.Call):
        return op.span
    parts = iter_list_parts(text, call.args[0]) if call.args else ()
    ones = [node for node in dict.fromkeys(parts) if _is_list_of_ones(node)]
    only = ones[0] if len(ones) == 1 else None
    return text.span(only) if isinstance(only, ast.BinOp) else op.span


def _is_list_of_ones(node: ast.AST) -> bool:
    """Return whether an expression is `[1] * length`."""
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult)
        and any(
            isinstance(side, ast.List)
            and len(side.elts) == 1
            and isinstance(side.elts[0], ast.Constant)
            and side.elts[0].value == 1
            for side in (node.left, node.right)
        )
    )
