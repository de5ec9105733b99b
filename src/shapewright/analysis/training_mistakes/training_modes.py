"""Find models that are evaluated in training mode, or trained in evaluation mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.compared_modes import (
    describe_mode,
    find_compared_modes,
    is_in_training_mode,
    is_outermost,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.frozen_networks import (
    find_frozen_networks,
)
from shapewright.analysis.training_mistakes.preparations import EVALUATED
from shapewright.findings.codes import (
    EVALUATED_IN_TRAINING_MODE,
    TRAINED_IN_EVAL_MODE,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.notebooks import is_notebook
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    find_uncalled,
    get_called_name,
    get_last_line,
)
from shapewright.record.ops import Fact, collect_leaves
from shapewright.record.report import Observation

LOSSES = operators_with("is_loss")
WITHOUT_GRADIENTS = frozenset({"no_grad", "inference_mode"})
COMPARISONS = frozenset({"eq", "equal", "accuracy_score"})
SEVERAL_DRAWS = re.compile(r"mc[ _-]?dropout|monte|uncertain|(^|_)mc(_|$)", re.I)
"""What tells of dropout that is left on to draw several predictions."""
RENEWED = re.compile(r"adapt(?!ive)|\btta\b|calibrat|(batch|bn|norm).?stat", re.I)
"""What tells of statistics of batch norm that are taken anew."""
GENERATOR = re.compile(r"generator|gan(_|$)|(^|_|net)g(_|$)|pix2pix", re.I)
"""Names of networks that may make an image by the statistics of that image."""
JUDGING = re.compile(
    r"(^|_)(test|tester|eval|evaluat(e|or|ion)|valid|validat(e|or|ion))(_|$)"
)
"""Names of functions and classes that measure how well a model does."""
LOADED_HERE = "its weights are loaded here"
SAMPLING = operators_with("measures_spread") | {"train", "backward", "update_bn"}
"""Calls of a function that wants several draws, or that trains."""


@looks_for(TRAINED_IN_EVAL_MODE, EVALUATED_IN_TRAINING_MODE)
def find_wrong_modes(scene: RehearsalContext) -> Iterator[Finding]:
    """Find training in evaluation mode and evaluation in training mode."""
    for met in scene.observations("trained-in-eval"):
        yield build_finding(
            TRAINED_IN_EVAL_MODE,
            f"`{met.name}` is trained in evaluation mode here: after `eval()` nothing "
            "called `train()` again",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "eval"), "`eval()` was called here"),
        )
    reported = False
    for met in scene.observations("evaluated-in-training"):
        place = scene.program.call_at(scene.span(met.place))
        if place is not None and get_called_name(place[1]) == "update_bn":
            continue  # it computes the statistics anew, in training mode
        reported = True
        yield build_finding(
            EVALUATED_IN_TRAINING_MODE,
            f"`{met.name}` is evaluated in training mode: "
            f"{describe_mode(scene, met.name)}",
            scene.span(met.place),
        )
    if not reported:
        yield from _find_measured_calls(scene)
    yield from find_compared_modes(scene)
    yield from find_frozen_networks(scene)
    for met in scene.observations("loaded-in-training"):
        yield _report_loaded(scene, met)
    yield from _find_loaded_models(scene)


def _report_loaded(scene: RehearsalContext, met: Observation) -> Finding:
    """Return the finding on a model that is loaded and left in training mode."""
    return build_finding(
        EVALUATED_IN_TRAINING_MODE,
        f"`{met.name}` is loaded and used in training mode: "
        f"{describe_mode(scene, met.name)}",
        scene.span(met.place),
        (scene.span(met.other, "load_state_dict"), LOADED_HERE),
    )


def _find_loaded_models(scene: RehearsalContext) -> Iterator[Finding]:
    """Find models that are loaded and predict in training mode, with gradients that
    nothing uses, or because `train()` was called on them.
    """
    texts = [text.text for text in scene.program.own_texts()]
    if any(map(SEVERAL_DRAWS.search, texts)):
        return
    for met in scene.observations("loaded-with-graph"):
        if any(op.name.rpartition(".")[2] == "grad" for op in scene.program.trace.ops):
            continue  # a training by hand
        if _is_used_in_training_mode(scene, met):
            yield _report_loaded(scene, met)
    for met in scene.observations("told-to-train"):
        is_meant = GENERATOR.search(met.name) or any(map(RENEWED.search, texts))
        if not is_meant and _is_used_in_training_mode(scene, met):
            yield build_finding(
                EVALUATED_IN_TRAINING_MODE,
                f"`{met.name}` is loaded, put into training mode and trained by nothing"
                f" that runs: {describe_mode(scene, met.name)}",
                scene.span(met.place),
                (scene.span(met.other, "train"), "it is put into training mode here"),
            )


def _is_used_in_training_mode(scene: RehearsalContext, met: Observation) -> bool:
    """Return whether a call at a line has a layer in training mode, and something reads
    what it returns: statistics of batch norm may be taken anew.
    """
    ops = scene.program.trace.ops
    for call in scene.program.trace.calls:
        if call.class_name != met.name or call.span is None:
            continue
        if call.span.file != met.place[0] or not any(
            is_in_training_mode(scene, op) for op in ops[slice(*call.ops)]
        ):
            continue
        outputs = {
            leaf.tensor
            for leaf in collect_leaves(call.output)
            if isinstance(leaf, Fact)
        }
        if any(
            fact.tensor in outputs for op in ops[call.ops[1] :] for fact in op.inputs
        ):
            return True
    return False


def _find_measured_calls(scene: RehearsalContext) -> Iterator[Finding]:
    """Find calls without gradients of a model that is trained, in training mode, where
    the outputs are compared with labels or a loss is computed.

    This is for programs without a loader: what they evaluate on is seen by its name.
    """
    calls = [call for call in scene.program.trace.calls if is_outermost(scene, call)]
    learning = {
        call.path
        for call in calls
        if any(
            fact.requires_grad
            for op in scene.program.trace.ops[slice(*call.ops)]
            for fact in op.outputs
        )
    }
    seen: set[object] = set()
    for call in calls:
        ops = scene.program.trace.ops[slice(*call.ops)]
        if call.path not in learning or call.span is None or call.span in seen:
            continue
        if any(fact.requires_grad for op in ops for fact in op.outputs):
            continue
        if not any(is_in_training_mode(scene, op) for op in ops):
            continue
        seen.add(call.span)
        place = scene.program.call_at(call.span)
        if place is not None and _is_measured(scene, *place):
            text, node = place
            scope = text.around(node, *FUNCTIONS, ast.Module)
            is_shown = is_notebook(text.file)  # the last value of a cell
            uncalled = None if is_shown else find_uncalled(scope, "eval")
            words = describe_mode(scene, call.class_name)
            if uncalled is not None and uncalled.lineno > node.lineno:
                uncalled = None
            if uncalled is not None:
                written = place[0].written(uncalled)
                words = f"`{written}` without parentheses calls nothing"
            yield build_finding(
                EVALUATED_IN_TRAINING_MODE,
                f"`{call.class_name}` is evaluated in training mode: {words}",
                place[0].span(uncalled or place[1]),
                (call.span, "it is evaluated here"),
            )


def _is_measured(scene: RehearsalContext, text: SourceText, call: ast.Call) -> bool:
    """Return whether the block without gradients around a call measures how well a
    model does, on other data than a pass beside it trains on.
    """
    region = _find_region(text, call)
    if region is None:
        return False
    inside = list(ast.walk(region))
    names = {get_called_name(node) for node in inside}
    if names & SAMPLING:
        return False
    compared = any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Eq)
        and not isinstance(node.comparators[0], ast.Constant)
        and not isinstance(text.parent(node), ast.If)
        for node in inside
    )
    lines = range(region.lineno, get_last_line(region) + 1)
    compared = compared or any(
        op.name.rpartition(".")[2] in LOSSES
        and op.span is not None
        and op.span.file == text.file
        and op.span.line in lines
        for op in scene.program.trace.ops
    )
    if not compared and not names & COMPARISONS:
        return _is_measured_by_callers(text, region)
    model = text.written(call.func)
    loop = text.around(region, *LOOPS)
    trained_on = {
        text.written(argument)
        for node in text.nodes
        if isinstance(node, ast.Call) and text.written(node.func) == model
        if loop is not None and loop in list(text.outwards(node))
        if not any(outer is region for outer in text.outwards(node))
        for argument in node.args
    }
    return not trained_on & {text.written(argument) for argument in call.args}


def _is_measured_by_callers(text: SourceText, region: ast.stmt) -> bool:
    """Return whether a function hands its predictions for data for evaluation to what
    compares them with labels: `accuracy(predict(model, x_test), y_test)`.
    """
    function = region if isinstance(region, ast.FunctionDef) else None
    function = function or text.around(region, ast.FunctionDef)
    if function is None or SEVERAL_DRAWS.search(text.text):
        return False
    for node in text.nodes:
        if not isinstance(node, ast.Call) or get_called_name(node) != function.name:
            continue
        is_meant = any(map(EVALUATED.search, collect_names(node)))
        if not is_meant and not any(map(JUDGING.search, _iter_scope_names(text, node))):
            continue
        around = text.parent(node)
        if isinstance(around, ast.Assign) and _is_compared_later(text, around):
            return True
        if isinstance(around, ast.Compare) and isinstance(around.ops[0], ast.Eq):
            return True
        name = get_called_name(around) if around is not None else ""
        if name in COMPARISONS or any(
            isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Eq)
            for _, measure in text.functions(name)
            for part in ast.walk(measure)
        ):
            return True
    return False


def _find_region(text: SourceText, call: ast.Call) -> ast.With | ast.FunctionDef | None:
    """Return the block or the function around a call that records no gradients."""
    for outer in text.outwards(call):
        if isinstance(outer, ast.With) and any(
            get_called_name(item.context_expr) in WITHOUT_GRADIENTS
            for item in outer.items
        ):
            return outer
        if isinstance(outer, ast.FunctionDef):
            written = " ".join(map(text.written, outer.decorator_list))
            without = any(name in written for name in WITHOUT_GRADIENTS)
            return outer if without else None
    return None


def _iter_scope_names(text: SourceText, node: ast.AST) -> Iterator[str]:
    """Yield the names of the functions and classes around a call, word by word."""
    for around in text.outwards(node):
        if isinstance(around, ast.FunctionDef | ast.ClassDef):
            yield re.sub(r"(?<=[a-z])(?=[A-Z])", "_", around.name).lower()


def _is_compared_later(text: SourceText, statement: ast.Assign) -> bool:
    """Return whether a name that a statement sets is compared with labels behind it."""
    names = collect_names(statement, ast.Store)
    scope = text.around(statement, *FUNCTIONS)
    return any(
        isinstance(node, ast.Compare)
        and isinstance(node.ops[0], ast.Eq)
        and not isinstance(node.comparators[0], ast.Constant)
        and not isinstance(text.parent(node), ast.If)
        and names & collect_names(node, ast.Load)
        for node in (ast.walk(scope) if scope is not None else ())
    )
