"""Find lists of weights that share the memory of their model and are put back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.findings.codes import STATE_NOT_COPIED
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    get_last_name,
    pair_targets,
)

WEIGHTS = ("parameters", "named_parameters", "state_dict", "buffers")
SHOWING = frozenset({"detach", "numpy"})
"""Methods whose result has the memory of their tensor."""


def find_kept_weights(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `[p.data for p in model.parameters()]` that is copied back into a model."""
    for text in scene.program.own_texts():
        loops = [node for node in text.nodes if isinstance(node, ast.For)]
        puts = [node for node in loops if _is_putting_back(node)]
        if not puts:
            continue
        for node in text.nodes:
            if not isinstance(node, ast.ListComp | ast.DictComp):
                continue
            if not _is_of_weights(node) or _is_passed(text, node):
                continue
            holder = text.parent(node)
            targets = holder.targets if isinstance(holder, ast.Assign) else []
            kept = {get_last_name(target) for target in targets}
            own = [put for put in puts if kept & _list_put(put)]
            if isinstance(holder, ast.Return):
                own = puts  # a function that collects, for one that puts back
            if not own:
                continue
            yield build_finding(
                STATE_NOT_COPIED,
                "these weights are no copy: the steps that follow change them too, so"
                " that nothing is left to go back to",
                text.span(node),
                (text.span(own[0]), "they are put back here"),
            )


def find_kept_states(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `best = model.state_dict()` below the condition of a loop, which the same
    model loads, or which is saved, behind the loop: also where the run has not met the
    condition.
    """
    for text in scene.program.own_texts():
        loads = [
            node
            for node in text.nodes
            if isinstance(node, ast.Call)
            and get_called_name(node) in USES
            and node.args
        ]
        for node in text.nodes if loads else ():
            pairs = (
                pair_targets(node.targets[0], node.value)
                if isinstance(node, ast.Assign)
                else ()
            )
            for target, value in pairs:
                state, kept = _get_state(value), get_dotted_name(target)
                if state is None or not isinstance(node, ast.Assign):
                    continue
                of_model = (call for call in loads if _is_of(call, state, kept))
                load = next(of_model, None)
                if load is None or not _is_trained_on(text, node, load):
                    continue
                if any(_is_writing(part, kept) for part in text.nodes):
                    continue
                yield build_finding(
                    STATE_NOT_COPIED,
                    f"this state of `{text.written(_get_owner(state))}` is no copy:"
                    " the steps that follow change it too, so that nothing is left to"
                    " go back to",
                    text.span(state),
                    (text.span(load), f"it is {_describe_use(load)}"),
                )


def _describe_use(call: ast.Call) -> str:
    """Return the words for where a state that is no copy is used."""
    if get_called_name(call) == "save":
        return "saved here, and is that of the last step"
    return "loaded here, and is what the model has"


def _get_state(value: ast.expr) -> ast.Call | None:
    """Return `model.state_dict()` of itself, or of a copy of the dict alone, whose
    tensors are the model's.
    """
    inner: ast.expr | None = value
    if isinstance(value, ast.Call) and get_called_name(value) in COPIES_OF_DICTS:
        inner = value.args[0] if value.args else get_receiver(value)
    is_state = isinstance(inner, ast.Call) and _is_state(inner)
    return inner if isinstance(inner, ast.Call) and is_state else None


COPIES_OF_DICTS = frozenset({"copy", "dict", "OrderedDict"})
"""Calls that copy a dict, and not what it holds."""


def find_states_of_objects(scene: RehearsalContext) -> Iterator[Finding]:
    """Find `self.best = model.state_dict()`, alone or in a dict, below a condition,
    which another method saves or loads after the class has trained on.
    """
    for text in scene.program.own_texts():
        for node in text.nodes:
            owner = text.around(node, ast.ClassDef)
            if not isinstance(node, ast.Assign) or owner is None:
                continue
            kept = get_dotted_name(node.targets[0])
            state = _find_state(node.value)
            condition = text.around(node, ast.If)
            if state is None or not kept.startswith("self."):
                continue
            if not isinstance(condition, ast.If) or not _is_comparing(condition.test):
                continue
            use = _find_later_use(text, owner, node, kept)
            calls = {get_called_name(part) for part in ast.walk(owner)}
            if use is None or not calls & {"step", "backward"}:
                continue
            if _is_copied_later(owner, kept):
                continue
            yield build_finding(
                STATE_NOT_COPIED,
                f"this state of `{text.written(_get_owner(state))}` is no copy: the"
                " steps that follow change it too, so that it is not of the best model",
                text.span(state),
                (text.span(use), "it is read here, and is what the model has"),
            )


def _find_state(value: ast.expr) -> ast.Call | None:
    """Return `model.state_dict()`, alone or as a value of a dict."""
    parts = value.values if isinstance(value, ast.Dict) else [value]
    return next((state for state in map(_get_state, parts) if state), None)


def _is_comparing(test: ast.expr) -> bool:
    """Return whether a condition compares, as with the best result so far."""
    return any(isinstance(part, ast.Compare) for part in ast.walk(test))


def _find_later_use(
    text: SourceText, owner: ast.AST, node: ast.Assign, kept: str
) -> ast.Call | None:
    """Return the call in another method that saves or loads what is kept, or None; also
    where the method that keeps it saves it at once.
    """
    own = text.around(node, *FUNCTIONS)
    use = None
    for call in ast.walk(owner):
        if not isinstance(call, ast.Call) or get_called_name(call) not in USES:
            continue
        if not any(kept in ast.unparse(argument) for argument in call.args):
            continue
        if text.around(call, *FUNCTIONS) is own:
            return None
        use = use or call
    return use


def _is_copied_later(owner: ast.AST, kept: str) -> bool:
    """Return whether a class copies what it keeps in a statement of its own."""
    return any(
        isinstance(call, ast.Call)
        and get_called_name(call) in ("deepcopy", "clone", "copy")
        and kept in ast.unparse(call)
        for call in ast.walk(owner)
    )


USES = frozenset({"save", "load_state_dict"})
"""Functions that read a state."""


def _is_state(node: ast.expr) -> bool:
    """Return whether an expression is `model.state_dict()`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "state_dict"
        and not node.args
        and "optim" not in ast.unparse(node.func.value).lower()
    )


def _get_owner(call: ast.Call) -> ast.expr:
    """Return the object whose method is called."""
    assert isinstance(call.func, ast.Attribute)
    return call.func.value


def _is_writing(node: ast.AST, kept: str) -> bool:
    """Return whether a node sets an item of a kept state."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Store)
        and get_dotted_name(node.value) == kept
    )


def _is_of(call: ast.Call, state: ast.Call, kept: str) -> bool:
    """Return whether the model whose state was kept loads it, or it is saved as that of
    the best.
    """
    if get_called_name(call) == "save":
        return "best" in kept and get_dotted_name(call.args[0]) == kept
    return (
        isinstance(call.func, ast.Attribute)
        and kept != ""
        and len(call.args) == 1
        and get_dotted_name(call.args[0]) == kept
        and ast.unparse(call.func.value) == ast.unparse(_get_owner(state))
    )


def _is_trained_on(text: SourceText, node: ast.Assign, load: ast.Call) -> bool:
    """Return whether a state is kept under a condition in a loop with steps, which
    goes on, and loaded behind the loop.
    """
    condition = text.around(node, ast.If)
    loop = text.around(node, ast.For, ast.While)
    if condition is None or loop is None or text.around(condition, type(loop)) is None:
        return False
    after = load.lineno > (loop.end_lineno or loop.lineno)
    same = text.around(load, *FUNCTIONS) is text.around(node, *FUNCTIONS)
    calls = {get_called_name(part) for part in ast.walk(loop)}
    for name in [*calls]:  # of a function of the program that is called in the loop
        for _, function in text.functions(name) if name else ():
            calls |= {get_called_name(part) for part in ast.walk(function)}
    steps = bool(calls & {"step", "backward"})
    ends = any(isinstance(part, ast.Break | ast.Return) for part in condition.body)
    return after and same and steps and not ends


def _is_of_weights(node: ast.ListComp | ast.DictComp) -> bool:
    """Return whether an expression collects the weights of a model as they are."""
    value = node.elt if isinstance(node, ast.ListComp) else node.value
    while True:
        if isinstance(value, ast.Attribute) and value.attr == "data":
            value = value.value
        elif get_called_name(value) in SHOWING and isinstance(value, ast.Call):
            assert isinstance(value.func, ast.Attribute)
            value = value.func.value
        else:
            break
    over = ast.unparse(node.generators[0].iter)
    is_shown = value is not (node.elt if isinstance(node, ast.ListComp) else node.value)
    is_shown |= "state_dict()" in over
    return (
        isinstance(value, ast.Name)
        and is_shown
        and any(f".{word}()" in over for word in WEIGHTS)
    )


def _is_passed(text: SourceText, node: ast.expr) -> bool:
    """Return whether a list is only handed to a call, as to an optimizer or a norm."""
    parent = text.parent(node)
    return isinstance(parent, ast.Call | ast.keyword | ast.For | ast.comprehension)


def _list_put(node: ast.For) -> set[str]:
    """Return the last names of what a loop goes through with the weights."""
    return {
        get_last_name(part)
        for part in ast.walk(node.iter)
        if isinstance(part, ast.Name | ast.Attribute)
    }


def _is_putting_back(node: ast.For) -> bool:
    """Return whether a loop copies saved weights into those of a model."""
    if get_called_name(node.iter) != "zip":
        return False
    if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
        return False
    if ast.unparse(node.iter).count("parameters()") != 1:
        return False
    names = [ast.unparse(part) for part in node.target.elts]
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and get_called_name(part) == "copy_":
            is_put = any(ast.unparse(argument) in names for argument in part.args[:1])
            if is_put:
                return True
        if (
            isinstance(part, ast.Assign)
            and ast.unparse(part.value) in names
            and ast.unparse(part.targets[0]).endswith(".data")
        ):
            return True
    return False
