"""Find calls of a model of `transformers` that lack the mask of their padded tokens."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.padded_rows import PaddedRows, find_padded_rows
from shapewright.findings.codes import MASK_AXIS
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    is_starred,
    iter_assignments,
)
from shapewright.record.ops import Fact, ModuleCall, Op


def find_unpassed_masks(scene: HazardContext) -> Iterator[Finding]:
    """Find `encoder(input_ids)` where the program has an `attention_mask`, with which
    it may weigh the results, and passes it to no model.
    """
    models = list_encoders(scene)
    for text in scene.program.own_texts():
        words_of_all = {n.arg for n in text.nodes if isinstance(n, ast.keyword)}
        if "transformers" not in text.text or MASK in words_of_all:
            continue
        own = {path.rpartition(".")[2] for path, _ in text.definitions()}
        for call in text.nodes:
            if not isinstance(call, ast.Call) or is_starred(call):
                continue
            model = models.get(text.span(call))
            name = model.class_name if model is not None else ""
            words = {word.arg for word in call.keywords}
            if not name or name in own or len(call.args) > 1 or words & OTHER_INPUTS:
                continue
            mask = _find_mask_before(text, call)
            if mask is None:
                continue
            message = (
                f"`{mask.id}` is not given to the model, and `{name}` hides nothing"
                f" without its `{MASK}`: padded places count in its attention"
            )
            place = Related(text.span(mask), f"`{mask.id}` is set here")
            yield Finding(
                MASK_AXIS, "warning", message, text.span(call), related=(place,)
            )
            return


def list_encoders(scene: HazardContext) -> dict[Span | None, ModuleCall]:
    """Return the outermost calls of models that look at all places at once."""
    outer: dict[Span | None, ModuleCall] = {}
    for module_call in scene.program.trace.calls:
        if module_call.span is not None:
            outer.setdefault(module_call.span, module_call)
    return {
        span: model
        for span, model in outer.items()
        if ENCODERS.search(model.class_name) and not DECODERS.search(model.class_name)
    }


def find_padded_tokens(scene: HazardContext) -> Iterator[Finding]:
    """Find `encoder(input_ids)` of tokens that the program has filled up, where no
    mask says so.
    """
    for span, model in list_encoders(scene).items():
        place = scene.program.call_at(span)
        if place is None or is_starred(place[1]) or len(place[1].args) > 1:
            continue
        text, call = place
        own = {path.rpartition(".")[2] for path, _ in text.definitions()}
        words = {word.arg: word.value for word in call.keywords}
        tokens = call.args[0] if call.args else words.get("input_ids")
        is_given = bool(OTHER_INPUTS & {*words}) or None in words
        if tokens is None or is_given or model.class_name in own:
            continue
        if _find_mask_before(text, call) is not None:
            continue
        padding = _find_padding(scene, model)
        collated = _find_collated_mask(scene, tokens)
        if collated is not None:
            mask, where = collated
            words_of_padding = "the mask is made here"
        elif padding is not None and isinstance(tokens, ast.Name):
            mask = _write_mask(scene, text, tokens, *padding)
            where = padding[0].span
            words_of_padding = "they are padded here"
        else:
            mask, where = _write_tokenized_mask(text, tokens), text.span(tokens)
            words_of_padding = "a tokenizer fills these up"
        if not mask or where is None:
            continue
        message = (
            f"`{mask}` says which tokens are no padding, and"
            f" `{model.class_name}` hides nothing without its `{MASK}`: padded places"
            " count in its attention"
        )
        yield Finding(
            MASK_AXIS, "warning", message, text.span(call),
            related=(Related(where, words_of_padding),),
        )  # fmt: skip


def _find_padding(
    scene: HazardContext, model: ModuleCall
) -> tuple[Op, PaddedRows] | None:
    """Return the call that padded the tokens which a model was given."""
    args, keywords = model.inputs
    tokens = args[0] if args else keywords.get("input_ids")
    for _ in range(FARTHEST):
        if not isinstance(tokens, Fact) or not tokens.dtype.startswith("int"):
            return None
        op = scene.program.producers.get(tokens.tensor)
        if op is None:
            return None
        rows = find_padded_rows(scene, op)
        if rows is not None:
            return op, rows
        if not op.inputs or op.kind not in ("view", "same", "copy"):
            return None
        tokens = op.inputs[0]
    return None


def _write_mask(
    scene: HazardContext, text: SourceText, tokens: ast.Name, op: Op, rows: PaddedRows
) -> str:
    """Write the mask of tokens that were padded with a number."""
    number = f"{rows.value:g}"
    place = scene.program.call_at(op.span)
    if place is not None and place[0] is text:
        for word in place[1].keywords:
            value = word.value
            is_near = text.around(place[1], *FUNCTIONS) is None
            is_name = isinstance(value, ast.Name | ast.Attribute)
            if word.arg == "padding_value" and is_near and is_name:
                number = text.written(value)
    return f"({tokens.id} != {number}).long()"


def _find_collated_mask(
    scene: HazardContext, tokens: ast.expr
) -> tuple[str, Span | None] | None:
    """Return the mask beside the tokens of a batch, `batch["attention_mask"]`, and
    where it is put there: the program makes such a dict of tokens that it compares.
    """
    if not isinstance(tokens, ast.Subscript) or not isinstance(tokens.value, ast.Name):
        return None
    if not isinstance(tokens.slice, ast.Constant) or tokens.slice.value != "input_ids":
        return None
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Dict):
                continue
            parts = {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }
            mask = parts.get(MASK)
            if mask is None or "input_ids" not in parts:
                continue
            if any(isinstance(part, ast.Compare) for part in ast.walk(mask)):
                return f'{tokens.value.id}["{MASK}"]', text.span(mask)
    return None


def _write_tokenized_mask(text: SourceText, tokens: ast.expr) -> str:
    """Write the mask beside the tokens of a tokenizer that fills them up: of
    `batch["input_ids"]`, or an empty string.
    """
    if isinstance(tokens, ast.Subscript):
        key = tokens.slice.value if isinstance(tokens.slice, ast.Constant) else ""
        owner, mask = tokens.value, f'["{MASK}"]'
    elif isinstance(tokens, ast.Attribute):
        key, owner, mask = tokens.attr, tokens.value, f".{MASK}"
    else:
        return ""
    if key != "input_ids" or not isinstance(owner, ast.Name):
        return ""
    known = find_defining(text, owner.id)
    is_padded = [
        word.arg == "padding" and text.written(word.value) in PADDED
        for call in known
        if isinstance(call, ast.Call)
        for word in call.keywords
    ]
    return f"{owner.id}{mask}" if len(known) == 1 and any(is_padded) else ""


PADDED = ("True", '"longest"', "'longest'", '"max_length"', "'max_length'")
FARTHEST = 4
"""Calls between padded tokens and the model that reads them."""
MASK = "attention_mask"
ENCODERS = re.compile(
    r"(bert|electra|mpnet|longformer|encoder|esm)\w*(Model$|For)", re.I
)
"""Models of transformers of which each place sees all others."""
DECODERS = re.compile(r"Decoder|LMHead|CausalLM")
OTHER_INPUTS = frozenset({MASK, "inputs_embeds"})


def _find_mask_before(text: SourceText, call: ast.Call) -> ast.Name | None:
    """Return the mask of padding that the scope of a call makes above it of the tokens
    that the model is given: `attention_mask = input_ids != 0`.
    """
    scope = text.around(call, *FUNCTIONS) or text.tree
    tokens = [*call.args, *(w.value for w in call.keywords if w.arg == "input_ids")]
    if len(tokens) != 1 or not isinstance(tokens[0], ast.Name):
        return None
    masks: dict[str, ast.Name] = {}
    for target, value in iter_assignments(scope, call.lineno):
        if not isinstance(target, ast.Name) or not NAMES.fullmatch(target.id):
            continue
        if text.around(target, *FUNCTIONS) is not text.around(call, *FUNCTIONS):
            continue
        compares = any(
            (isinstance(node, ast.Compare) and isinstance(node.ops[0], KEEPING))
            or UNEQUAL.fullmatch(get_called_name(node)) is not None
            for node in ast.walk(value)
        )
        reads = collect_names(value, ast.Load)
        if compares and tokens[0].id in reads:
            masks[target.id] = target
    return next(iter(masks.values())) if len(masks) == 1 else None


NAMES = re.compile(r"(attention|attn|padding|pad|input|token)?_?masks?")
KEEPING = (ast.NotEq, ast.Gt)
UNEQUAL = re.compile(r"ne|not_equal|gt")
