"""Findings for exceptions that the program's own Python raised.

For `B, T, C = x.shape` with four dims, an assertion about a size, or a `raise` below a
comparison of sizes, the message gives the sizes and where they came from.

For a method that a library calls with other arguments (`TypeError: Net.on_epoch_end()
missing 1 required positional argument: 'outputs'`), the finding points to the
definition of the method, because that is what must be changed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from shapewright.analysis.causes import get_short_name, trace_size_origin
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.python_error_values import (
    FileValues,
    Known,
    collect_operands,
    iter_reasons,
)
from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    PROGRAM_ERROR,
    SIZE_CHECK,
    UNPACKED_SIZES,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.need_checks import dims
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, iter_assignments
from shapewright.record.ops import Fact

CODE = UNPACKED_SIZES
MOST = 4
"""Places that a finding names."""


def explain_python_error(program: Program, finding: Finding) -> Finding:
    """Extend the finding on a program's own error by the sizes that led to it."""
    text_and_node = program.node(finding.span)
    if program.ending is None or text_and_node is None:
        return finding
    text, node = text_and_node
    frame = FileValues(program, text, program.ending)
    for way in (_explain_unpacking, _explain_assertion, _read_beyond, _explain_raise):
        better = way(frame, finding, node)
        if better is not None:
            return replace(better, related=better.related[:MOST])
    return finding


def _explain_unpacking(
    frame: FileValues, finding: Finding, node: ast.AST
) -> Finding | None:
    """Explain `B, T, C = x.shape` where `x` has another number of dims."""
    if frame.ending.error != "ValueError" or "to unpack" not in frame.ending.message:
        return None
    holder = frame.text.parent(node)
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    if isinstance(holder, ast.Tuple | ast.List):
        return _explain_inner_unpacking(frame, finding, node, holder)
    if not isinstance(holder, ast.Assign):
        return None
    names, value = frame.written(node), holder.value
    starred = any(isinstance(item, ast.Starred) for item in node.elts)
    count = len(node.elts) - starred
    several = f"at least {count}" if starred else f"{count}"
    part = frame.part(value)
    if part is not None:
        fact, read = part
        owner = _find_owner(value)
        name = frame.written(owner) if owner is not None else frame.written(value)
        have = dims(len(fact.shape))
        whole = len(read) == len(fact.shape)
        message = (
            f"`{names}` expects {several} sizes, but `{name}` {format_shape(fact)} has"
        )
        message += f" {have}" if whole else f" {len(read)} in `{frame.written(value)}`"
        return _as_finding(
            frame, finding, CODE, message, _find_maker(frame, fact, name)
        )
    return _explain_value_count(frame, finding, names, several, value)


def _explain_inner_unpacking(
    frame: FileValues, finding: Finding, node: ast.Tuple | ast.List, holder: ast.expr
) -> Finding | None:
    """Explain `out, (h, c) = rnn(x)` where the second item is a single tensor."""
    assignment = frame.text.parent(holder)
    if not isinstance(assignment, ast.Assign) or not isinstance(holder, ast.Tuple):
        return None
    span = frame.text.span(assignment.value)
    op = next((o for o in reversed(frame.program.trace.ops) if o.span == span), None)
    at = holder.elts.index(node)
    if op is None or at >= len(op.outputs) or not op.outputs[at].shape:
        return None
    fact = op.outputs[at]
    message = f"`{frame.written(node)}` expects {len(node.elts)} values, but"
    message += f" `{frame.written(assignment.value)}` gives one tensor there,"
    message += f" {format_shape(fact)} with {fact.shape[0]} in dim 0"
    return _as_finding(frame, finding, CODE, message, ())


def _explain_value_count(
    frame: FileValues, finding: Finding, names: str, several: str, value: ast.expr
) -> Finding | None:
    """Explain `q, k, v = layer(x).chunk(2, -1)`, where the call returns fewer or more
    tensors.
    """
    span = frame.text.span(value)
    op = next((o for o in reversed(frame.program.trace.ops) if o.span == span), None)
    fact = frame.tensor(value)
    if op is not None and len(op.outputs) > 1:
        shapes = ", ".join(map(format_shape, op.outputs[:3]))
        message = f"`{names}` expects {several} values, but `{op.name}` gives"
        message += f" {len(op.outputs)}: {shapes}"
        return _as_finding(frame, finding, CODE, message, ())
    if fact is None or not fact.shape:
        return None
    message = f"`{names}` expects {several} values, but `{frame.written(value)}`"
    message += f" {format_shape(fact)} has {fact.shape[0]} in dim 0"
    related = trace_size_origin(frame.program, fact, 0)
    return _as_finding(frame, finding, CODE, message, related)


def _find_owner(node: ast.expr) -> ast.expr | None:
    """Return `x` of `x.shape`, `x.size()` or `x.shape[1:]`."""
    if isinstance(node, ast.Subscript):
        return _find_owner(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.value if isinstance(node, ast.Attribute) else None


def _explain_assertion(
    frame: FileValues, finding: Finding, node: ast.AST
) -> Finding | None:
    """Explain a failed `assert x.shape[1] == self.n` with its values."""
    kinds = ast.Assert
    statement = node if isinstance(node, kinds) else frame.text.around(node, kinds)
    if frame.ending.error != "AssertionError":
        return None
    if isinstance(statement, kinds):
        return _describe_comparison(frame, finding, statement.test, False)
    called = isinstance(node, ast.Call) and frame.written(node.func).endswith("_assert")
    if called and isinstance(node, ast.Call) and node.args:
        return _describe_comparison(frame, finding, node.args[0], False)
    return None


def _explain_raise(
    frame: FileValues, finding: Finding, node: ast.AST
) -> Finding | None:
    """Explain a `raise ValueError` in the body of an `if` that compares sizes."""
    below = frame.text.around(node, ast.If) if isinstance(node, ast.Raise) else None
    if below is None:
        return None
    held = not any(node in ast.walk(statement) for statement in below.orelse)
    return _describe_comparison(frame, finding, below.test, held)


def _describe_comparison(
    frame: FileValues, finding: Finding, test: ast.expr, held: bool
) -> Finding | None:
    """Describe what was compared, with the values and the origins of the sizes, or
    return None.
    """
    parts = list(iter_reasons(frame, test, held))
    descriptions: list[str] = []
    related: list[Related] = []
    for part in parts:
        description = _describe_values(frame, part)
        if description is not None:
            descriptions.append(description)
            related += _iter_sources(frame, part)
    if not descriptions:
        return None
    verb = "holds" if held else "does not hold"
    if not any(_has_shape(frame, part) for part in parts):
        if held or frame.ending.message.strip():
            return None  # the program says itself what is wrong
        message = f"`{frame.written(test)}` {verb}: {', '.join(descriptions)}"
        message = f"`{frame.ending.error}`: {message}"
        return _as_finding(frame, finding, PROGRAM_ERROR, message, related)
    message = f"`{frame.written(test)}` {verb}: {', '.join(descriptions)}"
    own = frame.ending.message.strip().splitlines()
    if own and own[0]:
        message = f"{own[0].rstrip('.')}: {message}"
    if frame.ending.error != "AssertionError":
        message = f"`{frame.ending.error}`: {message}"
    return _as_finding(frame, finding, SIZE_CHECK, message, related)


def _describe_values(frame: FileValues, part: ast.expr) -> str | None:
    """Describe the values in a comparison: `h.shape[-1]` is 32, `self.n` is 64."""
    descriptions = []
    for operand in collect_operands(part):
        known = frame.known(operand)
        if known is not None:
            shown = _format_value(known)
            descriptions.append(f"`{frame.written(operand)}` is {shown}")
    return ", ".join(dict.fromkeys(descriptions)) or None


def _format_value(known: Known) -> str:
    """Return a number, or a shape as a tuple, as text."""
    return repr(known.value)


def _has_shape(frame: FileValues, part: ast.expr) -> bool:
    """Return whether a comparison involves the shape of a tensor."""
    known = [frame.known(operand) for operand in collect_operands(part)]
    return any(
        known_value is not None and known_value.fact is not None
        for known_value in known
    )


def _iter_sources(frame: FileValues, part: ast.expr) -> Iterator[Related]:
    """Yield the origins of both sides of a comparison."""
    for operand in collect_operands(part):
        known = frame.known(operand)
        if known is None:
            continue
        fact, dim = known.fact, known.dim
        if fact is not None:
            owner = _find_owner(operand)
            name = frame.written(owner) if owner is not None else ""
            way = trace_size_origin(frame.program, fact, dim) if dim is not None else []
            yield from way or _find_maker(
                frame, fact, name, dim, frame.text.span(operand)
            )
        elif isinstance(operand, ast.Attribute):
            yield from _iter_assignments(frame, operand)


def _iter_assignments(frame: FileValues, node: ast.Attribute) -> Iterator[Related]:
    """Yield the place where a module's attribute is assigned."""
    holder = frame.text.around(node, ast.ClassDef)
    written = frame.written(node)
    for target, _ in iter_assignments(holder):
        if isinstance(target, ast.Attribute) and frame.written(target) == written:
            span = frame.text.span(frame.text.statement_of(target))
            yield Related(span, f"`{written}` is set here")
            return


def _read_beyond(frame: FileValues, finding: Finding, node: ast.AST) -> Finding | None:
    """Explain `x.shape[3]` where `x` has three dims."""
    if frame.ending.error != "IndexError" or not isinstance(node, ast.Subscript):
        return None
    part, place = frame.part(node.value), frame.known(node.slice)
    owner = _find_owner(node.value)
    if part is None or place is None or owner is None:
        return None
    fact = part[0]
    last = len(part[1]) - 1
    message = f"`{frame.written(node)}` reads dim {place.value}, but"
    message += f" `{frame.written(owner)}` {format_shape(fact)} has"
    message += f" dims 0 to {last}" if last > 0 else f" {dims(len(fact.shape))}"
    where = _find_maker(frame, fact, frame.written(owner))
    better = _as_finding(frame, finding, DIM_OUT_OF_RANGE, message, where)
    return replace(better, torch_message="")  # its words are Python's


def _find_maker(
    frame: FileValues,
    fact: Fact,
    name: str = "",
    dim: int | None = None,
    span: Span | None = None,
) -> list[Related]:
    """Return the call that produced a tensor, or the input as which it was passed
    in.
    """
    shown = f"`{name}` {format_shape(fact)}" if name else format_shape(fact)
    op = frame.program.producers.get(fact.tensor)
    if op is not None and op.span is not None:
        return [
            Related(op.span, f"{shown} is made by {get_short_name(frame.program, op)}")
        ]
    what = frame.program.inputs.get(fact.tensor)
    if what is None or span is None:
        return []
    label = f"{format_shape(fact)} is the shape of {what}"
    if dim is not None:
        label = f"{fact.shape[dim]} is dim {dim} of {what} {format_shape(fact)}"
    return [Related(span, label)]


def _as_finding(
    frame: FileValues,
    finding: Finding,
    code: str,
    message: str,
    related: Iterable[Related],
) -> Finding:
    """Return the finding with a better message; Python's own message is kept."""
    torch_message = f"{frame.ending.error}: {frame.ending.message}".rstrip(": ")
    return replace(
        finding,
        code=code,
        message=message,
        related=tuple(related),
        torch_message=torch_message,
    )


CALLED = re.compile(r"(?:TypeError: )?([\w.<>]+)\(\) (.*)")
MISSING = re.compile(
    r"missing \d+ required (?:positional|keyword-only) arguments?: (.*)"
)
TAKES = re.compile(r"takes (?:from \d+ to )?(\d+) positional arguments? but \d+ ")
UNEXPECTED = re.compile(r"got an unexpected keyword argument '(\w+)'")
QUOTED = re.compile(r"[`'\"]([A-Za-z_][\w./]*)(?:\(\))?[`'\"]")

MOST_PLACES = 2
"""Places of a word before it says nothing."""
MOST_NAMED = 3
"""Words of a message that are shown where they stand."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class _Defined:
    """A function and its place."""

    span: Span
    arguments: ast.arguments


def explain_signature(program: Program, finding: Finding) -> Finding:
    """Explain an error about a call's arguments by the program's function that it
    concerns.
    """
    explanation = _explain_arguments(program, finding)
    if explanation is not None:
        return explanation
    if program.ending is None or not program.ending.library:
        return finding
    named = [
        mention
        for mention in _iter_mentions(program, finding)
        if mention.span != finding.span
    ]
    return replace(finding, related=(*named[:MOST_NAMED], *finding.related))


def _explain_arguments(program: Program, finding: Finding) -> Finding | None:
    """Explain a call whose arguments do not match the function, pointing at its
    definition.
    """
    match = CALLED.match(finding.torch_message)
    if match is None:
        return None
    name, refusal = match.groups()
    definitions = [
        definition
        for definition in _iter_definitions(program, name)
        if _is_refusal(definition.arguments, refusal)
    ]
    if len(definitions) != 1 or definitions[0].span == finding.span:
        return None
    (function,) = definitions
    if _is_called_here(program, finding, name):
        there = Related(function.span, f"`{_shorten_name(name)}` is defined here")
        return replace(finding, related=(there, *finding.related))
    called = (Related(finding.span, "called from here"),) if finding.span else ()
    return replace(finding, span=function.span, related=(*called, *finding.related))


def _is_called_here(program: Program, finding: Finding, name: str) -> bool:
    """Return whether the program itself makes the call with the wrong arguments."""
    if program.ending is not None and program.ending.library:
        return False
    last = name.rpartition(".")[2]
    if last == "forward" or (last.startswith("__") and last.endswith("__")):
        return True  # called by torch or Python for the program's own call
    text_and_call = program.call_at(finding.span)
    return (
        last == get_called_name(text_and_call[1])
        if text_and_call is not None
        else last != "<lambda>"
    )


def _shorten_name(name: str) -> str:
    """Return `hook` for `main.<locals>.hook`; leave `Net.step` unchanged."""
    return name.rpartition("<locals>.")[2]


def _iter_definitions(program: Program, name: str) -> Iterator[_Defined]:
    """Yield the program's functions with this qualified name."""
    qualified = name.replace("<locals>.", "")
    for text in program.own_texts():
        for full, node in text.definitions():
            if full == qualified and not isinstance(node, ast.ClassDef):
                yield _Defined(_get_head_span(text, node), node.args)


def _is_refusal(arguments: ast.arguments, refusal: str) -> bool:
    """Return whether Python's message about arguments fits this signature."""
    positional = [
        argument.arg for argument in (*arguments.posonlyargs, *arguments.args)
    ]
    names = {*positional, *(argument.arg for argument in arguments.kwonlyargs)}
    missing = MISSING.match(refusal)
    if missing is not None:
        return set(re.findall(r"'(\w+)'", missing.group(1))) <= names
    takes = TAKES.match(refusal)
    if takes is not None:
        return len(positional) == int(takes.group(1)) and arguments.vararg is None
    unexpected = UNEXPECTED.match(refusal)
    if unexpected is not None:
        return unexpected.group(1) not in names and arguments.kwarg is None
    return False


def _get_head_span(text: SourceText, node: Function) -> Span:
    """Return the first line of a function's head as a span."""
    if isinstance(node, ast.Lambda):
        return text.span(node)
    line = text.lines[node.lineno - 1].rstrip()
    column = text.column(node.lineno, node.col_offset)
    end = len(line.removesuffix(":")) + 1
    return Span(text.file, node.lineno, column, node.lineno, end)


def _iter_mentions(program: Program, finding: Finding) -> Iterator[Related]:
    """Yield the program's functions and strings that a library's message mentions."""
    for word in dict.fromkeys(QUOTED.findall(finding.torch_message)):
        name = word.rpartition(".")[2]
        places: list[tuple[Span, str]] = []
        for text in program.own_texts():
            for node in text.nodes:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    places.append(
                        (_get_head_span(text, node), f"`{name}` is defined here")
                    )
                elif isinstance(node, ast.Constant) and node.value == word:
                    places.append((text.span(node), f"`{word}` stands here"))
        if len(places) <= MOST_PLACES:
            yield from (Related(span, words) for span, words in places)
