"""Images in grey for a model of a library that takes colours: in colour where they are
read, or a model that is built for one channel. Images in colour for a model of one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.expanded_operands import is_own_layer
from shapewright.analysis.fixes.fixed_layers import COLOURS
from shapewright.analysis.fixes.image_edits import TENSORS, suggest_transform
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import CHANNEL_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_last_name

OTHERS = re.compile(r"mask|target|label|trimap|annotation|^gt$|_gt$", re.IGNORECASE)
"""Names of transforms of what is no image."""
GREY = "Grayscale"
FOLDERS = ("ImageFolder",)
"""Data sets whose images are opened in colour, whatever the files hold."""


def suggest_colour_images(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `in_chans=1` for a model of timm, `Grayscale(num_output_channels=3)` in
    front of every `ToTensor()`, or three equal channels behind it.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != CHANNEL_MISMATCH:
        return
    if unmet.needs != COLOURS or unmet.has != 1 or is_own_layer(program, op):
        return
    texts = [*program.own_texts()]
    for text in texts:
        for node in text.nodes:
            words = {word.arg for word in getattr(node, "keywords", ())}
            if get_called_name(node) == "create_model" and "in_chans" not in words:
                assert isinstance(node, ast.Call)
                yield with_keyword(text, node, "in_chans=1")
    for text in texts:
        yield from _suggest_transforms(text)


def suggest_grey_images(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `Grayscale()` in front of `ToTensor()` for the images of a folder, which
    are opened in colour, where a constant of the program says there is one channel.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != CHANNEL_MISMATCH:
        return
    if unmet.needs != 1 or unmet.has != COLOURS:
        return
    layer = program.layer(program.trace.ops[failure.op])
    built = program.built.get(layer.path) if layer is not None else None
    where = program.call_at(built.span) if built is not None else None
    if where is None or not where[1].args or not _is_constant(*where):
        return
    for text in program.own_texts():
        calls = [node for node in text.nodes if isinstance(node, ast.Call)]
        names = {get_called_name(call) for call in calls}
        if names & {*FOLDERS} and not any(map(_is_of_colours, calls)):
            yield from suggest_transform(text, f"{GREY}()", (GREY,))


def _is_constant(text: SourceText, call: ast.Call) -> bool:
    """Return whether the first argument of a layer is a constant at the top of a file,
    which is read elsewhere too.
    """
    name = call.args[0].id if isinstance(call.args[0], ast.Name) else ""
    is_set = any(
        isinstance(node, ast.Assign) and get_last_name(node.targets[0]) == name
        for node in (text.tree.body if text.tree is not None else ())
    )
    reads = [
        node
        for node in text.nodes
        if isinstance(node, ast.Name) and node.id == name and name
    ]
    return is_set and len(reads) > len(("set", "read"))


def _is_of_colours(call: ast.Call) -> bool:
    """Return whether a call normalizes three channels."""
    values = [*call.args[:2], *(word.value for word in call.keywords)]
    return get_called_name(call) == "Normalize" and any(
        isinstance(value, ast.Tuple | ast.List) and len(value.elts) == COLOURS
        for value in values
    )


def _suggest_transforms(text: SourceText) -> Iterator[Fix]:
    """Suggest images in colour in all transforms that make a tensor of an image."""
    calls = [node for node in text.nodes if isinstance(node, ast.Call)]
    steps = [
        call
        for call in calls
        if get_called_name(call) in TENSORS and not _is_of_others(text, call)
    ]
    greys = [
        call
        for call in calls
        if get_called_name(call) == GREY and not _is_of_others(text, call)
    ]
    colours = f"{GREY}(num_output_channels={COLOURS})"
    edits = [
        Edit(text.span(call), f"{text.written(call.func)}(num_output_channels=3)")
        for call in greys
    ]
    of_grey = {text.parent(call) for call in greys}
    steps = [step for step in steps if text.parent(step) not in of_grey]
    owners = {text.written(step.func).rpartition(".")[0] for step in steps}
    if "" in owners:
        return  # the names that it needs may not be imported
    shown = f"`{colours}`"
    behind = []
    for step in steps:
        owner, written = text.written(step.func).rpartition(".")[0], text.written(step)
        copied = f"{owner}.Lambda(lambda x: x.repeat({COLOURS}, 1, 1))"
        before = f"{owner}.{colours}, {written}"
        after = f"{written}, {copied}"
        if not isinstance(text.parent(step), ast.List | ast.Tuple):
            before = f"{owner}.Compose([{before}])"
            after = f"{owner}.Compose([{after}])"
        edits.append(Edit(text.span(step), before))
        behind.append(Edit(text.span(step), after))
        shown = f"`{owner}.{colours}` in front of `{written}`"
        shown_behind = f"`{copied}` behind `{written}`"
    if edits:
        yield Fix("fits", shown, tuple(edits))
    if behind:
        yield Fix("fits", shown_behind, tuple(behind))


def _is_of_others(text: SourceText, call: ast.Call) -> bool:
    """Return whether a transform is one of masks or labels, by the name that it has."""
    for outer in text.outwards(call):
        names: list[str] = []
        if isinstance(outer, ast.keyword):
            names = [outer.arg or ""]
        elif isinstance(outer, ast.Assign):
            names = [get_last_name(target) for target in outer.targets]
        elif isinstance(outer, ast.FunctionDef | ast.ClassDef):
            names = [outer.name]
        if any(OTHERS.search(name) for name in names):
            return True
    return False
