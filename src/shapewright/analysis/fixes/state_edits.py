"""Edits for the states that recurrent layers hand to one another."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.constructors import replace_argument
from shapewright.analysis.fixes.created_tensors import (
    MAKERS,
    find_size_nodes,
    iter_wanted_shapes,
    resize_tensor,
)
from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.fixes.suspect_lines import iter_named_facts, write_size
from shapewright.analysis.makers import iter_first_makers, iter_makers
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import find_constructor, iter_arguments
from shapewright.findings.codes import HIDDEN_STATE_SHAPE, INNER_DIM_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_dotted_name,
    get_last_name,
    get_own_attribute,
    iter_assignments,
)
from shapewright.record.ops import Fact, Op

RECURRENT = operators_with("is_recurrent")
CREATING = MAKERS | {"new"}
"""Functions that create a state of sizes that they are given."""
ADDING = {"unsqueeze"} | operators_with("takes_new_sizes")
"""Operators that give one state a dim for its layer."""


def suggest_joined_directions(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest the sum of both directions where a layer that reads in both hands its
    state to one that reads in one: `hidden = hidden.unflatten(0, (-1, 2)).sum(1)`; both
    side by side, `torch.cat([hidden[0::2], hidden[1::2]], dim=-1)`, for twice the size.
    """
    unmet = failure.unmet
    _, got = find_sides(failure)
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE or got is None or got[1]:
        return
    if isinstance(unmet.needs, int) and unmet.has != 2 * unmet.needs:
        return
    op = program.trace.ops[failure.op]
    layer = _find_two_way_layer(program, op.inputs[got[0]])
    if layer is None:
        return
    wanted = [shape[-1:] for _, shape in find_wanted_states(program, failure)]
    form = SUMMED
    if (2 * op.inputs[got[0]].shape[-1],) in wanted:
        form = SIDE_BY_SIDE
    text_and_node = program.node(layer.span)
    if text_and_node is None:
        return
    text, node = text_and_node
    statement = text.statement_of(node)
    if isinstance(statement, ast.Return) and statement.value is node:
        yield _write_joined_result(text, statement, statement.value, form)
        return
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return
    state = target.elts[1]
    names = state.elts if isinstance(state, ast.Tuple) else [state]
    written = [get_dotted_name(name) for name in names]
    if not all(written):
        return
    sums = [form.format(name) for name in written]
    new = f"{', '.join(written)} = {', '.join(sums)}"
    yield Fix("fits", f"`{new}`", (write_after(text, statement, new),))


SUMMED = "{0}.unflatten(0, (-1, 2)).sum(1)"
SIDE_BY_SIDE = "torch.cat([{0}[0::2], {0}[1::2]], dim=-1)"
"""How the states of both directions of each layer become one."""


def _write_joined_result(
    text: SourceText, statement: ast.Return, call: ast.expr, form: str
) -> Fix:
    """Return the edit of `return self.rnn(x)` that joins the states of both
    directions.
    """
    names = ["hidden", "cell"] if "LSTM" in text.text else ["hidden"]
    joined = ", ".join(names)
    sums = ", ".join(form.format(name) for name in names)
    states = f"({joined})" if len(names) > 1 else joined
    indent = " " * statement.col_offset
    lines = [
        f"output, {states} = {text.written(call)}",
        f"{joined} = {sums}",
        f"return output, {states}",
    ]
    edit = Edit(text.span(statement), f"\n{indent}".join(lines))
    return Fix("fits", f"`{joined} = {sums}` before it is returned", (edit,))


def suggest_fewer_layers(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest as many layers as there are states, where these come from a layer."""
    unmet = failure.unmet
    _, got = find_sides(failure)
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE or got is None or got[1]:
        return
    layer = program.layer(op)
    built = find_constructor(program, layer.path) if layer is not None else None
    if (
        layer is None
        or built is None
        or _find_recurrent(program, op.inputs[got[0]]) is None
    ):
        return
    values = {name: (node, value) for name, node, value in iter_arguments(
        program, layer.path
    )}  # fmt: skip
    both = 2 if "bidirectional" in values and values["bidirectional"][1] else 1
    count, rest = divmod(op.inputs[got[0]].shape[0], both)
    if "num_layers" not in values or rest or not count:
        return
    node, value = values["num_layers"]
    if value is None or value != count:
        edit = Edit(built[0].span(node), str(count))
        yield Fix("fits", f"`num_layers={count}` of `{layer.path}`", (edit,))


def _find_recurrent(program: Program, fact: Fact) -> Op | None:
    """Return the call of the recurrent layer that a state comes from."""
    for op in iter_first_makers(program, fact):
        if op.name.rpartition(".")[2] in RECURRENT:
            return op
    return None


def suggest_second_direction(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `bidirectional=True` for a recurrent layer whose output meets a layer of
    `hidden * 2` features.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or len(op.inputs) < 2:
        return
    needs, has = op.inputs[1].shape[-1], op.inputs[0].shape[-1]
    taker = find_constructor(program, op.module)
    if needs != 2 * has or taker is None:
        return
    factors = [
        {taker[0].written(node.left), taker[0].written(node.right)}
        for node in ast.walk(taker[1])
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    ]
    for maker in iter_makers(program, op):
        if maker.name.rpartition(".")[2] not in RECURRENT:
            continue
        built = find_constructor(program, maker.module)
        if built is None:
            return
        text, call = built
        sizes = [*call.args[1:2]]
        sizes += [word.value for word in call.keywords if word.arg == "hidden_size"]
        if any({"2", text.written(size)} in factors for size in sizes):
            for word in call.keywords:
                if word.arg == "bidirectional":
                    edit = Edit(text.span(word.value), "True")
                    yield Fix("fits", "`bidirectional=True`", (edit,))
                    return
            yield with_keyword(text, call, "bidirectional=True")
        return


def suggest_state_shapes(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest another shape where the states of a recurrent layer are created, for all
    states of the layer at once: `torch.zeros(2 * layers, x.size(0), hidden)`. Before
    that, `batch_first=True` where the states have the size of the data's first dim.
    """
    op = program.trace.ops[failure.op]
    built = find_constructor(program, op.module)
    is_turned = built is not None and is_batch_first_meant(program, failure)
    if built is not None and is_turned:
        yield with_keyword(*built, "batch_first=True")
    for at, wanted in find_wanted_states(program, failure):
        passed = _find_passed_batch(program, failure, at, wanted)
        if passed is not None:
            yield passed
        if passed is not None or is_turned:
            return  # a number would be that of the steps
        shape = op.inputs[at].shape
        if wanted == (*shape[1::-1], *shape[2:]) != shape:
            exchanged = list(_exchange_sizes(program, failure, op, at))
            yield from exchanged
            if exchanged:
                return
        edits: dict[Span, Edit] = {}
        messages = []
        for twin in find_twins(failure, op, at):
            maker = find_creation(program, op.inputs[twin])
            if maker is None:
                return
            fixes = list(
                resize_tensor(program, failure, maker, shape, wanted, scaled=(0,))
            )
            if not fixes:
                return
            fix = _with_layers_name(program, op, fixes[0], wanted[0])
            messages.append(fix.message)
            edits |= {edit.span: edit for edit in fix.edits}
        more = f" and {len(edits) - 1} more" if len(edits) > 1 else ""
        yield Fix("fits", messages[0] + more, tuple(edits.values()))


def _exchange_sizes(
    program: Program, failure: Failure, op: Op, at: int
) -> Iterator[Fix]:
    """Suggest `torch.zeros(layers, batch, hidden)` for `torch.zeros(batch, layers,
    hidden)`, as the sizes are written, for all states of a layer.
    """
    edits: dict[Span, Edit] = {}
    shown = ""
    for twin in find_twins(failure, op, at):
        maker = find_creation(program, op.inputs[twin])
        place = program.call_at(maker.span) if maker is not None else None
        if place is None:
            return
        text, call = place
        sizes: list[ast.expr] = list(call.args)
        if sizes and isinstance(sizes[0], ast.Tuple | ast.List):
            sizes = sizes[0].elts
        if len(sizes) != len("LBH"):
            return
        first, second = (text.written(size) for size in sizes[:2])
        for size, new in zip(sizes, (second, first), strict=False):
            edits[text.span(size)] = Edit(text.span(size), new)
        rest = text.written(sizes[2])
        shown = shown or f"{text.written(call.func)}({second}, {first}, {rest})"
    more = f" and {len(edits) // 2 - 1} more" if len(edits) > 2 else ""
    if edits:
        yield Fix("fits", f"`{join_lines(shown)}`{more}", tuple(edits.values()))


def find_creation(program: Program, state: Fact) -> Op | None:
    """Return the call that created a state of sizes that it was given, before it was
    filled or detached: `weight.new(2, 5, 12).zero_()`.
    """
    maker = program.producers.get(state.tensor)
    if maker is not None and maker.name.rpartition(".")[2] in CREATING:
        return maker
    for op in program.trace.ops:
        if op.name.rpartition(".")[2] in CREATING and any(
            out.storage == state.storage and out.shape == state.shape
            for out in op.outputs
        ):
            return op
    return None


def _with_layers_name(program: Program, op: Op, fix: Fix, count: int) -> Fix:
    """Return a fix with `self.num_layers` for the number of layers that it writes, if
    the object has it under a name.
    """
    name = _find_layers_name(program, op, count)
    if not name:
        return fix
    first = re.compile(rf"(^|\(){count}\b(?!\.)")
    edits = tuple(
        replace(edit, text=first.sub(rf"\g<1>{name}", edit.text, count=1))
        for edit in fix.edits
    )
    shown = first.sub(rf"\g<1>{name}", fix.message, count=1)
    return replace(fix, message=shown, edits=edits)


def _find_layers_name(program: Program, op: Op, count: int) -> str:
    """Return the attribute that holds the number of layers of a recurrent layer."""
    place = find_constructor(program, op.module)
    built = program.built.get(op.module)
    if place is None or built is None:
        return ""
    if dict(built.values).get("num_layers") != count:
        return ""
    text, call = place
    counts = [word.value for word in call.keywords if word.arg == "num_layers"]
    counts += call.args[2:3]
    owner = text.around(call, ast.ClassDef)
    if not counts or owner is None:
        return ""
    if get_own_attribute(counts[0]):
        return text.written(counts[0])
    for target, value in iter_assignments(owner):
        own = get_own_attribute(target)
        if (
            own
            and isinstance(counts[0], ast.Name)
            and text.written(value) == (counts[0].id)
        ):
            return f"self.{own}"
    return ""


def _find_passed_batch(
    program: Program, failure: Failure, at: int, wanted: tuple[int, ...]
) -> Fix | None:
    """Return another batch size where the function that creates the states is called:
    `net.init_hidden(x.size(0))`.
    """
    state = program.trace.ops[failure.op].inputs[at]
    maker = program.producers.get(state.tensor)
    created = program.call_at(maker.span) if maker is not None else None
    if maker is None or created is None or len(state.shape) != len(wanted):
        return None
    others = [dim for dim in range(len(wanted)) if state.shape[dim] != wanted[dim]]
    nodes = find_size_nodes(*created, len(wanted))
    if nodes is None or others != [len(wanted) - 2]:
        return None
    name = nodes[others[0]]
    function = created[0].around(created[1], ast.FunctionDef)
    if not isinstance(name, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    names = [argument.arg for argument in function.args.args if argument.arg != "self"]
    for frame in maker.frames:
        text_and_call = program.call_at(frame.span)
        if text_and_call is None or name.id not in names:
            continue
        text, call = text_and_call
        if get_last_name(call.func) != function.name:
            continue
        arguments = dict(zip(names, call.args, strict=False))
        arguments |= {word.arg: word.value for word in call.keywords if word.arg}
        value = arguments.get(name.id)
        if value is not None and state.shape[others[0]] > 0:
            new = _write_other_dim(program, failure, text, value, wanted[others[0]])
            new = new or _write_batch(program, failure, text, call, wanted[others[0]])
            return replace_argument(text, call, name.id, value, new)
    return None


def _write_other_dim(
    program: Program, failure: Failure, text: SourceText, value: ast.expr, size: int
) -> str:
    """Write `x.size(1)` for `x.size(0)` where a layer reads the time first."""
    shape = program.trace.ops[failure.op].inputs[0].shape
    match = READ_SIZE.fullmatch(text.written(value))
    if match is None or len(shape) != 3 or shape[1] != size or shape[0] == size:
        return ""
    return f"{match[1]}1{match[3]}"


BATCH_SIZES = ("batch_size", "BATCH_SIZE", "batchsize", "bs", "bsz", "BATCH", "B")
READ_SIZE = re.compile(r"([\w.]+\.(?:size\(|shape\[|size\(\)\[))(0)([)\]])")
"""A size of a tensor's dim 0 as it is written."""


def _write_batch(
    program: Program, failure: Failure, text: SourceText, node: ast.expr, size: int
) -> str:
    """Write a batch size as that of the sequences that a recurrent layer gets, if they
    have a name in scope, or else as any size.
    """
    op = program.trace.ops[failure.op]
    for name, fact in iter_named_facts(program, op, text, node).items():
        dims = [dim for dim in range(2) if fact.shape[dim : dim + 1] == (size,)]
        if fact.tensor == op.inputs[0].tensor and len(dims) == 1:
            return f"{name}.size({dims[0]})"
    return write_size(program, failure, text, node, size)


def suggest_repeated_state(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest one state for each layer where a single one is given to all:
    `self.project(features).unsqueeze(0).repeat(2, 1, 1)`.
    """
    op = program.trace.ops[failure.op]
    for at, wanted in find_wanted_states(program, failure):
        shape = op.inputs[at].shape
        maker = program.producers.get(op.inputs[at].tensor)
        if len(shape) != 3 or shape[0] != 1 or shape[1:] != wanted[1:]:
            return
        if maker is None or maker.name.rpartition(".")[2] not in ADDING:
            return
        text_and_call = program.call_at(maker.span)
        if text_and_call is not None:
            text, call = text_and_call
            new = f".repeat({wanted[0]}, 1, 1)"
            message = f"`{join_lines(text.written(call))}{new}`"
            yield Fix("fits", message, (Edit(text.span(call).end, new),))


def find_wanted_states(
    program: Program, failure: Failure
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the number of the state of which a call complains, and its shape."""
    unmet = failure.unmet
    if unmet is None or unmet.code != HIDDEN_STATE_SHAPE:
        return []
    return [
        (at, wanted)
        for at, wanted in iter_wanted_shapes(program, failure)
        if failure.arguments[at].startswith("hx")
    ][:1]


def find_twins(failure: Failure, op: Op, at: int) -> list[int]:
    """Return the numbers of the states that are as large as one of them."""
    return [
        n
        for n, (argument, fact) in enumerate(
            zip(failure.arguments, op.inputs, strict=False)
        )
        if argument.startswith("hx") and fact.shape == op.inputs[at].shape
    ]


def is_layer_meant(program: Program, failure: Failure) -> bool:
    """Return whether states lack only those of some layers or directions, or have
    layers and batch in the wrong order: the layer is what is meant.
    """
    op = program.trace.ops[failure.op]
    for at, wanted in find_wanted_states(program, failure):
        shape = op.inputs[at].shape
        if len(shape) == len(wanted) == 3:
            return shape[1:] == wanted[1:] or (shape[1], shape[0], shape[2]) == wanted
    return False


def is_batch_first_meant(program: Program, failure: Failure) -> bool:
    """Return whether the states are for as many samples as a layer that reads the time
    first was given steps: the program counts its samples in dim 0.
    """
    op = program.trace.ops[failure.op]
    for at, wanted in find_wanted_states(program, failure):
        data, shape = op.inputs[0].shape, op.inputs[at].shape
        if len(shape) == len(wanted) == len(data) == 3:
            is_counted = (shape[1], wanted[1]) == data[:2]
            return is_counted and not _has_batch_second(program, data)
    return False


def _has_batch_second(program: Program, data: tuple[int, ...]) -> bool:
    """Return whether the program calls the size of dim 1, not of dim 0, its batch."""
    sizes = {
        evaluate_whole_number(value)
        for text in program.own_texts()
        for name in BATCH_SIZES
        for value in find_defining(text, name)
    } - {None}
    return data[1] in sizes and data[0] not in sizes


def suggest_unbatched_sequence(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `lstm(x.unsqueeze(1))` where rows of features are read as the steps of
    one sequence, and `y[:, -1]` of the result is no last step but a feature.
    """
    unmet = failure.unmet
    op = program.trace.ops[failure.op]
    if unmet is None or unmet.code != INNER_DIM_MISMATCH or not op.inputs:
        return
    cut = program.producers.get(op.inputs[0].tensor)
    text_and_node = program.node(cut.span) if cut is not None else None
    if cut is None or cut.name != "[]" or text_and_node is None:
        return
    text, node = text_and_node
    index = node.slice if isinstance(node, ast.Subscript) else None
    parts = [text.written(part).replace(" ", "") for part in getattr(index, "elts", ())]
    layer = program.producers.get(cut.inputs[0].tensor)
    if parts[:2] != [":", "-1"] or len(cut.inputs[0].shape) != 2 or layer is None:
        return
    text_and_call = program.call_at(layer.span)
    names = {
        before.name.rpartition(".")[2]
        for before in program.trace.ops[: layer.index + 1]
        if before.span == layer.span
    }
    if not names & RECURRENT or text_and_call is None:
        return
    text, call = text_and_call
    if len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.Attribute):
        new = f"{text.written(call.func)}({text.written(call.args[0])}.unsqueeze(1))"
        edit = Edit(text.span(call.args[0]).end, ".unsqueeze(1)")
        yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _find_two_way_layer(program: Program, fact: Fact) -> Op | None:
    """Return the call of a bidirectional layer that a state comes from."""
    op = _find_recurrent(program, fact)
    layer = program.layer(op) if op is not None else None
    arguments = iter_arguments(program, layer.path) if layer is not None else ()
    is_two_way = any(
        name == "bidirectional" and value is True for name, _, value in arguments
    )
    return op if is_two_way else None
