"""Plain values where tensors or parameters are kept: lists that are stacked, a tensor
that is assigned to a parameter, a number in `save_for_backward`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.layer_kinds import get_nn_name
from shapewright.analysis.fixes.statements import replace_lines, write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    is_optimizer,
)

NO_TENSOR = re.compile(r"expected Tensor as element (\d+) in argument 0, but got (\S+)")
NO_PARAMETER = re.compile(
    r"cannot assign '([\w.]+)' (?:as|object to) parameter '(\w+)'"
)
NOT_SAVED = re.compile(
    r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)"
)
NO_GRADIENT = re.compile(
    r"[Oo]nly Tensors of floating point (?:and complex )?dtype can require gradients"
)
DRAWN = re.compile(r"^(?:arange|randint|randperm|full|zeros|ones|empty|tensor)$")
"""Calls that make a tensor, with the keyword `dtype`."""
NUMBER = re.compile(r"(?<![\w.])(\d+)(?![\w.])")
COUNTED = re.compile(r"^(?:arange|rand(?:int|perm))$")
MOST_WRITTEN = 8
"""Whole numbers that are written as floats; of more, the dtype says so."""
PADDING = frozenset({"pad_sequence", "pack_sequence"})
JOINING = operators_with("joins_tensors") | PADDING
NUMBERS = re.compile(r"^(?:int|float|bool|numpy\.(?:u?int|float|bool)\w*)$")
ROWS = ("list", "tuple")
COPYING = re.compile(r"^(?:clone|detach|deepcopy|tensor)$")
FLOATS = re.compile(r"Float|Double|Half|BFloat")


def find_plain_value(program: Program, finding: Finding) -> Explanation | None:
    """Return what stands plain where a tensor or parameter is kept, or None."""
    words = finding.words
    refused = NO_TENSOR.search(words)
    if refused is not None:
        return _explain_joined(program, finding, int(refused[1]), refused[2])
    refused = NO_PARAMETER.search(words)
    if refused is not None:
        return _explain_parameter(program, finding, refused[1], refused[2])
    if NO_GRADIENT.search(words):
        return _explain_whole_numbers(program, finding)
    refused = NOT_SAVED.search(words)
    if refused is not None:
        return _explain_saved(program, finding, int(refused[1]), refused[2])
    return None


def _iter_calls(
    program: Program, finding: Finding
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls on the lines of a finding."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    for node in text.nodes if text is not None else ():
        if text is None or span is None or not isinstance(node, ast.Call):
            continue
        if node.lineno <= span.end_line and (node.end_lineno or 0) >= span.line:
            yield text, node


# -- lists and arrays that are joined --------------------------------------------------


def _explain_joined(
    program: Program, finding: Finding, at: int, kind: str
) -> Explanation | None:
    """Explain `pad_sequence(ids)` and `torch.stack(rows)` of what holds no tensors."""
    for text, call in _iter_calls(program, finding):
        name = get_called_name(call)
        if name not in JOINING:
            continue
        words = {word.arg: word.value for word in call.keywords}
        first = next(iter([*call.args[:1], *_iter_named(words)]), None)
        if first is None or isinstance(first, ast.Starred):
            return None
        shown = text.line_of(first)
        message = f"`{name}` takes tensors, and `{shown}` holds a `{kind}` at [{at}]"
        ways = _list_without_item(text, first, kind)
        ways += _list_first_outputs(text, first, at, kind)
        ways += _list_conversions(text, call, first, at, kind)
        fixes = [
            Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
            for node, new in ways
        ]
        return Explanation(message, (), tuple(fixes))
    return None


def _iter_named(words: dict[str | None, ast.expr]) -> Iterator[ast.expr]:
    """Yield what a call is given by the name of what it joins."""
    for name in ("sequences", "tensors"):
        if name in words:
            yield words[name]


def _list_first_outputs(
    text: SourceText, first: ast.expr, at: int, kind: str
) -> list[tuple[ast.expr, str]]:
    """Return the first tensor of each output of models of which some return a tuple,
    of logits and what a second head says.
    """
    if kind != "tuple" or not isinstance(first, ast.Name):
        return []
    item = "out[0]" if not at else "out[0] if isinstance(out, tuple) else out"
    return [(first, f"[{item} for out in {text.written(first)}]")]


def _list_without_item(
    text: SourceText, first: ast.expr, kind: str
) -> list[tuple[ast.expr, str]]:
    """Return `loss` for the `loss.item()` that is appended to a list of tensors."""
    if not isinstance(first, ast.Name) or NUMBERS.search(kind) is None:
        return []
    function = text.around(first, *FUNCTIONS)
    added = [
        call.args[0]
        for call in (ast.walk(function) if function is not None else text.nodes)
        if isinstance(call, ast.Call)
        and get_called_name(call) == "append"
        and call.args
        and get_dotted_name(get_receiver(call)) == first.id
    ]
    numbers: list[tuple[ast.expr, str]] = [
        (value, text.written(value.func.value))
        for value in added
        if isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "item"
    ]
    return numbers if len(numbers) == len(added) == 1 else []


def _list_conversions(
    text: SourceText, call: ast.Call, first: ast.expr, at: int, kind: str
) -> list[tuple[ast.expr, str]]:
    """Return the expressions to be written anew, with what makes tensors of them."""
    if not re.search(r"^import torch\b(?! as)", text.text, re.MULTILINE):
        return []
    dims = [*call.args[1:], *(word.value for word in call.keywords)]
    written = text.written(first)
    makes = "torch.from_numpy" if kind == "numpy.ndarray" else "torch.tensor"
    if isinstance(first, ast.List | ast.Tuple):
        if at >= len(first.elts) or (NUMBERS.search(kind) and at):
            return []
        if NUMBERS.search(kind):
            return [(call, f"torch.tensor({written})")]
        if all(isinstance(part, ast.List | ast.Tuple) for part in first.elts):
            rows = ", ".join(f"{makes}({text.written(part)})" for part in first.elts)
            return [(first, f"[{rows}]")]
        if kind in (*ROWS, "numpy.ndarray"):
            element = first.elts[at]
            return [(element, f"{makes}({text.written(element)})")]
        return []
    if at:
        return []  # some are tensors, and others are not
    if NUMBERS.search(kind):
        is_joined = get_called_name(call) not in PADDING and not dims
        return [(call, f"torch.tensor({written})")] if is_joined else []
    if kind not in (*ROWS, "numpy.ndarray"):
        return []
    if isinstance(first, ast.ListComp):
        item = text.written(first.elt)
        ways = [(first.elt, f"{makes}({item})")]
        return ways + [(first.elt, f"torch.stack({item})")] * (kind in ROWS)
    ways = [(first, f"[{makes}(item) for item in {written}]")]
    if kind in ROWS:
        ways.append((first, f"[torch.stack(tuple(item)) for item in {written}]"))
    return ways


# -- whole numbers that are to have a gradient -----------------------------------------


def _explain_whole_numbers(program: Program, finding: Finding) -> Explanation | None:
    """Explain `torch.tensor([0, 0], requires_grad=True)`, which holds whole numbers."""
    place, span = program.node(finding.span), finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    nodes = list(ast.walk(place[1])) if place is not None else []
    nodes += [n for _, call in _iter_calls(program, finding) for n in ast.walk(call)]
    nodes += [
        statement
        for statement in text.nodes
        if isinstance(statement, ast.Assign) and statement.lineno == span.line
    ]
    sources: list[ast.expr] = [node for node in nodes if isinstance(node, ast.Call)]
    for node in nodes:
        name = _get_trained_name(node)
        defining = find_defining(text, name) if name else []
        sources += [value for value in defining if value.lineno <= span.line]
    makers = [node for node in sources if _is_maker(node)]
    message = "only floats have gradients"
    if not makers or not isinstance(makers[0], ast.Call):
        return Explanation(f"{message}, and this tensor holds whole numbers")
    maker = makers[0]
    shown = text.line_of(maker)
    message += f", and `{shown}` holds whole numbers"
    fixes = [_write_floats(text, maker)]
    is_counted = COUNTED.search(get_called_name(maker)) is not None
    kept = [
        node
        for node in nodes
        if isinstance(node, ast.Call)
        and get_called_name(node) == "Parameter"
        and all(word.arg != "requires_grad" for word in node.keywords)
    ]
    if kept and is_counted:
        fixes.append(with_keyword(text, kept[0], "requires_grad=False"))
    related: tuple[Related, ...] = ()
    if not span.line <= maker.lineno <= span.end_line:
        related = (Related(text.span(maker), "it is made here"),)
    return Explanation(message, related, tuple(fixes))


def _get_trained_name(node: ast.AST) -> str:
    """Return the name of what a node asks a gradient of."""
    owner: ast.expr | None = None
    if isinstance(node, ast.Call):
        name = get_called_name(node)
        owner = get_receiver(node) if name == "requires_grad_" else None
        owner = node.args[0] if name == "Parameter" and node.args else owner
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
        target = node.targets[0]
        owner = target.value if target.attr == "requires_grad" else None
    return get_last_name(owner) if isinstance(owner, ast.Name | ast.Attribute) else ""


def _is_maker(node: ast.expr) -> bool:
    """Return whether a call of torch makes a tensor."""
    if not isinstance(node, ast.Call) or not DRAWN.search(get_called_name(node)):
        return False
    return get_dotted_name(node.func).startswith("torch.")


def _write_floats(text: SourceText, maker: ast.Call) -> Fix:
    """Return the fix that makes floats where a call makes whole numbers."""
    dtypes = [word for word in maker.keywords if word.arg == "dtype"]
    if dtypes:
        new = "torch.float32"
        return Fix("fits", f"`dtype={new}`", (Edit(text.span(dtypes[0].value), new),))
    name = get_called_name(maker)
    filled = maker.args[:1] if name == "tensor" else []
    filled = maker.args[1:2] if name == "full" else filled
    numbers = [
        part
        for value in filled
        for part in ast.walk(value)
        if isinstance(part, ast.expr)
    ]
    whole = [n for n in numbers if isinstance(n, ast.Constant)]
    plain = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp)
    is_plain = all(isinstance(number, plain) for number in numbers)
    is_whole = all(type(number.value) is int for number in whole)
    if is_plain and is_whole and 0 < len(whole) <= MOST_WRITTEN:
        edits = tuple(Edit(text.span(number).end, ".0") for number in whole)
        span, inner = text.span(maker), text.span(filled[0])
        written = re.sub(NUMBER, r"\1.0", text.at(inner))
        before = text.at(span.start.until(inner.start))
        after = text.at(inner.end.until(span.end))
        return Fix("fits", f"`{join_lines(before + written + after)}`", edits)
    return with_keyword(text, maker, "dtype=torch.float32")


# -- a tensor in the place of a parameter ----------------------------------------------


def _explain_parameter(
    program: Program, finding: Finding, kind: str, name: str
) -> Explanation | None:
    """Explain `layer.weight = values`, where `weight` is a parameter."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    is_tensor = "Tensor" in kind
    what = "a tensor" if is_tensor else f"a `{kind}`"
    for node in text.nodes:
        if isinstance(node, ast.Call) and get_called_name(node) == "register_parameter":
            if not node.lineno <= span.line <= (node.end_lineno or 0):
                continue
            message = f"`register_parameter` takes an `nn.Parameter`, not {what}"
            value = node.args[1] if len(node.args) > 1 else None
            if value is None or not FLOATS.search(kind):
                return Explanation(message)
            return Explanation(message, (), (_wrap_parameter(text, value),))
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if not node.lineno <= span.line <= (node.end_lineno or 0):
            continue
        if not isinstance(target, ast.Attribute) or target.attr != name:
            continue
        owner = text.line_of(target)
        message = (
            f"`{owner}` is a parameter of its module, and `{text.line_of(value)}` is"
            f" {what}: only an `nn.Parameter` may take its place"
        )
        fixes = []
        if FLOATS.search(kind):
            fixes = list(_suggest_parameter(text, node, target, value))
        return Explanation(message, (), tuple(fixes))
    return None


def _wrap_parameter(text: SourceText, value: ast.expr) -> Fix:
    """Return the fix that makes a parameter of a tensor."""
    new = f"{get_nn_name(text)}.Parameter({text.written(value)})"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),))


def _suggest_parameter(
    text: SourceText, node: ast.Assign, target: ast.Attribute, value: ast.expr
) -> Iterator[Fix]:
    """Yield the edit by which a parameter has the values of a tensor."""
    scope = text.around(node, *FUNCTIONS)
    if isinstance(scope, ast.FunctionDef) and scope.name == "forward":
        return  # a weight that is computed is no parameter
    owner, written = text.written(target), text.written(value)
    is_updated = any(
        isinstance(part, ast.Attribute) and text.written(part) == owner
        for part in ast.walk(value)
    )
    is_optimized = any(
        isinstance(call, ast.Call)
        and is_optimizer(call)
        and call.lineno < node.lineno
        and text.around(call, *FUNCTIONS) is scope
        for call in text.nodes
    )
    is_turning = isinstance(text.around(node, ast.For, ast.While), ast.While)
    if is_updated or is_optimized or is_turning:
        indent = text.lines[node.lineno - 1][: node.col_offset]
        new = f"{owner}.copy_({written})"
        lines = f"{indent}with torch.no_grad():\n{indent}    {new}"
        shown = f"`with torch.no_grad(): {join_lines(new)}`"
        yield Fix("fits", shown, (replace_lines(text, node, lines),))
        return
    is_copied = any(
        COPYING.search(get_called_name(call)) is not None for call in ast.walk(value)
    )
    others = [
        part
        for part in ast.walk(value)
        if isinstance(part, ast.Attribute) and part.attr in ("weight", "bias")
    ]
    if is_copied or not others:  # a layer that shares it would share it no more
        yield _wrap_parameter(text, value)


# -- what `save_for_backward` keeps ----------------------------------------------------


def _explain_saved(
    program: Program, finding: Finding, at: int, kind: str
) -> Explanation | None:
    """Explain a number that an `autograd.Function` saves like a tensor."""
    saving = [
        (text, node)
        for text in program.own_texts()
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == "save_for_backward"
    ]
    applied = {
        get_last_name(owner)
        for _, call in _iter_calls(program, finding)
        if get_called_name(call) == "apply"
        for owner in [get_receiver(call)]
        if owner is not None
    }
    of_class = [
        (text, call)
        for text, call in saving
        if getattr(text.around(call, ast.ClassDef), "name", "") in applied
    ]
    saving = of_class or saving
    if len(saving) != 1 or at >= len(saving[0][1].args):
        return None
    text, call = saving[0]
    value, owner = call.args[at], get_receiver(call)
    holder = text.around(call, ast.ClassDef)
    if owner is None or holder is None or isinstance(value, ast.Starred):
        return None
    written = text.line_of(value)
    message = (
        f"`save_for_backward` keeps tensors, and `{written}` is of type `{kind}`:"
        f" other values are attributes of `{text.written(owner)}`"
    )
    place = (Related(text.span(call), "it is saved here"),)
    if not get_dotted_name(value):
        return Explanation(message, place)
    edits = _list_saved_edits(text, holder, call, at, get_last_name(value))
    new = f"{text.written(owner)}.{get_last_name(value)} = {written}"
    fixes = (Fix("fits", f"`{new}`", tuple(edits)),) if edits else ()
    return Explanation(message, place, fixes)


def _list_saved_edits(
    text: SourceText, holder: ast.ClassDef, call: ast.Call, at: int, name: str
) -> list[Edit]:
    """Return the edits by which a value is an attribute of the context; none where what
    is saved is read in another way.
    """
    statement = text.statement_of(call)
    if not isinstance(statement, ast.Expr) or statement.value is not call:
        return []
    rest = [text.written(item) for k, item in enumerate(call.args) if k != at]
    context = text.written(get_receiver(call) or call)
    kept = f"{context}.{name} = {text.written(call.args[at])}"
    if rest:
        edits = [
            Edit(text.span(call), f"{text.written(call.func)}({', '.join(rest)})"),
            write_after(text, statement, kept),
        ]
    else:
        edits = [Edit(text.span(statement), kept)]
    for node in ast.walk(holder):
        if not isinstance(node, ast.Attribute) or node.attr != "saved_tensors":
            continue
        reads = _list_read_edits(text, node, at, len(call.args), name)
        if reads is None:
            return []
        edits += reads
    return edits


def _list_read_edits(
    text: SourceText, node: ast.Attribute, at: int, count: int, name: str
) -> list[Edit] | None:
    """Return the edits where saved tensors are read, or None if they are read in a way
    that is not known.
    """
    own = f"{text.written(node.value)}.{name}"
    parent = text.parent(node)
    if isinstance(parent, ast.Subscript):
        place = parent.slice
        if isinstance(place, ast.Constant) and isinstance(place.value, int):
            if place.value == at:
                return [Edit(text.span(parent), own)]
            if 0 <= place.value < at:
                return []
            return [Edit(text.span(place), str(place.value - 1))] * (place.value > at)
        if isinstance(place, ast.Slice) and isinstance(place.upper, ast.Constant):
            stop, plain = place.upper.value, place.lower is None and place.step is None
            if plain and isinstance(stop, int) and 0 <= stop <= at:
                return []
        return None
    if not isinstance(parent, ast.Assign) or not isinstance(
        parent.targets[0], ast.Tuple
    ):
        return None
    names = parent.targets[0].elts
    if len(names) != count or any(isinstance(item, ast.Starred) for item in names):
        return None
    read = f"{text.written(names[at])} = {own}"
    rest = [text.written(item) for k, item in enumerate(names) if k != at]
    if not rest:
        return [Edit(text.span(parent), read)]
    left = f"({rest[0]},)" if len(rest) == 1 else ", ".join(rest)
    edits = [Edit(text.span(parent.targets[0]), left)]
    is_written = text.written(names[at]) != "_"
    return edits + ([write_after(text, parent, read)] if is_written else [])
