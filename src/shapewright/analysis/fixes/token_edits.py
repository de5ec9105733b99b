"""Tokens that are added to a tokenizer, and not to the embedding of its model, or stand
in front of a vocabulary; a context that grows beyond the positions that a model has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.fixes.tokenizer_sizes import (
    RESIZING,
    suggest_rows_of_tokenizer,
)
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.provenance.origins import find_constructor
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.spans import is_installed
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
)

ADDING = ("add_tokens", "add_special_tokens")
"""Methods of tokenizers that give more ids than the vocabulary has."""
RANGES = operators_with("is_range_factory")
JOINING = operators_with("joins_tensors")
LOSSES = operators_with("is_loss")


def suggest_resized_embedding(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model.resize_token_embeddings(len(tokenizer))` behind the line that adds
    tokens, where an embedding reads beyond its rows.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    yield from suggest_rows_of_tokenizer(program)
    root, *inner = layer.path.split(".")
    built = program.built.get(root)
    text_and_call = program.call_at(built.span) if built is not None else None
    if text_and_call is None:
        return
    text, call = text_and_call
    statement = text.statement_of(call)
    resized = any(get_called_name(node) == RESIZING for node in text.nodes
                  if isinstance(node, ast.Call))  # fmt: skip
    if not isinstance(statement, ast.Assign) or resized:
        return
    names = [node for node in statement.targets if isinstance(node, ast.Name)]
    adding = _find_adding(text, statement)
    if adding is None or not names:
        return
    tokenizer, by = adding
    last = max(statement, by, key=lambda node: node.lineno)
    for count in range(len(inner)):
        model = ".".join([names[0].id, *inner[:count]])
        new = f"{model}.{RESIZING}(len({tokenizer}))"
        yield Fix("fits", f"`{new}`", (write_after(text, last, new),))


def suggest_last_tokens(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `model(ids[:, -block_size:])` in a loop that appends to `ids`, where a
    model has no embedding for so many positions.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    is_counted = any(
        maker.name.rpartition(".")[2] in RANGES
        for fact in op.inputs
        for maker in iter_first_makers(program, fact)
    )
    if not is_counted:
        return
    constructor = find_constructor(program, layer.path)
    for frame in reversed(op.frames):
        text_and_call = program.call_at(frame.span)
        if text_and_call is None:
            continue
        text, call = text_and_call
        loop = text.around(call, ast.For, ast.While)
        growing = _collect_growing(loop) if loop is not None else set()
        for argument in call.args:
            if isinstance(argument, ast.Name) and argument.id in growing:
                rows = str(unmet.needs)
                if constructor is not None and constructor[1].args:
                    size = constructor[1].args[0]
                    rows = _write_rows(constructor[0], size, text, rows)
                edit = Edit(text.span(argument).end, f"[:, -{rows}:]")
                new = f"{argument.id}[:, -{rows}:]"
                yield Fix("fits", f"`{text.written(call.func)}({new})`", (edit,))
                return


def _collect_growing(loop: ast.AST) -> set[str]:
    """Return the names to which a loop joins something in each turn."""
    return {
        target.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and get_called_name(node.value) in JOINING
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in collect_names(node.value)
    }


def _write_rows(own: SourceText, size: ast.expr, text: SourceText, rows: str) -> str:
    """Return the name of a number of rows, if it is a constant of the file, or the
    number.
    """
    constants = {
        target.id
        for node in getattr(text.tree, "body", [])
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    is_known = isinstance(size, ast.Name) and size.id in constants
    return own.written(size) if is_known else rows


def _find_adding(text: SourceText, beside: ast.stmt) -> tuple[str, ast.stmt] | None:
    """Return the name of a tokenizer that is given more tokens, and the statement that
    does it among those of another statement.
    """
    block = getattr(text.parent(beside), "body", [])
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) not in ADDING:
            continue
        func = node.func
        statement = text.statement_of(node)
        if isinstance(func, ast.Attribute) and statement in block:
            return text.written(func.value), statement
    return None


FILLED = ("decoder_input_ids", "input_ids")
"""Inputs of a library's model that it looks up itself, the likeliest first."""


def suggest_padding_for_ignored(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `ids.masked_fill(ids == -100, PAD)` for the tokens that an embedding
    reads, where they were cut from labels in which a negative number is left out.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    if type(unmet.has) is not int or unmet.has >= 0 or program.layer(op) is None:
        return
    if op.name.rpartition(".")[2] in LOSSES:
        return  # the first class would be learned there
    ignored = unmet.has
    text_and_node = program.node(op.span)
    places: list[tuple[SourceText, ast.expr]] = []
    for place, fact in zip(
        find_tensor_expressions(program, op), op.inputs, strict=False
    ):
        if place is not None and text_and_node is not None and "int" in fact.dtype:
            places = [(text_and_node[0], place[0])]
    for file in program.trace.sources if not places else ():
        text = None if is_installed(file) else program.text(file)
        if text is not None:
            places += [(text, node) for node in _iter_filled(text)]
    for text, node in places:
        pad = _find_padding(text)
        written = text.written(node).removesuffix(".contiguous()")
        new = f"{written}.masked_fill({written} == {ignored}, {pad})"
        if "\n" not in written:
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _iter_filled(text: SourceText) -> Iterator[ast.expr]:
    """Yield the values of a file that are given to a model as tokens by their name."""
    for name in FILLED:
        for node in text.nodes:
            if isinstance(node, ast.keyword) and node.arg == name:
                yield node.value
            elif isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == name:
                        yield value


def _find_padding(text: SourceText) -> str:
    """Return the name of the padding token in a file, as its layers or settings are
    given it, or as a constant is named; else 0.
    """
    for node in text.nodes:
        if not isinstance(node, ast.keyword) or node.arg not in PADDINGS:
            continue
        if isinstance(node.value, ast.Name | ast.Constant):
            return text.written(node.value)
    for node in text.tree.body if text.tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if "pad" in name.lower() and (evaluate_whole_number(node.value) or 0) >= 0:
                return name
    return "0"


PADDINGS = ("padding_idx", "pad_token_id", "padding_value")


# -- special tokens in front of a vocabulary -------------------------------------------

SPECIAL = re.compile(r"^<.+>$|^\[[A-Z]+\]$|^(pad|unk|bos|eos|sos)$", re.IGNORECASE)
"""Names of tokens that are no words: `<pad>`, `[UNK]`."""


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """A dict or list of numbered words: where it is begun, by which name, the tokens in
    front, the names that its words come from.
    """

    text: SourceText
    node: ast.expr
    name: str
    tokens: tuple[str, ...]
    words: frozenset[str]


def suggest_whole_vocabulary(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `len(vocab)` for `len(words)` where an embedding lacks the rows of the
    special tokens that a vocabulary begins with.
    """
    for vocabulary in _iter_vocabularies(program, failure):
        new = f"len({vocabulary.name})"
        for node in _list_counts(vocabulary):
            span = vocabulary.text.span(node)
            yield Fix("fits", f"`{new}`", (Edit(span, new),))


def describe_special_tokens(program: Program, failure: Failure) -> Related | None:
    """Return where a vocabulary begins with special tokens, which a count of its words
    leaves out.
    """
    for vocabulary in _iter_vocabularies(program, failure):
        counts = _list_counts(vocabulary)
        if not counts:
            continue
        *others, last = [f"`{token}`" for token in vocabulary.tokens]
        tokens = f"{', '.join(others)} and {last}" if others else last
        counted = vocabulary.text.written(counts[0])
        words = (
            f"the numbers of the words begin behind {tokens} in `{vocabulary.name}`,"
            f" which `{counted}` leaves out"
        )
        return Related(vocabulary.text.span(vocabulary.node), words)
    return None


def _iter_vocabularies(program: Program, failure: Failure) -> Iterator[_Vocabulary]:
    """Yield the vocabularies with so many special tokens that an index is beyond the
    rows of an embedding because of them.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    if not op.name.rpartition(".")[2].startswith("embedding"):
        return
    if type(unmet.has) is not int or type(unmet.needs) is not int:
        return
    for text in program.own_texts():
        for vocabulary in _iter_numbered_words(text):
            if 0 <= unmet.has - unmet.needs < len(vocabulary.tokens):
                yield vocabulary


def _iter_numbered_words(text: SourceText) -> Iterator[_Vocabulary]:
    """Yield the dicts and lists that begin with special tokens, and go on with words
    that have a name of their own.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        name, value = text.written(node.targets[0]), node.value
        first = value.left if isinstance(value, ast.BinOp) else value
        tokens = _list_tokens(first)
        words: set[str] = set()
        if tokens and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            words = collect_names(value.right)
        elif tokens and isinstance(value, ast.Dict):
            words = _collect_added_words(text, name)
        if words:
            yield _Vocabulary(text, value, name, tokens, frozenset(words))


def _list_tokens(node: ast.expr) -> tuple[str, ...]:
    """Return the special tokens in a dict or list that has no other entries."""
    entries: list[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        entries = [*node.keys]
    elif isinstance(node, ast.List):
        entries = [*node.elts]
    texts = [e.value if isinstance(e, ast.Constant) else None for e in entries]
    tokens = [word for word in texts if isinstance(word, str) and SPECIAL.search(word)]
    return tuple(tokens) if len(tokens) == len(entries) else ()


def _collect_added_words(text: SourceText, name: str) -> set[str]:
    """Return the names of what a loop, or an `update`, adds to a dict of numbers."""
    words: set[str] = set()
    for node in text.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            loop = text.around(node, ast.For)
            is_item = text.written(node.value) == name
            if is_item and isinstance(loop, ast.For):
                words |= collect_names(loop.iter)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_update = node.func.attr == "update" and node.args
            if is_update and text.written(node.func.value) == name:
                for part in ast.walk(node.args[0]):
                    if isinstance(part, ast.comprehension):
                        words |= collect_names(part.iter)
    return words


def _list_counts(vocabulary: _Vocabulary) -> list[ast.expr]:
    """Return the expressions that count the words of a vocabulary without its tokens,
    `len(words)`, or with too few of them, `len(words) + 1`.
    """
    counts = []
    for node in vocabulary.text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "len":
            continue
        words = node.args[0] if len(node.args) == 1 else None
        if not isinstance(words, ast.Name) or words.id not in vocabulary.words:
            continue
        whole, added = _take_added(vocabulary.text, node)
        is_behind = node.lineno > vocabulary.node.lineno
        if is_behind and 0 <= added < len(vocabulary.tokens):
            counts.append(whole)
    return counts


def _take_added(text: SourceText, node: ast.expr) -> tuple[ast.expr, int]:
    """Return a count with the number that is added to it, -1 for other arithmetic."""
    outer = text.parent(node)
    if not isinstance(outer, ast.BinOp):
        return node, 0
    number = evaluate_whole_number(outer.right)
    is_sum = isinstance(outer.op, ast.Add) and outer.left is node
    return outer, number if is_sum and number is not None else -1
