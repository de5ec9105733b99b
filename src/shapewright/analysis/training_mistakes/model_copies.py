"""Find copies of models that are none: a target network or an average that is the model
itself under a second name.

An update of such a copy reads and writes the same weights. That is harmless where the
text says so (`model.load_state_dict(model.state_dict())`), and a mistake where it names
two models.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.training_mistakes.best_models import (
    find_best_models,
    find_models_kept_by_objects,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.second_names import find_models_named_twice
from shapewright.analysis.training_mistakes.uncalled_targets import (
    find_uncalled_targets,
)
from shapewright.findings.codes import MODEL_NOT_COPIED, looks_for
from shapewright.findings.finding import Finding, Related
from shapewright.program.source_text import SourceText, find_defining, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    get_last_line,
    get_last_name,
)

STATES = frozenset({"parameters", "named_parameters", "buffers", "values", "items"})
"""Methods over whose results an update of a copy loops."""
WRITERS = frozenset({"update", "__setitem__"})
"""Methods of dicts that write items."""
SELF = frozenset({"eval", "train", "to", "cuda", "cpu", "requires_grad_", "float"})
"""Methods of modules that return the module itself."""
SHALLOW = frozenset({"copy.copy", "copy"})
"""Functions whose copy of a module has the parameters of the module."""


@looks_for(MODEL_NOT_COPIED)
def find_models_without_copy(scene: RehearsalContext) -> Iterator[Finding]:
    """Find states that a model loads from itself, and averages of a model with
    itself: once for each second name.
    """
    findings: dict[object, Finding] = {}
    yield from find_models_named_twice(scene)
    yield from find_uncalled_targets(scene)
    yield from find_best_models(scene)
    yield from find_models_kept_by_objects(scene)
    for finding in _iter_own_updates(scene):
        first = findings.get(finding.message)
        if first is None or first.file != finding.file:
            findings[finding.message if first is None else len(findings)] = finding
        elif finding.span is not None and finding.span != first.span:
            more = Related(finding.span, "this changes nothing either")
            related = (*first.related, more)
            findings[finding.message] = replace(first, related=related)
    yield from findings.values()


def _iter_own_updates(scene: RehearsalContext) -> Iterator[Finding]:
    """Yield each update of a model with its own weights."""
    for met in scene.observations("own-state"):
        text = scene.program.text(met.place[0])
        for node in text.near(met.place[1]) if text is not None else ():
            assert text is not None
            pair = _find_loaded_pair(text, node)
            if pair is not None:
                yield from _report_one_model(text, node, *pair)
                break
    for text in scene.program.own_texts():
        yield from _find_own_loads(text)
        loops = [n for n in text.nodes if isinstance(n, ast.For)] if text else []
        for loop in loops:
            pair = _find_zipped_pair(loop)
            if pair is None:
                continue
            if _is_of_one_model(scene, text, loop):
                yield from _report_one_model(text, loop.iter, *pair)


def _find_own_loads(text: SourceText) -> Iterator[Finding]:
    """Find copies that are updated with their own weights, where the text gives them
    those of another model elsewhere.
    """
    for node in text.nodes:
        pair = _find_loaded_pair(text, node) or _find_zipped_pair(node)
        if pair is None or ast.unparse(pair[0]) != ast.unparse(pair[1]):
            continue
        origin = _find_origin(text, node, pair[0])
        if isinstance(node, ast.Call) and _is_rewritten(text, node):
            continue
        if not isinstance(node, ast.Call | ast.For) or origin is None:
            continue
        copy, (where, model) = text.written(pair[0]), origin
        place = node.iter if isinstance(node, ast.For) else node
        yield build_finding(
            MODEL_NOT_COPIED,
            f"`{copy}` gets its own weights here, which changes nothing: those of"
            f" `{model}` were meant, of which it is a copy",
            text.span(place),
            (text.span(where), f"`{copy}` gets the weights of `{model}` here"),
        )


def _is_rewritten(text: SourceText, load: ast.Call) -> bool:
    """Return whether the state that a model loads was written item by item, as in
    `state[key] = tau * value + (1 - tau) * state[key]`.
    """
    state = load.args[0] if load.args else None
    if not isinstance(state, ast.Name):
        return False
    scope = text.around(load, *FUNCTIONS)
    for node in text.nodes:
        target: ast.AST | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target = node.value
        elif isinstance(node, ast.Call) and get_called_name(node) in WRITERS:
            target = get_receiver(node)
        is_state = isinstance(target, ast.Name) and target.id == state.id
        if is_state and text.around(node, *FUNCTIONS) is scope:
            return True
    return False


def _find_origin(
    text: SourceText, update: ast.AST, copy: ast.expr
) -> tuple[ast.expr, str] | None:
    """Return the call that gives a model the weights of another one, and the name of
    that model: `copy.load_state_dict(model.state_dict())`, `deepcopy(model)`. It stands
    where the names are the same ones: in the same class, or the same function.
    """
    name = ast.unparse(copy)
    kinds = (ast.ClassDef,) if name.startswith("self.") else FUNCTIONS
    scope = text.around(update, *kinds)
    for node in text.nodes:
        if text.around(node, *kinds) is not scope:
            continue
        pair = _find_loaded_pair(text, node) if isinstance(node, ast.Call) else None
        if pair is not None and isinstance(node, ast.Call):
            first, second = map(ast.unparse, pair)
            if first == name != second and get_dotted_name(pair[1]):
                return node, second
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        value = get_model(node.value)
        value = value if isinstance(value, ast.Call) else node.value
        is_copy = get_called_name(value) == "deepcopy" and len(value.args) == 1
        if is_copy and name in map(ast.unparse, node.targets):
            second = get_dotted_name(value.args[0])
            if second and second != name:
                return value, second
    return None


def _report_one_model(
    text: SourceText, node: ast.expr | ast.stmt, copy: ast.expr, model: ast.expr
) -> Iterator[Finding]:
    """Yield the finding for a model with two names, unless one of them is chosen under
    a condition.
    """
    first, second = text.written(copy), text.written(model)
    if not get_dotted_name(copy) or not get_dotted_name(model):
        return
    if f"{first}.".startswith(f"{second}.") or f"{second}.".startswith(f"{first}."):
        return
    aliases: list[ast.stmt] = []
    for name in (get_last_name(copy), get_last_name(model)):
        for value in find_defining(text, name):
            if isinstance(value, ast.IfExp) or text.around(value, ast.If) is not None:
                return
            if get_dotted_name(get_model(value)):
                aliases.append(text.statement_of(value))
    aliases += [
        statement
        for statement in text.nodes
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Call)
        and {first, second} <= {ast.unparse(aim) for aim in statement.targets}
        and text.around(statement, ast.If) is None
    ]
    if not aliases:
        return
    assigned = next((node for node in aliases if isinstance(node, ast.Assign)), None)
    alias = text.span(assigned) if assigned is not None else None
    yield build_finding(
        MODEL_NOT_COPIED,
        f"`{first}` is the same model as `{second}`, not a copy of it: this changes"
        " nothing, and each step changes both",
        text.span(node),
        (alias, "a second name for one model"),
    )


def get_model(value: ast.expr) -> ast.expr:
    """Return `model` of `model.to(device).eval()`."""
    while isinstance(value, ast.Call):
        if ast.unparse(value.func) in SHALLOW and len(value.args) == 1:
            value = value.args[0]
            continue
        receiver = get_receiver(value) if get_called_name(value) in SELF else None
        if receiver is None:
            break
        value = receiver
    return value


def _find_loaded_pair(
    text: SourceText, node: ast.AST
) -> tuple[ast.expr, ast.expr] | None:
    """Return the models of `copy.load_state_dict(model.state_dict())`."""
    if not isinstance(node, ast.Call) or get_called_name(node) != "load_state_dict":
        return None
    copy = get_receiver(node)
    state = node.args[0] if node.args else None
    states = [state] if isinstance(state, ast.Call) else []
    if isinstance(state, ast.Name):
        states = [
            value
            for value in find_defining(text, state.id)
            if isinstance(value, ast.Call)
        ]
    for call in states:
        model = get_receiver(call)
        if get_called_name(call) == "state_dict" and copy is not None and model:
            return copy, model
    return None


def _find_zipped_pair(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Return the models of `for p, q in zip(copy.parameters(), model.parameters())`."""
    if not isinstance(node, ast.For) or get_called_name(node.iter) != "zip":
        return None
    call = node.iter
    assert isinstance(call, ast.Call)
    if len(call.args) != 2 or not isinstance(node.target, ast.Tuple):
        return None
    owners: list[ast.expr] = []
    for argument in call.args:
        owner = get_receiver(argument) if isinstance(argument, ast.Call) else None
        if owner is None or get_called_name(argument) not in STATES:
            return None
        if isinstance(owner, ast.Call) and get_called_name(owner) == "state_dict":
            owner = get_receiver(owner)
        if owner is None:
            return None
        owners.append(owner)
    names = [collect_names(target) for target in node.target.elts]
    together = any(
        all(collect_names(statement) & group for group in names)
        for statement in ast.walk(node)
        if isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign)
    )
    return (owners[0], owners[1]) if together and len(names) == 2 else None


def _is_of_one_model(scene: RehearsalContext, text: SourceText, loop: ast.For) -> bool:
    """Return whether the calls of a loop write all storages that they read, and none
    of them writes from one storage to another, as an exchange of two models does.
    """
    lines = range(loop.body[0].lineno, get_last_line(loop) + 1)
    written, read, fresh = set[int](), set[int](), set[int]()
    for op in scene.program.trace.ops:
        if not any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        ):
            continue
        if op.kind == "inplace":
            written.update(fact.storage for fact in op.outputs[:1])
            sources = {fact.storage for fact in op.inputs} - fresh
            if len(sources) > 1:
                return False
        elif op.kind in ("new", "copy"):
            fresh.update(fact.storage for fact in op.outputs)
        read.update(fact.storage for fact in op.inputs if fact.storage not in fresh)
    return bool(written - fresh) and read <= written
