"""Errors of einops, told like those of torch: which axis has which size, where it came
from, and which letters or numbers would fit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from math import prod
from string import ascii_letters

from shapewright.analysis.causes import trace_size_origin
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import is_einops_einsum
from shapewright.findings.codes import EINOPS_PATTERN
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.need_checks import dims
from shapewright.operators.need_checks import text as format_sizes
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import get_called_name, get_last_name
from shapewright.record.ops import Fact, Op

CALLS = frozenset({"rearrange", "reduce", "repeat", "parse_shape", "einsum"})
LAYERS = frozenset({"Rearrange", "Reduce", "Repeat", "EinMix"})
SHAPE = re.compile(
    r"(?:Input tensor shape: torch\.Size|with shape) ?\(?\[?([\d, ]*)\]?"
)
CHUNKS = re.compile(r"axis of length (\d+) in chunks of (\d+)")
AXIS = re.compile(r"axis of length (\d+)")
BATCH = ("b", "batch", "bs", "n")
"""Letters that stand for the samples."""
RECENT = 40
"""Calls before an error among which a tensor is looked for by its shape."""
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class EinopsCall:
    """A call of einops in the text: its pattern, the sizes of its letters, and the
    tensor.
    """

    text: SourceText
    node: ast.Call
    place: ast.Constant
    sizes: dict[str, int]
    shape: Shape
    name: str
    fact: Fact | None = None

    @property
    def left(self) -> list[list[str]]:
        """Return the letters of each input dim."""
        return _split_pattern(str(self.place.value).partition("->")[0])

    @property
    def pattern(self) -> str:
        """Return the text of the pattern."""
        return str(self.place.value)


@dataclass(frozen=True, slots=True)
class _Mismatch:
    """A dim of the input that its letters do not fit."""

    dim: int
    size: int
    letters: tuple[str, ...]
    message: str


def _split_pattern(side: str) -> list[list[str]]:
    """Return the letters of each dim: ``"b (h d)"`` is [["b"], ["h", "d"]]."""
    matches = re.findall(r"\(([^)]*)\)|(\S+)", side)
    return [
        group.split() if group or not letter else [letter] for group, letter in matches
    ]


def explain_einops(program: Program, finding: Finding) -> Finding:
    """Return the finding on an error of einops with the sizes that do not fit."""
    call = find_call(program, finding)
    if call is None:
        return _explain_packing(program, finding)
    message, related = _describe(program, call)
    first = finding.message.partition(": ")[2] or finding.message
    return replace(
        finding, code=EINOPS_PATTERN, message=message, torch_message=first,
        related=tuple(related),
    )  # fmt: skip


def name_letters(program: Program, finding: Finding) -> Finding:
    """Return the finding on a torch `einsum` that einops called, in the letters of the
    program's own pattern.
    """
    text_and_call = program.call_at(finding.span)
    if text_and_call is None or not is_einops_einsum(text_and_call[1]):
        return finding
    pattern = str(text_and_call[1].args[-1].value)  # type: ignore[attr-defined]
    own = dict.fromkeys(re.findall(r"\w+", pattern))
    letters = dict(zip(own, ascii_letters, strict=False))
    short = re.sub(r"\w+", lambda axis: letters.get(axis[0], axis[0]), pattern)
    names = {letter: axis for axis, letter in letters.items()}
    message = finding.message.replace("`torch.einsum`", "`einsum`", 1)
    message = message.replace(f"`{short.replace(' ', '')}`", f"`{pattern}`")
    message = re.sub(
        r"gives `(\w)` in", lambda match: f"gives `{names.get(match[1])}` in", message
    )
    return replace(finding, message=message)


def suggest_patterns(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield other sizes for the letters of a pattern, and other patterns."""
    call = find_call(program, finding)
    if call is None:
        return
    wrong = find_mismatch(call)
    if wrong is not None:
        yield from _suggest_sizes(call, wrong)
        yield from _suggest_orders(call)
    elif len(call.left) == len(call.shape):
        yield from _suggest_letters(call)
    elif len(call.left) != len(call.shape):
        yield from _suggest_batch(program, finding, call)
        yield from _suggest_rank(call)


def find_uneven_dim(program: Program, finding: Finding) -> tuple[Fact, int, int] | None:
    """Return the tensor, the dim and the divisor of a pattern that leaves a
    remainder.
    """
    call = find_call(program, finding)
    wrong = find_mismatch(call) if call is not None else None
    if call is None or wrong is None or call.fact is None:
        return None
    divisor = prod(call.sizes.get(letter, 1) for letter in wrong.letters)
    return (call.fact, wrong.dim, divisor) if wrong.size % divisor else None


PACKED = re.compile(
    r"packed tensor #(\d+).*? has shape torch\.Size\(\[([\d, ]*)\]\), while pattern"
    r" (.*?) assumes at least (\d+)"
)


def _explain_packing(program: Program, finding: Finding) -> Finding:
    """Return the finding on `pack` or `unpack` with the tensor that does not fit."""
    ending = program.ending
    text_and_call = program.call_at(finding.span)
    if ending is None or ending.error != "EinopsError" or text_and_call is None:
        return finding
    text, node = text_and_call
    function = get_called_name(node)
    if function not in ("pack", "unpack"):
        return finding
    first = ending.message.splitlines()[0]
    message = f"`{function}`: {first}"
    packed = PACKED.search(ending.message)
    if packed is not None:
        argument = node.args[0] if node.args else None
        parts = argument.elts if isinstance(argument, ast.List | ast.Tuple) else []
        at = int(packed[1])
        name = f"tensor {at}"
        if at < len(parts):
            name = f"`{text.written(parts[at])}`"
        shape = tuple(int(size) for size in packed[2].split(",") if size.strip())
        message = f"`{function}` reads {dims(int(packed[4]))} or more by `{packed[3]}`,"
        message += f" but {name} {format_sizes(shape)} has {dims(len(shape))}"
    return replace(
        finding, code=EINOPS_PATTERN, message=message, torch_message=ending.message
    )


# -- the call --------------------------------------------------------------------------


def find_call(program: Program, finding: Finding) -> EinopsCall | None:
    """Return the call of einops that failed, or None for other errors."""
    ending = program.ending
    if ending is None or ending.error != "EinopsError":
        return None
    text_and_call = program.call_at(finding.span)
    if text_and_call is None:
        return None
    text, node = text_and_call
    if get_called_name(node) in CALLS:
        tensor = node.args[0] if node.args else None
        name = text.line_of(tensor) if tensor is not None else "the input"
        maker = _find_maker(program, text, tensor)
        shape = _read_shape(ending.message, maker) or ending.values.get("shape")
        call = build_call(text, node, 1, shape, name, maker)
        if call is None or call.fact is not None:
            return call
        return replace(call, fact=_find_last_made(program, call.shape))
    return _find_layer(program)


def _find_last_made(program: Program, shape: Shape) -> Fact | None:
    """Return the tensor of a shape that was made last."""
    for op in reversed(program.trace.ops[-RECENT:]):
        for fact in op.outputs:
            if fact.shape == shape:
                return fact
    return None


def _read_shape(message: str, maker: Op | None) -> Shape | None:
    """Return the shape of the tensor of a failed call."""
    if maker is not None and maker.outputs:
        return maker.outputs[0].shape
    match = SHAPE.search(message)
    if match is None:
        return None
    return tuple(int(size) for size in match[1].split(",") if size.strip())


def _find_maker(program: Program, text: SourceText, node: ast.expr | None) -> Op | None:
    """Return the op that made the tensor of an expression, or of its name."""
    if node is None:
        return None
    span = text.span(node)
    makers = [op for op in program.trace.ops if op.span == span and op.outputs]
    if makers:
        return makers[-1]
    name = get_last_name(node)
    for value in reversed(find_defining(text, name)) if name else ():
        if value.lineno < node.lineno:
            span = text.span(value)
            makers = [op for op in program.trace.ops if op.span == span and op.outputs]
            if makers:
                return makers[-1]
    return None


def build_call(
    text: SourceText,
    node: ast.Call,
    at: int,
    shape: Shape | None,
    name: str,
    maker: Op | None = None,
) -> EinopsCall | None:
    """Return a call with its pattern and sizes, or None if they cannot be read."""
    place = node.args[at] if len(node.args) > at else None
    if shape is None or not isinstance(place, ast.Constant):
        return None
    if not isinstance(place.value, str) or "->" not in place.value:
        return None
    sizes = {}
    for word in node.keywords:
        value = _evaluate(text, word.value)
        if word.arg and value is not None:
            sizes[word.arg] = value
    fact = maker.outputs[0] if maker is not None and maker.outputs else None
    if fact is not None and fact.shape != shape:
        fact = None
    return EinopsCall(text, node, place, sizes, shape, name, fact)


def _evaluate(text: SourceText, node: ast.expr) -> int | None:
    """Return the whole number of a literal, or the one that a name is set to."""
    value = evaluate_whole_number(node)
    if value is not None:
        return value
    name = get_last_name(node)
    numbers = {
        evaluate_whole_number(definition)
        for definition in (find_defining(text, name) if name else ())
    } - {None}
    return numbers.pop() if len(numbers) == 1 else None


def _find_layer(program: Program) -> EinopsCall | None:
    """Return the layer of einops that failed: the only one that the tensor does not
    fit.
    """
    ending = program.ending
    assert ending is not None
    fact = ending.tensors.get("tensor") or ending.tensors.get("x")
    known = ending.values.get("shape")
    length = AXIS.search(ending.message)
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            if isinstance(node, ast.Call) and get_called_name(node) in LAYERS:
                shape = fact.shape if fact is not None else known
                call = build_call(text, node, 0, shape, "the input") if text else None
                wrong = find_mismatch(call) if call is not None else None
                if call is None or (
                    wrong is None and len(call.left) == len(call.shape)
                ):
                    continue
                size = wrong.size if wrong is not None else None
                if length is not None and size not in (None, int(length[1])):
                    continue
                return replace(call, fact=fact)
    return None


# -- what does not fit -----------------------------------------------------------------


def find_mismatch(call: EinopsCall) -> _Mismatch | None:
    """Return the first dim whose letters do not make its size."""
    if len(call.left) != len(call.shape) or "..." in str(call.left):
        return None
    known = dict(call.sizes)
    for dim, (letters, size) in enumerate(zip(call.left, call.shape, strict=True)):
        group = f"`({' '.join(letters)})`" if len(letters) > 1 else f"`{letters[0]}`"
        values = [known.get(letter) if not letter.isdigit() else int(letter)
                  for letter in letters]  # fmt: skip
        sizes = [value for value in values if value is not None]
        known_product = prod(sizes)
        shown = "·".join(map(str, sizes))
        product = f"{shown} = {known_product}" if len(sizes) > 1 else shown
        if len(sizes) == len(letters) and letters and known_product != size:
            message = f"{group} is {product}, but dim {dim} of {{name}} is {size}"
            return _Mismatch(dim, size, tuple(letters), message)
        if sizes and size % known_product:
            message = (
                f"{group} divides dim {dim} of {{name}}, {size}, by {product}, with a"
            )
            message += (
                f" remainder of {size % known_product}; {size - size % known_product}"
                " and"
            )
            message += f" {size - size % known_product + known_product} have none"
            return _Mismatch(dim, size, tuple(letters), message)
        if len(letters) - len(sizes) == 1:
            unknown = letters[values.index(None)]
            known[unknown] = size // known_product
    return None


def _describe(program: Program, call: EinopsCall) -> tuple[str, list[Related]]:
    """Return what does not fit, and where the size came from."""
    function = get_called_name(call.node)
    name = f"`{call.name}` {format_sizes(call.shape)}"
    wrong = find_mismatch(call)
    related: list[Related] = []
    place = call.text.span(call.place)
    if len(call.left) != len(call.shape) and "..." not in call.pattern:
        left = call.pattern.partition("->")[0].strip()
        message = (
            f"`{function}` reads {dims(len(call.left))} by `{left}`, but {name} has"
        )
        message += f" {dims(len(call.shape))}"
        related.append(Related(place, f"the pattern is `{call.pattern}`"))
    elif wrong is not None:
        message = f"`{function}`: {wrong.message.format(name=name)}"
        if call.fact is not None:
            related += [
                Related(step.span, f"got: {step.message}" if n == 0 else step.message)
                for n, step in enumerate(
                    trace_size_origin(program, call.fact, wrong.dim)
                )
            ]
        related += _iter_set_places(call, wrong)
    else:
        message = f"`{function}` cannot read {name} by `{call.pattern}`"
        message += _describe_lone_letters(call, function) or _describe_unknown(call)
        ending = program.ending
        parts = CHUNKS.search(ending.message) if ending is not None else None
        if parts is not None:
            size, by = int(parts[1]), int(parts[2])
            message += f": {size} divided by {by} leaves {size % by};"
            message += f" {size - size % by} and {size - size % by + by} leave nothing"
            dim = call.shape.index(size) if size in call.shape else -1
            if call.fact is not None and dim >= 0:
                related += trace_size_origin(program, call.fact, dim)
        related.append(Related(place, "the pattern"))
    return message, related


def _find_lone_letters(call: EinopsCall) -> tuple[list[str], list[str]]:
    """Return the letters of the left side that the right lacks, and the reverse."""
    left, _, right = call.pattern.partition("->")
    sides = [
        list(dict.fromkeys(re.findall(r"[^\W\d]\w*", side))) for side in (left, right)
    ]
    return (
        [name for name in sides[0] if name not in sides[1]],
        [name for name in sides[1] if name not in sides[0]],
    )


def _describe_lone_letters(call: EinopsCall, function: str) -> str:
    """Return what is wrong with letters that only one side has; empty if nothing is."""
    lost, new = _find_lone_letters(call)
    if function in ("repeat", "Repeat"):
        new = [name for name in new if name not in call.sizes]
        without = ", ".join(f"`{name}`" for name in new)
        return f": {without} needs a size, `{new[0]}=...`" if new else ""
    if function in ("reduce", "Reduce"):
        lost = []
    reasons = []
    if lost:
        reasons.append(f"{', '.join(f'`{name}`' for name in lost)} is not on the right")
    if new:
        reasons.append(f"{', '.join(f'`{name}`' for name in new)} is not on the left")
    return f": {' and '.join(reasons)}" if reasons else ""


def _describe_unknown(call: EinopsCall) -> str:
    """Return which letters of a group have no size, if einops can not infer them."""
    for letters in call.left:
        names = [letter for letter in letters if not letter.isdigit()]
        unknown = [letter for letter in names if letter not in call.sizes]
        if len(unknown) > 1:
            group = " ".join(letters)
            words = ", ".join(f"`{letter}=...`" for letter in unknown[:-1])
            return f": of `({group})` only one size can be inferred, so give {words}"
    return ""


def _iter_set_places(call: EinopsCall, wrong: _Mismatch) -> Iterator[Related]:
    """Yield the places where sizes of letters are set."""
    for word in call.node.keywords:
        if word.arg in wrong.letters:
            label = f"`{word.arg}` is {call.sizes.get(word.arg, 'set')} here"
            yield Related(call.text.span(word.value), label)


# -- edits -----------------------------------------------------------------------------


def _suggest_sizes(call: EinopsCall, wrong: _Mismatch) -> Iterator[Fix]:
    """Yield another size for one letter, in the call or where its name is set."""
    words = {word.arg: word for word in call.node.keywords}
    known = {
        letter: call.sizes[letter] for letter in wrong.letters if letter in call.sizes
    }
    if len(wrong.letters) > 1 and len(known) == len(wrong.letters):
        for letter in reversed(wrong.letters):  # the last follows from the others
            rest = prod(
                size for other_letter, size in known.items() if other_letter != letter
            )
            if rest and wrong.size % rest == 0:
                yield _change_letter(call, words[letter], wrong.size // rest)
                yield _drop_letter(call, words[letter])
    elif len(known) == 1 and len(wrong.letters) == 1:
        yield _change_letter(call, words[wrong.letters[0]], wrong.size)
        yield _drop_letter(call, words[wrong.letters[0]])


def _suggest_letters(call: EinopsCall) -> Iterator[Fix]:
    """Yield the pattern with a letter of the right renamed to one of the left, and the
    letters that it lacks at its end.
    """
    lost, new = _find_lone_letters(call)
    left, _, right = call.pattern.partition("->")
    changed = right
    if len(new) == len(lost):
        for old, name in zip(new, lost, strict=True):
            changed = re.sub(rf"\b{old}\b", name, changed)
    elif lost and not new and get_called_name(call.node) in ("rearrange", "Rearrange"):
        changed = f"{right.rstrip()} {' '.join(lost)}"
    if changed != right:
        pattern = f"{left}->{changed}"
        quote = call.text.written(call.place)[0]
        edit = Edit(call.text.span(call.place), f"{quote}{pattern}{quote}")
        yield Fix("fits", f"`{pattern}`", (edit,))


def _change_letter(call: EinopsCall, word: ast.keyword, size: int) -> Fix:
    """Return the fix that gives a letter another size."""
    message = f"`{word.arg}={size}`"
    return Fix("fits", message, (Edit(call.text.span(word.value), str(size)),))


def _drop_letter(call: EinopsCall, word: ast.keyword) -> Fix:
    """Return the fix that leaves the size of a letter to einops."""
    text = call.text
    kept = [text.written(argument) for argument in call.node.args]
    kept += [
        f"{keyword.arg}={text.written(keyword.value)}"
        for keyword in call.node.keywords
        if keyword is not word
    ]
    new = f"{text.written(call.node.func)}({', '.join(kept)})"
    message = f"without `{word.arg}={text.written(word.value)}`"
    return Fix("fits", message, (Edit(text.span(call.node), new),))


def _suggest_orders(call: EinopsCall) -> Iterator[Fix]:
    """Yield the pattern with its left side in another order that fits the sizes."""
    left, _, right = call.pattern.partition("->")
    parts = re.findall(r"\([^)]*\)|\S+", left)
    if len(parts) > 4:
        return
    for order in permutations(parts):
        new = " ".join(order)
        other = replace(call, place=ast.Constant(f"{new} ->{right}"))
        kept = all(
            old_part == new_one or old_part.lower() not in BATCH
            for old_part, new_one in zip(parts, order, strict=True)
        )
        if kept and list(order) != parts and find_mismatch(other) is None:
            quote = call.text.written(call.place)[0]
            changed = f"{quote}{new} ->{right}{quote}"
            edit = Edit(call.text.span(call.place), changed)
            yield Fix("fits", f"`{new} ->{right}`", (edit,))


def _suggest_batch(
    program: Program, finding: Finding, call: EinopsCall
) -> Iterator[Fix]:
    """Yield `.unsqueeze(0)` of what was passed in, if a pattern begins with a batch."""
    if len(call.left) != len(call.shape) + 1 or call.left[0][0].lower() not in BATCH:
        return
    spans = [
        place_note.span
        for place_note in finding.related
        if "called from" in place_note.message
    ]
    for span in (*reversed(spans), finding.span):
        text_and_call = program.call_at(span)
        if text_and_call is None:
            continue
        text, node = text_and_call
        for argument in node.args:
            if isinstance(argument, ast.Name | ast.Subscript | ast.Attribute):
                end = text.span(argument).end
                new = f"{text.written(argument)}.unsqueeze(0)"
                yield Fix("fits", f"`{new}`", (Edit(end, ".unsqueeze(0)"),))


def _suggest_rank(call: EinopsCall) -> Iterator[Fix]:
    """Yield the pattern with a dim more or less, on both sides."""
    left, _, right = call.pattern.partition("->")
    parts = re.findall(r"\([^)]*\)|\S+", left)
    ends = re.findall(r"\([^)]*\)|\S+", right)
    quote = call.text.written(call.place)[0]
    changes: list[tuple[list[str], list[str]]] = []
    if len(parts) == len(call.shape) + 1:
        for part in dict.fromkeys(parts):
            if part in ("1", "()") and parts.count(part) > ends.count(part):
                fewer = list(parts)
                fewer.remove(part)
                changes.insert(0, (fewer, ends))
            elif part in ends:
                changes.append(([p for p in parts if p != part],
                                [e for e in ends if e != part]))  # fmt: skip
    elif len(parts) == len(call.shape) - 1:
        front = "b" if "b" not in parts else "n"
        if front not in parts:
            changes.append(([front, *parts], [front, *ends]))
    for new_left, new_right in changes:
        new = f"{' '.join(new_left)} -> {' '.join(new_right)}"
        edit = Edit(call.text.span(call.place), f"{quote}{new}{quote}")
        yield Fix("fits", f"`{new}`", (edit,))
