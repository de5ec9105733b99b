"""Find models and optimizers that each epoch builds anew: the training of the epochs
before is lost, or what an optimizer has learned of the gradients.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import SCHEDULE_RESTARTED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_last_name,
    is_optimizer,
)

EPOCH = re.compile(r"(^|_)(ep|epochs?|e)(_|\d|$)|^epoch", re.I)
WITH_STATE = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Adagrad")


def find_rebuilt_models(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `for epoch in ...: model = Net()` and an `Adam` of each epoch."""
    for text in scene.program.own_texts():
        for node in text.nodes:
            if not isinstance(node, ast.Assign) or not is_optimizer(node.value):
                continue
            assert isinstance(node.value, ast.Call)
            if not node.value.args or get_called_name(node.value) not in WITH_STATE:
                continue
            loop = _find_epochs(text, node)
            if loop is None or _is_of_turn(node.value, loop):
                continue
            model = _find_model(text, node.value)
            built = _find_built(text, loop, model) if model else None
            if built is not None:
                yield build_finding(
                    SCHEDULE_RESTARTED,
                    f"each epoch builds `{model}` anew: what the epochs before it have"
                    " trained is lost",
                    text.span(built),
                    (text.span(loop.iter), "the loop over epochs"),
                )
            elif text.around(node, *LOOPS) is loop:
                yield build_finding(
                    SCHEDULE_RESTARTED,
                    f"each epoch builds `{text.written(node.targets[0])}` anew: the"
                    f" moments of `{get_called_name(node.value)}` begin at 0 again",
                    text.span(node.value),
                    (text.span(loop.iter), "the loop over epochs"),
                    severity="note",
                )


def _find_epochs(text: SourceText, node: ast.AST) -> ast.For | None:
    """Return the loop over epochs in whose body a statement stands by itself."""
    loop = text.around(node, *LOOPS)
    if not isinstance(loop, ast.For) or node not in loop.body:
        return None
    names = collect_names(loop.target, ast.Store)
    is_counted = get_called_name(loop.iter) in ("range", "trange", "tqdm")
    has_batches = any(isinstance(part, LOOPS) for part in loop.body)
    if not is_counted or not has_batches or not any(map(EPOCH.search, names)):
        return None
    outer = text.around(loop, *LOOPS)
    return None if outer is not None else loop


def _is_of_turn(call: ast.Call, loop: ast.For) -> bool:
    """Return whether the settings of an optimizer change from epoch to epoch."""
    changing = collect_names(loop, ast.Store)
    settings = [*call.args[1:], *(word.value for word in call.keywords)]
    return any(collect_names(setting, ast.Load) & changing for setting in settings)


def _find_model(text: SourceText, call: ast.Call) -> str:
    """Return the name of the model whose parameters an optimizer gets, or an empty
    string.
    """
    first = call.args[0]
    if get_called_name(first) != "parameters" or not isinstance(first, ast.Call):
        return ""
    owner = first.func.value if isinstance(first.func, ast.Attribute) else None
    return get_last_name(owner) if isinstance(owner, ast.Name) else ""


def _find_built(text: SourceText, loop: ast.For, model: str) -> ast.Assign | None:
    """Return the statement of a loop that builds a model, if nothing loads its weights
    and no other place builds it.
    """
    built = [
        statement
        for statement in loop.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and [get_last_name(target) for target in statement.targets] == [model]
    ]
    if len(built) != 1 or len(find_defining(text, model)) != 1:
        return None
    words = ast.unparse(loop)
    if "load_state_dict" in words or "copy" in words:
        return None
    name = get_called_name(built[0].value)
    is_own = any(
        isinstance(owner, (ast.ClassDef, *FUNCTIONS))
        for _, owner in text.definitions(name)
    )
    return built[0] if is_own or name in ("Sequential", "Linear") else None
