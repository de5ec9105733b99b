"""States of a recurrent layer: the last one was meant, or those of both directions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.findings.codes import (
    BATCH_DIM_MISMATCH,
    HIDDEN_STATE_SHAPE,
    INNER_DIM_MISMATCH,
    NORMALIZED_SHAPE,
    TARGET_SHAPE,
)
from shapewright.findings.finding import Edit, Finding, Fix, Related
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    list_reads,
)
from shapewright.record.ops import Fact, Op

RECURRENT = operators_with("is_recurrent")
JOINS = operators_with("concatenates")
OF_ALL_LAYERS = (INNER_DIM_MISMATCH, HIDDEN_STATE_SHAPE)
"""Codes where the states of all layers may be meant: side by side, or one for each."""
OF_LOSSES = (TARGET_SHAPE, BATCH_DIM_MISMATCH)
"""Codes of losses, whose predictions have no dim of layers."""
OF_FEATURES = (INNER_DIM_MISMATCH, NORMALIZED_SHAPE)
UNSORTED = 2
"""Calls between packed sequences in their own order and what is taken of a state."""
MOST_STEPS = 30
"""Calls between a recurrent layer and the one that fails."""


def suggest_last_state(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `h[-1]` or `h[-1:]` for a state `h` of several layers that a failing call
    is made of.
    """
    if failure.unmet is not None and failure.unmet.code in OF_ALL_LAYERS:
        return
    of_loss = failure.unmet is not None and failure.unmet.code in OF_LOSSES
    layer = _find_layers(program, program.trace.ops[failure.op], 0 if of_loss else 1)
    state = _find_results(program, layer, 1) if layer is not None else None
    if state is not None:
        yield from _write_last(*state)


def suggest_last_of_steps(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `out[:, -1]` for the outputs of all steps, where a loss has one label for
    each sample.
    """
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code not in OF_LOSSES or len(op.inputs) < 2:
        return
    scores, labels = (fact.shape for fact in op.inputs[:2])
    if len(scores) == len("NTC") and len(labels) == 1:
        yield from _iter_last_steps(program, op, labels[0])


def suggest_collected_states(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `states.append(h.transpose(0, 1))` for the states of steps, (layers,
    batch, hidden), that are joined along dim 1 as if the batch came first.
    """
    joined = _find_collected_states(program, failure)
    place = program.call_at(joined.span) if joined is not None else None
    if place is None or not place[1].args:
        return
    text, call = place
    name = get_dotted_name(call.args[0])
    scope = text.around(call, *FUNCTIONS)
    added = [
        node.args[0]
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "append"
        and get_dotted_name(node.func.value) == name
        and node.args
    ]
    if name and len(added) == 1:
        yield append_method(text, added[0], ".transpose(0, 1)")


def describe_collected_states(program: Program, failure: Failure) -> Related | None:
    """Return where states are joined along the batch, as if it came first in them."""
    joined = _find_collected_states(program, failure)
    if joined is None or joined.span is None:
        return None
    shape = format_shape(joined.inputs[0])
    words = (
        f"the states {shape} are (layers, batch, hidden), also with `batch_first=True`:"
        " dim 1, along which they are joined, is the batch"
    )
    return Related(joined.span, words)


def _find_collected_states(program: Program, failure: Failure) -> Op | None:
    """Return the call that joins the states of several steps along the batch."""
    op, unmet = program.trace.ops[failure.op], failure.unmet
    if unmet is None or unmet.code not in OF_LOSSES or not op.inputs:
        return None
    for maker in iter_first_makers(program, op.inputs[0], MOST_STEPS):
        if maker.name.rpartition(".")[2] not in JOINS or len(maker.inputs) < 2:
            continue
        layers = [program.producers.get(fact.tensor) for fact in maker.inputs]
        are_states = all(
            layer is not None
            and layer.name.rpartition(".")[2] in RECURRENT
            and fact.tensor != layer.outputs[0].tensor
            and fact.ndim == len("LBH")
            for layer, fact in zip(layers, maker.inputs, strict=True)
        )
        if not are_states:
            return None
        part = maker.inputs[0].shape
        along_batch = (part[0], len(maker.inputs) * part[1], part[2])
        return maker if maker.outputs[0].shape == along_batch else None
    return None


def suggest_last_of_broadcast(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the last state or step of a recurrent layer for all of them, and no dim
    of 1 behind, where a loss broadcasts predictions against one target per sample.
    """
    ops = [op for op in program.trace.ops if op.span == finding.span]
    for op in ops[:1]:
        shapes = [fact.shape for fact in op.inputs[:2]]
        if [len(shape) for shape in shapes] != [3, 1] or shapes[0][-1] != 1:
            continue
        places = find_tensor_expressions(program, op)
        if places[0] is None:
            continue
        squeezed = append_method(text, places[0][0], ".squeeze(-1)")
        fixes = list(_iter_last_steps(program, op, shapes[1][0]))
        layer = _find_layers(program, op, 0)
        state = _find_results(program, layer, 1) if layer is not None else None
        if state is not None:
            fixes += _write_last(*state)
        for fix in fixes:
            shown = f"{fix.message} and {squeezed.message}"
            yield Fix("fits", shown, (*fix.edits, *squeezed.edits))


def _iter_last_steps(program: Program, op: Op, samples: int) -> Iterator[Fix]:
    """Suggest the last step of what a recurrent layer in one direction returned for all
    steps, where a call is made of it alone.
    """
    for maker in iter_first_makers(program, op.inputs[0], MOST_STEPS):
        if maker.name.rpartition(".")[2] not in RECURRENT or len(maker.outputs) < 2:
            continue
        shape, state = maker.outputs[0].shape, maker.outputs[1].shape
        if len(shape) == len("TC") and shape[-1] == state[-1]:
            yield from _suggest_state_of_packed(program, maker)
            return
        if len(shape) != len("NTC") or shape[-1] != state[-1]:
            return
        results = _find_results(program, maker, 0)
        if results is None or samples not in shape[:2]:
            return
        text, statement, name = results
        last = "[:, -1]" if shape[0] == samples else "[-1]"
        scope = text.around(statement, *FUNCTIONS)
        reads = [
            node
            for node in list_reads(scope, name)
            if node.lineno > statement.lineno
            and not isinstance(text.parent(node), ast.Subscript)
        ]
        if len(reads) == 1:
            edit = Edit(text.span(reads[0]).end, last)
            yield Fix("fits", f"`{name}{last}`", (edit,))
        return


def _suggest_state_of_packed(program: Program, layer: Op) -> Iterator[Fix]:
    """Suggest `h[-1]` for the padded outputs of packed sequences, of which the last
    steps are padding.
    """
    results = _find_results(program, layer, 1)
    scope = results[0].around(results[1], *FUNCTIONS) if results is not None else None
    if results is None or scope is None or results[2] == "_":
        return
    text, _, name = results
    for statement in ast.walk(scope):
        if not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        padded = target.elts[0] if isinstance(target, ast.Tuple) else target
        if get_called_name(statement.value) != "pad_packed_sequence":
            continue
        if not isinstance(padded, ast.Name):
            continue
        last = statement.end_lineno or statement.lineno
        reads = [n for n in list_reads(scope, padded.id) if n.lineno > last]
        if len(reads) == 1 and not isinstance(text.parent(reads[0]), ast.Subscript):
            new = f"{name}[-1]"
            shown = f"`{new}` for `{padded.id}`"
            yield Fix("fits", shown, (Edit(text.span(reads[0]), new),))


def _find_results(
    program: Program, layer: Op, at: int
) -> tuple[SourceText, ast.Assign, str] | None:
    """Return the statement that calls a recurrent layer, and the name that it gives the
    outputs of all steps (0) or the states (1).
    """
    node = program.node(layer.span)
    statement = node[0].statement_of(node[1]) if node is not None else None
    if node is None or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else []
    part = parts[at] if len(parts) == 2 else None
    if isinstance(part, ast.Tuple) and part.elts:
        part = part.elts[0]
    return (node[0], statement, part.id) if isinstance(part, ast.Name) else None


def suggest_both_directions(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the last states of both directions, joined, for `h[-1]` of a layer that
    reads in both, where a layer takes twice as many features.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code not in OF_FEATURES or len(op.inputs) < 2:
        return
    fact = op.inputs[0]
    if not fact.shape or op.inputs[1].shape[-1] != 2 * fact.shape[-1]:
        return
    makers = list(iter_first_makers(program, fact))
    for at, taken in enumerate(makers):
        behind = makers[at + 1 : at + 1 + UNSORTED] if taken.name == "[]" else []
        if any(_is_of_both(layer, taken.inputs[0]) for layer in behind):
            yield from _write_both(program, taken)
            return


def suggest_last_step(
    program: Program, text: SourceText, call: ast.expr
) -> Iterator[Fix]:
    """Suggest `out, _ = self.lstm(x)` with `self.head(out[:, -1])` where a program goes
    on with the whole result of a recurrent layer, and has one number for each sample.
    """
    if not isinstance(call, ast.Call):
        return
    name = get_dotted_name(call.func).rpartition(".")[2]
    built = find_defining(text, name)
    words = {
        word.arg: text.written(word.value)
        for value in built
        if isinstance(value, ast.Call)
        for word in value.keywords
    }
    if len(built) != 1 or words.get("bidirectional", "False") != "False":
        return
    is_first = words.get("batch_first", "False") != "False"
    last = "[:, -1]" if is_first else "[-1]"
    if not _has_numbers_of_samples(program, text.span(call), is_first):
        return
    holder = text.parent(call)
    if isinstance(holder, ast.Call) and call in holder.args:
        new = f"{text.line_of(call)}[0]{last}"
        yield Fix("fits", f"`{new}`", (Edit(text.span(call).end, f"[0]{last}"),))
    target = holder.targets[0] if isinstance(holder, ast.Assign) else None
    scope = text.around(call, *FUNCTIONS)
    if not isinstance(target, ast.Name) or scope is None:
        return
    reads = [r for r in list_reads(scope, target.id) if r.lineno > call.lineno]
    writes = [
        value for value in find_defining(text, target.id) if value in ast.walk(scope)
    ]
    if len(reads) != 1 or len(writes) != 1:
        return
    if isinstance(text.parent(reads[0]), ast.Subscript | ast.Starred):
        return
    user = text.parent(reads[0])
    outer = user if isinstance(user, ast.Call) else reads[0]
    shown = text.line_of(outer).replace(text.written(reads[0]), f"{target.id}{last}")
    edits = (
        Edit(text.span(target).end, ", _"),
        Edit(text.span(reads[0]).end, last),
    )
    words_of_call = f"`{target.id}, _ = {text.line_of(call)}`"
    yield Fix("fits", f"{words_of_call} and `{shown}`", edits)


def _has_numbers_of_samples(program: Program, place: Span, is_first: bool) -> bool:
    """Return whether a program has one number for each sample that a recurrent layer
    is given at a place, as labels are.
    """
    layers = [
        op
        for op in program.trace.ops
        if op.span == place and op.name.rpartition(".")[2] in RECURRENT
    ]
    shape = layers[0].inputs[0].shape if layers else ()
    if len(shape) != len("NTC"):
        return False
    samples = shape[0 if is_first else 1]
    return any(
        fact.shape in ((samples,), (samples, 1)) and fact.tensor not in program.states
        for op in program.trace.ops
        for fact in op.outputs
    )


def _is_of_both(layer: Op, state: Fact) -> bool:
    """Return whether a tensor holds the last states of a layer with two directions."""
    is_recurrent = layer.name.rpartition(".")[2] in RECURRENT
    if not is_recurrent or len(layer.outputs) < 2 or not state.shape:
        return False
    output = layer.outputs[0]
    return (
        state.tensor != output.tensor
        and state.shape[0] > 1
        and output.shape[-1] == 2 * state.shape[-1]
    )


def _write_both(program: Program, taken: Op) -> Iterator[Fix]:
    """Suggest `torch.cat([h[-2], h[-1]], dim=-1)` where one state is taken."""
    text_and_node = program.node(taken.span)
    if text_and_node is None:
        return
    text, node = text_and_node
    if isinstance(node, ast.Subscript):
        states = join_lines(text.written(node.value))
        new = f"torch.cat([{states}[-2], {states}[-1]], dim=-1)"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def _write_last(text: SourceText, statement: ast.Assign, name: str) -> Iterator[Fix]:
    """Suggest the last of the states where a function reads them."""
    scope = text.around(statement, *FUNCTIONS)
    for node in ast.walk(scope) if scope is not None else ():
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        around = text.parent(node)
        is_read = isinstance(node.ctx, ast.Load) and node.lineno > statement.lineno
        if not is_read or isinstance(around, ast.Subscript):
            continue
        whole = text.parent(around) if isinstance(around, ast.Attribute) else None
        turned: ast.expr = (
            whole if isinstance(whole, ast.Call) and whole.func is around else node
        )
        options: list[tuple[ast.expr, str]] = [
            (node, f"{name}[-1]"),
            (node, f"{name}[-1:]"),
        ]
        if turned is not node:
            options = [(turned, f"{name}[-1]"), *options]
        for place, new in options:
            shown = f"`{new}` for `{join_lines(text.written(place))}`"
            yield Fix("fits", shown, (Edit(text.span(place), new),))


def _find_layers(program: Program, failing: Op, more_than: int) -> Op | None:
    """Return the call of a recurrent layer with more than so many layers, all in one
    direction, whose states a call is made of.
    """
    waiting = [fact.tensor for fact in failing.inputs]
    seen = set(waiting)
    for _ in range(MOST_STEPS):
        tensor = waiting.pop(0) if waiting else None
        maker = program.producers.get(tensor) if tensor is not None else None
        if tensor is None:
            return None
        if maker is None:
            continue
        if maker.name.rpartition(".")[2] in RECURRENT and len(maker.outputs) > 1:
            output, state = maker.outputs[:2]
            several = len(state.shape) == 3 and state.shape[0] > more_than
            if (
                several
                and state.tensor == tensor
                and output.shape[-1] == state.shape[-1]
            ):
                return maker
            continue
        new = [fact.tensor for fact in maker.inputs if fact.tensor not in seen]
        seen.update(new)
        waiting += new
    return None
