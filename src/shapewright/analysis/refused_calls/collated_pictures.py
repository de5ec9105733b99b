"""Items of a data set that are pictures of PIL still, which a loader does not stack."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes.collate_edits import (
    find_maker_of_tensors,
    suggest_tensors_of_images,
)
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import Function, SourceText, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    iter_own_nodes,
    pair_targets,
)

UNCOLLATED = re.compile(r"default_collate: batch must contain .* found <class 'PIL\.")
OPENING = frozenset({"open", "fromarray", "new", "frombytes"})
LOADING = frozenset({"pil_loader", "default_loader", "to_pil_image"})
MAKING = frozenset({
    "ToTensor", "to_tensor", "PILToTensor", "pil_to_tensor", "ToImage", "to_image",
    "from_numpy", "tensor", "as_tensor", "array", "asarray",
})  # fmt: skip
"""Calls that make a tensor, or an array, of a picture."""
MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class _Flag:
    """A switch, off by default, behind which a function makes a tensor of a picture.

    `call` is the call that leaves it off: of the function, or of the data set.
    """

    name: str
    text: SourceText
    default: ast.expr
    owner: str
    call: ast.Call | None


def find_collated_picture(program: Program, finding: Finding) -> Explanation | None:
    """Return which part of an item is a picture, and what would make it a tensor."""
    if not UNCOLLATED.search(finding.words):
        return None
    for text in program.own_texts():
        for name, function in text.functions("__getitem__"):
            part_and_ways = _find_part(text, function)
            if part_and_ways is not None:
                owner = name.rpartition(".")[0]
                return _explain_picture(text, owner, function, *part_and_ways)
    return None


def _find_part(
    text: SourceText, function: Function
) -> tuple[ast.expr, list[tuple[Function, ast.Call]]] | None:
    """Return the part of an item that is a picture: one that no transform may have
    changed, else the only one that comes of a picture at all.
    """
    for is_sure in (True, False):
        pictures = [
            (part, ways)
            for part in _iter_parts(function)
            if (ways := _follow_picture(text, function, part, is_sure)) is not None
        ]
        if len(pictures) == 1 or (pictures and is_sure):
            return pictures[0]
    return None


def _explain_picture(
    text: SourceText,
    owner: str,
    function: Function,
    part: ast.expr,
    ways: list[tuple[Function, ast.Call]],
) -> Explanation:
    """Explain the part of an item that is a picture, with the functions it came
    through.
    """
    shown = f"`{join_lines(text.written(part))}`"
    message = f"{shown} in the items of `{owner}` is a picture of PIL, which a"
    message += " `DataLoader` does not stack: "
    place = Related(text.span(part), "the items are put together here")
    flag = _find_flag(text, owner, function, ways)
    if flag is not None:
        message += f"`{flag.owner}` makes a tensor of it only with `{flag.name}=True`"
        reason = Related(
            text.span(flag.default), f"`{flag.name}` is off by default here"
        )
        fixes = tuple(_suggest_flag(flag))
        return Explanation(message, (place, reason), fixes)
    message += "no `ToTensor()` makes a tensor of it"
    maker = find_maker_of_tensors(text)
    if not maker or any(True for _ in suggest_tensors_of_images(text)):
        return Explanation(message, (place,))
    new = f"{maker}({text.written(part)})"
    fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(part), new),))
    return Explanation(message, (place,), (fix,))


def _iter_parts(function: Function) -> Iterator[ast.expr]:
    """Yield the parts of what a data set returns: of a tuple or of a dict, or all."""
    for node in iter_own_nodes(function):
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(value, ast.Tuple | ast.List):
            yield from value.elts
        elif isinstance(value, ast.Dict):
            yield from value.values
        elif value is not None:
            yield value


# -- pictures --------------------------------------------------------------------------


def _follow_picture(
    text: SourceText,
    function: Function,
    node: ast.expr,
    is_sure: bool,
    steps: int = 0,
) -> list[tuple[Function, ast.Call]] | None:
    """Return the program's own functions that a picture comes through, each with its
    call; None for what is no picture, or, if `is_sure`, what a transform or a condition
    may have made something else.
    """
    if steps > MOST_STEPS:
        return None
    if isinstance(node, ast.Name):
        value = _find_value(text, function, node, is_sure)
        if value is None:
            return None
        return _follow_picture(text, function, value, is_sure, steps + 1)
    if isinstance(node, ast.IfExp):
        if is_sure:
            return None
        return _follow_picture(text, function, node.orelse, is_sure, steps + 1)
    if not isinstance(node, ast.Call):
        return None
    name = get_called_name(node)
    if name in MAKING:
        return None
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in LOADING or (
        name in OPENING and receiver is not None
        and ast.unparse(receiver).endswith("Image")
    ):  # fmt: skip
        return []
    own = [f for _, f in text.functions(name)] if name else []
    if own:
        for ending in iter_own_nodes(own[0]):
            if not isinstance(ending, ast.Return) or ending.value is None:
                continue
            ways = _follow_picture(text, own[0], ending.value, is_sure, steps + 1)
            if ways is not None:
                return [(own[0], node), *ways]
        return None
    sources = [receiver] if receiver is not None else []
    for source in [*sources, *([] if is_sure else node.args[:1])]:
        ways = _follow_picture(text, function, source, is_sure, steps + 1)
        if ways is not None and "ToTensor" not in text.written(node.func):
            return ways
    return None


def _find_value(
    text: SourceText, function: Function, name: ast.Name, is_sure: bool
) -> ast.expr | None:
    """Return what a name was last set to above a line, whatever a condition says; None
    if `is_sure` and a condition sets it.
    """
    values: list[ast.expr] = []
    for node in iter_own_nodes(function):
        if not isinstance(node, ast.Assign) or node.lineno >= name.lineno:
            continue
        for target in node.targets:
            for part, value in pair_targets(target, node.value):
                if not isinstance(part, ast.Name) or part.id != name.id:
                    continue
                if text.around(node, ast.If) is None:
                    values.append(value)
                elif is_sure:
                    return None
    return max(values, key=lambda value: value.lineno, default=None)


# -- switches that are off -------------------------------------------------------------


def _find_flag(
    text: SourceText,
    owner: str,
    function: Function,
    ways: list[tuple[Function, ast.Call]],
) -> _Flag | None:
    """Return the switch behind which a picture would become a tensor."""
    for own, call in [*ways, (function, None)]:
        for test in _iter_tests(own):
            name = test.id if isinstance(test, ast.Name) else ""
            default = _get_default(own, name)
            if default is not None and call is not None:
                return _Flag(name, text, default, own.name, call)
            attribute = get_own_attribute(test)
            if attribute:
                flag = _find_flag_of_class(text, owner, attribute)
                if flag is not None:
                    return flag
    return None


def _iter_tests(function: Function) -> Iterator[ast.expr]:
    """Yield the conditions on which a function makes a tensor."""
    for node in iter_own_nodes(function):
        inside: list[ast.AST] = []
        if isinstance(node, ast.If):
            inside = [*node.body]
        elif isinstance(node, ast.IfExp):
            inside = [node.body]
        else:
            continue
        names = [get_called_name(n) for top in inside for n in ast.walk(top)]
        if MAKING & set(names):
            yield node.test


def _get_default(function: Function, name: str) -> ast.expr | None:
    """Return the `False` or `None` that a parameter is by default."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args]
    first = len(named) - len(arguments.defaults)
    pairs = [
        *zip(named[first:], arguments.defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    for parameter, value in pairs:
        is_off = isinstance(value, ast.Constant) and value.value is False
        if parameter.arg == name and is_off:
            return value
    return None


def _find_flag_of_class(text: SourceText, owner: str, attribute: str) -> _Flag | None:
    """Return the argument of a data set's constructor that an attribute is set to."""
    for name, function in text.functions("__init__"):
        if name.rpartition(".")[0] != owner:
            continue
        for node in iter_own_nodes(function):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name):
                continue
            if get_own_attribute(node.targets[0]) != attribute:
                continue
            default = _get_default(function, node.value.id)
            if default is not None:
                call = next(
                    (
                        n
                        for n in text.nodes
                        if isinstance(n, ast.Call)
                        and get_called_name(n) == owner.rpartition(".")[2]
                    ),
                    None,
                )
                return _Flag(node.value.id, text, default, owner, call)
    return None


def _suggest_flag(flag: _Flag) -> Iterator[Fix]:
    """Suggest the switch in the calls that leave it off, or on by default."""
    text, call = flag.text, flag.call
    if call is None:
        return
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and text.written(node.func) == text.written(call.func)
    ]
    edits: list[Edit] = []
    shown = ""
    for node in calls:
        words = [word for word in node.keywords if word.arg == flag.name]
        if any(word.arg is None for word in node.keywords):
            continue
        if words:
            edits.append(Edit(text.span(words[0].value), "True"))
            shown = shown or f"`{flag.name}=True`"
        else:
            fix = with_keyword(text, node, f"{flag.name}=True")
            edits += fix.edits
            shown = shown or fix.message
    if edits:
        yield Fix("fits", shown, tuple(edits))
    default = Edit(text.span(flag.default), "True")
    yield Fix("fits", f"`{flag.name}=True` by default", (default,))
