"""Why torch's autograd refused a call, as data: which tensor, which line keeps its
graph, which line freed the graph or wrote to the tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from shapewright.analysis.autograd_errors.custom_functions import (
    RETURNED,
    find_wrong_gradient,
)
from shapewright.analysis.autograd_errors.early_makers import (
    iter_data_with_gradient,
    list_early_makers,
)
from shapewright.analysis.autograd_errors.history import (
    History,
    find_later_user,
    is_graph_kept,
)
from shapewright.analysis.autograd_errors.inference_tensors import (
    REFUSED,
    describe_inference_tensor,
)
from shapewright.analysis.autograd_errors.lost_graphs import find_cut, find_freezing
from shapewright.analysis.autograd_errors.names import (
    find_carried_names,
    find_kept_attribute,
    find_name,
    find_name_of,
    find_uncalled_reset,
    get_name_of_loss,
    get_wanted_name,
    is_before_loop,
    list_quoted,
    name_where_made,
)
from shapewright.analysis.autograd_errors.shared_writes import (
    describe_shared_write,
    list_shared_writes,
)
from shapewright.analysis.autograd_errors.uncut_helpers import find_uncut_helper
from shapewright.analysis.autograd_errors.written_tensors import find_write
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import drop_repeated
from shapewright.findings.codes import (
    GRAPH_CUT,
    GRAPH_FREED,
    LEAF_WRITTEN,
    SAVED_TENSOR_WRITTEN,
    SHAPE_MISMATCH,
    TORCH_ERROR,
)
from shapewright.findings.finding import Related
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.record.ops import Fact, Op

SECOND = "backward through the graph a second time"
WRITTEN = "modified by an inplace operation"
VIEW_WRITTEN = "is a view and is being modified inplace"
FROZEN = "differentiated Tensors does not require grad"
FLAG = "can only change requires_grad flags of leaf"
UNUSED = "appears to not have been used in the graph"
LEAVES = (
    "a leaf Variable that requires grad",
    "a view of a leaf Variable that requires grad",
)


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of an error of autograd.

    `kind` says what happened: `carried` (a tensor brings the graph of an earlier
    iteration), `before-loop` (a graph made once, used in each iteration), `same-loss`,
    `two-losses`, `written`, `step` (an optimizer wrote), `cut`, `frozen`, `leaf`,
    `view` (a write to a view that autograd cannot follow), `function` (the program's
    own `backward` returns a gradient that does not fit), `unused` (what a loss is
    differentiated by is no part of it), `flag` (the flag of a tensor that was computed
    is set), `inference` (a tensor of inference mode).
    `fact` is the tensor, `maker` and `user` the calls on both sides of it, `other` the
    earlier backward pass or the call that wrote or cut. `names` are the program's
    expressions for the tensor.
    """

    code: str
    kind: str
    message: str
    failing: Op
    fact: Fact | None = None
    maker: Op | None = None
    user: Op | None = None
    other: Op | None = None
    names: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()


def find_cause(program: Program, failure: Failure) -> Cause | None:
    """Find the cause of an error of autograd; None for errors of another kind."""
    message = failure.torch_message
    op = program.trace.ops[failure.op]
    if any(words in message for words in LEAVES):
        return _explain_leaf(program, op, message)
    if not failure.of_history:
        return None
    if REFUSED in message:
        words, places = describe_inference_tensor(program, op, message)
        return Cause(TORCH_ERROR, "inference", words, op, related=places)
    gradient = find_wrong_gradient(program, op.span, message)
    if gradient is not None:
        return Cause(
            SHAPE_MISMATCH, "function", gradient.message, op, related=gradient.related
        )
    if RETURNED.search(message):
        return None
    history = History(program)
    if FLAG in message:
        return _explain_flag(history, op, "detach()" in message)
    if UNUSED in message:
        return _explain_unused(history, op, message)
    if SECOND in message:
        return _explain_freed(history, op)
    if WRITTEN in message:
        return _explain_written(history, op, message)
    if VIEW_WRITTEN in message:
        return _explain_view(history, op, message)
    if FROZEN in message:
        return _explain_frozen(history, op)
    return _explain_cut(history, op)


# -- a graph that an earlier backward pass freed --------------------------------------


def _explain_freed(history: History, failing: Op) -> Cause | None:
    """Explain a second backward pass through a graph."""
    graph = history.collect_graph(failing.inputs, failing.index)
    failed = {failure.op for failure in history.program.failures}
    for first in reversed(history.passes):
        if (
            first.index >= failing.index
            or first.index in failed
            or is_graph_kept(first)
        ):
            continue
        earlier = history.collect_graph(first.inputs, first.index)
        shared = {index: graph[index] for index in graph if index in earlier}
        if shared:
            return _describe_freed(history, failing, first, graph, shared)
    return None


def _describe_freed(
    history: History,
    failing: Op,
    first: Op,
    graph: dict[int, Op],
    shared: dict[int, Op],
) -> Cause:
    """Describe a graph that `first` freed and `failing` needs again."""
    program = history.program
    loss, call = get_name_of_loss(program, failing), _quote(program, failing)
    again = first.span == failing.span
    edges = [
        edge
        for edge in history.iter_edges(graph, shared)
        if edge.fact.tensor not in program.states or not edge.fact.is_leaf
    ]
    where = _format_line(first)
    if not edges:
        explanation = f"{call} is the second backward pass through the graph of {loss}"
        if again:
            explanation += ", which the same line freed in the previous iteration"
        else:
            explanation += f", which {_quote(program, first)} {where} freed"
        kind = "same-loss"
        related = [_make_place(first, "the graph is freed here")]
        maker = history.find_maker(failing.inputs[0], failing.index)
        if again and maker is not None and is_before_loop(history, maker, failing):
            kind = "before-loop"
            related.append(_make_place(maker, f"{loss} is computed here, once"))
        return Cause(
            GRAPH_FREED, kind, explanation, failing, failing.inputs[0], maker, failing,
            first, (loss.strip("`"),), tuple(_drop_repeated(related)),
        )  # fmt: skip
    edge = edges[0]
    carried = find_carried_names(history, edge, failing)
    name = find_name(history, edge)
    if name.startswith("`self."):
        carried = list_quoted(name)
    kept = find_kept_attribute(history, edge.maker, failing) if again else None
    if kept is not None:
        carried = (kept[2],)
    name = f"`{carried[0]}`" if carried else name
    maker_place = _make_place(edge.maker, f"{name} is made by `{edge.maker.name}`")
    user = find_later_user(history, edge, graph, first)
    used = _make_place(user, f"{name} is used again here")
    freed = _make_place(first, "its graph is freed here")
    kind = "two-losses"
    if kept is not None or (again and is_before_loop(history, edge.maker, failing)):
        kind = "before-loop"
        once = "by the constructor" if kept is not None else "before the loop"
        explanation = f"{name} is computed once, {once}, and its graph is freed by the"
        explanation += f" first {_quote(program, first)}"
    elif again or (edge.maker.index < first.index < edge.user.index and carried):
        kind = "carried" if again else "two-losses"
        explanation = f"{name} carries the graph of the previous iteration, which"
        explanation += f" {_quote(program, first)} freed"
    unreached = find_uncalled_reset(history, failing, carried) if again else None
    helper = find_uncut_helper(history, failing, carried) if carried else None
    uncut = None
    if helper is not None and kind == "carried":
        explanation += f": `{helper.name}` returns it as it is"
        uncut = Related(helper.span, f"`{helper.name}` does not cut the graph here")
    if kind == "two-losses":
        other = get_name_of_loss(program, first)
        explanation = f"{loss} and {other} share the graph of {name}, which"
        explanation += f" {_quote(program, first)} {where} freed"
        if loss == other == name:
            kind = "summed"
            explanation = f"{loss} is added to again with the graph that"
            explanation += f" {_quote(program, first)} {where} freed: the sum was not"
            explanation += " started anew"
    return Cause(
        GRAPH_FREED, kind, explanation, failing, edge.fact, edge.maker, edge.user,
        first, carried or list_quoted(name),
        tuple(_drop_repeated([
            uncut, maker_place, *iter_data_with_gradient(program, edge.maker, kind),
            used, freed, unreached,
        ])),
    )  # fmt: skip


# -- a tensor that was written after a call saved it ----------------------------------


def _explain_written(history: History, failing: Op, message: str) -> Cause | None:
    """Explain a write to a tensor that a backward pass needs."""
    program = history.program
    write_found = find_write(history, failing, message)
    if write_found is None:
        return None
    edge, write = write_found
    name = find_name(history, edge)
    call = _quote(program, write)
    loss = get_name_of_loss(program, failing)
    path = program.states.get(edge.fact.tensor)
    saved = _make_place(edge.user, f"{name} is saved here, by `{edge.user.name}`")
    wrote = _make_place(write, f"{name} is written here")
    if path is not None or edge.fact.is_leaf:
        explanation = f"{call} {_format_line(write)} changes {name}, which"
        explanation += (
            f" {_quote(program, failing)} still needs: the graph of {loss} was"
        )
        explanation += " made before"
        kind = "step" if "step" in call else "written"
        related = [*list_early_makers(history, failing, write), saved, wrote]
    else:
        kind = "written"
        own = edge.user.index == edge.maker.index
        what = f"the output of `{edge.user.name}`" if own else name
        explanation = f"{call} {_format_line(write)} writes to {what}"
        user = "" if own else f" of `{edge.user.name}`"
        needs = f", which the backward pass{user} needs unchanged"
        related = [wrote, saved]
        through = describe_shared_write(history, edge, write, name + needs)
        explanation += needs
        if through is not None:
            explanation = f"{call} {_format_line(write)} {through}"
            writes = list_shared_writes(history, edge, write, failing)
            related = [*(_make_place(*place) for place in writes), saved]
    return Cause(
        SAVED_TENSOR_WRITTEN, kind, explanation, failing, edge.fact, edge.maker,
        edge.user, write, list_quoted(name), tuple(_drop_repeated(related)),
    )  # fmt: skip


# -- a loss without a graph -----------------------------------------------------------


def _explain_cut(history: History, failing: Op) -> Cause | None:
    """Explain a loss that nothing trainable leads to."""
    program = history.program
    cut = find_cut(history, failing)
    if cut is None:
        return None
    loss = get_name_of_loss(program, failing)
    explanation = f"{loss} has no graph: {cut.reason}"
    related: list[Related | None] = []
    if cut.span is not None:
        related = [Related(cut.span, cut.label)]
    elif cut.op is not None:
        related = [_make_place(cut.op, cut.label)]
    return Cause(
        GRAPH_CUT, "frozen" if cut.op is None else "cut", explanation, failing,
        other=cut.op, names=cut.names, related=tuple(_drop_repeated(related)),
    )  # fmt: skip


def _explain_frozen(history: History, failing: Op) -> Cause | None:
    """Explain `autograd.grad` for tensors that require no gradient."""
    program = history.program
    wanted = [
        fact
        for place, fact in zip(failing.places, failing.inputs, strict=False)
        if place.startswith(("1", "inputs")) and not fact.requires_grad
    ]
    if not wanted:
        return None
    path = program.states.get(wanted[0].tensor)
    name = f"`{path}`" if path is not None else get_wanted_name(program, failing)
    name = name or find_name_of(history, wanted[0], failing)
    explanation = (
        f"{_quote(program, failing)} asks for the gradient of {name}, which requires"
    )
    explanation += " none"
    related: list[Related | None] = []
    for file in program.trace.sources:
        text = program.text(file)
        place = find_freezing(text) if text is not None else None
        if text is not None and place is not None and path is not None:
            related.append(Related(text.span(place), "it is frozen here"))
            explanation += f" since line {place.lineno}"
            break
    maker = program.producers.get(failing.inputs[0].tensor)
    if maker is not None:
        related.append(_make_place(maker, "the graph is recorded here"))
    return Cause(
        GRAPH_CUT, "not-required", explanation, failing, wanted[0], maker,
        related=tuple(_drop_repeated(related)),
    )  # fmt: skip


# -- a view written in place -----------------------------------------------------------


def _explain_view(history: History, op: Op, message: str) -> Cause:
    """Explain a write to a view of which autograd cannot follow the write."""
    program = history.program
    call, name = _quote(program, op), find_name(history, None, op)
    if "custom Function" in message:
        what = (
            "a view of what a custom `Function` returned, whose backward it would skip"
        )
    elif "multiple views" in message:
        what = "one of several views that a call returned together"
    elif "no_grad" in message:
        what = "a view made under `torch.no_grad()`"
    else:
        what = "a view"
    related = []
    maker = program.producers.get(op.inputs[0].tensor) if op.inputs else None
    if maker is not None:
        related.append(_make_place(maker, f"{name} is made by `{maker.name}`"))
    return Cause(
        SAVED_TENSOR_WRITTEN, "view",
        f"{call} writes to {name}, {what}: torch allows no write to it", op, other=op,
        names=list_quoted(name), related=tuple(_drop_repeated(related)),
    )  # fmt: skip


# -- a loss that is differentiated by what it was not made of ------------------------


def _explain_unused(history: History, op: Op, message: str) -> Cause | None:
    """Explain `autograd.grad(u, x)` where `u` was not computed from `x`."""
    number = re.search(r"at index (\d+)", message)
    sources = [fact for fact in op.inputs if fact.requires_grad]
    losses = _count_losses(history.program, op)
    at = losses + int(number[1]) if number is not None else losses
    if at >= len(sources):
        return None
    fact, loss = sources[at], sources[0]
    maker = history.find_maker(fact, op.index)
    name, other = (name_where_made(history, tensor, op) for tensor in (fact, loss))
    explanation = f"{other} is not computed from {name}"
    related: list[Related | None] = []
    if maker is not None and maker.inputs:
        whole = maker.inputs[0]
        graph = history.collect_graph((loss,), op.index)
        users = [
            used
            for index, used in sorted(graph.items())
            if any(source.tensor == whole.tensor for source in used.inputs)
        ]
        related.append(_make_place(maker, f"{name} is made here, and not read again"))
        if users:
            first = find_name_of(history, whole, maker)
            explanation += f", but from {first}, which {name} is a part of"
            related.append(_make_place(users[0], f"{first} is read here"))
    return Cause(
        GRAPH_CUT, "unused", explanation, op, fact, maker, op,
        names=list_quoted(name), related=tuple(_drop_repeated(related)),
    )  # fmt: skip


def _count_losses(program: Program, op: Op) -> int:
    """Return how many tensors a call of `autograd.grad` differentiates."""
    text_and_call = program.call_at(op.span)
    call = text_and_call[1] if text_and_call is not None else None
    first = call.args[0] if call is not None and call.args else None
    return len(first.elts) if isinstance(first, ast.Tuple | ast.List) else 1


# -- the flag of a tensor that was computed --------------------------------------------


def _explain_flag(history: History, op: Op, is_off: bool) -> Cause | None:
    """Explain `h.requires_grad = False` of a tensor with a graph."""
    program = history.program
    text_and_node = program.node(op.span)
    if text_and_node is None or not op.inputs:
        return None
    text, node = text_and_node
    statement = text.statement_of(node)
    for part in (node, *ast.walk(statement)):
        if isinstance(part, ast.Attribute) and part.attr.startswith("requires_grad"):
            name = text.line_of(part.value)
            break
    else:
        return None
    explanation = (
        f"`{name}` was computed from what requires a gradient: `requires_grad` can only"
        " be set of tensors that were not computed;"
    )
    explanation += (
        " `detach()` gives one without the graph"
        if is_off
        else " it has the flag already, and `retain_grad()` keeps its gradient"
    )
    maker = history.find_maker(op.inputs[0], op.index)
    place = _make_place(maker, f"`{name}` is computed here") if maker else None
    return Cause(
        TORCH_ERROR, "flag", explanation, op, op.inputs[0], maker, names=(name,),
        related=tuple(_drop_repeated([place])),
    )  # fmt: skip


# -- a leaf written in place ----------------------------------------------------------


def _explain_leaf(program: Program, op: Op, message: str) -> Cause:
    """Explain a write to a tensor that requires a gradient and was not computed."""
    history = History(program)
    call = _quote(program, op)
    name = find_name(history, None, op)
    path = program.states.get(op.inputs[0].tensor) if op.inputs else None
    what = "a parameter" if path is not None else "a tensor created with gradients on"
    of = "a view of " if "view of" in message else ""
    explanation = f"{call} writes to {of}{name}, {what}: outside `torch.no_grad()`"
    explanation += " torch allows no write to it"
    related = []
    maker = program.producers.get(op.inputs[0].tensor) if op.inputs else None
    if maker is not None:
        related.append(_make_place(maker, f"{name} is made by `{maker.name}`"))
    return Cause(
        LEAF_WRITTEN, "leaf", explanation, op, op.inputs[0] if op.inputs else None,
        maker, names=list_quoted(name), related=tuple(_drop_repeated(related)),
    )  # fmt: skip


# -- words -----------------------------------------------------------------------------


def _quote(program: Program, op: Op) -> str:
    """Return the text of a call in backquotes, or the call's name if it is long."""
    text_and_node = program.node(op.span)
    if text_and_node is None:
        return f"`{op.name}`"
    text, node = text_and_node
    written = _get_written(text, node)
    return f"`{written}`" if len(written) <= 48 else f"`{op.name}`"


def _get_written(text: SourceText, node: ast.expr | ast.stmt) -> str:
    """Return the text of an expression on one line; of `x[0] += y`, all of it."""
    around = text.parent(node)
    if isinstance(node, ast.Subscript) and isinstance(around, ast.Assign):
        return join_lines(text.written(around))
    return join_lines(text.written(node))


def _format_line(op: Op) -> str:
    """Return where a call stands: `at line 12`."""
    return f"at line {op.span.line}" if op.span is not None else ""


def _make_place(op: Op, label: str) -> Related | None:
    """Return the place of a call, with what happens there."""
    return Related(op.span, label) if op.span is not None else None


def _drop_repeated(places: Iterable[Related | None]) -> list[Related]:
    """Return the places that are known, each line once."""
    return drop_repeated([place for place in places if place is not None], ())
