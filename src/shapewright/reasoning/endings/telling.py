"""What the program's own Python says of sizes when it raises, in words.

`B, T, C = x.shape` with four dims, an assertion of a size, a `raise` below a comparison
of sizes, `x.shape[3]`: the message says what the sizes were, and where they came from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import replace

from shapewright.findings.finding import Finding, Related
from shapewright.reasoning.causes import actual, short_name
from shapewright.reasoning.endings.meaning import Frame, Known, operands, reasons
from shapewright.reasoning.program import Program, shape_text
from shapewright.rules.needs.shapes import dims
from shapewright.source.span import Span
from shapewright.trace.fact import Fact

CODE = "unpacked-sizes"
MOST = 4
"""Places that a finding names."""


def told(program: Program, finding: Finding) -> Finding:
    """The finding of an error of the program's own, with the sizes that led to it."""
    found = program.node(finding.span)
    if program.ending is None or found is None:
        return finding
    text, node = found
    frame = Frame(program, text, program.ending)
    for way in (unpacked, asserted, read_beyond, raised):
        better = way(frame, finding, node)
        if better is not None:
            return replace(better, related=better.related[:MOST])
    return finding


def unpacked(frame: Frame, finding: Finding, node: ast.AST) -> Finding | None:
    """`B, T, C = x.shape` with another number of dims."""
    if frame.ending.error != "ValueError" or "to unpack" not in frame.ending.message:
        return None
    holder = frame.text.parents.get(id(node))
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    if isinstance(holder, ast.Tuple | ast.List):
        return inner(frame, finding, node, holder)
    if not isinstance(holder, ast.Assign):
        return None
    names, given = frame.written(node), holder.value
    starred = any(isinstance(each, ast.Starred) for each in node.elts)
    count = len(node.elts) - starred
    several = f"at least {count}" if starred else f"{count}"
    part = frame.part(given)
    if part is not None:
        fact, read = part
        owner = owner_of(given)
        name = frame.written(owner) if owner is not None else frame.written(given)
        have = dims(len(fact.shape))
        whole = len(read) == len(fact.shape)
        said = f"`{names}` takes {several} sizes, but `{name}` {shape_text(fact)} has"
        said += f" {have}" if whole else f" {len(read)} in `{frame.written(given)}`"
        return as_finding(frame, finding, CODE, said, made(frame, fact, name))
    return values(frame, finding, names, several, given)


def inner(
    frame: Frame, finding: Finding, node: ast.Tuple | ast.List, holder: ast.expr
) -> Finding | None:
    """`out, (h, c) = rnn(x)` where the second is one tensor."""
    given = frame.text.parents.get(id(holder))
    if not isinstance(given, ast.Assign) or not isinstance(holder, ast.Tuple):
        return None
    span = frame.text.span(given.value)
    op = next((o for o in reversed(frame.program.trace.ops) if o.span == span), None)
    at = holder.elts.index(node)
    if op is None or at >= len(op.outputs) or not op.outputs[at].shape:
        return None
    fact = op.outputs[at]
    said = f"`{frame.written(node)}` takes {len(node.elts)} values, but"
    said += f" `{frame.written(given.value)}` gives one tensor there,"
    said += f" {shape_text(fact)} with {fact.shape[0]} in dim 0"
    return as_finding(frame, finding, CODE, said, ())


def values(
    frame: Frame, finding: Finding, names: str, several: str, given: ast.expr
) -> Finding | None:
    """`q, k, v = layer(x).chunk(2, -1)`: a call that gives fewer or more tensors."""
    span = frame.text.span(given)
    op = next((o for o in reversed(frame.program.trace.ops) if o.span == span), None)
    fact = frame.tensor(given)
    if op is not None and len(op.outputs) > 1:
        shapes = ", ".join(map(shape_text, op.outputs[:3]))
        said = f"`{names}` takes {several} values, but `{op.name}` gives"
        said += f" {len(op.outputs)}: {shapes}"
        return as_finding(frame, finding, CODE, said, ())
    if fact is None or not fact.shape:
        return None
    said = f"`{names}` takes {several} values, but `{frame.written(given)}`"
    said += f" {shape_text(fact)} has {fact.shape[0]} in dim 0"
    related = actual(frame.program, fact, 0)
    return as_finding(frame, finding, CODE, said, related)


def owner_of(node: ast.expr) -> ast.expr | None:
    """`x` of `x.shape`, `x.size()`, `x.shape[1:]`."""
    if isinstance(node, ast.Subscript):
        return owner_of(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value
    return node.value if isinstance(node, ast.Attribute) else None


def asserted(frame: Frame, finding: Finding, node: ast.AST) -> Finding | None:
    """`assert x.shape[1] == self.n`, as it was."""
    kinds = ast.Assert
    statement = node if isinstance(node, kinds) else frame.text.around(node, kinds)
    if frame.ending.error != "AssertionError":
        return None
    if isinstance(statement, kinds):
        return compared(frame, finding, statement.test, False)
    called = isinstance(node, ast.Call) and frame.written(node.func).endswith("_assert")
    if called and isinstance(node, ast.Call) and node.args:
        return compared(frame, finding, node.args[0], False)
    return None


def raised(frame: Frame, finding: Finding, node: ast.AST) -> Finding | None:
    """`raise ValueError` below a comparison of sizes."""
    below = frame.text.around(node, ast.If) if isinstance(node, ast.Raise) else None
    if not isinstance(below, ast.If):
        return None
    held = not any(node in ast.walk(each) for each in below.orelse)
    return compared(frame, finding, below.test, held)


def compared(
    frame: Frame, finding: Finding, test: ast.expr, held: bool
) -> Finding | None:
    """What was compared, what it was, and where its sizes came from."""
    parts = list(reasons(frame, test, held))
    said: list[str] = []
    related: list[Related] = []
    for part in parts:
        each = sentence(frame, part)
        if each is not None:
            said.append(each)
            related += sources(frame, part)
    if not said or not any(sized(frame, part) for part in parts):
        return None
    verb = "holds" if held else "does not hold"
    message = f"`{frame.written(test)}` {verb}: {', '.join(said)}"
    own = frame.ending.message.strip().splitlines()
    if own and own[0]:
        message = f"{own[0].rstrip('.')}: {message}"
    if frame.ending.error != "AssertionError":
        message = f"`{frame.ending.error}`: {message}"
    return as_finding(frame, finding, "size-check", message, related)


def sentence(frame: Frame, part: ast.expr) -> str | None:
    """`h.shape[-1]` is 32, `self.n` is 64."""
    said = []
    for each in operands(part):
        known = frame.known(each)
        if known is not None:
            shown = shown_value(known)
            said.append(f"`{frame.written(each)}` is {shown}")
    return ", ".join(dict.fromkeys(said)) or None


def shown_value(known: Known) -> str:
    """A number, or a shape as a tuple."""
    return repr(known.value)


def sized(frame: Frame, part: ast.expr) -> bool:
    """Whether a comparison is about the shape of a tensor."""
    known = [frame.known(each) for each in operands(part)]
    return any(each is not None and each.fact is not None for each in known)


def sources(frame: Frame, part: ast.expr) -> Iterator[Related]:
    """Where each side of a comparison came from."""
    for each in operands(part):
        known = frame.known(each)
        if known is None:
            continue
        fact, dim = known.fact, known.dim
        if fact is not None:
            owner = owner_of(each)
            name = frame.written(owner) if owner is not None else ""
            way = actual(frame.program, fact, dim) if dim is not None else []
            yield from way or made(frame, fact, name, dim, frame.text.span(each))
        elif isinstance(each, ast.Attribute):
            yield from assigned(frame, each)


def assigned(frame: Frame, node: ast.Attribute) -> Iterator[Related]:
    """Where an attribute of the module was set."""
    holder = frame.text.around(node, ast.ClassDef)
    written = frame.written(node)
    for each in ast.walk(holder) if holder is not None else ():
        if isinstance(each, ast.Assign):
            for target in each.targets:
                same = isinstance(target, ast.Attribute)
                if same and frame.written(target) == written:
                    span = frame.text.span(each)
                    yield Related(span, f"`{written}` is set here")
                    return


def read_beyond(frame: Frame, finding: Finding, node: ast.AST) -> Finding | None:
    """`x.shape[3]` of three dims."""
    if frame.ending.error != "IndexError" or not isinstance(node, ast.Subscript):
        return None
    part, place = frame.part(node.value), frame.known(node.slice)
    owner = owner_of(node.value)
    if part is None or place is None or owner is None:
        return None
    fact = part[0]
    last = len(part[1]) - 1
    said = f"`{frame.written(node)}` reads dim {place.value}, but"
    said += f" `{frame.written(owner)}` {shape_text(fact)} has"
    said += f" dims 0 to {last}" if last > 0 else f" {dims(len(fact.shape))}"
    where = made(frame, fact, frame.written(owner))
    found = as_finding(frame, finding, "dim-out-of-range", said, where)
    return replace(found, torch_message="")  # its words are Python's


def made(
    frame: Frame,
    fact: Fact,
    name: str = "",
    dim: int | None = None,
    span: Span | None = None,
) -> list[Related]:
    """The call that made a tensor, or what it came in as."""
    shown = f"`{name}` {shape_text(fact)}" if name else shape_text(fact)
    op = frame.program.producers.get(fact.tensor)
    if op is not None and op.span is not None:
        return [Related(op.span, f"{shown} is made by {short_name(frame.program, op)}")]
    what = frame.program.inputs.get(fact.tensor)
    if what is None or span is None:
        return []
    said = f"{shape_text(fact)} is the shape of {what}"
    if dim is not None:
        said = f"{fact.shape[dim]} is dim {dim} of {what} {shape_text(fact)}"
    return [Related(span, said)]


def as_finding(
    frame: Frame, finding: Finding, code: str, message: str, related: Iterable[Related]
) -> Finding:
    """The finding in better words; those of Python are kept."""
    said = f"{frame.ending.error}: {frame.ending.message}".rstrip(": ")
    return replace(
        finding, code=code, message=message, related=tuple(related), torch_message=said
    )
