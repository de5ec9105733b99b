"""The rows of an embedding where a setting of the program says them: as many as its
tokenizer has, or as the numbers that are drawn.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.fixes.tokenizer_sizes import suggest_resized_embeddings
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import INDEX_OUT_OF_RANGE
from shapewright.findings.finding import Edit, Fix, Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    get_own_attribute,
    iter_assignments,
    iter_own_nodes,
    list_parameters,
)

SETTING = re.compile(
    r"vocab|n(um)?_?(tokens|words|symbols|chars|embeddings)", re.IGNORECASE
)
"""How a number of tokens is called."""
COUNTED = re.compile(
    r"(\w+_)?(tokenizer|tok|vocab|vocabulary|word2id\w*|word_to_i\w*|stoi|itos"
    r"|char2id\w*|char_to_i\w*|token_to_id\w*)",
    re.IGNORECASE,
)
"""How a tokenizer or a dict of tokens is called, whose length is their number."""
DRAWN = "a random draw"
"""What an assumption says of data that another run draws otherwise."""


def suggest_counted_vocabulary(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `vocab_size=VOCAB_SIZE` and `len(tokenizer)` for a number that a setting
    gives to an embedding with too few rows, and `config.vocab_size = len(tokenizer)`
    above the model that reads it.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    layer = program.layer(op)
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or layer is None:
        return
    if op.name.rpartition(".")[2] != "embedding" or type(unmet.needs) is not int:
        return
    largest = unmet.has if type(unmet.has) is int else unmet.needs
    for text in program.own_texts():
        for name, node in _iter_settings(text, unmet.needs):
            for count in _iter_counts(text, node, largest):
                shown = f"`{name}={count}`"
                yield Fix("fits", shown, (Edit(text.span(node), count),))
        yield from _suggest_other_length(text, failure, largest)
        yield from _suggest_own_dict(text)
    yield from _suggest_late_setting(program, layer.path, unmet.needs)
    yield from suggest_resized_embeddings(program, failure)


def _suggest_other_length(
    text: SourceText, failure: Failure, largest: int
) -> Iterator[Fix]:
    """Suggest `len(tokenizer.index)` for `len(tokenizer.words)`: a longer dict of the
    same object.
    """
    longer = [name for name, length in failure.lengths if length > largest]
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "len":
            continue
        counted = node.args[0] if node.args else None
        owner = get_dotted_name(counted).rpartition(".")[0] if counted else ""
        for name in longer if owner else ():
            if name.rpartition(".")[0] == owner and name != get_dotted_name(counted):
                new = f"len({name})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _suggest_own_dict(text: SourceText) -> Iterator[Fix]:
    """Suggest `len(self.ids)` for `len(self.words)` in a class whose dict `ids` numbers
    more than its words.
    """
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != "len":
            continue
        counted = get_own_attribute(node.args[0]) if node.args else ""
        owner = text.around(node, ast.ClassDef) if counted else None
        numbered = {
            get_own_attribute(target)
            for target, value in iter_assignments(owner, annotated=True)
            if isinstance(value, ast.DictComp)
            and get_called_name(value.generators[0].iter) == "enumerate"
        }
        for name in sorted(numbered - {"", counted}):
            if counted not in numbered:
                new = f"len(self.{name})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def suggest_grown_vocabulary(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `vocab_size=len(vocab)` for `len(WORDS)` where a dict that numbers the
    words gets further tokens, and for a number where a config's table is too small.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or has < needs:
        return
    if not op.name.rpartition(".")[2].startswith("embedding"):
        return
    for text in program.own_texts():
        for words, vocabulary in _iter_grown_dicts(text):
            new = f"len({vocabulary})"
            for node in text.nodes:
                if not isinstance(node, ast.Call) or text.written(node) != (
                    f"len({words})"
                ):
                    continue
                around = text.parent(node)
                if isinstance(around, ast.keyword) and "vocab" in (around.arg or ""):
                    edit = Edit(text.span(node), new)
                    yield Fix("fits", f"`{around.arg}={new}`", (edit,))
                elif around is not None and get_called_name(around) == "Embedding":
                    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
    for text in program.own_texts():
        for word in text.nodes:
            if not isinstance(word, ast.keyword) or word.arg != "vocab_size":
                continue
            if evaluate_whole_number(word.value) == needs:
                edit = Edit(text.span(word.value), f"{has + 1}")
                yield Fix("fits", f"`vocab_size={has + 1}`", (edit,))


def _iter_grown_dicts(text: SourceText) -> Iterator[tuple[str, str]]:
    """Yield what a dict numbers, `{w: i for i, w in enumerate(WORDS)}`, and the name of
    the dict, where it gets further items.
    """
    for target, value in iter_assignments(text.tree, annotated=True):
        if not isinstance(value, ast.DictComp) or len(value.generators) != 1:
            continue
        source = value.generators[0].iter
        if get_called_name(source) != "enumerate" or not isinstance(source, ast.Call):
            continue
        name = text.written(target)
        is_grown = any(
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and text.written(node.value) == name
            for node in text.nodes
        )
        if is_grown and source.args:
            yield text.written(source.args[0]), name


def describe_counted_vocabulary(program: Program, failure: Failure) -> Related | None:
    """Return where a tokenizer or a dict of tokens is set that counts more of them than
    an embedding has rows.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return None
    if op.name.rpartition(".")[2] != "embedding":
        return None
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or has < needs:
        return None
    counts = {
        name: length
        for name, length in failure.lengths
        if COUNTED.fullmatch(name.rpartition(".")[2]) and length > has
    }
    taken = [assumption.message for assumption in program.trace.assumptions]
    is_drawn = any(DRAWN in message for message in taken)  # another run has others
    for name, length in counts.items() if len(set(counts.values())) == 1 else ():
        last = name.rpartition(".")[2]
        shown = "" if is_drawn else f"{length}, "
        places = [
            Related(text.span(value), f"`len({name})` is {shown}more than {needs}")
            for text in program.own_texts()
            for target, value in iter_assignments(text.tree, annotated=True)
            if get_last_name(target) == last
        ]
        if len(places) == 1:
            return places[0]
    return None


def describe_first_number(program: Program, failure: Failure) -> Related | None:
    """Return where things are numbered from 1, or from a later number on, of which the
    last is beyond a table with a row for each: `enumerate(words, start=1)`.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE:
        return None
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int:
        return None
    places = []
    for text in program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Call) or get_called_name(node) != "enumerate":
                continue
            start = [word.value for word in node.keywords if word.arg == "start"]
            start += node.args[1:2]
            first = evaluate_whole_number(start[0]) if start else 0
            if first and needs <= has < needs + first and _is_numbering(text, node):
                words = f"ids are numbered from {first} on here, not from 0"
                places.append(Related(text.span(node), words))
    return places[0] if len(places) == 1 else None


def _is_numbering(text: SourceText, node: ast.expr) -> bool:
    """Return whether a loop or a comprehension numbers the keys of a dict."""
    around = text.parent(node)
    if isinstance(around, ast.comprehension):
        return isinstance(text.parent(around), ast.DictComp)
    if not isinstance(around, ast.For):
        return around is not None and get_called_name(around) == "dict"
    names = {part.id for part in ast.walk(around.target) if isinstance(part, ast.Name)}
    return any(
        isinstance(target, ast.Subscript) and getattr(value, "id", "") in names
        for target, value in iter_assignments(around)
    )


def _iter_settings(text: SourceText, rows: int) -> Iterator[tuple[str, ast.expr]]:
    """Yield the keywords of calls that give a number of tokens, with their values."""
    for node in text.nodes:
        if not isinstance(node, ast.keyword) or not SETTING.search(node.arg or ""):
            continue
        if evaluate_whole_number(node.value) == rows:
            yield node.arg or "", node.value


def _iter_counts(text: SourceText, place: ast.expr, largest: int) -> Iterator[str]:
    """Yield what is known above a place and counts the tokens: a constant above the
    largest of them, and the length of a tokenizer.
    """
    function = text.around(place, *FUNCTIONS)
    yield from _iter_lengths(text, place)
    for scope in dict.fromkeys((function or text.tree, text.tree)):
        for node in iter_own_nodes(scope) if scope is not None else ():
            if not isinstance(node, ast.Assign) or node.lineno >= place.lineno:
                continue
            target, value = node.targets[0], evaluate_whole_number(node.value)
            if not isinstance(target, ast.Name) or not SETTING.search(target.id):
                continue
            if value is not None and value > largest:
                yield target.id


def _iter_lengths(text: SourceText, place: ast.AST) -> Iterator[str]:
    """Yield `len(tokenizer)` for the tokenizers and dicts known above a place."""
    line = getattr(place, "lineno", 0)
    function = text.around(place, *FUNCTIONS)
    names = list_parameters(function)
    for scope in dict.fromkeys((function or text.tree, text.tree)):
        for node in iter_own_nodes(scope) if scope is not None else ():
            if isinstance(node, ast.Assign) and node.lineno < line:
                names += [n.id for n in node.targets if isinstance(n, ast.Name)]
    for name in dict.fromkeys(names):
        if COUNTED.fullmatch(name):
            yield f"len({name})"


def _suggest_late_setting(program: Program, module: str, rows: int) -> Iterator[Fix]:
    """Suggest `config.vocab_size = len(tokenizer)` above the call that builds a model,
    which reads it of a config.
    """
    built = find_constructor(program, module)
    if built is None:
        return
    setting = next(
        (
            node
            for _, node, _ in iter_arguments(program, module)
            if isinstance(node, ast.Attribute) and SETTING.search(node.attr)
        ),
        None,
    )
    owner = built[0].around(built[1], ast.ClassDef)
    if setting is None or owner is None or not isinstance(setting.value, ast.Name):
        return
    for text in program.own_texts():
        for call in text.nodes:
            if not isinstance(call, ast.Call) or get_called_name(call) != owner.name:
                continue
            names = [a.id for a in call.args if isinstance(a, ast.Name)]
            if setting.value.id not in names:
                continue
            for count in _iter_lengths(text, call):
                new = f"{setting.value.id}.{setting.attr} = {count}"
                edit = write_before(text, text.statement_of(call), new)
                yield Fix("fits", f"`{new}`", (edit,))
