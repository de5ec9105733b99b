"""What a model of a library is given with a dim too many: items of a data set that keep
the batch of one which a tokenizer makes, labels with a number for each class.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import TARGET_SHAPE
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.record.ops import Fact, ModuleCall

TOKENS = ("input_ids", "attention_mask", "token_type_ids")
"""What tokenizers give, by the names of their models' parameters."""
UNPACKED = re.compile(
    r"too many values to unpack|not enough values to unpack|Wrong shape for input_ids"
)
SQUEEZE = ".squeeze(0)"


def find_item_dims(program: Program, finding: Finding) -> Explanation | None:
    """Return that each item has a batch of one in front, or None."""
    if not UNPACKED.search(finding.words):
        return None
    for call in _iter_calls(program, finding):
        tokens = {
            name: value
            for name, value in call.inputs[1].items()
            if name in TOKENS and _is_batch_of_one(value)
        }
        first = call.inputs[0][0] if call.inputs[0] else None
        if not tokens and isinstance(first, Fact) and _is_batch_of_one(first):
            tokens = {"input_ids": first}
        if not tokens:
            continue
        name, fact = next(iter(tokens.items()))
        message = (
            f"`{name}` is {fact.shape}, and `{call.class_name}` takes (batch, tokens):"
            " each item of the data set has a batch of one in front, as a tokenizer"
            " with `return_tensors` makes it"
        )
        places = [(text, part) for text, part in _iter_items(program)]
        related = [Related(text.span(part), "an item's") for text, part in places[:2]]
        edits = tuple(Edit(text.span(part).end, SQUEEZE) for text, part in places)
        fixes: tuple[Fix, ...] = ()
        if places:
            shown = places[0][0].line_of(places[0][1])
            more = f" and {len(places) - 1} more" if len(places) > 1 else ""
            fixes = (Fix("fits", f"`{shown}{SQUEEZE}`{more}", edits),)
        return Explanation(message, tuple(related), fixes)
    return None


def _iter_calls(program: Program, finding: Finding) -> Iterator[ModuleCall]:
    """Yield the calls of modules at the place of a finding, the outermost first."""
    calls = [call for call in program.trace.calls if call.span == finding.span]
    yield from sorted(calls, key=lambda call: call.depth)


def _is_batch_of_one(value: object) -> bool:
    """Return whether a value is (batch, 1, tokens), of whole numbers."""
    return (
        isinstance(value, Fact)
        and value.ndim == len("BNT")
        and value.shape[1] == 1
        and value.dtype.startswith("int")
    )


def _iter_items(program: Program) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield what `__getitem__` of a data set returns for tokens, by their names."""
    for text in program.own_texts():
        for _, function in text.functions("__getitem__"):
            for node in ast.walk(function):
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        if isinstance(key, ast.Constant) and key.value in TOKENS:
                            yield text, value
                elif isinstance(node, ast.DictComp) and isinstance(
                    node.value, ast.Name | ast.Subscript
                ):
                    yield text, node.value
                elif isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    for part in node.value.elts:
                        if isinstance(part, ast.Subscript) and _is_token(part.slice):
                            yield text, part


def _is_token(node: ast.expr) -> bool:
    """Return whether an index is the name of what a tokenizer gives."""
    return isinstance(node, ast.Constant) and node.value in TOKENS


def suggest_class_numbers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `labels.argmax(-1)` where a model of a library computes its loss of
    labels with a number for each class.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != TARGET_SHAPE or len(op.inputs) < 2:
        return
    classes = op.inputs[0].shape[-1:]
    for call in reversed(program.trace.calls):
        first, last = call.ops
        if not first <= op.index < last or call.span is None:
            continue
        labels = call.inputs[1].get("labels")
        place = program.call_at(call.span)
        if not isinstance(labels, Fact) or place is None or labels.ndim < 2:
            continue
        if labels.shape[-1:] != classes or op.inputs[1].ndim != 1:
            continue
        text, node = place
        for word in node.keywords:
            if word.arg == "labels" and isinstance(
                word.value, ast.Name | ast.Subscript
            ):
                new = f"{text.written(word.value)}.argmax(-1)"
                yield Fix("fits", f"`{new}`", (Edit(text.span(word.value), new),))
                return
