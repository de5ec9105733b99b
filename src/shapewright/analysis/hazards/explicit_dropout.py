"""Find `F.dropout(x, p, training=True)` in a classifier that is evaluated in one pass,
while what else of it has a mode is in that of evaluation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import DROPOUT_ALWAYS_ON
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.syntax_nodes import is_starred
from shapewright.record.ops import ModuleCall, Op, collect_leaves

DROPOUTS = operators_with("drops_elements")
MEANT = re.compile(
    r"(?i)\bmc|mc_|_mc|mcd|monte|carlo|bayes|uncertain|epistemic|stochastic|ensemble|"
    r"passes|_samples|posterior|variational|pre_?net|simcse|contrastive|perturb|"
    r"always[ _-]on|at (test|inference)|test[ _-]time"
)
"""What a program says that wants its dropout in evaluation."""
PASSED = operators_with("keeps_elements") | operators_with("gives_values") | {"softmax"}
CHOICES = frozenset(values_of("ranks_along")) | {"max"}
CLASS_LOSSES = operators_with("takes_class_indices")
COMPARISONS = operators_with("compares_elements") | {"=="}
FARTHEST = 8


def find_explicit_dropout(scene: HazardContext) -> Iterator[Finding]:
    """Find dropout that is on by a literal `True` where layers of the same model are in
    evaluation, and one pass is the prediction that labels are compared with.
    """
    seen: set[object] = set()
    for call in scene.calls:
        if call.name not in DROPOUTS or not call.given(1, "p", default=0.5):
            continue
        if call.op.span in seen or not scene.in_user_code(call.op):
            continue
        if not _is_literally_on(scene, call.op):
            continue
        model = _find_model(scene, call.op)
        other = _find_evaluated(scene, model) if model is not None else None
        if model is None or other is None or not _is_scored(scene, model):
            continue
        if any(MEANT.search(text.text) for text in scene.program.own_texts()):
            return
        seen.add(call.op.span)
        message = (
            f"{scene.operation(call.op)} drops elements in evaluation too: it is given"
            " `training=True`, whatever `eval()` says"
        )
        words = f"{scene.operation(other)} is in evaluation in the same call"
        yield scene.finding(DROPOUT_ALWAYS_ON, call.op, message, (other, words))


def _is_literally_on(scene: HazardContext, op: Op) -> bool:
    """Return whether a method of a class gives `True` for the mode of its dropout."""
    place = scene.program.call_at(op.span)
    if place is None or is_starred(place[1]):
        return False
    text, node = place
    function = text.around(node, ast.FunctionDef)
    if function is None or not isinstance(text.parent(function), ast.ClassDef):
        return False
    modes = [word.value for word in node.keywords if word.arg == "training"]
    modes += node.args[2:3]
    return len(modes) == 1 and ast.unparse(modes[0]) == "True"


def _find_model(scene: HazardContext, op: Op) -> ModuleCall | None:
    """Return the call of a module by the program's text that an op is inside."""
    for call in scene.program.trace.calls:
        is_outermost = call.depth == 1 or (call.depth == 0 and call.index > 0)
        if is_outermost and call.ops[0] <= op.index < call.ops[1]:
            return call
    return None


def _find_evaluated(scene: HazardContext, model: ModuleCall) -> Op | None:
    """Return a layer of a model that is in evaluation during a call: its dropout that
    is off, or its norm by running statistics.
    """
    for op in scene.program.trace.ops[model.ops[0] : model.ops[1]]:
        name, arguments = op.name.rpartition(".")[2], dict(op.arguments)
        has_mode = name in DROPOUTS or name == "batch_norm"
        is_of_layer = not scene.in_user_code(op)
        if has_mode and is_of_layer and arguments.get("training") is False:
            return op
    return None


def _is_scored(scene: HazardContext, model: ModuleCall) -> bool:
    """Return whether the output of a call alone meets labels: its classes are compared
    with them, or it is in a loss of classes. What is joined or added up to that of
    other calls before is no such prediction.
    """
    waiting = [(fact.tensor, 0) for fact in collect_leaves(model.output)]
    is_scored = False
    while waiting:
        tensor, steps = waiting.pop()
        for user in scene.users.get(tensor, ()):
            if user.op.index < model.ops[1]:
                continue
            if user.name in CLASS_LOSSES:
                is_scored = True
            elif user.name in CHOICES:
                is_scored = is_scored or _is_compared(scene, user)
            elif user.name not in PASSED:
                return False
            elif steps < FARTHEST:
                outputs = user.op.outputs
                waiting += [(fact.tensor, steps + 1) for fact in outputs]
    return is_scored


def _is_compared(scene: HazardContext, choice: OperatorCall) -> bool:
    """Return whether chosen classes are compared with something."""
    waiting = [fact.tensor for fact in choice.op.outputs]
    for _ in range(FARTHEST):
        if not waiting:
            break
        for user in scene.users.get(waiting.pop(0), ()):
            if user.name in COMPARISONS:
                return True
            if user.name in PASSED:
                waiting += [fact.tensor for fact in user.op.outputs]
    return False
