"""Sums over batches: outside their loop, or divided by what they are not a sum of."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.findings.finding import Finding
from shapewright.reasoning.training.scene import Loop, Scene, called, finding
from shapewright.source.expressions import Text
from shapewright.trace.op import Op

LOSSES = frozenset(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div "
    "binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss "
    "gaussian_nll_loss hinge_embedding_loss margin_ranking_loss ctc_loss "
    "cosine_embedding_loss triplet_margin_loss multi_margin_loss soft_margin_loss "
    "multilabel_margin_loss multilabel_soft_margin_loss".split()
)


def sums(scene: Scene) -> Iterator[Finding]:
    """Both kinds, in each loop over a loader."""
    seen: set[tuple[str, int]] = set()
    for loop in scene.loops():
        place = loop.moment.file, loop.moment.line
        if place in seen or (loop.moment.total or 2) < 2:
            continue
        seen.add(place)
        yield from behind_loop(loop)
        yield from divided_by_samples(scene, loop)


def behind_loop(loop: Loop) -> Iterator[Finding]:
    """`total += loss.item()` after the loop: only the last batch counts."""
    block = block_of(loop.text, loop.node)
    at = next((n for n, each in enumerate(block) if each is loop.node), None)
    if at is None:
        return
    made = names_made(loop.node)
    started = {
        node.id
        for each in block[:at]
        if isinstance(each, ast.Assign)
        for target in each.targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    }
    grown = {
        each.target.id
        for each in ast.walk(loop.node)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
    }
    for each in block[at + 1 :]:
        if not isinstance(each, ast.AugAssign) or not isinstance(each.op, ast.Add):
            continue
        name = each.target.id if isinstance(each.target, ast.Name) else ""
        used = {n.id for n in ast.walk(each.value) if isinstance(n, ast.Name)} & made
        if name in started - grown and used:
            batch = ", ".join(f"`{one}`" for one in sorted(used))
            yield finding(
                "sum-after-loop",
                f"`{name}` grows after the loop over batches, so only the last batch "
                f"counts in it: {batch} is of that batch",
                loop.text.span(each),
                (loop.text.span(loop.node.target), "the loop that it stands behind"),
            )


def divided_by_samples(scene: Scene, loop: Loop) -> Iterator[Finding]:
    """A sum of means, one a batch, divided by the number of samples."""
    text = loop.text
    for grown in ast.walk(loop.node):
        if not isinstance(grown, ast.AugAssign) or not isinstance(grown.op, ast.Add):
            continue
        loss = mean_in(scene, text, loop.node, grown.value)
        if loss is None or not isinstance(grown.target, ast.Name | ast.Attribute):
            continue
        total = ast.unparse(grown.target)
        for node in behind(text, loop.node):
            if (
                isinstance(node, ast.BinOp)
                and isinstance(node.op, ast.Div)
                and ast.unparse(node.left) == total
                and counts_samples(text, node.right, node)
            ):
                yield finding(
                    "mean-over-samples",
                    f"`{total}` is a sum of means, one for each batch, divided by the "
                    f"number of samples: `{ast.unparse(node.right)}`",
                    text.span(node),
                    (text.span(grown), "the mean of a batch is added here"),
                )
                return


def mean_in(
    scene: Scene, text: Text, loop: ast.For, value: ast.expr
) -> ast.expr | None:
    """The loss whose mean is added, where a value is `loss.item()` and no more."""
    inner = value
    while isinstance(inner, ast.Call):
        if isinstance(inner.func, ast.Attribute) and inner.func.attr in VALUES:
            inner = inner.func.value
        elif isinstance(inner.func, ast.Name) and inner.func.id == "float":
            inner = inner.args[0] if inner.args else inner.func
        else:
            break
    made: ast.expr | None = None
    if isinstance(inner, ast.Name):
        for node in ast.walk(loop):
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == inner.id for t in node.targets
            ):
                made = node.value
    elif isinstance(inner, ast.Call):
        made = inner
    return made if made is not None and is_mean(scene, text, made) else None


VALUES = frozenset({"item", "detach", "cpu", "data", "numpy"})


def is_mean(scene: Scene, text: Text, made: ast.expr) -> bool:
    """Whether a call is one of torch's losses, of which the mean is taken."""
    if not isinstance(made, ast.Call):
        return False
    lines = range(made.lineno, (made.end_lineno or made.lineno) + 1)
    found = [
        op
        for op in scene.program.trace.ops
        if op.name.rpartition(".")[2] in LOSSES
        and any(
            frame.span.file == text.file and frame.span.line in lines
            for frame in op.frames
        )
    ]
    return bool(found) and all(map(takes_mean, found))


def takes_mean(op: Op) -> bool:
    """Whether a loss is the mean over its samples."""
    given = dict(op.arguments)
    return given.get("reduction", "mean") == "mean" and not op.outputs[0].shape


def counts_samples(text: Text, value: ast.expr, at: ast.AST) -> bool:
    """Whether a number is that of the samples: `len(loader.dataset)`."""
    if isinstance(value, ast.Call) and called(value) == "len" and value.args:
        arg = value.args[0]
        if isinstance(arg, ast.Attribute) and arg.attr == "dataset":
            return True
        return isinstance(arg, ast.Name) and arg.id in data_sets(text)
    if isinstance(value, ast.Name):
        function = text.around(at, ast.FunctionDef, ast.Module)
        for node in ast.walk(function) if function is not None else ():
            if isinstance(node, ast.Assign) and any(
                isinstance(t, ast.Name) and t.id == value.id for t in node.targets
            ):
                own = not isinstance(node.value, ast.Name)
                return own and counts_samples(text, node.value, node)
    return False


def data_sets(text: Text) -> set[str]:
    """Names that a `DataLoader` is given."""
    return {
        node.args[0].id
        for node in (ast.walk(text.tree) if text.tree is not None else ())
        if isinstance(node, ast.Call)
        and called(node) == "DataLoader"
        and node.args
        and isinstance(node.args[0], ast.Name)
    }


def names_made(loop: ast.For) -> set[str]:
    """Names that are set in a loop's body, or by its head."""
    return {
        node.id
        for node in ast.walk(loop)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def block_of(text: Text, node: ast.stmt) -> list[ast.stmt]:
    """The statements among which one stands, those around its `with` too."""
    parent = text.parents.get(id(node))
    for name in ("body", "orelse", "finalbody"):
        block = getattr(parent, name, None)
        if isinstance(block, list) and any(each is node for each in block):
            if isinstance(parent, ast.With | ast.AsyncWith):
                around = block_of(text, parent)
                place = next(n for n, each in enumerate(around) if each is parent)
                return [*around[:place], *block, *around[place + 1 :]]
            return block
    return []


def behind(text: Text, loop: ast.For) -> Iterator[ast.AST]:
    """All nodes of the loop's function that stand below the loop."""
    function = text.around(loop, ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
    end = loop.end_lineno or loop.lineno
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.expr) and node.lineno > end:
            yield node
