"""Find terms of a loss that are computed under `torch.no_grad()` from what the model
returned: `kl = ((pred - ref) ** 2).mean()` there, and `loss + beta * kl` behind it; and
terms of tensors that numpy has had: `triplet(torch.from_numpy(out.data.numpy()), ...)`.

What is taken off the graph on purpose, with `detach()`, or that no gradient needs, such
as a maximum that is subtracted and added again, is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.autograd_errors.history import History
from shapewright.analysis.autograd_errors.lost_graphs import (
    GraphEnd,
    describe_numbers,
)
from shapewright.analysis.hazards.adversarial_labels import DETACHING
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.hazards.loss_terms import (
    SUMS,
    find_ancestors,
    find_terms,
    is_of_function,
    iter_losses,
)
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.findings.codes import CODES, TERM_WITHOUT_GRAPH
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact

WITHOUT_GRADIENT = (
    DETACHING
    | operators_with("compares_elements", "returns_indices", "finds_nonzero")
    | operators_with("has_zero_gradient", "leaves_graph", "returns_values_and_indices")
    | operators_with("finds_extremes")
    | {"grad", "count_nonzero"}
)
"""Calls whose result has no graph, or needs none."""
PENALTIES = frozenset({"pow", "**", "square", "norm", "abs", "vector_norm"})
"""Calls of a penalty, the first that reads a parameter."""
MOST = 64
"""Calls of a term that are followed."""
WHERE = "the graph ends here: compute it outside of `torch.no_grad()`"


def find_unrecorded_terms(scene: HazardContext) -> Iterator[Finding]:
    """Find terms that are computed of tensors with a graph, where none is kept."""
    seen: set[object] = set()
    for loss in iter_losses(scene):
        if not loss.requires_grad:
            continue
        for term in find_terms(scene, loss):
            fact = term.fact
            if not term.factor or fact.requires_grad or not _is_added(scene, fact):
                continue
            call = _find_unrecorded(scene, fact)
            if call is None:
                yield from _find_copied(scene, fact, seen)
                continue
            if call.op.span is None or call.op.span in seen:
                continue
            seen.add(call.op.span)
            message = (
                f"a term of the loss has no gradient: {_write(scene, call)} is computed"
                " under `torch.no_grad()`, so the term trains nothing"
            )
            yield scene.finding(TERM_WITHOUT_GRAPH, call.op, message, (call.op, WHERE))


def _is_added(scene: HazardContext, fact: Fact) -> bool:
    """Return whether a tensor is added to a loss as the number that it is, or as the
    mean of its elements: what is added to a sample is a shortcut.
    """
    for user in scene.users.get(fact.tensor, ()):
        if user.name in SUMS and any(out.shape for out in user.op.outputs):
            return False
    return True


def _find_unrecorded(scene: HazardContext, fact: Fact) -> OperatorCall | None:
    """Return the call of a term that reads a tensor with a graph and keeps none."""
    waiting, seen = [fact], set[int]()
    while waiting and len(seen) < MOST:
        part = waiting.pop(0)
        call = scene.maker(part)
        if call is None or part.tensor in seen or part.requires_grad:
            continue
        seen.add(part.tensor)
        if call.name in WITHOUT_GRADIENT or is_of_function(scene, part):
            continue
        if call.name.startswith("new_") or call.name.endswith("_like"):
            continue  # of the shape alone
        tracked = [other for other in call.op.inputs if other.requires_grad]
        if any(not other.is_leaf for other in tracked):
            return call
        if tracked and call.name in PENALTIES:
            return call
        if tracked and call.op.module:
            continue  # another model, which is not trained here
        waiting += [other for other in call.op.inputs if not other.requires_grad]
    return None


def _find_copied(
    scene: HazardContext, term: Fact, seen: set[object]
) -> Iterator[Finding]:
    """Yield a finding on a term of which a tensor was made of another's numbers."""
    history = History(scene.program)
    tracked = _find_tracked_lines(scene)
    cuts: list[GraphEnd] = []
    for call in find_ancestors(scene, term).values():
        if not any(scene.maker(fact) is None for fact in call.op.inputs):
            continue
        cut = describe_numbers(history, call.op)
        if cut is None or cut.span is None or not cut.names or cut.span in seen:
            continue
        if (cut.span.file, cut.span.line) in tracked:
            seen.add(cut.span)
            cuts.append(cut)
    cuts.sort(key=lambda cut: cut.span.line if cut.span is not None else 0)
    for cut in cuts[:1]:
        message = (
            f"a term of the loss has no gradient: the numbers of `{cut.names[0]}` are"
            " copied into a new tensor through numpy, so the term trains nothing"
        )
        places = tuple(Related(c.span, COPIED) for c in cuts if c.span is not None)
        severity = CODES[TERM_WITHOUT_GRAPH].severity
        yield Finding(TERM_WITHOUT_GRAPH, severity, message, cut.span, related=places)


def _find_tracked_lines(scene: HazardContext) -> set[tuple[str, int]]:
    """Return the lines at which a tensor with a graph is taken off it."""
    return {
        (op.span.file, op.span.line)
        for op in scene.program.trace.ops
        if op.span is not None
        and op.name.rpartition(".")[2] in DETACHING
        and any(fact.requires_grad and not fact.is_leaf for fact in op.inputs)
    }


COPIED = "the graph ends here: index and change the tensor itself"


def _write(scene: HazardContext, call: OperatorCall) -> str:
    """Return the expression of a call, or its name where that is long."""
    place = scene.program.node(call.op.span)
    written = place[0].written(place[1]) if place is not None else ""
    is_short = 0 < len(written) <= LONGEST and "\n" not in written
    return f"`{written}`" if is_short else scene.operation(call.op)


LONGEST = 60
"""Characters of an expression that a message repeats."""
