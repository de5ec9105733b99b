"""Find a draw that turns an image and leaves its mask as it is, or turns the two along
other dims: in part of the samples the mask no longer fits the image.

A function that returns two tensors, and turns one, may do so for another reason. So the
run has to show that one is the target of each pixel of what is made of the other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    build_finding,
)
from shapewright.analysis.training_mistakes.paired_augmentations import (
    find_separate_draws,
    has_target_of_pixels,
    is_drawn,
    is_turn,
)
from shapewright.findings.codes import SEPARATE_DRAWS, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import get_receiver
from shapewright.program.syntax_nodes import (
    collect_names,
    get_called_name,
    iter_assignments,
)

TURNS = ("flip", "rot", "mirror", "affine", "warp")
"""Parts of the names of functions that a mask has to go through with its image."""
Turned = list[tuple[str, ast.expr, ast.stmt]]
"""What a block turns: names, the new values, and the statements."""


@looks_for(SEPARATE_DRAWS)
def find_unpaired_turns(scene: RehearsalContext) -> Iterator[Finding]:
    """Find conditions that draw and turn one of the two results of a function."""
    yield from find_separate_draws(scene)
    pairs = [
        (text, *turn)
        for text in scene.program.own_texts()
        for _, function in text.functions()
        for turn in _find_turns(function)
    ]
    if not pairs or not has_target_of_pixels(scene):
        return
    for text, name, other, value, is_other_dim in pairs:
        if is_other_dim:
            message = (
                f"`{other}` is turned along another dim than `{name}`: in part of the"
                f" samples the two no longer fit, and one is the target of the other"
            )
        else:
            message = (
                f"`{name}` is turned by a draw, and `{other}` never is: in part of the"
                " samples the two no longer fit, and one is the target of the other"
            )
        yield build_finding(SEPARATE_DRAWS, message, text.span(value))


def _find_turns(
    function: ast.AST,
) -> Iterator[tuple[str, str, ast.expr, bool]]:
    """Yield the name of a result that a draw turns, that of the other result, the
    turned value, and whether both are turned, along several dims.
    """
    names = _find_results(function)
    if names is None:
        return
    for block in ast.walk(function):
        if not isinstance(block, ast.If) or block.orelse or not is_drawn(block.test):
            continue
        turned = [part for part in _list_turned(block) if part[0] in names]
        if len(turned) == 1:
            name, value, _ = turned[0]
            other = names[1 - names.index(name)]
            if not _is_read_by_turns(function, other, name):
                yield name, other, value, False
        elif [part[0] for part in turned] in (list(names), list(names[::-1])):
            dims = [_read_dims(value) for _, value, _ in turned]
            if dims[0] and dims[1] and dims[0] != dims[1]:
                yield turned[0][0], turned[1][0], turned[1][1], True


def _find_results(function: ast.AST) -> tuple[str, str] | None:
    """Return the names of the two results of a function, or None."""
    stored = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    arguments = getattr(function, "args", None)
    if isinstance(arguments, ast.arguments):
        stored |= {argument.arg for argument in arguments.args}
    results = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Return | ast.Yield) and node.value is not None
    ]
    if len(results) != 1 or not isinstance(results[0], ast.Tuple):
        return None
    parts = [sorted(collect_names(part) & stored) for part in results[0].elts]
    if len(parts) != 2 or any(len(part) != 1 for part in parts):
        return None
    return (parts[0][0], parts[1][0]) if parts[0] != parts[1] else None


def _list_turned(block: ast.If) -> Turned:
    """Return what a block turns: `x = x.flip(-1)`, `x, y = x.flip(-1), y.flip(-1)`."""
    turned: Turned = []
    for statement in block.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return []
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for name, new in pairs:
            if not isinstance(name, ast.Name) or not _is_own_turn(name.id, new):
                return []
            turned.append((name.id, new, statement))
    return turned


def _is_own_turn(name: str, value: ast.expr) -> bool:
    """Return whether a value is a turn of what a name was."""
    called = get_called_name(value).lower() if isinstance(value, ast.Call) else ""
    is_known = any(word in called for word in TURNS)
    return is_known and is_turn(value) and name in collect_names(value)


def _is_read_by_turns(function: ast.AST, other: str, name: str) -> bool:
    """Return whether any turn of a function reads a result, or one was made of the
    other.
    """
    for target, value in iter_assignments(function):
        is_other = isinstance(target, ast.Name) and target.id == other
        if is_other and name in collect_names(value):
            return True
    return any(
        is_turn(node) and other in collect_names(node)
        for node in ast.walk(function)
        if isinstance(node, ast.expr)
    )


def _read_dims(value: ast.expr) -> tuple[int, ...]:
    """Return the dims of a flip, counted from the last one, or none if the text does
    not say them all.
    """
    if not isinstance(value, ast.Call) or get_called_name(value) != "flip":
        return ()
    owner = get_receiver(value)
    is_function = isinstance(owner, ast.Name) and owner.id == "torch"
    parts = value.args[1:] if is_function else value.args
    parts += [word.value for word in value.keywords if word.arg == "dims"]
    flat = [
        item
        for part in parts
        for item in (part.elts if isinstance(part, ast.List | ast.Tuple) else [part])
    ]
    try:
        dims = [ast.literal_eval(item) for item in flat]
    except ValueError:
        return ()
    if not all(isinstance(dim, int) and dim < 0 for dim in dims):
        return ()
    return tuple(sorted(dims))
