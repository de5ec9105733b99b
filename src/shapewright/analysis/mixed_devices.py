"""Tensors of one call on two devices: which one did not move, where it was made and why
it stayed.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, replace

from shapewright.analysis.early_states import EarlyState, find_early_state
from shapewright.analysis.fixes.module_lists import (
    find_function,
    find_holder,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_expressions,
    find_tensor_names,
    get_operation,
)
from shapewright.analysis.unmoved_batches import (
    describe_unmoved_batch,
    find_unmoved_batch,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_line,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

FACTORIES = operators_with("is_factory") | operators_with("is_drawn_by_hand")
FOLLOWED = 40
"""Calls that are followed back to the one that made a tensor."""
MOVES = frozenset({"to", "cuda"})


@dataclass(frozen=True, slots=True)
class Stray:
    """A tensor that is not where the others of its call are.

    `op` is the call that mixes devices; `maker` made the tensor, or the first of those
    that it was computed from; `path` is its path if a module holds it; `wanted` is
    where it should be.
    """

    op: Op
    fact: Fact
    name: str
    wanted: str
    maker: Op | None = None
    path: str = ""


def explain_devices(program: Program, finding: Finding) -> Finding:
    """Extend the finding on a call with tensors on two devices by which tensor did not
    move, and why.
    """
    stray = _find_stray(program, finding.span)
    if stray is None:
        return finding
    why, related = _describe(program, stray)
    here = stray.fact.device
    call = get_operation(program, stray.op)
    message = (
        f"{call} gets {stray.name} on `{here}`, the rest on `{stray.wanted}`: {why}"
    )
    if " indexed by " in finding.message:
        message = f"{stray.name} on `{here}` is indexed by a tensor on `{stray.wanted}`"
        message += f": {why}"
    return replace(finding, message=message, related=(*related, *finding.related))


# -- which tensor ----------------------------------------------------------------------


def _find_stray(program: Program, span: Span | None) -> Stray | None:
    """Find the first tensor that is not where the others of a call are."""
    strays = find_strays(program, span)
    return strays[0] if strays else None


def find_strays(program: Program, span: Span | None) -> list[Stray]:
    """Find the tensors that are not where the others of a call are."""
    for op in program.trace.ops:
        if op.span != span:
            continue
        # One number on the CPU may meet any device, one on a GPU may not.
        wide = [n for n, f in enumerate(op.inputs) if f.shape or f.device != "cpu"]
        if op.name == "[]=":  # its indices may be on the CPU
            wide = [n for n in wide if n in (0, len(op.inputs) - 1)]
        devices = list(dict.fromkeys(op.inputs[n].device for n in wide))
        if len(devices) < 2:
            continue
        gpus = [device for device in devices if device != "cpu"]
        wanted = gpus[0]
        strays: dict[int, Stray] = {}
        for lost in wide:
            fact = op.inputs[lost]
            if fact.device == wanted or fact.tensor in strays:
                continue
            name = find_tensor_names(program, op)[lost]
            path = program.states.get(fact.tensor, "")
            maker = None if path else _find_maker(program, fact)
            if maker is not None and not path:
                path = _find_path(program, maker, fact.device)
            strays[fact.tensor] = Stray(op, fact, name, wanted, maker, path)
        return list(strays.values())
    return []


def _find_maker(program: Program, fact: Fact) -> Op | None:
    """Return the first call behind a tensor that stands in the program's own text."""
    maker = like = None
    for _ in range(FOLLOWED):
        op = program.producers.get(fact.tensor)
        if op is None:
            break
        maker = op
        inputs = [operand for operand in op.inputs if operand.device == fact.device]
        name = op.name.rpartition(".")[2]
        if not inputs or len(inputs) != len(op.inputs):
            break
        if name in FACTORIES and not _has_device_of_input(op):
            break
        if name in FACTORIES and like is None:
            like = op
        wide = [operand for operand in inputs if operand.tensor not in program.states]
        fact = wide[0] if wide else inputs[0]
        if fact.tensor in program.states:
            break
    is_factory = maker is not None and maker.name.rpartition(".")[2] in FACTORIES
    return maker if is_factory or like is None else like


def _has_device_of_input(op: Op) -> bool:
    """Return whether a factory makes a tensor where its input is, as `zeros_like`."""
    device = dict(op.arguments).get("device")
    return op.name.endswith("_like") and device is None


def _find_path(program: Program, maker: Op, device: str) -> str:
    """Return the path of the state from which a tensor was made, if it was one."""
    for fact in maker.inputs:
        if fact.device == device and fact.tensor in program.states:
            return program.states[fact.tensor]
    return ""


# -- why -------------------------------------------------------------------------------


def _describe(program: Program, stray: Stray) -> tuple[str, list[Related]]:
    """Return why a tensor did not move, with the places that show it."""
    maker = stray.maker
    early = find_early_state(program, maker) if maker is not None else None
    if early is not None:
        return _describe_early_state(maker, early)
    if stray.path:
        return _describe_module(program, stray)
    legacy = find_legacy_call(program, stray) if maker is None else None
    if legacy is not None:
        text, call = legacy
        written = text.written(call.func)
        why = f"`{written}` at line {call.lineno} makes it on the CPU"
        return why, [Related(text.span(call), f"it is made by `{written}`")]
    batch = find_unmoved_batch(program, stray.fact)
    if batch is not None and stray.fact.device == "cpu":
        return describe_unmoved_batch(batch)
    if maker is None or maker.span is None:
        return "it was never moved", []
    creation = Related(maker.span, f"it is made by `{maker.name}`")
    attribute = find_kept_attribute(program, stray)
    if attribute is not None:
        name = f"self.{attribute[2]}"
        why = f"`{name}` is no parameter or buffer, so `.to()` does not move it"
        text, node, _ = attribute
        return why, [Related(text.span(node), f"`{name}` is set here")]
    dropped = find_dropped_move(program, stray)
    if dropped is not None:
        text, call = dropped
        written = join_lines(text.written(call))
        why = f"`{written}` returns the moved tensor, and nothing keeps it"
        return why, [Related(text.span(call), "the result is not assigned"), creation]
    if maker.name.rpartition(".")[2] in FACTORIES:
        why = f"`{maker.name}` at line {maker.span.line} makes it without `device`"
        return why, [creation]
    return f"it comes from line {maker.span.line} and was never moved", [creation]


LEGACY = re.compile(r"[A-Za-z0-9]*Tensor")
"""Types that are called, `torch.FloatTensor`: no call of torch is recorded for them."""


def find_legacy_call(
    program: Program, stray: Stray
) -> tuple[SourceText, ast.Call] | None:
    """Return the call of a type of tensors, in the operand or for the name that stands
    there, or None.
    """
    node = program.node(stray.op.span)
    places = find_tensor_expressions(program, stray.op)
    place = places[stray.op.inputs.index(stray.fact)]
    if node is None or place is None:
        return None
    text, value = node[0], place[0]
    scope = text.around(node[1], *FUNCTIONS) or text.tree
    for target, assigned in iter_assignments(scope, before=value.lineno):
        if isinstance(value, ast.Name) and get_dotted_name(target) == value.id:
            value = assigned
    if isinstance(value, ast.Call) and LEGACY.fullmatch(get_called_name(value)):
        return text, value
    return None


def _describe_early_state(
    maker: Op | None, state: EarlyState
) -> tuple[str, list[Related]]:
    """Return that a state was made of parameters before these were moved."""
    text, name = state.text, get_called_name(state.call)
    why = f"`{name}` makes it of the parameters of `{state.model}`, which is moved to a"
    why += f" device later, at line {state.moving.lineno}"
    places = [
        Related(text.span(state.call), f"`{name}` is called here"),
        Related(text.span(state.moving), f"`{state.model}` is moved here"),
    ]
    if maker is not None and maker.span is not None:
        places.insert(0, Related(maker.span, f"it is made by `{maker.name}`"))
    return why, places


def _describe_module(program: Program, stray: Stray) -> tuple[str, list[Related]]:
    """Return why a parameter or buffer did not move."""
    replaced = find_replacement(program, stray)
    if replaced is not None:
        text, statement, move = replaced
        name = join_lines(text.written(statement.targets[0]))
        why = f"`{name}` is replaced at line {statement.lineno}"
        places = [Related(text.span(statement), f"`{name}` is replaced here")]
        if move is not None:
            why += f", after the model was moved at line {move.lineno}"
            places.append(Related(text.span(move), "the model is moved here"))
        return why, places
    root = stray.path.partition(".")[0]
    built = program.built.get(root)
    if built is None:
        return f"`{stray.path}` was never moved", []
    holder = find_holder(program, built.span)
    place = Related(built.span, f"`{built.class_name}` is built here")
    if holder is not None:
        node = holder[1]
        what = "dict" if isinstance(node, ast.Dict | ast.DictComp) else "list"
        why = f"its `{built.class_name}` is in a Python {what}, which `.to()` and"
        why += " `.cuda()` of the model do not move"
        return why, [place]
    function = _get_function(program, built.span)
    if function is not None and function.name == "forward":
        return f"its `{built.class_name}` is built in `forward`", [place]
    moved = _find_own_move(program, built.span)
    if moved is not None:
        why = f"its `{built.class_name}` was moved to `{moved}`, which is another"
        why += " device"
        return why, [place]
    why = f"its `{built.class_name}`, built at line {built.span.line}, was never moved"
    return why, [place]


def _find_own_move(program: Program, span: Span) -> str | None:
    """Return `device` of `Net(...).to(device)`, for the call at a span."""
    where = program.call_at(span)
    outer: ast.AST | None = where[1] if where is not None else None
    while where is not None and isinstance(outer, ast.expr):
        is_move = isinstance(outer, ast.Call) and get_called_name(outer) == "to"
        if is_move and outer is not where[1] and outer.args:  # type: ignore[attr-defined]
            return join_lines(where[0].written(outer.args[0]))  # type: ignore[attr-defined]
        outer = where[0].parent(outer)
    return None


def find_replacement(
    program: Program, stray: Stray
) -> tuple[SourceText, ast.Assign, ast.Call | None] | None:
    """Return the statement `model.fc = nn.Linear(...)` that replaced a layer from
    outside of its model, with the call before it that moved the model.
    """
    path = stray.path.split(".")[1:]
    for file in dict.fromkeys(frame.span.file for frame in stray.op.frames):
        text = program.text(file)
        for node in text.nodes if text is not None else ():
            if not isinstance(node, ast.Assign) or text is None:
                continue
            model, *parts = _split_target(node.targets[0])
            is_call = isinstance(node.value, ast.Call)
            if parts and is_call and model != "self" and parts == path[: len(parts)]:
                return text, node, _find_earlier_move(text, node, model)
    return None


def _split_target(node: ast.expr) -> list[str]:
    """Return `["model", "classifier", "1"]` for `model.classifier[1]`."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        start = _split_target(node.value)
        return [*start, node.attr] if start != [""] else start
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        start = _split_target(node.value)
        return [*start, str(node.slice.value)] if start != [""] else start
    return [""]


def _find_earlier_move(
    text: SourceText, statement: ast.Assign, model: str
) -> ast.Call | None:
    """Return the last call before a statement that moved a model to a device."""
    moves = []
    for node in text.nodes:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        owner = text.statement_of(node)
        names = {get_dotted_name(node.func.value)}
        if isinstance(owner, ast.Assign):
            names |= {get_dotted_name(target) for target in owner.targets}
        is_earlier = node.lineno < statement.lineno
        if node.func.attr in MOVES and model in names and is_earlier:
            moves.append(node)
    return max(moves, key=lambda node: node.lineno, default=None)


def _get_function(
    program: Program, span: Span
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function around a span."""
    text_and_node = program.node(span)
    return find_function(*text_and_node) if text_and_node is not None else None


def find_kept_attribute(
    program: Program, stray: Stray
) -> tuple[SourceText, ast.stmt, str] | None:
    """Return the statement `self.pe = ...` that keeps a tensor as a plain attribute."""
    text_and_node = program.node(stray.op.span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    assert stray.maker is not None
    functions = [frame.function.rpartition(".")[2] for frame in stray.maker.frames]
    owner = text.around(node, ast.ClassDef)
    if owner is None or "forward" in functions or "__call__" in functions:
        return None
    names = {
        get_own_attribute(attribute_node)
        for attribute_node in ast.walk(text.statement_of(node))
    }
    for name in sorted(filter(None, names)):
        statements = [
            assignment
            for assignment in ast.walk(owner)
            if isinstance(assignment, ast.Assign)
            and get_own_attribute(assignment.targets[0]) == name
        ]
        lines = {frame.span.line for frame in stray.maker.frames}
        making = [line for line in statements if _has_line(line, lines)]
        if making:
            return text, making[-1], name
        if statements and name in stray.name and not _is_arithmetic(stray.name):
            return text, statements[-1], name
    return None


def _is_arithmetic(name: str) -> bool:
    """Return whether a tensor is written as a product, a sum or the like: any of its
    operands may be the one that did not move.
    """
    with suppress(SyntaxError):
        return isinstance(ast.parse(name.strip("`"), mode="eval").body, ast.BinOp)
    return False


def _has_line(node: ast.stmt, lines: set[int]) -> bool:
    """Return whether a statement stands on one of these lines."""
    return any(node.lineno <= line <= get_last_line(node) for line in lines)


def find_dropped_move(
    program: Program, stray: Stray
) -> tuple[SourceText, ast.Call] | None:
    """Return the statement `x.to(device)` whose result nobody keeps."""
    text_and_node = program.node(stray.op.span)
    lines = [frame.span for frame in stray.op.frames]
    for span in lines if text_and_node is not None else ():
        text = program.text(span.file)
        for node in text.nodes if text is not None else ():
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                name = get_dotted_name(call.func.value)
                moves = call.func.attr in MOVES and name in _find_words(program, stray)
                if moves and name and text is not None and not _is_called(text, name):
                    return text, call
    return None


def _is_called(text: SourceText, name: str) -> bool:
    """Return whether a name is called or asked for parameters, as a module is: `.to()`
    moves it in place.
    """
    return any(
        get_dotted_name(node.func) in (name, f"{name}.parameters")
        for node in text.nodes
        if isinstance(node, ast.Call)
    )


def _find_words(program: Program, stray: Stray) -> set[str]:
    """Return the names by which a tensor is passed from function to function."""
    words = set()
    for frame in stray.op.frames:
        text_and_node = program.node(frame.span)
        if text_and_node is not None:
            words |= {
                get_dotted_name(node)
                for node in ast.walk(text_and_node[1])
                if isinstance(node, ast.Name | ast.Attribute)
            }
    return words
