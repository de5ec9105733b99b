"""Calls and indices of what is another thing than the line takes it for: `net.module()`
calls a module that was to be read, `sample["image"]` names a field of a tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.data_errors import explain_data_error
from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.analysis.model_outputs import find_unpacked_output
from shapewright.analysis.older_programs import explain_real_spectrum
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.wrong_objects import explain_wrong_object
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_dotted_name,
)
from shapewright.record.ops import Op

WITHOUT_INPUT = re.compile(r"(\w+)\.forward\(\) missing \d+ required positional")
ONE_STATE = re.compile(r"'hx'.* must be tuple of Tensors, not Tensor")
UNKNOWN = re.compile(r"name '(\w+)' is not defined")
KINDS = re.compile(r"^(torch\.)?nn\.[A-Z]\w+$")
"""How a class of torch's layers and losses is written."""
GROUPS = "parameter group that doesn't match the size of optimizer's group"
OBJECTS = "Weights only load failed"
GLOBAL = re.compile(r"GLOBAL ([\w.]+)")
"""In torch's message about a file with other objects than tensors."""
LIST = "must be Tensor, not list"
ONE_TENSOR = re.compile(r"(\w+)\(\): argument 'tensors' .* not Tensor")
NOT_PICKLED = re.compile(r"[Cc]an't pickle|[Cc]an't get local object|[Cc]annot pickle")
LOCAL_NAME = re.compile(r"'([^']*<locals>[^']*)'|<function (\S*<lambda>)")
JOINING = operators_with("joins_tensors")
INDICES = ("too many indices for tensor", "invalid indices", "are valid indices")


def explain_mistaken_call(program: Program, finding: Finding) -> Finding:
    """Return the finding on an error with its cause, if a line takes a module for a
    method, or a tensor for a dict.
    """
    cause = _find_cause(program, finding)
    return cause.apply(finding) if cause is not None else finding


def suggest_meant(program: Program, finding: Finding) -> Iterator[Fix]:
    """Yield the edits that make such a line read what it means."""
    cause = _find_cause(program, finding)
    if cause is not None:
        yield from cause.fixes


def _find_cause(program: Program, finding: Finding) -> Explanation | None:
    """Return the cause of an error, or None for other errors."""
    text_and_node = program.node(finding.span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    messages = finding.words
    unpacked = find_unpacked_output(program, finding)
    if unpacked is not None:
        return unpacked
    wrong = explain_wrong_object(program, text, node, messages)
    if wrong is not None:
        return wrong
    spectrum = explain_real_spectrum(text, node, messages)
    if spectrum is not None:
        return spectrum
    data = explain_data_error(program, text, node, messages)
    if data is not None:
        return data
    unknown = UNKNOWN.search(messages)
    if unknown is not None:
        return _explain_unkept_result(text, node, unknown[1])
    missing = WITHOUT_INPUT.search(messages)
    if missing is not None and isinstance(node, ast.Call):
        return _explain_call_without_input(text, node, missing[1])
    if ONE_STATE.search(messages) is not None:
        return _explain_single_state(program, finding)
    if any(part in messages for part in INDICES) and isinstance(node, ast.Subscript):
        return _explain_name_as_index(program, text, node)
    if LIST in messages and isinstance(node, ast.Call):
        return _explain_list(program, text, node)
    if NOT_PICKLED.search(messages) is not None and isinstance(node, ast.Call):
        return _explain_unpickled(text, node, finding)
    if GROUPS in messages and isinstance(node, ast.Call):
        return _explain_other_groups(text, node)
    if OBJECTS in messages and isinstance(node, ast.Call):
        return _explain_objects(text, node, messages)
    if ONE_TENSOR.search(messages) is not None and isinstance(node, ast.Call):
        return _explain_single_tensor(text, node)
    return None


# -- results that are not kept ---------------------------------------------------------


def _explain_unkept_result(
    text: SourceText, node: ast.AST, name: str
) -> Explanation | None:
    """Explain a name that only a function knows which is called above, and which
    returns it.
    """
    scope = text.around(node, *FUNCTIONS)
    at = getattr(node, "lineno", 0)
    for call in text.nodes:
        statement = text.parent(call)
        if not isinstance(call, ast.Call) or not isinstance(statement, ast.Expr):
            continue
        if statement.lineno >= at or text.around(call, *FUNCTIONS) is not scope:
            continue
        function = get_dotted_name(call.func).rpartition(".")[2]
        returned = _list_returned_names(text, function)
        if name not in returned:
            continue
        kept = ", ".join(item if item == name else "_" for item in returned)
        message = f"`{name}` is a name within `{function}`, whose result is not kept"
        place = Related(text.span(call), "its result is thrown away here")
        edit = Edit(text.span(statement).start, f"{kept} = ")
        new = f"{kept} = {text.line_of(call)}"
        return Explanation(message, (place,), (Fix("fits", f"`{new}`", (edit,)),))
    return None


def _list_returned_names(text: SourceText, function: str) -> list[str]:
    """Return the names that the last line of a function of the file returns; empty for
    other expressions among them.
    """
    for node in text.nodes:
        if not isinstance(node, ast.FunctionDef) or node.name != function:
            continue
        value = node.body[-1].value if isinstance(node.body[-1], ast.Return) else None
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        return [part.id if isinstance(part, ast.Name) else "" for part in parts]
    return []


# -- objects that cannot be saved ------------------------------------------------------


def _explain_unpickled(
    text: SourceText, call: ast.Call, finding: Finding
) -> Explanation | None:
    """Explain a model that cannot be saved as a whole, for a function in it."""
    name = get_dotted_name(call.func)
    saved = call.args[0] if call.args else None
    if name.rpartition(".")[2] != "save" or not isinstance(saved, ast.Name):
        return None
    part = LOCAL_NAME.search(finding.words)
    within = f"`{part[1] or part[2]}`" if part is not None else "a lambda"
    message = (
        f"`{name}` pickles all of `{saved.id}`, and {within} in it cannot be pickled:"
        " only functions and classes that a module defines by name can"
    )
    edit = Edit(text.span(saved).end, ".state_dict()")
    return Explanation(
        message, (), (Fix("fits", f"`{saved.id}.state_dict()`", (edit,)),)
    )


# -- one tensor where a list of them is joined -----------------------------------------


def _explain_other_groups(text: SourceText, call: ast.Call) -> Explanation:
    """Explain an optimizer's state that was saved of other parameters."""
    owner = get_receiver(call)
    name = text.line_of(owner) if owner is not None else "the optimizer"
    built = find_defining(text, name.rpartition(".")[2])
    related = tuple(
        Related(text.span(value), f"`{name}` is given its parameters here")
        for value in built[-1:]
    )
    message = (
        f"`{name}` holds another number of parameters than the optimizer whose state is"
        " loaded: what was frozen, or new, when one of them was built"
    )
    return Explanation(message, related, ())


def _explain_objects(text: SourceText, call: ast.Call, messages: str) -> Explanation:
    """Explain a checkpoint with objects in it that `torch.load` does not make."""
    kind = GLOBAL.search(messages)
    what = f", such as `{kind[1]}`" if kind is not None else ""
    message = (
        f"`{text.line_of(call)}` makes tensors and plain values only"
        f" (`weights_only=True`), and the file holds other objects{what}"
    )
    last = [*call.args, *(word.value for word in call.keywords)][-1:]
    fixes = [
        Fix(
            "fits",
            f"`{text.line_of(call)[:-1]}, weights_only=False)`, if you trust the file",
            (Edit(text.span(node).end, ", weights_only=False"),),
        )
        for node in last
        if all(word.arg != "weights_only" for word in call.keywords)
    ]
    return Explanation(message, (), tuple(fixes))


def _explain_single_tensor(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `torch.stack(x)` of one tensor, which is joined already."""
    name = get_dotted_name(call.func)
    if name.rpartition(".")[2] not in JOINING or not call.args:
        return None
    whole = text.written(call.args[0])
    message = f"`{name}` joins a list of tensors, but `{whole}` is one tensor"
    values = [part for part in call.args if not isinstance(part, ast.Constant)]
    if len(values) > 1:
        listed = f"[{', '.join(map(text.written, values))}]"
        span = text.span(values[0]).until(text.span(values[-1]))
        fix = Fix("fits", f"`{join_lines(listed)}`", (Edit(span, listed),))
        return Explanation(message, (), (fix,))
    edit = Edit(text.span(call), whole)
    return Explanation(message, (), (Fix("fits", f"`{whole}`", (edit,)),))


# -- a list of tensors -----------------------------------------------------------------


def _explain_list(
    program: Program, text: SourceText, call: ast.Call
) -> Explanation | None:
    """Explain a list that stands in the place of a tensor, as a collate function that
    stacks nothing returns it.
    """
    names = [argument for argument in call.args if isinstance(argument, ast.Name)]
    if not names:
        return None
    fixes = [
        fix
        for file in program.trace.sources
        for fix in _stack_collated(program.text(file))
    ]
    new = f"torch.stack({names[0].id})"
    fixes.append(Fix("fits", f"`{new}`", (Edit(text.span(names[0]), new),)))
    name = get_dotted_name(call.func) or "the call"
    message = f"`{name}` needs a tensor, but `{names[0].id}` is a list"
    return Explanation(message, (), tuple(fixes))


def explain_unbuilt_class(program: Program, finding: Finding) -> Finding:
    """Return the finding on a call of `loss_fn = nn.CrossEntropyLoss`, a class of which
    no instance was built.
    """
    unbuilt = _find_unbuilt(program, finding)
    if unbuilt is None:
        return finding
    text, call, value = unbuilt
    name, kind = text.line_of(call.func), text.line_of(value)
    message = f"`{name}` is the class `{kind}` itself: the call builds a new one"
    message += " of the tensors, and computes nothing"
    place = Related(text.span(value), f"`{kind}` is written without `()`")
    return replace(
        finding, message=message, related=(place, *finding.related),
        torch_message=finding.torch_message or finding.message,
    )  # fmt: skip


def suggest_built_class(program: Program, finding: Finding) -> Iterator[Fix]:
    """Suggest `nn.CrossEntropyLoss()` for `nn.CrossEntropyLoss`."""
    unbuilt = _find_unbuilt(program, finding)
    if unbuilt is not None:
        text, _, value = unbuilt
        edit = Edit(text.span(value).end, "()")
        yield Fix("fits", f"`{text.line_of(value)}()`", (edit,))


def _find_unbuilt(
    program: Program, finding: Finding
) -> tuple[SourceText, ast.Call, ast.expr] | None:
    """Return the call of a name that a class of layers or losses was given, and the
    class where it is written.
    """
    text_and_call = program.call_at(finding.span)
    if text_and_call is None or not isinstance(text_and_call[1].func, ast.Name):
        return None
    text, call = text_and_call
    names, seen = [text.written(call.func)], set[str]()
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        for value in find_defining(text, name):
            if isinstance(value, ast.Attribute) and KINDS.search(text.written(value)):
                return text, call, value
            if isinstance(value, ast.Name):
                names.append(value.id)
    return None


def _stack_collated(text: SourceText | None) -> Iterator[Fix]:
    """Yield `torch.stack(images)` for the lists that a collate function returns."""
    if text is None:
        return
    collates = {
        get_dotted_name(word.value)
        for node in text.nodes
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "collate_fn"
    }
    for name, function in text.functions():
        if name not in collates:
            continue
        lists = {
            get_dotted_name(node.targets[0])
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.List | ast.ListComp)
        }
        for node in ast.walk(function):
            value = node.value if isinstance(node, ast.Return) else None
            for part in value.elts if isinstance(value, ast.Tuple) else ():
                if isinstance(part, ast.Name) and part.id in lists:
                    new = f"torch.stack({part.id})"
                    yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))


def _explain_call_without_input(
    text: SourceText, call: ast.Call, kind: str
) -> Explanation | None:
    """Explain `net.module()`, which runs the module instead of reading it."""
    name = get_dotted_name(call.func)
    if call.args or call.keywords or "." not in name:
        return None
    message = (
        f"`{name}()` calls `{name}`, a `{kind}`, without an input: it is no method"
    )
    message += " but the module itself"
    inner, span = text.span(call.func), text.span(call)
    end = Span(
        span.file, inner.end_line, inner.end_column, span.end_line, span.end_column
    )
    return Explanation(message, (), (Fix("fits", f"`{name}`", (Edit(end, ""),)),))


# -- one state of a cell that has two --------------------------------------------------


def _explain_single_state(program: Program, finding: Finding) -> Explanation | None:
    """Explain an LSTM cell that is given its hidden state without its cell state."""
    ops = reversed(program.trace.ops)
    op = next((o for o in ops if o.span == finding.span), None)
    spans = [frame.span for frame in reversed(op.frames)] if op is not None else []
    shape = format_shape(op.inputs[-1]) if op is not None and op.inputs else ""
    for span in dict.fromkeys([finding.span, *spans]):
        text_and_call = program.call_at(span)
        arguments = text_and_call[1].args if text_and_call is not None else []
        if text_and_call is None or len(arguments) != 2:
            continue
        text, call = text_and_call
        state = text.written(arguments[1])
        cell = text.written(call.func)
        message = f"`{cell}` takes the pair (h, c) of hidden and cell state, as an LSTM"
        message += f" has two, but `{state}` is one tensor {shape}".rstrip()
        new = f"({state}, torch.zeros_like({state}))"
        fix = Fix("fits", f"`{new}`", (Edit(text.span(arguments[1]), new),))
        fixes = (*_suggest_both_states(text, call, state), fix)
        place = [Related(span, "the state is handed over here")] if span else []
        return Explanation(message, tuple(place), fixes)
    return None


def _suggest_both_states(text: SourceText, call: ast.Call, state: str) -> Iterator[Fix]:
    """Suggest `h, c = cell(x, (h, c))`, with a cell state beside the first hidden
    one, where a loop carries what the cell returns.
    """
    statement, loop = text.statement_of(call), text.around(call, *LOOPS)
    is_carried = isinstance(statement, ast.Assign) and statement.value is call
    if loop is None or not isinstance(statement, ast.Assign) or not is_carried:
        return
    targets = [text.written(target) for target in statement.targets]
    scope = text.around(call, *FUNCTIONS) or text.tree
    names = collect_names(scope) if scope is not None else set[str]()
    cell = next((name for name in ("c", "cell_state") if name not in names), "")
    if targets != [state] or not cell or not state.isidentifier():
        return
    edits = (
        write_before(text, loop, f"{cell} = torch.zeros_like({state})"),
        Edit(text.span(statement.targets[0]), f"{state}, {cell}"),
        Edit(text.span(call.args[1]), f"({state}, {cell})"),
    )
    inner = text.written(call.args[0])
    new = f"{state}, {cell} = {text.written(call.func)}({inner}, ({state}, {cell}))"
    yield Fix("fits", f"`{join_lines(new)}`", edits)


# -- a field of a tensor ---------------------------------------------------------------


def _explain_name_as_index(
    program: Program, text: SourceText, node: ast.Subscript
) -> Explanation | None:
    """Explain `sample["image"]` where the batch is a tensor of numbers."""
    key = node.slice
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    span = text.span(node)
    op = next((op for op in reversed(program.trace.ops) if op.span == span), None)
    if op is None or not op.inputs:
        return None
    name, shape = text.written(node.value), format_shape(op.inputs[0])
    message = f"`{name}` is a tensor {shape}, which has no field `{key.value}`"
    related: list[Related] = []
    fixes: list[Fix] = []
    if _is_collated_number(program, op):
        message += ": each item of the data set is a number, not a dict"
        for where, statement in _iter_early_returns(program):
            line = where.line_of(statement)
            words = f"`{line}` ends here, above the lines that follow"
            related.append(Related(where.span(statement), words))
            edit = cut_lines(where, statement)
            fixes.append(Fix("fits", f"without `{line}`", (edit,)))
    return Explanation(message, tuple(related), tuple(fixes))


def _is_collated_number(program: Program, op: Op) -> bool:
    """Return whether the operand of a call was collated from numbers."""
    fact = op.inputs[0]
    maker = program.producers.get(fact.tensor)
    if maker is None or len(fact.shape) != 1:
        return False
    return maker.name.rpartition(".")[2] in ("tensor", "stack")


def _iter_early_returns(program: Program) -> Iterator[tuple[SourceText, ast.Return]]:
    """Yield the statements that return a number above lines which never run."""
    for file in program.trace.sources:
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            if text is None or not isinstance(node, ast.FunctionDef):
                continue
            for statement in node.body[:-1]:
                if isinstance(statement, ast.Return) and isinstance(
                    statement.value, ast.Constant
                ):
                    yield text, statement
