"""Attributes that a tuple or a missing gradient does not have: `(h, c)` used as a
tensor, `x.grad` of a tensor that keeps none.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.last_states import suggest_last_step
from shapewright.analysis.missing_gradients import explain_missing_gradient
from shapewright.analysis.program_run import Program
from shapewright.analysis.python_error_values import FileValues
from shapewright.analysis.unpacked_beside import explain_unpacked_beside
from shapewright.findings.codes import NO_GRADIENT_KEPT, TUPLE_AS_TENSOR
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Ending
from shapewright.program.source_text import SourceText, find_defining, find_imports
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_own_attribute,
)

NONE = re.compile(r"'NoneType' object (has no attribute|is not|does not)")
TUPLE = re.compile(
    r"'tuple' object has no attribute '(\w+)'|must be Tensor, not tuple|"
    r"tuple indices must be integers or slices|unsupported operand .*'tuple'|"
    r"got \(tuple, |unknown to einops <class .tuple.>|torch\.return_types\.\w+"
)
PAIR = re.compile(r"torch\.return_types\.(\w+)")
COMPARED = re.compile(
    r"'bool' object has no attribute '(?:sum|float|long|mean|int|all)'"
)
"""Said of `pred == y` where `pred` is a pair: Python compares the two as objects."""
SEQUENCE = re.compile(
    r"can't multiply sequence by non-int|can only concatenate tuple \(not"
)
"""Said of `0.9 * q` and `q + r` where `q` is a pair: Python takes it for a tuple."""
REPEATED = re.compile(r"single element can be converted to an index")
"""Said of `r * q` where `q` is a pair and `r` a tensor: how often to repeat a tuple."""
PAIRS = operators_with("returns_values_and_indices", "sorts_elements")
"""What returns values and their indices."""
LAYERS = ("LSTM", "GRU", "RNN", "MultiheadAttention")


def explain_missing_value(program: Program, finding: Finding) -> Finding:
    """Return the finding on an error of the program's Python with its cause, if the
    value at fault is a tuple or a gradient that was not kept.
    """
    cause = _find_cause(program, finding)
    return cause.apply(finding) if cause is not None else finding


def suggest_values(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield the edits for a tuple or a gradient that was not kept."""
    cause = _find_cause(program, finding)
    if cause is not None:
        yield from cause.fixes


def _find_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return the cause of an error, or None for other errors."""
    text_and_node = program.node(finding.span)
    if text_and_node is None:
        return None
    messages = finding.words
    ending = program.ending or Ending("", messages, {}, {})  # a refused call
    values = FileValues(program, text_and_node[0], ending)
    if NONE.search(messages):
        gradient = explain_missing_gradient(values, text_and_node[1])
        if gradient is None:
            return None
        return replace(gradient, code=NO_GRADIENT_KEPT)
    pair = PAIR.search(messages)
    if pair is not None:
        return _explain_pair(values, text_and_node[1], pair[1])
    if COMPARED.search(messages):
        return _explain_compared(values, text_and_node[1])
    if SEQUENCE.search(messages) or REPEATED.search(messages):
        return _explain_operand(values, *text_and_node)
    if TUPLE.search(messages):
        return _explain_tuple(values, text_and_node[1])
    return None


# -- a tuple in place of a tensor ---------------------------------------------------


def _explain_tuple(values: FileValues, node: ast.AST) -> Explanation | None:
    """Explain a tuple of tensors that is used as a tensor."""
    text = values.text
    method = node if isinstance(node, ast.Attribute) else None
    call = node if isinstance(node, ast.Call) else text.parent(node)
    if method is None and isinstance(node, ast.Call):
        method = node.func if isinstance(node.func, ast.Attribute) else None
    if method is not None and text.written(method.value) in find_imports(text):
        method = None  # a function, and no method of a tuple
    if method is not None and isinstance(method.value, ast.Name | ast.Attribute):
        name = text.written(method.value)
        source = _find_source(text, method.value)
        if source is not None and _is_of_layer(text, source):
            return _explain_layer(values, name, source)
        returned = _explain_returned_tuple(values, method.value)
        if returned is not None:
            return returned
        beside = explain_unpacked_beside(text, name)
        if beside is not None:
            return beside
        if not name.startswith(("F", "torch", "nn", "self")) and isinstance(
            call, ast.Call
        ):
            item = text.written(call).replace(name, "each", 1)
            new = f"tuple({item} for each in {name})"
            message = f"`{name}` is a tuple of tensors, which has no `{method.attr}`"
            fix = Fix("fits", f"`{new}`", (Edit(text.span(call), new),))
            related: tuple[Related, ...] = ()
            if source is not None:
                related = (Related(text.span(source), f"`{name}` is set here"),)
            return Explanation(message, related, (fix,), TUPLE_AS_TENSOR)
    returned = _explain_returned_tuple(values, node)
    if returned is not None:
        return returned
    sequence = _explain_sequence(values)
    if sequence is not None:
        return sequence
    for expression in ast.walk(node):
        if isinstance(expression, ast.Name):
            source = _find_source(text, expression)
            if source is not None and _is_of_layer(text, source):
                return _explain_layer(values, expression.id, source)
        other = isinstance(expression, ast.Call) and expression is not node
        if (
            other
            and isinstance(expression, ast.Call)
            and _is_of_layer(text, expression)
        ):
            return _explain_layer(values, text.line_of(expression), expression)
    return None


def _explain_pair(values: FileValues, node: ast.AST, name: str) -> Explanation | None:
    """Explain `x = torch.max(x, 2)`, which are values and their indices."""
    text = values.text
    for expression in ast.walk(node):
        source = (
            _find_source(text, expression)
            if isinstance(expression, ast.Name)
            else expression
        )
        if not isinstance(source, ast.Call) or get_called_name(source) != name:
            continue
        written = text.line_of(source)
        shown = f"`{expression.id}`" if isinstance(expression, ast.Name) else "this"
        message = f"{shown} is a pair: `{written}` returns values and their indices"
        place = Related(text.span(source), "the pair is made here")
        parts = [".values", ".indices"]
        if _is_of_classes(text, expression):
            parts.reverse()
        fixes = [
            Fix("fits", f"`{written}{part}`", (Edit(text.span(source).end, part),))
            for part in parts[:1]
        ]
        return Explanation(message, (place,), tuple(fixes), TUPLE_AS_TENSOR)
    return None


def _is_of_classes(text: SourceText, node: ast.AST) -> bool:
    """Return whether a pair stands where the numbers of classes are meant: its name
    says so, or it is compared.
    """
    if isinstance(node, ast.Name) and node.id.lower().startswith(("pred", "label")):
        return True
    around = text.parent(node)
    if isinstance(around, ast.Attribute) and around.attr in ("eq", "ne"):
        return True
    return isinstance(around, ast.Compare) or (
        around is not None and get_called_name(around) in ("eq", "ne")
    )


def _explain_compared(values: FileValues, node: ast.AST) -> Explanation | None:
    """Explain `(pred == y).sum()` of a pair, whose comparison is one truth value."""
    text = values.text
    for part in ast.walk(text.statement_of(node)):  # type: ignore[arg-type]
        if not isinstance(part, ast.Compare):
            continue
        for side in (part.left, *part.comparators):
            source = _find_source(text, side) if isinstance(side, ast.Name) else side
            kind = get_called_name(source) if isinstance(source, ast.Call) else ""
            if kind in PAIRS:
                return _explain_pair(values, part, kind)
    return None


def find_repeated_pair(program: Program, finding: Finding) -> Explanation | None:
    """Explain `r * q` of a tensor and a pair, which torch takes for an index."""
    place = program.node(finding.span)
    if not REPEATED.search(finding.words) or place is None:
        return None
    return _explain_operand(
        FileValues(program, place[0], Ending("", "", {}, {})), *place
    )


def _explain_operand(
    values: FileValues, text: SourceText, node: ast.AST
) -> Explanation | None:
    """Explain `0.9 * q` or `q + r` of a pair of values and indices."""
    for part in ast.walk(node):
        for side in (part.left, part.right) if isinstance(part, ast.BinOp) else ():
            source = _find_source(text, side) if isinstance(side, ast.Name) else side
            kind = get_called_name(source) if isinstance(source, ast.Call) else ""
            if kind in PAIRS:
                return _explain_pair(values, side, kind)
    return None


def _explain_returned_tuple(values: FileValues, node: ast.AST) -> Explanation | None:
    """Explain a name that was set to all that a module of the program returns."""
    text = values.text
    for expression in ast.walk(node):
        if not isinstance(expression, ast.Name):
            continue
        call = _find_source(text, expression)
        if not isinstance(call, ast.Call) or _is_of_layer(text, call):
            continue
        span, holder = text.span(call), text.parent(call)
        count = _count_returned(values, call)
        if count < 2:
            continue
        if not isinstance(holder, ast.Assign) or holder.value is not call:
            continue
        others = count - 1
        names = [_name_returned_state(text, call)] if others == 1 else ["*_"]
        unset = _list_unset_names(text, call)
        if len(unset) == others:
            names = unset
        target = holder.targets[0]
        added = ", " + ", ".join(names)
        edit = Edit(text.span(target).end, added)
        written = text.line_of(call)
        message = (
            f"`{expression.id}` is a tuple: `{written}` returns {others + 1} values"
        )
        place = Related(span, "the tuple is made here")
        new = f"{text.written(target)}{added} = {written}"
        fix = Fix("fits", f"`{new}`", (edit,))
        return Explanation(message, (place,), (fix,), TUPLE_AS_TENSOR)
    return None


def _count_returned(values: FileValues, call: ast.Call) -> int:
    """Return how many values a call of a module, or of a function of the file, returns
    as a tuple; 0 if it is none.
    """
    span = values.text.span(call)
    outputs = [c.output for c in values.program.trace.calls if c.span == span]
    if outputs:
        return len(outputs[-1]) if isinstance(outputs[-1], tuple) else 0
    name = get_dotted_name(call.func)
    functions = [
        node
        for node in values.text.nodes
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
    if len(functions) != 1:
        return 0
    returned = [
        node.value for node in ast.walk(functions[0]) if isinstance(node, ast.Return)
    ]
    counts = {len(v.elts) if isinstance(v, ast.Tuple) else 0 for v in returned}
    return counts.pop() if len(counts) == 1 else 0


def _list_unset_names(text: SourceText, call: ast.Call) -> list[str]:
    """Return the names that the function around a call reads below it and that nothing
    sets: what the call was to give, too.
    """
    scope = text.around(call, *FUNCTIONS)
    if scope is None:
        return []
    nodes = [
        node
        for node in text.nodes
        if isinstance(node, ast.Name | ast.arg)
        and text.around(node, *FUNCTIONS) in (scope, None)
    ]
    known = {node.arg for node in nodes if isinstance(node, ast.arg)}
    known |= {n.id for n in nodes if isinstance(n, ast.Name) and not _is_read(n)}
    known |= {
        (alias.asname or alias.name).partition(".")[0]
        for node in text.nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    known |= {
        node.name
        for node in text.nodes
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    read = [
        node.id
        for node in ast.walk(scope)
        if isinstance(node, ast.Name) and _is_read(node) and node.lineno > call.lineno
    ]
    return [
        name
        for name in dict.fromkeys(read)
        if name not in known and not hasattr(builtins, name)
    ]


def _is_read(node: ast.Name) -> bool:
    """Return whether a name is read, not set."""
    return isinstance(node.ctx, ast.Load)


def _find_source(text: SourceText, node: ast.expr) -> ast.expr | None:
    """Return the expression that a name was last assigned above a line."""
    name = get_dotted_name(node).rpartition(".")[2]
    values = [
        value
        for value in (find_defining(text, name) if name else ())
        if value.lineno < node.lineno
    ]
    return values[-1] if values else None


def _is_of_layer(text: SourceText, call: ast.expr) -> bool:
    """Return whether a call is one of a layer that returns its state too."""
    if not isinstance(call, ast.Call):
        return False
    if get_called_name(call) in LAYERS:
        return False
    return any(kind in LAYERS for kind in _list_kinds(text, call))


def _list_kinds(text: SourceText, call: ast.expr) -> list[str]:
    """Return the names of the classes that the layer of a call is made of."""
    if not isinstance(call, ast.Call):
        return []
    name = get_own_attribute(call.func) or get_dotted_name(call.func)
    built = find_defining(text, name.rpartition(".")[2]) if name else []
    return [get_called_name(value) for value in built]


def _name_states(text: SourceText, call: ast.expr) -> str:
    """Return a name for the states that a recurrent layer returns: what is read below
    and set nowhere, or what the call is given and a return gives on; else `_`.
    """
    if not isinstance(call, ast.Call):
        return "_"
    unset = _list_unset_names(text, call)
    if len(unset) == 1:
        return unset[0]
    argument = call.args[1] if len(call.args) > 1 else None
    names = [node.id for node in ast.walk(argument) if isinstance(node, ast.Name)] if (
        isinstance(argument, ast.Name | ast.Tuple)
    ) else []  # fmt: skip
    if argument is None or not names or not _is_read_again(text, call, names):
        return "_"
    return text.written(argument)


def _name_returned_state(text: SourceText, call: ast.Call) -> str:
    """Return the name of an argument that the function called may return as the second
    of two values, if it is read again; else `_`.
    """
    second = {
        node.value.elts[1].id
        for node in text.nodes
        if isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) == 2
        and isinstance(node.value.elts[1], ast.Name)
    }
    for argument in call.args:
        is_second = isinstance(argument, ast.Name) and argument.id in second
        name = argument.id if is_second and isinstance(argument, ast.Name) else ""
        if name and _is_read_again(text, call, [name]):
            return name
    return "_"


def _is_read_again(text: SourceText, call: ast.Call, names: list[str]) -> bool:
    """Return whether one of some names is read below a call, or by it in a loop."""
    scope = text.around(call, *FUNCTIONS)
    if text.around(call, ast.For, ast.While) is not None:
        return True
    return any(
        isinstance(node, ast.Name)
        and _is_read(node)
        and node.lineno > call.lineno
        and node.id in names
        for node in ast.walk(scope if scope is not None else call)
    )


def _explain_layer(values: FileValues, name: str, call: ast.expr) -> Explanation:
    """Explain the result of a layer that returns its output and its state."""
    text = values.text
    written = text.line_of(call)
    is_attention = "MultiheadAttention" in _list_kinds(text, call)
    second = "attention weights" if is_attention else "state"
    subject = f"`{name}` is a tuple: `{written}`"
    if name == written:
        subject = f"`{name}` is a tuple: it"
    message = f"{subject} returns its output and its {second}"
    fixes = []
    holder = text.parent(call)
    if isinstance(holder, ast.Assign) and holder.value is call:
        target = holder.targets[0]
        others = "_" if is_attention else _name_states(text, call)
        edit = Edit(text.span(target).end, f", {others}")
        new = f"{text.written(target)}, {others} = {written}"
        fixes.append(Fix("fits", f"`{new}`", (edit,)))
    else:
        fixes.append(
            Fix("fits", f"`{written}[0]`", (Edit(text.span(call).end, "[0]"),))
        )
    if not is_attention:
        fixes += suggest_last_step(values.program, text, call)
    place = Related(text.span(call), "the tuple is made here")
    return Explanation(message, (place,), tuple(fixes), TUPLE_AS_TENSOR)


FIRST = '''class FirstOutput(nn.Module):
    """Passes on the first item of a tuple."""

    def forward(self, outputs):
        return outputs[0]


'''


def _iter_modules_behind(start: Span, end: Span, time: int) -> Iterator[Fix]:
    """Yield a module behind a recurrent layer that passes on its outputs, and one that
    passes on the last of them.
    """
    last = "outputs[0][:, -1]" if time == 1 else "outputs[0][-1]"
    for name, value in (("FirstOutput", "outputs[0]"), ("LastStep", last)):
        text = FIRST.replace("FirstOutput", name).replace("outputs[0]", value)
        if name == "LastStep":
            text = text.replace("the first item of a tuple", "the last step of outputs")
        edits = Edit(start, text), Edit(end, f", {name}()")
        shown = f"`{name}()`, a module that returns `{value}`, after it"
        yield Fix("fits", shown, edits)


def _explain_sequence(values: FileValues) -> Explanation | None:
    """Explain a recurrent layer in `nn.Sequential`, which hands on its tuple."""
    for file in values.program.trace.sources:
        text = values.program.text(file)
        for node in text.nodes if text is not None else ():
            if text is None or get_called_name(node) != "Sequential":
                continue
            if not isinstance(node, ast.Call):
                continue
            for layer in node.args[:-1]:
                if get_called_name(layer) not in LAYERS:
                    continue
                message = (
                    f"`{text.line_of(layer)}` in `nn.Sequential` hands a tuple, its"
                )
                message += " output and its state, to the next layer"
                top = next(
                    statement
                    for statement in (text.tree.body if text.tree is not None else [])
                    if not isinstance(statement, ast.Import | ast.ImportFrom)
                    and not (isinstance(statement, ast.Expr))
                )
                start = text.span(top).start
                if isinstance(top, ast.ClassDef) and top.decorator_list:
                    start = text.span(top.decorator_list[0]).start
                words = layer.keywords if isinstance(layer, ast.Call) else []
                time = 1 if any(word.arg == "batch_first" for word in words) else 0
                place = Related(text.span(layer), "it returns a tuple")
                fixes = _iter_modules_behind(start, text.span(layer).end, time)
                return Explanation(message, (place,), tuple(fixes), TUPLE_AS_TENSOR)
    return None
