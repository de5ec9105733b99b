"""Layers and losses that are built of tensors and applied to none: `x = nn.ReLU(x)`,
`loss = nn.CrossEntropyLoss(out, y)`; models that are never built: `model = Net`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name

LAYER = re.compile(r"must be Tensor, not (\w+)|'(\w+)' object has no attribute")
"""In a message about a layer that stands in the place of a tensor."""
TRUTH = "Boolean value of Tensor with more than one value"
"""Said of a tensor in the place of a flag, as losses have them."""
FLAGS = {"Softmax": "(dim=-1)", "LogSoftmax": "(dim=-1)", "Softmin": "(dim=-1)"}
"""What a layer is built with where it has to be said."""
OF_NOTHING = frozenset({
    "ReLU", "ReLU6", "LeakyReLU", "PReLU", "ELU", "SELU", "CELU", "GELU", "SiLU",
    "Mish", "Sigmoid", "LogSigmoid", "Tanh", "Softplus", "Softsign", "Hardswish",
    "Hardsigmoid", "Hardtanh", "Softmax", "LogSoftmax", "Softmin", "Flatten",
    "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "Identity",
})  # fmt: skip
"""Layers whose options need not be written."""
FROM_MODULE = ("nn", "torch.nn")


def find_unapplied_layer(program: Program, finding: Finding) -> Explanation | None:
    """Return which layer is given a tensor where its options are, or None."""
    words = finding.words
    layer = LAYER.search(words)
    place = program.node(finding.span)
    if place is None or (layer is None and TRUTH not in words):
        return None
    text, node = place
    if layer is None:
        calls = [
            part
            for part in ast.walk(text.statement_of(node))
            if isinstance(part, ast.Call) and _is_loss_of_tensors(text, part)
        ]
    else:
        calls = list(_iter_layers(text, node, layer[1] or layer[2]))
    return _explain_calls(text, calls) if calls else None


def _is_loss_of_tensors(text: SourceText, call: ast.Call) -> bool:
    """Return whether a loss is built of a prediction and a target."""
    is_loss = get_called_name(call).endswith("Loss") and len(call.args) > 1
    return is_loss and _is_of_torch(text, call)


def _is_of_torch(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call builds a class of `torch.nn`."""
    owner, _, name = text.written(call.func).rpartition(".")
    is_imported = not owner and any(
        isinstance(node, ast.ImportFrom)
        and node.module == "torch.nn"
        and any(alias.name == name for alias in node.names)
        for node in text.nodes
    )
    return owner in FROM_MODULE or is_imported


def _iter_layers(text: SourceText, node: ast.AST, kind: str) -> Iterator[ast.Call]:
    """Yield the calls that build a class of a value, in the function of a place, else
    in the whole file.
    """
    calls = [
        call
        for call in text.nodes
        if isinstance(call, ast.Call)
        and get_called_name(call) == kind
        and _is_of_torch(text, call)
        and _is_given_values(call)
    ]
    scope = text.around(node, *FUNCTIONS)
    yield from [c for c in calls if text.around(c, *FUNCTIONS) is scope] or calls


def _is_given_values(call: ast.Call) -> bool:
    """Return whether a layer that is built of nothing is given a value that is no
    number, or a loss two.
    """
    name = get_called_name(call)
    count = 2 if name.endswith("Loss") else 1
    if count == 1 and name not in OF_NOTHING:
        return False
    return len(call.args) == count and not any(
        isinstance(part, ast.Constant) for part in call.args
    )


def _explain_calls(text: SourceText, calls: list[ast.Call]) -> Explanation:
    """Explain layers that are built of tensors."""
    call = calls[0]
    name, kind = text.written(call.func), get_called_name(call)
    inner = ", ".join(text.line_of(part) for part in call.args)
    what = "a loss" if kind.endswith("Loss") else "a layer"
    message = (
        f"`{name}({inner})` builds {what} and gives it `{inner}` for"
        f" {'options' if len(call.args) > 1 else 'an option'}: it is applied to nothing"
    )
    related = (Related(text.span(call), f"{what} is built here"),)
    built = FLAGS.get(kind, "()")
    edits = tuple(Edit(text.span(call.func).end, built) for call in calls)
    shown = f"`{name}{built}({inner})`"
    return Explanation(message, related, (Fix("fits", shown, edits),))


# -- a class in the place of its instance ----------------------------------------------

OF_CLASS = re.compile(
    r"(\w+)\.__init__\(\) (?:takes (?:from )?\d+ .*positional|missing|got an unexp)"
    r"|type object '(\w+)' has no attribute"
    r"|Module\.(?:\w+)\(\) missing 1 required positional argument: 'self'"
)


def find_class_for_instance(program: Program, finding: Finding) -> Explanation | None:
    """Return which class is used as a model that was never built, or None."""
    place = program.node(finding.span)
    if place is not None and BLOCK in finding.words:
        return _explain_class_of_block(*place)
    if place is None or not OF_CLASS.search(finding.words):
        return None
    text, outer = place
    for node in ast.walk(text.statement_of(outer)):
        name = _get_used_name(node)
        kind = text.definitions(name.id) if name is not None else []
        if name is None or (isinstance(node, ast.Call) and kind):
            continue
        for value in find_defining(text, name.id):
            if not isinstance(value, ast.Name) or value.lineno > name.lineno:
                continue
            if not any(isinstance(own, ast.ClassDef) for _, own in text.definitions(
                value.id
            )):  # fmt: skip
                continue
            message = (
                f"`{name.id}` is the class `{value.id}` itself, of which no instance is"
                " built"
            )
            related = (Related(text.span(value), "it is written without `()`"),)
            fix = Fix("fits", f"`{value.id}()`", (Edit(text.span(value).end, "()"),))
            return Explanation(message, related, (fix,))
    return None


BLOCK = "'type' object does not support the context manager protocol"
"""Python's words for `with torch.no_grad:`."""


def _explain_class_of_block(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain `with torch.no_grad:`, which names the class and builds no block."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    for item in statement.items if isinstance(statement, ast.With) else ():
        block = item.context_expr
        if isinstance(block, ast.Name | ast.Attribute):
            name = text.written(block)
            message = f"`{name}` is a class, and `with` needs an instance: `{name}()`"
            fix = Fix("fits", f"`{name}()`", (Edit(text.span(block).end, "()"),))
            return Explanation(message, (), (fix,))
    return None


def _get_used_name(node: ast.AST) -> ast.Name | None:
    """Return the name that is called, or whose method is."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(func, ast.Attribute):
        func = func.value
    return func if isinstance(func, ast.Name) else None
