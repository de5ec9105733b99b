"""Layers that are taken for containers and containers for layers, as where a head is
replaced: `net.classifier.in_features` of a dropout and a layer, `net.classifier[6]` of
a single one.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_dotted_name,
    get_own_attribute,
)

MISSING = re.compile(
    r"'(Sequential|ModuleList)' object has no attribute"
    r" '(in_features|out_features|in_channels|out_channels|weight|bias|num_features)'"
)
SINGLE = re.compile(
    r"'(Linear|Conv\dd|LazyLinear|BatchNorm\dd|NonDynamicallyQuantizableLinear)' object"
    r" (?:is not subscriptable|does not support item assignment)"
)
NO_MODULE = re.compile(r"torch\.nn\.(?:modules\.\w+|functional)\.(\w+) is not a Module")
MODULES = (
    "ReLU()", "GELU()", "SiLU()", "ELU()", "LeakyReLU()", "Sigmoid()", "Tanh()",
    "Softmax(dim=-1)", "LogSoftmax(dim=-1)", "Dropout()", "Softplus()", "Mish()",
)  # fmt: skip
"""The modules of functions that are applied element by element."""
BEYOND = re.compile(r"IndexError.*index (\d+) is out of range")
NO_HEAD = re.compile(r"'(\w+)' object has no attribute '(fc|classifier|head|heads)'")
PLACES = ("[-1]", "[0]", "[1]")
"""The last layer, as in a head, before the first."""
HEADS = ("fc", "classifier", "head", "heads")
"""Names that models of libraries have for their last layers."""


def find_sequential_layer(program: Program, finding: Finding) -> Explanation | None:
    """Return that an attribute is one of a layer in a container, or an item that of a
    single layer, or None.
    """
    place = program.node(finding.span)
    if place is None:
        return None
    text, node = place
    no_module = NO_MODULE.search(finding.words)
    if no_module is not None:
        return _explain_no_module(text, node, no_module[1])
    missing, single = MISSING.search(finding.words), SINGLE.search(finding.words)
    if missing is not None:
        return _explain_container(text, node, *missing.groups())
    if single is not None:
        return _explain_single(text, node, single[1])
    beyond, no_head = BEYOND.search(finding.words), NO_HEAD.search(finding.words)
    if beyond is not None:
        return _explain_beyond(text, node, beyond[1])
    if no_head is not None:
        return _explain_other_head(program, text, node, *no_head.groups())
    return None


def _explain_no_module(
    text: SourceText, node: ast.AST, name: str
) -> Explanation | None:
    """Explain a class without parentheses, or a function, among the layers."""
    is_class = name[:1].isupper()
    for part in ast.walk(node):
        if get_dotted_name(part).rpartition(".")[2] != name:
            continue
        around = text.parent(part)
        if not isinstance(part, ast.expr) or isinstance(around, ast.Attribute):
            continue
        if isinstance(around, ast.Call) and around.func is part:
            continue
        written = text.written(part)
        what = "the class itself: a layer of it is not built" if is_class else (
            "a function, and the layers of a container are modules"
        )  # fmt: skip
        new = f"{written}()" if is_class else _write_module(name)
        fixes = (Fix("fits", f"`{new}`", (Edit(text.span(part), new),)),) if new else ()
        return Explanation(f"`{written}` is {what}", (), fixes)
    return None


def _write_module(name: str) -> str:
    """Write the module of a function, or nothing if it has none of that name."""
    bare = name.replace("_", "")
    same = (new for new in MODULES if new.partition("(")[0].lower() == bare)
    return "".join(f"nn.{new}" for new in same)


def _explain_container(
    text: SourceText, node: ast.AST, kind: str, name: str
) -> Explanation | None:
    """Explain `net.classifier.in_features` where the classifier has several layers."""
    for part in ast.walk(node):
        if not isinstance(part, ast.Attribute) or part.attr != name:
            continue
        written = text.written(part.value)
        message = (
            f"`{written}` is an `nn.{kind}` of several layers: `{name}` belongs to"
            " one of them, as a head's to its last"
        )
        end = text.span(part.value).end
        fixes = [
            Fix("fits", f"`{written}{at}.{name}`", (Edit(end, at),)) for at in PLACES
        ]
        replaced = [
            target
            for target in _list_same(text, part.value)
            if isinstance(text.parent(target), ast.Assign)
            and isinstance(getattr(target, "ctx", None), ast.Store)
        ]
        if replaced:  # the last layer alone is replaced
            ends = [text.span(target).end for target in replaced]
            edits = tuple(Edit(place, "[-1]") for place in (end, *ends))
            shown = f"`{written}[-1]` for `{written}`"
            fixes.insert(1, Fix("fits", shown, edits))
        return Explanation(message, (), tuple(fixes))
    return None


def _explain_single(text: SourceText, node: ast.AST, kind: str) -> Explanation | None:
    """Explain `net.classifier[6]` where the classifier is one layer."""
    read = _find_item(node)
    if read is None:
        return None
    layer = text.written(read.value)
    message = f"`{layer}` is a single `nn.{kind}`: it has no layers inside to index"
    edits = [
        Edit(text.span(holder.value).end.until(text.span(holder).end), "")
        for same in _list_same(text, read.value)
        if isinstance(holder := text.parent(same), ast.Subscript)
        and holder.value is same
    ]
    fix = Fix("fits", f"`{layer}` for `{text.line_of(read)}`", tuple(edits))
    return Explanation(message, (), (fix,))


def _explain_beyond(text: SourceText, node: ast.AST, index: str) -> Explanation | None:
    """Explain `net.classifier[6]` where the classifier has fewer layers."""
    read = _find_item(node)
    if read is None or text.written(read.slice) != index:
        return None
    layer = text.written(read.value)
    if not layer.rpartition(".")[2].startswith(HEADS):
        return None
    message = f"`{layer}` has no layer {index}: it has fewer, and `[-1]` is its last"
    edits = [
        Edit(text.span(holder.slice), "-1")
        for same in _list_same(text, read.value)
        if isinstance(holder := text.parent(same), ast.Subscript)
        and text.written(holder.slice) == index
    ]
    return Explanation(message, (), (Fix("fits", f"`{layer}[-1]`", tuple(edits)),))


def _explain_other_head(
    program: Program, text: SourceText, node: ast.AST, kind: str, name: str
) -> Explanation | None:
    """Explain `net.fc` of a model of a library whose last layer has another name."""
    own = [node for text in program.own_texts() for _, node in text.definitions(kind)]
    is_set = {
        get_own_attribute(part) for definition in own for part in ast.walk(definition)
    }
    others = [head for head in HEADS if head != name and (head in is_set or not own)]
    reads = [
        part
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr == name
    ]
    if not others or not reads or not get_dotted_name(reads[0]):
        return None
    written, model = text.written(reads[0]), text.written(reads[0].value)
    message = f"`{model}` is a `{kind}`, whose last layer is not called `{name}`"
    fixes = []
    for other in others:
        for at in ("", "[-1]"):
            edits = tuple(
                Edit(text.span(same), f"{model}.{other}{at}")
                for same in _list_same(text, reads[0])
            )
            shown = f"`{model}.{other}{at}` for `{written}`"
            fixes.append(Fix("fits", shown, edits))
    return Explanation(message, (), tuple(fixes))


def _find_item(node: ast.AST) -> ast.Subscript | None:
    """Return the first item of a dotted name that an expression reads or sets."""
    parts = ast.walk(node)
    items = (part for part in parts if isinstance(part, ast.Subscript))
    return next((item for item in items if get_dotted_name(item.value)), None)


def _list_same(text: SourceText, like: ast.expr) -> list[ast.expr]:
    """Return where the same dotted name is read or set in a function, or in what is
    outside of all functions.
    """
    name, scope = get_dotted_name(like), text.around(like, *FUNCTIONS)
    return [
        part
        for part in text.nodes
        if isinstance(part, ast.Attribute | ast.Name)
        and get_dotted_name(part) == name
        and text.around(part, *FUNCTIONS) is scope
    ]
