"""Sequences that are longer than a model has positions: BERT has 512, GPT-2 1,024."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.sequence_cuts import suggest_cut_sequences
from shapewright.analysis.makers import iter_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import Op

OF_POSITIONS = re.compile(r"\b(position_ids|token_type_ids|position_embeddings?|wpe)\b")
LONGEST = re.compile(r"max_(seq_?|sequence_|input_)?len(gth)?$|maxlen$")
"""Parameters that limit the length of a sequence."""
TOKENIZING = frozenset({
    "tokenizer", "tok", "encode", "encode_plus", "batch_encode_plus", "__call__",
})  # fmt: skip
LOSSES = operators_with("is_loss")
CONFIG = re.compile(r"[A-Z]\w*Config$")
NAMES = {"GPT2Config": "n_positions"}
"""Configurations that call the number of positions otherwise."""
USUAL = "max_position_embeddings"


def find_position_limit(program: Program, failure: Failure) -> Explanation | None:
    """Return that a sequence has more tokens than a model has positions, or None."""
    op = program.trace.ops[failure.op]
    if not op.module or not op.frames or op.span is None:
        return None
    if op.name.rpartition(".")[2] in LOSSES:
        return None
    limit = _find_limit(program, op)
    if limit is not None and OFFSET.match(op.module):
        ids = [fact for fact in op.inputs if fact.dtype == "int64" and fact.shape]
        tokens = max((fact.shape[-1] for fact in ids), default=0)
        if limit - COUNTED_FROM < tokens <= limit:
            return _explain_offset(program, op, limit, tokens)
    length = _find_length(op, limit) if limit is not None else None
    if limit is None or length is None or length <= limit:
        return None
    model = op.module.partition(".")[0]
    message = (
        f"the sequences have up to {length} tokens, and `{model}` has {limit}"
        f" positions: cut them to {limit}"
    )
    fixes = tuple(_iter_cuts(program, limit, length))
    return Explanation(message, (), fixes)


OFFSET = re.compile(r"(XLM|Xlm)?Roberta|Camembert|MPNet|Longformer|Data2VecText")
"""Models that count positions from the number behind that of the padding on."""
COUNTED_FROM = 2


def _explain_offset(program: Program, op: Op, limit: int, tokens: int) -> Explanation:
    """Explain positions that begin behind the number of the padding."""
    model = op.module.partition(".")[0]
    message = (
        f"`{model}` counts positions from {COUNTED_FROM} on, behind the number of the"
        f" padding: {tokens} tokens need {tokens + COUNTED_FROM} positions, and it has"
        f" {limit}"
    )
    fixes = [
        Fix("fits", f"`{USUAL}={new}`", (Edit(text.span(word.value), new),))
        for text in program.own_texts()
        for call in text.nodes
        if isinstance(call, ast.Call) and CONFIG.match(get_called_name(call))
        for word in call.keywords
        if word.arg == USUAL
        for new in [f"{text.written(word.value)} + {COUNTED_FROM}"]
    ]
    return Explanation(message, (), tuple(fixes))


def _find_limit(program: Program, op: Op) -> int | None:
    """Return how many positions a model has, if a call reads what counts them."""
    states = program.states
    for candidate in (op, *iter_makers(program, op)):
        is_inside = candidate.module.startswith(op.module)
        for fact in candidate.inputs if is_inside else ():
            path = states.get(fact.tensor, "")
            if OF_POSITIONS.search(path):
                named_last = path.endswith("_ids") and fact.ndim > 1
                of_one = fact.ndim == 3 and fact.shape[0] == 1  # (1, positions, width)
                at = -1 if named_last else 1 if of_one else 0
                return fact.shape[at]
    return None


def _find_length(op: Op, limit: int) -> int | None:
    """Return how many tokens the sequences have that meet the positions."""
    sizes = [size for fact in op.inputs for size in fact.shape[1:2]]
    if op.name.rpartition(".")[2] == "embedding":
        sizes = [*op.inputs[0].shape[-1:]]
    asked = [value for _, value in op.arguments if isinstance(value, tuple | list)]
    sizes += [size for value in asked for size in value[-1:] if type(size) is int]
    sizes += [value for _, value in op.arguments[-1:] if type(value) is int]
    return max((size for size in sizes if size > limit), default=None)


def _iter_cuts(program: Program, limit: int, length: int) -> Iterator[Fix]:
    """Suggest to cut the sequences where they are encoded, else more positions."""
    for text in program.own_texts():
        calls = [node for node in text.nodes if isinstance(node, ast.Call)]
        for call in calls:
            word = _find_length_word(text, call)
            if word and not _is_given(call, word):
                yield with_keyword(text, call, f"{word}={limit}")
        for call in calls:
            name = get_called_name(call)
            words = {keyword.arg for keyword in call.keywords}
            encodes = name in TOKENIZING and words & {"padding", "return_tensors"}
            if encodes and not words & {"truncation", "max_length"}:
                yield with_keyword(text, call, f"truncation=True, max_length={limit}")
        yield from suggest_cut_sequences(text, limit)
        for call in calls:
            name = get_called_name(call)
            word = NAMES.get(name, USUAL)
            if not CONFIG.match(name):
                continue
            positions = 1 << (length - 1).bit_length()
            written = [w.value for w in call.keywords if w.arg == word]
            if not _is_given(call, word):
                yield with_keyword(text, call, f"{word}={positions}")
            elif written and isinstance(written[0], ast.Constant):
                edit = Edit(text.span(written[0]), str(positions))
                yield Fix("fits", f"`{word}={positions}`", (edit,))


def _is_given(call: ast.Call, word: str) -> bool:
    return any(keyword.arg in (word, None) for keyword in call.keywords)


def _find_length_word(text: SourceText, call: ast.Call) -> str:
    """Return the parameter of the called function that limits a length and that may be
    left out; empty if there is none.
    """
    name = get_called_name(call)
    for _, function in text.definitions(name) if name else ():
        if not isinstance(function, ast.FunctionDef):
            continue
        arguments = function.args
        defaults = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        for parameter in (*defaults, *arguments.kwonlyargs):
            place = arguments.args.index(parameter) if parameter in defaults else 99
            is_method = bool(arguments.args) and arguments.args[0].arg == "self"
            if LONGEST.match(parameter.arg) and len(call.args) <= place - is_method:
                return parameter.arg
    return ""
