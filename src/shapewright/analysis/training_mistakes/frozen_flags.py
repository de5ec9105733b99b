"""Find flags that freeze nothing, and evaluations that record gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.growth import add_growth
from shapewright.analysis.training_mistakes.swapped_flags import find_swapped_flags
from shapewright.analysis.training_mistakes.unread_options import find_unread_options
from shapewright.findings.codes import (
    EVALUATED_WITH_GRAPH,
    FLAG_WITHOUT_EFFECT,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    OPTIMIZERS,
    get_called_name,
    get_last_line,
    get_last_name,
    iter_assignments,
)
from shapewright.record.report import Moment

MISSPELT = frozenset(
    {"require_grad", "require_grads", "requires_grads", "requires_gradient",
     "requires_grad_", "require_gradient", "requiresGrad"}
)  # fmt: skip
OF_GROUPS = frozenset({"lr", "weight_decay", "momentum", "betas"})
"""Settings that an optimizer keeps in its groups of parameters."""
OPTIMIZER = re.compile(r"opt|optim|optimi[sz]er(_\w+)?|opt_\w+|\w+_opt(imi[sz]er)?")
OF_MODULES = frozenset({"children", "modules"})
OF_KERAS = "trainable"
"""The flag by which Keras freezes a layer."""
OTHER_TENSORS = operators_with("leaves_graph") - operators_with("moves_device")
"""Attributes and methods that give another tensor with the values of a parameter."""


@looks_for(FLAG_WITHOUT_EFFECT)
def find_idle_flags(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `p.require_grad = False`, and `requires_grad` set on a module; flags that
    are the wrong way round.
    """
    yield from find_swapped_flags(scene)
    yield from find_unread_options(scene)
    for text in scene.program.own_texts():
        yield from _find_lasting_options(text)
        for target, value in iter_assignments(text.tree if text is not None else None):
            if not isinstance(target, ast.Attribute):
                continue
            if target.attr in OF_GROUPS and _is_optimizer(text, target.value):
                owner = text.written(target.value)
                message = (
                    f"`{text.written(target)}` is an attribute that no step reads: each"
                    f" group of `{owner}.param_groups` has a `{target.attr}` of its own"
                )
                place = text.span(text.statement_of(target))
                yield build_finding(FLAG_WITHOUT_EFFECT, message, place)
                continue
            if not isinstance(value, ast.Constant) or type(value.value) is not bool:
                continue
            written = text.written(target)
            if target.attr in MISSPELT:
                message = (
                    f"`{written}` is an attribute that torch never reads: the flag is"
                )
                message += " `requires_grad`"
            elif target.attr == OF_KERAS and _is_of_no_other_flag(scene, text, target):
                message = (
                    f"`{written}` is a flag of Keras, which torch never reads: a module"
                    " is frozen by `requires_grad_(False)`"
                )
            elif target.attr == "requires_grad" and _is_new_tensor(target.value):
                owner = text.written(target.value)
                message = (
                    f"`{owner}` is another tensor each time it is read, so that this"
                    " flag is lost: the parameter itself has one"
                )
            elif target.attr == "requires_grad" and _is_module(text, target.value):
                message = (
                    f"`{written} = {value.value}` sets an attribute of a module, which"
                )
                message += " its parameters do not have: they train on"
            else:
                continue
            statement = text.statement_of(target)
            yield build_finding(FLAG_WITHOUT_EFFECT, message, text.span(statement))


def _find_lasting_options(text: SourceText) -> Iterator[Finding]:
    """Find options of the command line that are on and that nothing can switch off."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "add_argument":
            continue
        words = {word.arg: text.written(word.value) for word in call.keywords}
        if words.get("type") == "bool" and words.get("default") == "True" and call.args:
            name = ast.unparse(call.args[-1]).strip("'\"")
            yield build_finding(
                FLAG_WITHOUT_EFFECT,
                f"`{name} False` leaves it on: `type=bool` makes every text true but an"
                " empty one",
                text.span(call),
            )


def _is_new_tensor(node: ast.expr) -> bool:
    """Return whether an expression makes a tensor anew: `p.data`, `p.detach()`."""
    name = get_called_name(node) or get_last_name(node)
    return not isinstance(node, ast.Name) and name in OTHER_TENSORS


def _is_of_no_other_flag(
    scene: RehearsalContext, text: SourceText, target: ast.Attribute
) -> bool:
    """Return whether a flag is set that the program reads nowhere, on an object that is
    none of the program's own classes with such a flag.
    """
    texts = list(scene.program.own_texts())
    words = ("keras", "tensorflow", "getattr")
    if any(word in own.text for own in texts for word in words):
        return False
    own = text.around(target, ast.ClassDef)
    if get_last_name(target.value) == "self" and own is not None and not own.bases:
        return False
    return not any(
        (isinstance(node, ast.keyword) and node.arg == target.attr)
        or (
            isinstance(node, ast.Attribute)
            and node.attr == target.attr
            and isinstance(node.ctx, ast.Load)
        )
        for other in texts
        for node in other.nodes
    )


def _is_optimizer(text: SourceText, node: ast.expr) -> bool:
    """Return whether the text shows that an expression is an optimizer of torch."""
    name = get_last_name(node)
    if name == "self":
        return False
    kinds = [get_called_name(value) for value in find_defining(text, name) if name]
    return OPTIMIZER.fullmatch(name) is not None or any(
        kind in OPTIMIZERS for kind in kinds
    )


def _is_module(text: SourceText, node: ast.expr) -> bool:
    """Return whether the text shows that an expression is a module."""
    name = get_last_name(node)
    if isinstance(node, ast.Name):
        loop = text.around(node, ast.For)
        if loop is not None and get_last_name(loop.target) == name:
            return get_called_name(loop.iter) in OF_MODULES
    kinds = [get_called_name(value) for value in find_defining(text, name) if name]
    classes = {
        definition.name
        for _, definition in text.definitions()
        if isinstance(definition, ast.ClassDef)
    }
    known = {"Sequential", "Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM"}
    return bool(kinds) and all(kind in known | classes for kind in kinds)


_Pass = ast.For | ast.ListComp | ast.GeneratorExp
"""What goes through data: a loop, or an expression that is one."""


@looks_for(EVALUATED_WITH_GRAPH, misled_by_errors=True)
def find_recorded_evaluations(scene: RehearsalContext) -> Iterator[Finding]:
    """Find loops that evaluate a model with gradients recorded."""
    training = {
        (loop.moment.file, loop.moment.line)
        for loop in scene.loops()
        if set(_iter_kinds(loop.moment)) & {"backward", "step", "train", "zero_grad"}
    }
    for text in scene.program.own_texts():
        reported: list[_Pass] = []
        for node in text.nodes:
            if not isinstance(node, _Pass):
                continue
            over = node.iter if isinstance(node, ast.For) else node.generators[0].iter
            inside = any(parent in reported for parent in text.outwards(node))
            if (
                inside
                or (get_called_name(over) == "range" and not isinstance(node, ast.For))
                or (text.file, node.lineno) in training
                or not _is_after_eval(text, node)
                or _is_over_models(node)
            ):
                continue
            span = _find_graph(scene, text, node)
            if span is None:
                continue
            reported.append(node)
            held = "the activations of each batch are held"
            if _is_sum_kept(scene, text, node):
                held = "the activations of all batches are held by a sum,"
            finding = build_finding(
                EVALUATED_WITH_GRAPH,
                f"this evaluates with gradients recorded: {held} for a backward pass"
                " that never comes",
                span,
                (text.span(over), "in this loop, after `eval()`"),
            )
            yield add_growth(scene, finding, (text.file, node.lineno))


def _is_over_models(loop: _Pass) -> bool:
    """Return whether what a loop goes through is called: networks, `net(x) for net in
    nets`, each with the same data.
    """
    target = loop.target if isinstance(loop, ast.For) else loop.generators[0].target
    names = {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in names
        for node in ast.walk(loop)
    )


def _iter_kinds(moment: Moment) -> Iterator[str]:
    """Yield the kinds of all events within an event."""
    for event in moment.inner:
        yield event.kind
        yield from _iter_kinds(event)


def _is_after_eval(text: SourceText, loop: _Pass) -> bool:
    """Return whether the function of a loop calls `eval()` above it, and takes no
    gradient below it.
    """
    function = text.around(loop, ast.FunctionDef, ast.Module)
    last = get_last_line(loop)
    for node in ast.walk(function) if function is not None else ():
        if get_called_name(node) in ("backward", "grad") and node.lineno > last:  # type: ignore[attr-defined]
            return False
    modes = [
        (node.lineno, "eval" if _is_evaluating(node) else "train")
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("eval", "train")
        and node.lineno < loop.lineno
    ]
    return bool(modes) and max(modes)[1] == "eval"


def _is_evaluating(call: ast.Call) -> bool:
    """Return whether a call is `eval()`, or `train(False)`."""
    values = [*call.args, *(word.value for word in call.keywords)]
    is_off = any(isinstance(v, ast.Constant) and v.value is False for v in values)
    return get_called_name(call) == "eval" or is_off


def _is_sum_kept(scene: RehearsalContext, text: SourceText, loop: _Pass) -> bool:
    """Return whether a loop adds up tensors with their graphs."""
    sums = {
        (text.file, node.lineno)
        for node in ast.walk(loop)
        if isinstance(node, ast.AugAssign)
    }
    return any(
        op.span is not None
        and (op.span.file, op.span.line) in sums
        and any(fact.requires_grad and not fact.shape for fact in op.outputs)
        for op in scene.program.trace.ops
        if op.name in ("+", "+=")
    )


def _find_graph(scene: RehearsalContext, text: SourceText, loop: _Pass) -> Span | None:
    """Return where a loop first makes a tensor with a graph, if none of its calls takes
    a gradient.
    """
    lines = range(loop.lineno, get_last_line(loop) + 1)
    first: Span | None = None
    for op in scene.program.trace.ops:
        inside = [
            frame.span
            for frame in op.frames
            if frame.span.file == text.file and frame.span.line in lines
        ]
        if not inside:
            continue
        if op.name.rpartition(".")[2] in ("backward", "grad"):
            return None
        graph = any(fact.requires_grad and not fact.is_leaf for fact in op.outputs)
        graph = graph and (isinstance(loop, ast.For) or bool(op.module))
        if graph and first is None:
            first = inside[0]
    return first
