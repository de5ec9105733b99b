"""Numbers that a constructor refuses: sizes that are floats, widths that heads do not
divide, `padding="same"` with a stride.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.empty_draws import EMPTY, explain_empty_draw
from shapewright.analysis.float_sizes import FLOAT_SIZE, explain_float
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

NOT_DIVISIBLE = re.compile(r"divisible")
UNEVEN_GROUPS = re.compile(r"(?:in|out)_channels must be divisible by groups")
SAME_STRIDED = "padding='same' is not supported for strided convolutions"
WIDTH = re.compile(r"width|dim|emb|hidden|model|channel|size|feature")
OTHER_WIDTH = re.compile(r"feedforward|ffn|kdim|vdim|intermediate|kernel")
"""Widths that are not divided."""
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
    if EMPTY.search(messages):
        return explain_empty_draw(program, finding)
    if FLOAT_SIZE.search(messages):
        return explain_float(program, text, node)
    if SAME_STRIDED in messages:
        return _explain_same_padding(text)
    if UNEVEN_GROUPS.search(messages):
        groups = _explain_depthwise(text, node) or _explain_groups(text, node)
        if groups is not None:
            return groups
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
    message = f"{width} is no multiple of {parts}: {below} and {below + parts} are"
    divisors = _find_divisors(width, parts)
    if divisors:
        near = " and ".join(str(number) for number in sorted(divisors))
        message += f"; {near} divide{'s' * (len(divisors) == 1)} {width}"
    fixes = []
    ways = [(wide, below), (wide, below + parts)]
    of_parts = [(few, divisor) for divisor in divisors]
    if few and all(_is_default(text, part) for part in few):
        ways = of_parts or ways  # the other one is chosen where it is called
    else:
        ways += of_parts
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


def _find_divisors(width: int, parts: int) -> list[int]:
    """Return the divisors of a width next to a number, the nearer of them first."""
    divisors = [n for n in range(2, width) if width % n == 0]
    near = [max((n for n in divisors if n < parts), default=0)]
    near.append(min((n for n in divisors if n > parts), default=0))
    near = [n for n in near if n]
    return sorted(near, key=lambda n: max(n, parts) / min(n, parts))


def _read_entry(program: Program, node: ast.Subscript) -> int | None:
    """Return the number that the only dict with a key has for it: `hp["heads"]`."""
    key = node.slice.value if isinstance(node.slice, ast.Constant) else None
    entries = [
        value
        for text in program.own_texts()
        for part in text.nodes
        if isinstance(part, ast.Dict)
        for name, value in zip(part.keys, part.values, strict=True)
        if isinstance(name, ast.Constant) and name.value == key is not None
    ]
    return evaluate_whole_number(entries[0]) if len(entries) == 1 else None


def _list_arguments(program: Program, node: ast.AST) -> list[int]:
    """Return the whole numbers that the arguments of a refused call stood for."""
    values = dict(program.ending.values) if program.ending is not None else {}
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    if not calls:
        return []
    words = list(calls[0].args[:2])
    for keyword in calls[0].keywords:
        name = keyword.arg or ""
        if PARTS.search(name) or (WIDTH.search(name) and not OTHER_WIDTH.search(name)):
            words.append(keyword.value)
    numbers = []
    for word in words:
        value = values.get(get_dotted_name(word), evaluate_whole_number(word))
        if value is None and isinstance(word, ast.Subscript):
            value = _read_entry(program, word)
        if type(value) is int:
            numbers.append(value)
    return numbers


def _is_default(text: SourceText, node: ast.Constant) -> bool:
    """Return whether a number is the default of a parameter, or of an option."""
    around = text.parent(node)
    of_option = isinstance(around, ast.keyword) and around.arg == "default"
    return of_option or isinstance(around, ast.arguments)


def _get_name(text: SourceText, node: ast.Constant) -> str:
    """Return the key, the keyword or the name that a number is given to."""
    around = text.parent(node)
    if isinstance(around, ast.Dict) and node in around.values:
        key = around.keys[around.values.index(node)]
        return str(key.value).lower() if isinstance(key, ast.Constant) else ""
    call = text.parent(around) if isinstance(around, ast.keyword) else None
    if isinstance(call, ast.Call) and get_called_name(call) == "add_argument":
        return " ".join(text.written(argument) for argument in call.args).lower()
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


# -- groups of convolutions ----------------------------------------------------------


def _explain_groups(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain groups that do not divide both numbers of channels, with what does."""
    words = {w.arg: w.value for w in getattr(node, "keywords", [])}
    if not isinstance(node, ast.Call) or "groups" not in words:
        return None
    channels = [*node.args[:2], words.get("in_channels"), words.get("out_channels")]
    pair = [channel for channel in channels if channel is not None]
    numbers = [evaluate_whole_number(channel) for channel in pair]
    groups = evaluate_whole_number(words["groups"])
    if len(numbers) != 2 or groups is None or None in numbers:
        return None
    into, out = (number or 0 for number in numbers)
    common = [n for n in range(1, min(into, out) + 1) if into % n == out % n == 0]
    message = (
        f"`groups={groups}` splits {into} channels and {out} into as many parts each:"
        f" {' and '.join(map(str, common))} divide both"
    )
    below = max((n for n in common if n < groups), default=0)
    fixes: tuple[Fix, ...] = ()
    if below > 1 and isinstance(words["groups"], ast.Constant):
        edit = Edit(text.span(words["groups"]), str(below))
        fixes = (Fix("fits", f"`groups={below}`", (edit,)),)
    return Explanation(message, (), fixes)


# -- depthwise convolutions ------------------------------------------------------------


def _explain_depthwise(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain a depthwise convolution that is to have another number of channels: the
    pointwise one behind it changes their number.
    """
    words = {w.arg: w.value for w in getattr(node, "keywords", [])}
    if not isinstance(node, ast.Call) or "groups" not in words:
        return None
    channels = [*node.args[:2], words.get("in_channels"), words.get("out_channels")]
    pair = [channel for channel in channels if channel is not None]
    if len(pair) != 2 or text.written(pair[0]) == text.written(pair[1]):
        return None
    into, out = (text.written(channel) for channel in pair)
    groups = text.written(words["groups"])
    if groups not in (into, out):
        return None
    message = (
        f"`groups={groups}` filters each channel by itself, and so keeps their number:"
        f" it is the pointwise convolution that makes `{out}` of `{into}`"
    )
    function = text.around(node, ast.FunctionDef)
    behind = [
        part
        for part in (ast.walk(function) if function is not None else ())
        if isinstance(part, ast.Call) and part.lineno > node.lineno
    ]
    behind.sort(key=lambda call: (call.lineno, call.col_offset))
    edits = [Edit(text.span(part), into) for part in (pair[1], words["groups"])
             if text.written(part) != into]  # fmt: skip
    for call in behind:
        own = {w.arg: w.value for w in call.keywords}
        first = next(iter([*call.args[:1], own.get("in_channels")]), None)
        first = own.get("num_features") if first is None else first
        if first is None or text.written(first) != out:
            continue
        name = get_called_name(call).lower()
        if "norm" in name or name.startswith("conv"):
            edits.append(Edit(text.span(first), into))
        if name.startswith("conv"):
            kernel = next(iter([*call.args[2:3], own.get("kernel_size")]))
            if kernel is None or evaluate_whole_number(kernel) != 1:
                break
            shown = f"`{into}` channels up to the pointwise convolution"
            related = (Related(text.span(call), "the pointwise convolution"),)
            fix = Fix("fits", shown, tuple(edits))
            return Explanation(message, related, (fix,))
    return Explanation(message) if groups == into else None


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
        new = _write_half_kernel(text, call)
        for keyword in call.keywords if new else ():
            value = keyword.value
            if keyword.arg == "padding" and _is_same(value):
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
    """Return whether a call says a stride that is or may be more than 1."""
    is_layer = get_called_name(call).lower().startswith("conv")
    strides = [word.value for word in call.keywords if word.arg in STRIDES]
    strides += call.args[3:4] if is_layer else []
    return any(evaluate_whole_number(stride) != 1 for stride in strides)


def _write_half_kernel(text: SourceText, call: ast.Call) -> str:
    """Return half of a call's kernel, as a number or as the program names it; an empty
    text where the kernel is spread out, or is not known.
    """
    words = {keyword.arg: keyword.value for keyword in call.keywords}
    kernels = [words[name] for name in KERNELS if name in words]
    kernel = next(iter([*kernels, *call.args[2:3]]), None)
    if kernel is None or "dilation" in words or None in words:
        return ""
    if isinstance(kernel, ast.Tuple):
        sizes = [evaluate_whole_number(size) for size in kernel.elts]
        halves = [str((size - 1) // 2) for size in sizes if size is not None]
        return f"({', '.join(halves)})" if len(halves) == len(sizes) else ""
    size = evaluate_whole_number(kernel)
    if size is not None:
        return str((size - 1) // 2)
    return f"{get_dotted_name(kernel)} // 2" if get_dotted_name(kernel) else ""
