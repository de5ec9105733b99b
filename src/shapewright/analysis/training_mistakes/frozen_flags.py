"""Find flags that freeze nothing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.swapped_flags import find_swapped_flags
from shapewright.analysis.training_mistakes.undone_flags import find_undone_flags
from shapewright.analysis.training_mistakes.unmatched_patterns import (
    find_unmatched_patterns,
)
from shapewright.analysis.training_mistakes.unread_options import find_unread_options
from shapewright.analysis.training_mistakes.unread_parameters import (
    find_unread_parameters,
)
from shapewright.findings.codes import (
    FLAG_WITHOUT_EFFECT,
    looks_for,
)
from shapewright.findings.finding import Finding
from shapewright.operators.facts import operators_with
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    OPTIMIZERS,
    get_called_name,
    get_last_name,
    iter_assignments,
)

MISSPELT = frozenset(
    {"require_grad", "require_grads", "requires_grads", "requires_gradient",
     "requires_grad_", "require_gradient", "requiresGrad", "required_grad",
     "require_gradients", "requires_gradients", "requries_grad", "required_gradient"}
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
    yield from find_unmatched_patterns(scene)
    yield from find_undone_flags(scene)
    yield from find_unread_parameters(scene)
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
    known |= {
        function.name
        for _, function in text.functions()
        if isinstance(function, ast.FunctionDef)
        and _is_maker_of_modules(function, known)
    }
    return bool(kinds) and all(kind in known | classes for kind in kinds)


def _is_maker_of_modules(function: ast.FunctionDef, known: set[str]) -> bool:
    """Return whether a function returns a module that it builds."""
    results = [
        node.value for node in ast.walk(function) if isinstance(node, ast.Return)
    ]
    return bool(results) and all(
        isinstance(value, ast.Call) and get_called_name(value) in known
        for value in results
    )
