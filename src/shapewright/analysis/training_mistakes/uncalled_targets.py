"""Find target networks that get the weights of a network again and again, and are never
called: the values of the next states are those of the network that is trained.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import MODEL_NOT_COPIED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_name,
)

TARGET = re.compile(r"(?i)target|tgt")
DISCOUNT = re.compile(r"(?i)gamma|discount")
QUIET = re.compile(r"no_grad|inference_mode")
KEEPING = frozenset({
    "load_state_dict", "state_dict", "eval", "train", "to", "cuda", "cpu", "apply",
    "requires_grad_", "parameters", "named_parameters", "buffers", "float", "double",
})  # fmt: skip
"""Methods of a network that do not ask it for anything."""


def find_uncalled_targets(scene: RehearsalContext) -> Iterator[Finding]:
    """Find a network that is asked for the values of the next states beside a target
    network that is kept up to date and asked for nothing.
    """
    texts = [text for text in scene.program.own_texts() if text is not None]
    words = {get_called_name(n) for t in texts for n in t.nodes}
    if words & {"getattr", "vars"} or not any(DISCOUNT.search(t.text) for t in texts):
        return
    for text in texts:
        for target, network, update in _iter_updates(text):
            name = get_last_name(target)
            if any(_is_asked(other, name) for other in texts):
                continue
            asked = _find_asked(text, update, get_dotted_name(network))
            if asked is None:
                continue
            written, model = text.written(target), text.written(network)
            yield build_finding(
                MODEL_NOT_COPIED,
                f"these values of the next states are those of `{model}`, which is"
                f" trained: `{written}`, which gets its weights, is never called",
                text.span(asked.func),
                (text.span(update), f"`{written}` is kept up to date here"),
            )
            return


def _iter_updates(text: SourceText) -> Iterator[tuple[ast.expr, ast.expr, ast.stmt]]:
    """Yield the target networks of a file, each with the network whose weights it gets
    and the statement, which is none of its construction.
    """
    for node in text.nodes:
        pair: tuple[ast.expr, ...] | None = None
        if isinstance(node, ast.Call) and get_called_name(node) == "load_state_dict":
            state = node.args[0] if node.args else None
            is_state = get_called_name(state) == "state_dict" if state else False
            source = get_receiver(state) if isinstance(state, ast.Call) else None
            target = get_receiver(node)
            pair = (target, source) if is_state and target and source else None
        elif isinstance(node, ast.For) and get_called_name(node.iter) == "zip":
            calls = node.iter.args if isinstance(node.iter, ast.Call) else []
            owners = [
                get_receiver(call)
                for call in calls
                if isinstance(call, ast.Call) and get_called_name(call) == "parameters"
            ]
            pair = tuple(owner for owner in owners if owner is not None)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            functions = text.functions(get_called_name(node.value))
            copies = any(_is_copying(function) for _, function in functions)
            pair = tuple(node.value.args[:2]) if copies else None
        if pair is None or len(pair) != 2 or _is_construction(text, node):
            continue
        targets = [part for part in pair if TARGET.search(get_last_name(part))]
        others = [part for part in pair if part not in targets]
        statement = text.statement_of(node) if isinstance(node, ast.expr) else node
        is_pair = len(targets) == 1 and bool(get_dotted_name(others[0]))
        if is_pair and isinstance(statement, ast.stmt):
            yield targets[0], others[0], statement


def _is_copying(function: ast.AST) -> bool:
    """Return whether a function gives a network that it is handed the weights of
    another, and calls none.
    """
    arguments = getattr(function, "args", None)
    if not isinstance(arguments, ast.arguments) or len(arguments.args) < 2:
        return False
    called = {get_called_name(node) for node in ast.walk(function)}
    names = {argument.arg for argument in arguments.args}
    return bool(called & {"parameters", "load_state_dict"}) and not called & names


def _is_construction(text: SourceText, node: ast.AST) -> bool:
    """Return whether a place runs once: in a constructor, or outside of all loops and
    functions.
    """
    function = text.around(node, *FUNCTIONS)
    if text.around(text.parent(node), *LOOPS) is not None:
        return False
    return function is None or getattr(function, "name", "") == "__init__"


def _is_asked(text: SourceText, name: str) -> bool:
    """Return whether a file does anything with a network but to construct it, to give
    it weights and to set its mode.
    """
    for node in text.nodes:
        if isinstance(node, ast.Constant) and node.value == name:
            return True
        if (
            not isinstance(node, ast.Name | ast.Attribute)
            or get_last_name(node) != name
        ):
            continue
        if not isinstance(node.ctx, ast.Load):
            continue
        outer = text.parent(node)
        is_called = getattr(text.parent(outer), "func", None) is outer
        is_kept = isinstance(outer, ast.Attribute) and outer.attr in KEEPING
        if is_kept and is_called:
            continue
        if isinstance(outer, ast.Attribute) and outer.attr == "training":
            continue
        if isinstance(outer, ast.Call) and node in outer.args:
            functions = text.functions(get_called_name(outer))
            if functions and all(_is_copying(inner) for _, inner in functions):
                continue
        return True
    return False


def _find_asked(text: SourceText, update: ast.stmt, network: str) -> ast.Call | None:
    """Return the only call of a network, or of a second name of it, whose values a
    function discounts without their graph.
    """
    scope = text.around(update, ast.ClassDef)
    names = {network}
    for node in text.nodes:
        is_second = isinstance(node, ast.Assign) and network == get_dotted_name(
            node.value
        )
        if isinstance(node, ast.Assign) and is_second:
            names |= {get_dotted_name(aim) for aim in node.targets}
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call)
        and get_dotted_name(node.func) in names
        and text.around(node, ast.ClassDef) is scope
        and _is_discounted(text, node)
        and not _is_choice(text, node)
    ]
    return calls[0] if len(calls) == 1 else None


def _is_discounted(text: SourceText, call: ast.Call) -> bool:
    """Return whether a call has no graph, in a function that discounts values."""
    function = text.around(call, *FUNCTIONS, ast.Module)
    if function is None:
        return False
    names = collect_names(function) | {
        node.attr for node in ast.walk(function) if isinstance(node, ast.Attribute)
    }
    if not any(DISCOUNT.search(name) for name in names):
        return False
    heads = list(getattr(function, "decorator_list", []))
    for outer in text.outwards(call):
        if isinstance(outer, ast.With):
            heads += [item.context_expr for item in outer.items]
        elif isinstance(outer, ast.Attribute) and outer.attr == "detach":
            return True
    return any(QUIET.search(text.written(head)) for head in heads)


def _is_choice(text: SourceText, call: ast.Call) -> bool:
    """Return whether only the best action is taken of the values."""
    written = text.written(text.statement_of(call)).replace(text.written(call), "@")
    return re.match(
        r"[^@]*@(\.argmax|\.max\([^()]*\)(\[1\]|\.indices))", written
    ) is not (None)
