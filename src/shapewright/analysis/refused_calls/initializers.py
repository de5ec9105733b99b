"""Initializers that refuse a parameter or the name of an activation: a bias has no fan
in, `calculate_gain` knows no GELU.
"""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.statements import wrap_in_condition
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    is_made_of,
)

ONE_DIM = re.compile(
    r"Fan in and fan out can not be computed for tensor with fewer than 2 dim"
    r"|Only tensors with 2 (?:or more )?dimensions are supported"
)
NO_GAIN = re.compile(r"Unsupported nonlinearity ['\"]?([\w.]+)")
KNOWN = re.compile(r"(relu|tanh|sigmoid|selu|linear|leaky_relu)$")
NEAR = (
    (re.compile(r"leaky|lrelu|prelu"), "leaky_relu"),
    (re.compile(r"[gsrc]?elu\d?$|silu|swish|mish|softplus"), "relu"),
    (re.compile(r"none|identity|softmax"), "linear"),
)
"""The nearest name that `calculate_gain` knows, by the names that people write."""


def find_refused_initializer(program: Program, finding: Finding) -> Explanation | None:
    """Return why an initializer refused its tensor or its activation, or None."""
    no_gain, one_dim = NO_GAIN.search(finding.words), ONE_DIM.search(finding.words)
    if no_gain is None and one_dim is None:
        return None
    for text, call in program.iter_calls(finding):
        if no_gain is not None:
            return _explain_gain(text, call, no_gain[1])
        if call.args and get_called_name(call).endswith("_"):
            return _explain_vector(text, call)
    return None


# -- parameters with one dim -----------------------------------------------------------


def _explain_vector(text: SourceText, call: ast.Call) -> Explanation:
    """Explain an initializer of matrices that meets a bias or the weight of a norm."""
    tensor = call.args[0]
    while isinstance(tensor, ast.Attribute) and tensor.attr == "data":
        tensor = tensor.value
    name, used = get_dotted_name(tensor), get_called_name(call)
    message = (
        f"`{used}` is for weights with two dims or more, which have a fan in and a fan"
        f" out: `{name or text.written(tensor)}` has one, as biases and the weights of"
        " norms do"
    )
    statement = text.statement_of(call)
    fixes: tuple[Fix, ...] = ()
    if name.endswith(".bias"):
        func = text.written(call.func)
        new = f"{func[: len(func) - len(used)]}zeros_"
        edits = (Edit(text.span(call), f"{new}({text.written(call.args[0])})"),)
        fixes = (Fix("fits", f"`{new}({text.written(call.args[0])})`", edits),)
    elif not isinstance(statement, ast.Expr) or statement.value is not call:
        fixes = ()
    elif _is_of_many(text, call, tensor):
        fixes = (_suggest_condition(text, statement, f"{name}.dim() > 1"),)
    return Explanation(message, (), fixes)


def _is_of_many(text: SourceText, call: ast.Call, tensor: ast.expr) -> bool:
    """Return whether a tensor is one of many: of a loop over parameters, or of a module
    that `apply` or a loop over modules hands over.
    """
    root = tensor
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name) or root.id == "self":
        return False
    for around in text.outwards(call):
        if isinstance(around, ast.For):
            names = [n.id for n in ast.walk(around.target) if isinstance(n, ast.Name)]
            if root.id in names:
                return True
        if isinstance(around, ast.FunctionDef):
            return root.id in [argument.arg for argument in around.args.args]
    return False


def _suggest_condition(text: SourceText, statement: ast.Expr, condition: str) -> Fix:
    """Return the fix that initializes only what has more dims: in the test above it, or
    below one of its own.
    """
    around = text.parent(statement)
    last: ast.AST | None = around
    while isinstance(last, ast.If) and len(last.orelse) == 1:
        if not isinstance(last.orelse[0], ast.If):
            break
        last = last.orelse[0]
    alone = isinstance(around, ast.If) and around.body == [statement]
    if not isinstance(around, ast.If) or not alone or getattr(last, "orelse", []):
        edit = wrap_in_condition(text, statement, condition)
        return Fix("fits", f"`if {condition}:`", (edit,))
    test = text.written(around.test)
    if isinstance(around.test, ast.BoolOp) and isinstance(around.test.op, ast.Or):
        test = f"({test})"
    new = f"{test} and {condition}"
    return Fix("fits", f"`if {new}:`", (Edit(text.span(around.test), new),))


# -- activations without a gain --------------------------------------------------------


def _get_nearest(name: str) -> str:
    """Return the name of the gain that is nearest to an activation's."""
    known = KNOWN.match(name)
    if known is not None:
        return known[1]
    return next((near for pattern, near in NEAR if pattern.search(name)), "")


def _explain_gain(text: SourceText, call: ast.Call, name: str) -> Explanation | None:
    """Explain `calculate_gain("gelu")`, with the gain that is near to it."""
    near = _get_nearest(name.lower().rpartition(".")[2])
    words = [word.value for word in call.keywords if word.arg == "nonlinearity"]
    place = 0 if get_called_name(call) == "calculate_gain" else 3
    value = next(iter([*words, *call.args[place : place + 1]]), None)
    message = f"torch has no gain for `{name}`"
    if near and near == name.lower():
        message += f": its name is `{near}`"
    elif near:
        message += f": that of `{near}` is what is taken in its place"
    fixes: tuple[Fix, ...] = ()
    if isinstance(value, ast.Constant) and near:
        new = f'"{near}"'
        fixes = (Fix("fits", f"`{new}`", (Edit(text.span(value), new),)),)
    elif value is not None and near and is_made_of(value, NAMES):
        written = text.written(value)
        new = f'"{near}" if {written} == "{name}" else {written}'
        fixes = (Fix("fits", f"`{new}`", (Edit(text.span(value), new),)),)
    return Explanation(message, (), fixes)


NAMES = (ast.Name, ast.Attribute, ast.expr_context)
