"""Gradients and parameters: those that pile up, are thrown away, or never come."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.scene import LOOPS, Scene, called, finding
from shapewright.source.expressions import Text
from shapewright.source.span import Span
from shapewright.trace.training import Met


def stale_gradients(scene: Scene) -> Iterator[Finding]:
    """A backward pass adds to gradients that a step has used already."""
    for met in of_kind(scene, "stale"):
        user = f"`{met.name}`" if met.name else "an update by hand"
        clearing = "`zero_grad()`" if met.name else "`grad.zero_()` or `grad = None`"
        yield finding(
            "gradients-not-cleared",
            "this adds to the gradients of the step before: "
            f"{user} has used them and nothing cleared them since",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "step"), "this step used them"),
            (
                scene.span(met.other, "step"),
                f"{clearing} belongs behind it, or first",
            ),
        )


def unused_gradients(scene: Scene) -> Iterator[Finding]:
    """Gradients are cleared before any step has used them."""
    if not any(each.stepped for each in scene.training.optimizers):
        return
    for met in of_kind(scene, "cleared-unused"):
        if met.name and is_stepped(scene, met):
            continue  # under a condition that did not come
        said = f": this `{met.name}` never steps" if met.name else ""
        yield finding(
            "gradients-cleared-unused",
            f"the gradients that are cleared here were used by no step{said}",
            scene.span(met.place, "zero_grad"),
            (scene.span(met.other, "backward"), "this made them"),
        )


def is_stepped(scene: Scene, met: Met) -> bool:
    """Whether the text steps the optimizer whose gradients are cleared at a place.

    So it does too where it is not written which one that is.
    """
    text = scene.program.text(met.place[0])
    for node in text.near(met.place[1]) if text is not None else ():
        if isinstance(node, ast.Call) and called(node) == "zero_grad":
            owner = ast.unparse(node.func).removesuffix(".zero_grad")
            return text is None or f"{owner}.step(" in text.text
    return True


def kept_graphs(scene: Scene) -> Iterator[Finding]:
    """Each turn of a loop keeps its graph."""
    for met in of_kind(scene, "graph-kept"):
        span, name = scene.span(met.place, "backward"), ""
        keeper = None
        text = scene.program.text(met.place[0])
        if text is not None:
            name, keeper = keeper_of(text, met.place[1])
        kept = text.span(keeper) if text is not None and keeper is not None else span
        said = f"`{name}`" if name else "what a turn of the loop made"
        yield finding(
            "graph-kept",
            f"{said} is kept with its graph: the memory of each step stays until the "
            "loop is over",
            kept,
            (span, "its graph is made for this backward pass"),
            (kept, f"`{name}.item()` or `{name}.detach()` keeps the value alone"),
        )


def keeper_of(text: Text, line: int) -> tuple[str, ast.stmt | None]:
    """The name whose graph is kept, and the statement in its loop that keeps it."""
    passes = [
        node
        for node in text.near(line)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "backward"
    ]
    if not passes:
        return "", None
    names = [n.id for n in ast.walk(passes[0].func) if isinstance(n, ast.Name)]
    loop = text.around(passes[0], *LOOPS) or text.around(passes[0], ast.FunctionDef)
    for name in reversed(names):
        for node in ast.walk(loop) if loop is not None else ():
            if isinstance(node, ast.stmt) and keeps(node, name):
                return name, node
    return (names[-1] if names else ""), None


def keeps(node: ast.stmt, name: str) -> bool:
    """Whether a statement stores a tensor, and not only its value, beyond the turn."""
    if isinstance(node, ast.AugAssign):
        return is_bare(node.value, name)
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript | ast.Attribute):
            return is_bare(node.value, name)
        same = isinstance(target, ast.Name) and isinstance(node.value, ast.BinOp)
        names = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
        return same and target.id in names - {name} and is_bare(node.value, name)  # type: ignore[attr-defined]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if method in ("append", "extend", "add", "insert", "update", "setdefault"):
            return any(is_bare(each, name) for each in call.args)
    return False


def is_bare(value: ast.expr, name: str) -> bool:
    """Whether a name stands in an expression without being turned into its value."""
    if isinstance(value, ast.Name):
        return value.id == name
    if isinstance(value, ast.Call):
        return False
    return any(
        is_bare(each, name)
        for each in ast.iter_child_nodes(value)
        if isinstance(each, ast.expr)
    )


def forgotten_parameters(scene: Scene) -> Iterator[Finding]:
    """Parameters that no optimizer steps, and optimizers that hold strangers."""
    strangers = [each for each in scene.training.optimizers if each.strangers]
    for outside in scene.training.outside:
        many = len(outside.paths)
        whole = many == outside.of
        of = "" if whole else f" of {outside.of}"
        message = (
            f"{many}{of} parameters of `{outside.model}` get gradients and are in no "
            f"optimizer: {listed(outside.paths)}"
        )
        holders = strangers or list(scene.training.optimizers)
        places = [scene.span(each.built, each.name) for each in holders]
        related: list[tuple[Span | None, str]] = [
            (scene.built(outside.paths[0]), "built here"),
        ]
        if strangers:
            count = strangers[0].strangers
            related.append(
                (places[0], f"it holds {count} that belong to no model that ran")
            )
        most = not whole and 2 * many > outside.of
        if most and outside.as_made:
            message += "; they keep the random numbers that they were made with"
        yield finding(
            "not-in-optimizer",
            message,
            places[0] if places else None,
            *related,
            severity="note" if most and not outside.as_made else "warning",
        )


def idle_parameters(scene: Scene) -> Iterator[Finding]:
    """Parameters of an optimizer to which no gradient ever came."""
    for each in scene.training.optimizers:
        if each.stepped is None or not each.never:
            continue
        by_layer: dict[str, list[str]] = {}
        for path in each.never:
            by_layer.setdefault(path.rpartition(".")[0], []).append(path)
        layers = list(by_layer)
        many = len(each.never)
        first = scene.built(each.never[0])
        optimizer = scene.span(each.built, each.name)
        yield finding(
            "no-gradient",
            f"{many} of the {each.parameters} parameters of `{each.name}` never get a "
            f"gradient: {listed(layers)}",
            first or optimizer,
            (optimizer, "the optimizer holds them"),
            (scene.span(each.stepped, "step"), "its steps do not change them"),
            module=layers[0],
        )


def modes(scene: Scene) -> Iterator[Finding]:
    """Training in evaluation mode, evaluation in training mode."""
    for met in of_kind(scene, "trained-in-eval"):
        yield finding(
            "trained-in-eval-mode",
            f"`{met.name}` is trained in evaluation mode here: after `eval()` nothing "
            "called `train()` again",
            scene.span(met.place, "backward"),
            (scene.span(met.other, "eval"), "`eval()` was called here"),
        )
    for met in of_kind(scene, "evaluated-in-training"):
        yield finding(
            "evaluated-in-training-mode",
            f"`{met.name}` is evaluated in training mode: its dropout drops, its batch "
            "norm counts this data",
            scene.span(met.place),
        )


def of_kind(scene: Scene, kind: str) -> Iterator[Met]:
    """What was met of a kind."""
    return (each for each in scene.training.met if each.kind == kind)


def listed(names: Sequence[str], most: int = 4) -> str:
    """`a`, `b` and 3 more."""
    told = ", ".join(f"`{each}`" for each in names[:most])
    more = len(names) - most
    return f"{told} and {more} more" if more > 0 else told
