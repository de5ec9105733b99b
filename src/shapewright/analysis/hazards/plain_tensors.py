"""Find weights that are plain tensors: `parameters()` does not have them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.hazards.constant_tokens import find_constant_tokens
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.moved_parameters import find_moved_parameters
from shapewright.analysis.hazards.unsaved_tensors import find_unsaved_tensors
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import NOT_A_PARAMETER, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_own_attribute,
    is_optimizer,
    iter_assignments,
)
from shapewright.record.ops import Fact

PRODUCTS = operators_with("is_product") | {"@"}
CONVOLUTIONS = operators_with("is_convolution")
DRAWN = operators_with("is_random", "leaves_values_unset") | {
    "Tensor", "FloatTensor", "Variable",
}  # fmt: skip
FACTORIES = operators_with("is_factory")
FIXED = ("noise", "fixed", "random", "fourier", "freq", "anchor", "code", "hash")
"""Words in the names of tensors that are random and not meant to be trained."""
WAVES = operators_with("makes_random_features")
"""What follows a fixed random projection: Fourier features, hashing."""


@looks_for(NOT_A_PARAMETER)
def find_plain_weights(scene: HazardContext) -> Iterator[Finding]:
    """Find tensors of random numbers, attributes of a module and no parameters, that
    the data is multiplied by.
    """
    seen: set[Span] = set()
    computed_tensors = _find_computed(scene)
    for call in scene.calls:
        for place, fact in enumerate(call.op.inputs):
            if (
                not fact.dtype.startswith("float")
                or fact.tensor in scene.program.states
            ):
                continue
            asks = fact.requires_grad and fact.is_leaf
            computed = not asks and fact.tensor in computed_tensors
            is_kernel = call.name in CONVOLUTIONS and place == 1
            is_factor = (call.name in PRODUCTS or is_kernel) and bool(fact.shape)
            if not asks and not computed and not is_factor:
                continue
            if not asks and _is_fixed_projection(scene, call):
                continue
            attribute = _find_attribute(scene, call, place, fact)
            if attribute is None:
                continue
            text, value, name = attribute
            if _is_in_data_set(text, value) or _is_differentiated(text, value, name):
                continue
            span = text.span(text.statement_of(value))
            kind = _find_plain_class(text, value) if asks else None
            if not asks and _has_no_base(text, value):
                continue  # of a class that is no module, such as an environment
            if kind is None and get_called_name(value) == "Parameter":
                continue  # of a module whose `forward` was not called
            if span in seen or (
                kind is None and _is_given_elsewhere(text, value, name)
            ):
                continue
            seen.add(span)
            finding = _report(scene, call, span, name, kind)
            if kind is not None:
                header = Related(
                    _get_header(text, value), f"`{kind}` has no base class"
                )
                finding = replace(finding, related=(header, *finding.related))
            yield finding
    yield from _find_held_parameters(scene)
    others = (*find_moved_parameters(scene), *find_unsaved_tensors(scene))
    for finding in (*others, *find_constant_tokens(scene.program)):
        if finding.span not in seen:
            yield finding


def _find_computed(scene: HazardContext) -> set[int]:
    """Return what `self.x = nn.Parameter(...) * 0.1` and the like make in `__init__`:
    a tensor that is computed of a parameter which nothing else has.
    """
    computed = set[int]()
    if not any(COMPUTED.search(text.text) for text in scene.program.own_texts()):
        return computed
    for call in scene.calls:
        if len(call.op.frames) and call.op.frames[-1].function.endswith("__init__"):
            for fact in call.op.outputs:
                if fact.tensor not in scene.program.states:
                    computed.add(fact.tensor)
    return computed


COMPUTED = re.compile(r"self\.\w+ *= *\S.*\bParameter\(")
"""An attribute that is made of a parameter, or that is one."""


def _find_held_parameters(scene: HazardContext) -> Iterator[Finding]:
    """Find parameters in a dict or list of a module, which does not register them."""
    seen: set[tuple[str, int]] = set()
    places: set[Span] = set()
    for call in scene.calls:
        span = call.op.span
        if (
            span is None
            or span in places
            or not any(
                fact.requires_grad
                and fact.is_leaf
                and fact.tensor not in scene.program.states
                for fact in call.op.inputs
            )
        ):
            continue
        places.add(span)
        text_and_node = scene.program.node(span)
        if text_and_node is None:
            continue
        text, node = text_and_node
        kind = text.around(node, ast.ClassDef)
        if kind is None or not kind.bases or (text.file, kind.lineno) in seen:
            continue
        seen.add((text.file, kind.lineno))
        for held, name in _iter_holders(text, kind):
            if _is_handed_on(text, kind, name):
                continue
            what = "list" if isinstance(held.value, ast.List | ast.ListComp) else "dict"
            message = (
                f"`{name}` is a plain {what}: the parameters in it are none of their"
                " module, so no optimizer gets them"
            )
            related = (call.op, "one of them is read here")
            finding = scene.finding(NOT_A_PARAMETER, call.op, message, related)
            yield replace(finding, span=text.span(held))


def _iter_holders(
    text: SourceText, kind: ast.ClassDef
) -> Iterator[tuple[ast.Assign, str]]:
    """Yield the statements that set a dict or list of a class, with its name, if the
    class puts parameters into it.
    """
    assignments = [
        node
        for node in ast.walk(kind)
        if isinstance(node, ast.Assign)
        and get_own_attribute(node.targets[0])
        and (isinstance(node.value, HOLDERS) or get_called_name(node.value) == "dict")
    ]
    for statement in assignments:
        name = text.written(statement.targets[0])
        for node in ast.walk(kind):
            if not isinstance(node, ast.Call) or not _is_trained(node):
                continue
            outer = text.statement_of(node)
            target = outer.targets[0] if isinstance(outer, ast.Assign) else None
            is_item = (
                isinstance(target, ast.Subscript) and text.written(target.value) == name
            )
            added = isinstance(outer, ast.Expr) and text.written(outer).startswith(
                f"{name}.append("
            )
            if outer is statement or is_item or added:
                yield statement, name
                break


def _is_trained(node: ast.Call) -> bool:
    """Return whether an expression makes a parameter, or a tensor with a gradient."""
    if get_called_name(node) in ("Parameter", "requires_grad_"):
        return True
    return any(
        word.arg == "requires_grad"
        and isinstance(word.value, ast.Constant)
        and word.value.value is True
        for word in node.keywords
    )


def _is_handed_on(text: SourceText, kind: ast.ClassDef, name: str) -> bool:
    """Return whether a class gives what a dict or list holds to a container of torch,
    registers it, or hands out its parameters itself; or another class reads it.
    """
    attribute = name.rpartition(".")[2]
    inside = list(ast.walk(kind))
    own = {node.name for node in inside if isinstance(node, ast.FunctionDef)}
    if own & {"parameters", "named_parameters"}:
        return True
    for node in text.nodes:
        if not isinstance(node, ast.Attribute) or node.attr != attribute:
            continue
        if node not in inside:
            return True
        called = {
            get_called_name(around)
            for around in text.outwards(node)
            if isinstance(around, ast.Call)
        }
        if called & REGISTERING:
            return True
    return any(get_called_name(node) in REGISTERING - HANDED for node in inside)


HANDED = frozenset({"ParameterDict", "ParameterList"})
REGISTERING = HANDED | {"register_parameter", "setattr", "__setattr__"}
"""What makes the parameters in a dict or list parameters of the module."""
HOLDERS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp)
"""Values that hold others and register none."""


def _is_in_data_set(text: SourceText, value: ast.expr) -> bool:
    """Return whether the class around a value is a data set: it has items."""
    kind = text.around(value, ast.ClassDef)
    methods = kind.body if kind is not None else []
    return any(
        isinstance(node, ast.FunctionDef) and node.name in ("__getitem__", "__iter__")
        for node in methods
    )


def _is_differentiated(text: SourceText, value: ast.expr, name: str) -> bool:
    """Return whether the class around a value takes derivatives by an attribute, as by
    the points of a differential equation.
    """
    kind = text.around(value, ast.ClassDef)
    for node in ast.walk(kind) if kind is not None else ():
        if isinstance(node, ast.Call) and get_called_name(node) == "grad":
            inputs = node.args[1:2] + [w.value for w in node.keywords]
            if any(get_dotted_name(n) == name for i in inputs for n in ast.walk(i)):
                return True
    return False


def _find_plain_class(text: SourceText, value: ast.expr) -> str | None:
    """Return the name of the class around a value if it is no module and hands its
    parameters to nobody, else None.
    """
    kind = text.around(value, ast.ClassDef)
    if kind is None or kind.bases:
        return None
    methods = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
    if methods & {"parameters", "state_dict"} or _is_optimized(text, kind):
        return None
    return kind.name


OPTIMIZED = re.compile(r"param|optim|\b(SGD|Adam\w*|RMSprop|LBFGS)\b")
"""How a statement is written that gives tensors to an optimizer."""


def _is_optimized(text: SourceText, kind: ast.ClassDef) -> bool:
    """Return whether the program gives an attribute of a class to an optimizer, also
    outside of it: `Adam([*net.parameters(), loss.log_var])`.
    """
    names = {get_own_attribute(node) for node in ast.walk(kind)} - {""}
    inside = set(ast.walk(kind))
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in names
        and isinstance(node.ctx, ast.Load)
        and any(
            is_optimizer(outer)
            if node in inside and isinstance(outer, ast.Call)
            else node not in inside and OPTIMIZED.search(text.written(outer))
            for outer in text.outwards(node)
            if isinstance(outer, ast.Call | ast.Assign | ast.Dict)
        )
        for node in text.nodes
    )


def _has_no_base(text: SourceText, value: ast.expr) -> bool:
    """Return whether the class around a value has no base class."""
    kind = text.around(value, ast.ClassDef)
    return kind is not None and not kind.bases


def _get_header(text: SourceText, value: ast.expr) -> Span:
    """Return the span of the first line of the class around a value."""
    kind = text.around(value, ast.ClassDef)
    assert kind is not None
    end = len(text.lines[kind.lineno - 1]) + 1
    return Span(text.file, kind.lineno, kind.col_offset + 1, kind.lineno, end)


def _report(
    scene: HazardContext, call: OperatorCall, span: Span, name: str, kind: str | None
) -> Finding:
    message = (
        f"`{name}` is a plain tensor: it is no parameter of its module, so no optimizer"
        " gets it and it keeps its random numbers"
    )
    if kind is not None:
        message = (
            f"`{kind}` is no `nn.Module`: its parameter `{name}` is in no"
            " `parameters()`, and no optimizer has it"
        )
    finding = scene.finding(
        NOT_A_PARAMETER,
        call.op,
        message,
        (call.op, "the data is multiplied by it here"),
    )
    return replace(finding, span=span)


def _is_fixed_projection(scene: HazardContext, call: OperatorCall) -> bool:
    """Return whether waves or signs are taken of a product, as of random features."""
    waiting, seen = {fact.tensor for fact in call.op.outputs}, set[int]()
    for _ in range(4):
        seen |= waiting
        users = [user for tensor in waiting for user in scene.users.get(tensor, ())]
        if any(user.name in WAVES for user in users):
            return True
        waiting = {fact.tensor for user in users for fact in user.op.outputs} - seen
    return False


def _find_attribute(
    scene: HazardContext, call: OperatorCall, place: int, fact: Fact
) -> tuple[SourceText, ast.expr, str] | None:
    """Return where `__init__` sets an attribute that is multiplied, and its name."""
    words = scene.words(call.op)
    name = words[place].strip("`") if place < len(words) else ""
    text = scene.program.text(call.op.span.file) if call.op.span is not None else None
    if text is None or not name.startswith("self.") or name.count(".") != 1:
        return None
    if any(word in name.lower() for word in FIXED):
        return None
    text_and_node = scene.program.node(call.op.span)
    kind = (
        text.around(text_and_node[1], ast.ClassDef)
        if text_and_node is not None
        else None
    )
    is_sure = not _is_maybe_number(call, text_and_node[1] if text_and_node else None)
    for where, function in text.functions("__init__"):
        if kind is None or text.around(function, ast.ClassDef) is not kind:
            continue
        del where
        for target, value in iter_assignments(function):
            if get_dotted_name(target) != name:
                continue
            if not is_sure and not _is_tensor_maker(value):
                continue
            if _is_drawn(value, fact) or _is_drawn_by_function(text, value, fact):
                return text, value, name
    return None


def _is_maybe_number(call: OperatorCall, node: ast.AST | None) -> bool:
    """Return whether it is not known which operand is the one tensor of a call:
    `self.scale * self.weight` is the call of `weight`.
    """
    operands = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    is_written = any(isinstance(operand, ast.Constant) for operand in operands)
    return len(call.op.inputs) == 1 and bool(operands) and not is_written


def _is_tensor_maker(value: ast.expr) -> bool:
    """Return whether an expression calls what makes a tensor."""
    called = {get_called_name(node) for node in ast.walk(value)}
    return bool(called & (DRAWN | FACTORIES | {"Parameter", "tensor"}))


def _is_drawn_by_function(text: SourceText, value: ast.expr, fact: Fact) -> bool:
    """Return whether a function of the file draws a tensor and initializes it."""
    functions = text.functions(get_called_name(value))
    calls = [
        node
        for _, function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
    ]
    names = {get_called_name(call) for call in calls}
    is_initialized = any(
        name.endswith("_") and name.startswith(("kaiming", "xavier", "orthogonal"))
        for name in names
    )
    return is_initialized and not names & {"Parameter", "register_buffer"}


def _is_drawn(value: ast.expr, fact: Fact) -> bool:
    """Return whether a tensor is made of random numbers, or asks for a gradient."""
    called = {get_called_name(node) for node in ast.walk(value)}
    if "Parameter" in called:
        is_computed = get_called_name(value) != "Parameter" and not fact.is_leaf
        detached = "detach" in called or "data" in {
            node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)
        }
        return is_computed or detached or (fact.requires_grad and fact.is_leaf)
    if "register_buffer" in called:
        return False
    return bool(called & DRAWN) or (fact.requires_grad and fact.is_leaf)


def _is_given_elsewhere(text: SourceText, value: ast.expr, name: str) -> bool:
    """Return whether an attribute is used outside its class, as by an optimizer, or
    registered in it.
    """
    attribute = name.rpartition(".")[2]
    kind = text.around(value, ast.ClassDef)
    for node in text.nodes:
        if isinstance(node, ast.Constant) and node.value == attribute:
            return True
        if (
            isinstance(node, ast.Attribute)
            and node.attr == attribute
            and (text.around(node, ast.ClassDef) is not kind or _is_kept(text, node))
        ):
            return True
    return False


def _is_kept(text: SourceText, node: ast.Attribute) -> bool:
    """Return whether an attribute is put into a list or given to an optimizer."""
    return any(
        isinstance(around, ast.Call)
        and get_called_name(around) in ("Parameter", "append", "Adam", "SGD", "AdamW")
        for around in text.outwards(node)
    )
