"""Find the program's own expressions for the operands of a call."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from shapewright.analysis.program_run import Program
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import get_called_name
from shapewright.record.ops import ModuleCall, Op, collect_leaves

LONGEST = 40
"""Characters of an expression that a message quotes."""


def get_operation(program: Program, op: Op) -> str:
    """Return the path of a call's layer, or the name of its function."""
    layer = program.layer(op)
    if layer is not None:
        return f"`{layer.path}`"
    return f"`{op.name}`"


def name_layer_before(program: Program, op: Op, message: str) -> str:
    """Name the layer of a `Sequential` whose output the next one cannot read."""
    layer = program.layer(op)
    maker = program.producers.get(op.inputs[0].tensor) if op.inputs else None
    before = program.layer(maker) if maker is not None else None
    if layer is None or before is None or before.parent != layer.parent:
        return message
    owner = program.trace.calls[layer.parent] if layer.parent is not None else None
    if owner is None or owner.class_name != "Sequential":
        return message
    return message.replace(
        "but the input is", f"but the output of `{before.path}`, which it is given, is"
    )


def find_tensor_names(program: Program, op: Op) -> list[str]:
    """Return a name for every input of an op; paths and code are in backquotes."""
    exprs = find_tensor_expressions(program, op)
    given_inputs = (
        n for n, operand in enumerate(op.inputs) if operand.tensor not in program.states
    )
    first, names = next(given_inputs, 0), []
    for at, fact in enumerate(op.inputs):
        node = exprs[at] if at < len(exprs) else None
        path = program.states.get(fact.tensor)
        if path is not None:
            names.append(f"`{path}`")
        elif node is not None and node[1]:
            names.append(f"`{node[1]}`")
        else:
            names.append("the input" if at == first else "a tensor")
    return names


def find_tensor_expressions(
    program: Program, op: Op
) -> list[tuple[ast.expr, str] | None]:
    """Return the program's expression for every input of an op, with its text."""
    none: list[tuple[ast.expr, str] | None] = [None] * len(op.inputs)
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return none
    text, node = text_and_node
    layer = program.layer(op)
    if layer is not None:
        return _find_layer_expressions(
            text, node, _find_written_call(program, layer), op
        )
    if isinstance(node, ast.Call) and not _is_call_of(node, op):
        return none
    around = text.parent(node)
    written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    operands = _collect_operands(
        around if written and isinstance(around, ast.Assign) else node
    )
    if len(op.inputs) == 1 and isinstance(node, ast.BinOp) and _is_number(node.left):
        operands = operands[::-1]  # `1 - mask`
    result = list(none)
    for at, place in enumerate(_get_tensor_places(op, len(operands))[: len(op.inputs)]):
        expr = _get_expression_at(operands, place)
        if expr is not None:
            result[at] = (expr, _quote_expression(text, expr))
    return result


def _is_call_of(node: ast.Call, op: Op) -> bool:
    """Return whether a call in the text is the call of the op, and not of a function
    around it.
    """
    name = get_called_name(node)
    own = (op.name.rpartition(".")[2], op.function.rpartition(".")[2])
    return name in own or f"_{name}" in own  # as that of packed sequences is


def _find_written_call(program: Program, layer: ModuleCall) -> ModuleCall:
    """Return the module call that the text shows: for a layer in a container, that of
    the container.
    """
    while layer.parent is not None:
        around = program.trace.calls[layer.parent]
        if around.span != layer.span:
            break
        layer = around
    return layer


def _find_layer_expressions(
    text: SourceText, node: ast.AST, layer: ModuleCall, op: Op
) -> list[tuple[ast.expr, str] | None]:
    """Return expressions for the op's inputs that were inputs of the layer too."""
    result: list[tuple[ast.expr, str] | None] = [None] * len(op.inputs)
    if not isinstance(node, ast.Call):
        return result
    args, kwargs = layer.inputs
    by_tensor: dict[int, ast.expr] = {}
    for value, expr in zip(args, node.args, strict=False):
        for fact in collect_leaves(value):
            by_tensor.setdefault(fact.tensor, expr)
    named = {word.arg: word.value for word in node.keywords}
    for name, value in kwargs.items():
        for fact in collect_leaves(value):
            if name in named:
                by_tensor.setdefault(fact.tensor, named[name])
    for at, fact in enumerate(op.inputs):
        expression = by_tensor.get(fact.tensor)
        if expression is not None:
            result[at] = (expression, _quote_expression(text, expression))
    return result


def is_einops_einsum(node: ast.Call) -> bool:
    """Return whether a call is einops's `einsum`, whose pattern comes last."""
    if get_called_name(node) != "einsum" or len(node.args) < 2:
        return False
    first, last = node.args[0], node.args[-1]
    return not isinstance(first, ast.Constant) and (
        isinstance(last, ast.Constant) and isinstance(last.value, str)
    )


def _collect_operands(node: ast.AST) -> list[ast.expr | tuple[str, ast.expr]]:
    """Return the operands of a call in order; keyword arguments have their names."""
    if isinstance(node, ast.Call):
        first = get_receiver(node)
        own: list[ast.expr] = []
        if first is not None and not is_namespace(first):
            own = [first]
        named = [(word.arg, word.value) for word in node.keywords if word.arg]
        if is_einops_einsum(node):
            return [node.args[-1], *node.args[:-1]]
        return [*own, *node.args, *named]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Subscript):
        return [node.value, node.slice]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            whole = [target.value, target.slice, node.value]
            return list(whole)
    return []


def _is_number(node: ast.expr) -> bool:
    """Return whether a node is a literal number: `1`, `-0.5`."""
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return isinstance(inner, ast.Constant)


NAMESPACES = frozenset({"torch", "F", "nn", "functional", "einops", "np", "linalg"})


def is_namespace(node: ast.expr) -> bool:
    """Return whether `node` in `node.matmul(a, b)` is a module of functions."""
    if isinstance(node, ast.Attribute):
        return node.attr in NAMESPACES or is_namespace(node.value)
    return isinstance(node, ast.Name) and node.id in NAMESPACES


def _get_tensor_places(op: Op, count: int) -> Sequence[str]:
    """Return the position of every tensor in the call of an op: "0", "1.2",
    "weight".
    """
    if op.places:
        return op.places
    plain = {name for name, _ in op.arguments}
    return [str(at) for at in range(count) if str(at) not in plain]


def _get_expression_at(
    operands: list[ast.expr | tuple[str, ast.expr]], place: str
) -> ast.expr | None:
    """Return the expression at a position of a call, or None if it is not known."""
    name, *path = place.split(".")
    expr: ast.expr | None = None
    for at, operand in enumerate(operands):
        if isinstance(operand, ast.Starred):
            return None  # how many there are is not known
        if isinstance(operand, tuple) and name in (operand[0], str(at)):
            expr = operand[1]
        elif not isinstance(operand, tuple) and name == str(at):
            expr = operand
    for step in path:
        items = expr.elts if isinstance(expr, ast.List | ast.Tuple) else []
        if not step.isdecimal() or int(step) >= len(items):
            return None
        expr = items[int(step)]
    return expr


def _quote_expression(text: SourceText, node: ast.expr) -> str:
    """Return the text of an expression, or an empty string if it is too long to
    quote.
    """
    written = join_lines(text.written(node))
    return written if len(written) <= LONGEST else ""


def find_words(program: Program, failure: Failure) -> dict[str, str]:
    """Return the value for each `{name}` in the message of an unmet need."""
    op = program.trace.ops[failure.op]
    names = find_tensor_names(program, op)
    words = dict(zip(failure.arguments, names, strict=False))
    keywords = _collect_keywords(program, op)
    for name, word in words.items():
        if word.startswith("a ") and (name in keywords or "_" in name):
            words[name] = keywords.get(name, f"`{name}`")
    flat = {name.replace(".", "_"): word for name, word in words.items()}
    return {**flat, "op": get_operation(program, op)}


def _collect_keywords(program: Program, op: Op) -> dict[str, str]:
    """Return the keyword arguments in the text of a call; a layer may pass on copies of
    them.
    """
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return {}
    text, node = text_and_node
    keywords = node.keywords if isinstance(node, ast.Call) else []
    words = {
        word.arg: _quote_expression(text, word.value) for word in keywords if word.arg
    }
    return {name: f"`{written}`" for name, written in words.items() if written}
