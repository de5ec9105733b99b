"""Settings that a model of a library was built without: the size of its images, the
token that pads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    iter_assignments,
)

IMAGES = re.compile(
    r"Input (?:image )?(?:height|width|size) \(?(\d+)(?:\*\d+)?\)? doesn't match model"
    r" \(?(\d+)"
)
NO_PADDING = re.compile(r"Cannot handle batch sizes > 1 if no padding token is defined")
NO_PAD_TOKEN = re.compile(r"tokenizer does not have a padding token")
PADDING = re.compile(r"(^|_)pad($|_)|padding_idx", re.IGNORECASE)
CONFIG = re.compile(r"[A-Z]\w*Config$")
SIZE = re.compile(r"size|side|width|resolution", re.IGNORECASE)
MOST = 3


def find_missing_setting(program: Program, finding: Finding) -> Explanation | None:
    """Return which setting a model of a library lacks for what it is given, or None."""
    messages = finding.words
    images = IMAGES.search(messages)
    if images is not None:
        size, own = images.groups()
        message = f"the model is built for images of {own} pixels, and gets {size}"
        fixes = tuple(_suggest_image_size(program, size))
        return Explanation(message, (), fixes)
    if NO_PADDING.search(messages):
        message = (
            "the config has no `pad_token_id`, by which the model finds the last token"
            " of each text of a batch"
        )
        return Explanation(message, (), tuple(_suggest_padding(program)))
    if NO_PAD_TOKEN.search(messages):
        return _explain_pad_token(program, finding)
    return None


def _explain_pad_token(program: Program, finding: Finding) -> Explanation:
    """Return that a tokenizer is to pad and has no token for it, with the end token as
    one behind the line that loads or builds the tokenizer.
    """
    message = "the tokenizer is to pad, and has no `pad_token`"
    sources = [
        (text, target, value)
        for text in program.own_texts()
        for target, value in iter_assignments(text.tree)
        if isinstance(target, ast.Name | ast.Attribute)
        if isinstance(value, ast.Call) and TOKENIZER.search(text.written(value.func))
    ]
    place = program.call_at(finding.span)
    called = get_dotted_name(place[1].func) if place is not None else ""
    asked = [source for source in sources if get_dotted_name(source[1]) == called]
    if len(asked) == 1:
        sources = asked
    names = {get_dotted_name(target) for _, target, _ in sources}
    if len(sources) != 1 or len(names) != 1:
        return Explanation(message)
    text, _, value = sources[0]
    words = {word.arg for word in value.keywords}
    name = names.pop()
    related = (Related(text.span(value), f"`{name}` is set here"),)
    statement = text.statement_of(value)
    if "pad_token" in words or not isinstance(statement, ast.Assign):
        return Explanation(message, related)
    new = f"{name}.pad_token = {name}.eos_token"
    edit = write_after(text, statement, new)
    return Explanation(message, related, (Fix("fits", f"`{new}`", (edit,)),))


TOKENIZER = re.compile(r"Tokenizer(Fast)?(\.from_pretrained)?$")
"""How the calls are written that load or build a tokenizer of `transformers`."""


def _iter_calls(program: Program) -> Iterator[tuple[SourceText, ast.Call]]:
    for text in program.own_texts():
        for node in text.nodes:
            if isinstance(node, ast.Call):
                yield text, node


def _suggest_image_size(program: Program, size: str) -> Iterator[Fix]:
    """Suggest `img_size=96` where a model of timm is created, and `image_size=SIZE` of
    a config without one.
    """
    for text, call in _iter_calls(program):
        words = {word.arg for word in call.keywords}
        if CONFIG.match(get_called_name(call)) and "patch_size" in words:
            sizes = [
                get_dotted_name(target)
                for target, value in iter_assignments(text.tree)
                if text.written(value) == size and SIZE.search(text.written(target))
            ]
            if "image_size" not in words:
                yield with_keyword(text, call, f"image_size={[*sizes, size][0]}")
        if get_called_name(call) == "create_model" and "img_size" not in words:
            yield with_keyword(text, call, f"img_size={size}")


def _suggest_padding(program: Program) -> Iterator[Fix]:
    """Suggest `pad_token_id` by a name of the program for it, or the end token."""
    for text, call in _iter_calls(program):
        words = {word.arg: word.value for word in call.keywords}
        if not CONFIG.match(get_called_name(call)) or "pad_token_id" in words:
            continue
        names = [
            get_dotted_name(node)
            for node in text.nodes
            if isinstance(node, ast.Name | ast.Attribute)
        ]
        last = [name for name in names if PADDING.search(name.rpartition(".")[2])]
        values = [*dict.fromkeys(name for name in last if "self." not in name)]
        own = [name for name in values if "." in name or name.isupper()]
        if "eos_token_id" in words:
            own.append(text.written(words["eos_token_id"]))
        for name in own[:MOST]:
            yield with_keyword(text, call, f"pad_token_id={name}")
