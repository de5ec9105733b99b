"""Numbers that a constructor refuses: sizes that are floats, widths that heads do not
divide, `padding="same"` with a stride.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.float_sizes import FLOAT_SIZE, explain_float
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

NOT_DIVISIBLE = re.compile(r"divisible")
SAME_STRIDED = "padding='same' is not supported for strided convolutions"
WIDTH = re.compile(r"width|dim|emb|hidden|model|channel|size|feature")
PARTS = re.compile(r"head|group")
STRIDES = ("stride", "strides")
KERNELS = ("kernel_size", "kernel")
NUMBERS = re.compile(r"(?<![\w.])\d+(?![\w.])")


def find_number_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return why a constructor refused a number, or None."""
    place = program.node(finding.span)
    if place is None:
        return None
    text, node = place
    messages = finding.words
    if FLOAT_SIZE.search(messages):
        return explain_float(program, text, node)
    if SAME_STRIDED in messages:
        return _explain_same_padding(text)
    if NOT_DIVISIBLE.search(messages):
        return _explain_not_divisible(program, text, node, messages)
    return None


# -- widths that heads do not divide ---------------------------------------------------


def _explain_not_divisible(
    program: Program, text: SourceText, node: ast.AST, messages: str
) -> Explanation | None:
    """Explain a width that is no multiple, with the multiples next to it."""
    numbers = sorted({int(number) for number in NUMBERS.findall(messages)})
    if len(numbers) < 2:
        numbers = sorted(set(_list_arguments(program, node)))
    pairs = [
        (width, parts)
        for width in reversed(numbers)
        for parts in numbers
        if 1 < parts < width and width % parts
    ]
    if len(pairs) != 1:
        return None
    width, parts = pairs[0]
    constants = [
        node
        for node in text.nodes
        if isinstance(node, ast.Constant) and type(node.value) is int
    ]
    wide = [node for node in constants if node.value == width]
    few = [node for node in constants if node.value == parts]
    if len(wide) > 1:
        wide = [node for node in wide if WIDTH.search(_get_name(text, node))]
    if len(few) > 1:
        few = [node for node in few if PARTS.search(_get_name(text, node))]
    below = width // parts * parts
    divisors = [n for n in range(2, width) if width % n == 0]
    divisor = min(divisors, key=lambda n: max(n, parts) / min(n, parts), default=1)
    message = f"{width} is no multiple of {parts}: {below} and {below + parts} are"
    fixes = []
    ways = [(wide, below), (wide, below + parts), (few, divisor)]
    chosen = bool(wide) and not any(_is_default(text, part) for part in wide)
    if few and chosen and all(_is_default(text, part) for part in few):
        ways = [ways[2], *ways[:2]]  # the other one was chosen where it is called
    for nodes, number in ways:
        if len(nodes) == 1 and number > 1:
            edit = Edit(text.span(nodes[0]), str(number))
            shown = f"`{number}` for `{nodes[0].value!r}`"
            fixes.append(Fix("fits", shown, (edit,)))
    related = tuple(
        Related(text.span(nodes[0]), f"{nodes[0].value!r} is written here")
        for nodes in (wide, few)
        if len(nodes) == 1
    )
    return Explanation(message, related, tuple(fixes))


def _list_arguments(program: Program, node: ast.AST) -> list[int]:
    """Return the whole numbers that the arguments of a refused call stood for."""
    values = dict(program.ending.values) if program.ending is not None else {}
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if not calls:
        return []
    words = [*calls[0].args[:2], *(word.value for word in calls[0].keywords)]
    numbers = []
    for word in words:
        value = values.get(get_dotted_name(word), evaluate_whole_number(word))
        if type(value) is int:
            numbers.append(value)
    return numbers


def _is_default(text: SourceText, node: ast.Constant) -> bool:
    """Return whether a number is the default of a parameter."""
    return isinstance(text.parent(node), ast.arguments)


def _get_name(text: SourceText, node: ast.Constant) -> str:
    """Return the key, the keyword or the name that a number is given to."""
    around = text.parent(node)
    if isinstance(around, ast.Dict) and node in around.values:
        key = around.keys[around.values.index(node)]
        return str(key.value).lower() if isinstance(key, ast.Constant) else ""
    if isinstance(around, ast.keyword):
        return (around.arg or "").lower()
    if isinstance(around, ast.arguments):
        names = [argument.arg for argument in (*around.posonlyargs, *around.args)]
        defaults = dict(zip(around.defaults[::-1], names[::-1], strict=False))
        pairs = zip(around.kw_defaults, around.kwonlyargs, strict=True)
        defaults |= {value: word.arg for value, word in pairs if value is not None}
        return defaults.get(node, "").lower()
    if isinstance(around, ast.Assign):
        return text.written(around.targets[0]).lower()
    return ""


# -- `padding="same"` with a stride ----------------------------------------------------


def _explain_same_padding(text: SourceText) -> Explanation | None:
    """Explain that torch pads to the same size for a stride of 1 only."""
    message = (
        '`padding="same"` is for a stride of 1: with a stride of 2, half a kernel as'
        " padding gives half the size, rounded up, as Keras does"
    )
    fixes, related = [], []
    for call in text.nodes:
        if not isinstance(call, ast.Call) or not _is_strided(call):
            continue
        kernel = _get_kernel(call)
        for keyword in call.keywords if kernel else ():
            value = keyword.value
            if keyword.arg == "padding" and _is_same(value) and kernel:
                new = str((kernel - 1) // 2)
                edit = Edit(text.span(value), new)
                related.append(Related(text.span(call), "this layer has a stride"))
                fixes.append(Fix("fits", f"`padding={new}`", (edit,)))
    if len(fixes) > 1:  # each of them is refused
        together = tuple(edit for fix in fixes for edit in fix.edits)
        fixes = [Fix("fits", fixes[0].message, together)]
    return Explanation(message, tuple(related), tuple(fixes))


def _is_same(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value == "same"


def _is_strided(call: ast.Call) -> bool:
    """Return whether a call says a stride of more than 1."""
    for keyword in call.keywords:
        number = evaluate_whole_number(keyword.value)
        if keyword.arg in STRIDES and number is not None and number > 1:
            return True
    is_layer = get_called_name(call).lower().startswith("conv")
    number = evaluate_whole_number(call.args[3]) if len(call.args) > 3 else None
    return is_layer and number is not None and number > 1


def _get_kernel(call: ast.Call) -> int | None:
    """Return the size of a call's kernel, or None."""
    for keyword in call.keywords:
        if keyword.arg in KERNELS:
            return evaluate_whole_number(keyword.value)
    return evaluate_whole_number(call.args[2]) if len(call.args) > 2 else None
