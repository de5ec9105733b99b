"""Explain where the two sizes of a mismatch came from."""

from __future__ import annotations

from dataclasses import dataclass

from shapewright.analysis.program_run import Program, format_product, format_shape
from shapewright.analysis.provenance.inserted_dims import describe_inserted_dim
from shapewright.analysis.provenance.origins import (
    find_origin,
    iter_arguments,
)
from shapewright.analysis.provenance.written_numbers import (
    describe_handed_size,
    describe_written_number,
    find_factory_size,
)
from shapewright.analysis.provenance.written_states import find_giver
from shapewright.findings.finding import Related
from shapewright.program.expression_values import evaluate_whole_number
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, Op

RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
STEPS = 160
"""Ops that are followed back."""


@dataclass(frozen=True, slots=True)
class _Step:
    """An op that kept or changed the size of a dim, and the size of the dim after the
    op.
    """

    op: Op
    size: int
    how: str


@dataclass(frozen=True, slots=True)
class Way:
    """The path of a dim, followed back from the latest op.

    It ends at `fact`, in dim `dim`; `why`: "parameter", "input", "product", "part",
    "joined" or "start" (nobody knows more).
    """

    steps: tuple[_Step, ...]
    fact: Fact
    dim: int
    why: str
    op: Op | None = None
    places: tuple[tuple[int, int], ...] = ()


def trace_dim(program: Program, fact: Fact, dim: int) -> Way:
    """Follow a dim back through the ops that left it as it is, or changed its size."""
    steps: list[_Step] = []
    for _ in range(STEPS):
        if fact.tensor in program.states:
            return Way(tuple(steps), fact, dim, "parameter")
        if fact.tensor in program.inputs:
            return Way(tuple(steps), fact, dim, "input")
        op = program.producers.get(fact.tensor)
        if op is None:
            return Way(tuple(steps), fact, dim, "start")
        out = next(output for output in op.outputs if output.tensor == fact.tensor)
        origin = find_origin(op, out, dim)
        if origin is None or (origin.how == "part" and out.shape[dim] == 1):
            return Way(tuple(steps), fact, dim, "start", op)  # a dim that was added
        if origin.how in ("product", "part", "joined"):
            return Way(tuple(steps), fact, dim, origin.how, op, origin.places)
        steps.append(_Step(op, out.shape[dim], origin.how))
        at, dim = origin.places[0]
        fact = op.inputs[at]
        if origin.how == "parameter":
            return Way(tuple(steps), fact, dim, "parameter", op)
    return Way(tuple(steps), fact, dim, "start")


def trace_size_origin(program: Program, fact: Fact, dim: int) -> list[Related]:
    """Return the steps by which a size came about, latest step first, as sentences with
    places.
    """
    way = trace_dim(program, fact, dim)
    size = fact.shape[dim]
    if way.why in ("product", "part", "joined") and way.op is not None:
        return _describe_product(program, way, size)
    related = _describe_changes(program, way, size)
    if related is not None:
        return [related]
    return _describe_origin(program, way, size)


def _describe_product(program: Program, way: Way, size: int) -> list[Related]:
    """Describe a size that is a product of several dims, and where those dims come
    from.
    """
    op = way.op
    assert op is not None
    facts = [(op.inputs[at], dim) for at, dim in way.places]
    sizes = tuple(fact.shape[dim] for fact, dim in facts)
    source = op.inputs[way.places[0][0]]
    maker = _format_maker(program, source)
    verb = {"product": "put together", "part": "taken apart", "joined": "joined"}
    doing = "flattened" if op.name.endswith("flatten") else verb[way.why]
    shown = format_product(sizes) if way.why == "product" else "+".join(map(str, sizes))
    if way.why == "part":
        text = f"{size} is a part of {format_product(sizes)}, {doing} from"
    else:
        text = f"{size} = {shown}, {doing} from"
    text += f" {format_shape(source)}{maker}"
    related = [Related(op.span, text)] if op.span else []
    messages: set[str] = set()
    for fact, dim in facts if way.why == "product" else ():
        came = trace_dim(program, fact, dim)
        line = _describe_changes(program, came, fact.shape[dim])
        lines = [line] if line is not None else []
        if came.why == "parameter":
            lines = _describe_origin(program, came, fact.shape[dim])
        for line_note in lines:
            if line_note.message not in messages:
                messages.add(line_note.message)
                related.append(line_note)
    return related


def _describe_changes(program: Program, way: Way, size: int) -> Related | None:
    """Describe how a size shrank or grew, as in `28 -> 24 -> 12`; return None if it
    never did.
    """
    sizes, names, places = [size], [], []
    span: Span | None = None
    for step in way.steps:
        if step.how == "changed":
            out_size = step.size
            if sizes[-1] != out_size:
                continue
            before = _get_size_before(step)
            if before == out_size:
                continue
            sizes.append(before)
            names.append(get_short_name(program, step.op))
            places.append(step.op.span)
            span = span or step.op.span
    if not names or span is None:
        return None
    sizes, names = sizes[::-1], names[::-1]
    arrow = " -> ".join(map(str, sizes))
    if len(names) > MOST_NAMES:
        latest = " -> ".join(map(str, sizes[-MOST_NAMES - 1 :]))
        arrow = f"{sizes[0]} -> ... -> {latest}"
        names = ["...", *names[-MOST_NAMES:]]
    return Related(span, f"{arrow} through {', '.join(names)}")


MOST_NAMES = 4
"""Calls that are named of those which changed a size, the latest."""


def _get_size_before(step: _Step) -> int:
    """Return the size before an op that changed it."""
    out = next(
        (fact for fact in step.op.outputs if step.size in fact.shape),
        step.op.outputs[0],
    )
    for dim, size in enumerate(out.shape):
        if size == step.size:
            origin = find_origin(step.op, out, dim)
            if origin is not None and origin.how == "changed":
                at, place = origin.places[0]
                return step.op.inputs[at].shape[place]
    return step.size


def _describe_origin(program: Program, way: Way, size: int) -> list[Related]:
    """Describe the origin of a size that no op changed."""
    last = way.steps[-1].op if way.steps else None
    if way.why == "parameter":
        path = program.states.get(way.fact.tensor, "")
        module = path.rpartition(".")[0]
        built = program.built.get(module)
        name = find_argument(program, module, size, way.dim)
        if name and find_giver(program, way.fact, len(program.trace.ops)) is not None:
            name = ""  # the layer was built with another weight
        if built is not None and name:
            return [Related(built.span, f"{size} is `{name}` of `{module}`")]
        where = (last.span if last else None) or (built.span if built else None)
        if where is not None and path:
            text = f"{size} is dim {way.dim} of `{path}` {format_shape(way.fact)}"
            return [Related(where, text)]
    if way.why == "input":
        what = program.inputs.get(way.fact.tensor, "the input")
        span = last.span if last else None
        if span is not None:
            text = f"{size} is dim {way.dim} of {what} {format_shape(way.fact)}"
            return [Related(span, text)]
    op = way.op or last
    own = _describe_own_state(program, op, way.dim) if op is not None else ""
    if own and op is not None and op.span is not None:
        return [Related(op.span, f"{size} is {own}")]
    if op is not None and op.span is not None:
        added = describe_inserted_dim(program, op, size) if way.dim == 1 else None
        if added is not None:
            return [added]
        out = format_shape(op.outputs[0]) if op.outputs else ""
        what = _name_factory_size(program, op, way.dim)
        verb = f"is {what} in" if what else "comes from"
        return [Related(op.span, f"{size} {verb} `{op.name}`, which gave {out}")]
    return []


def _name_factory_size(program: Program, op: Op, dim: int) -> str:
    """Return the name of a size that a factory is given; empty for a number."""
    size = find_factory_size(program, op, dim)
    if size is None or evaluate_whole_number(size[1]) is not None:
        return ""
    written = size[0].line_of(size[1])
    return f"`{written}`" if len(written) <= LONGEST else ""


LONGEST = 40
"""Characters of a size that is quoted."""


def find_written_size(program: Program, fact: Fact, dim: int) -> Related | None:
    """Return the place where the number of a size is written, which a factory or the
    constructor of a layer reads by a name.
    """
    way, size = trace_dim(program, fact, dim), fact.shape[dim]
    last = way.steps[-1].op if way.steps else None
    if way.why == "parameter":
        path = program.states.get(way.fact.tensor, "").rpartition(".")[0]
        return find_written_argument(program, path, size)
    op = way.op or last
    setting = find_factory_size(program, op, way.dim) if op is not None else None
    if op is None or setting is None or way.why != "start":
        return None
    number = describe_written_number(program, *setting, op.module, size)
    return number or describe_handed_size(program, op, *setting)


def find_written_argument(program: Program, path: str, size: int) -> Related | None:
    """Return the place where the number is written that the layer at a path was
    constructed with.
    """
    name, built = find_argument(program, path, size), program.built.get(path)
    place = program.call_at(built.span) if built is not None else None
    for word, node, _ in iter_arguments(program, path) if place is not None else ():
        if place is not None and word == name:
            outer = path.rpartition(".")[0]
            return describe_written_number(program, place[0], node, outer, size)
    return None


def _describe_own_state(program: Program, op: Op, dim: int) -> str:
    """Return what a dim of the state is that a recurrent layer makes for itself; empty
    for other tensors.
    """
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if layer is None or built is None or layer.class_name not in RECURRENT:
        return ""
    values = dict(built.values)
    if dim == len(op.outputs[0].shape) - 1:
        of_one = ", the state of one direction" if values.get("bidirectional") else ""
        return f"`hidden_size` of `{layer.path}`{of_one}"
    if dim == 0:
        number = values.get("num_layers") or 1
        directions = "2 directions" if values.get("bidirectional") else "1 direction"
        return f"`num_layers={number}` times {directions} of `{layer.path}`"
    return ""


def _format_maker(program: Program, fact: Fact) -> str:
    """Return text on where a tensor comes from, such as " of `conv2`"; empty if that is
    unknown.
    """
    op = program.producers.get(fact.tensor)
    if op is None:
        what = program.inputs.get(fact.tensor)
        return f", {what}" if what else ""
    return f" of {get_short_name(program, op)}"


def get_short_name(program: Program, op: Op) -> str:
    """Return the path of an op's layer, such as `conv2`, or the name of its
    function.
    """
    layer = program.layer(op)
    return f"`{layer.path}`" if layer is not None else f"`{op.name}`"


def find_argument(
    program: Program, module: str, size: int, dim: int | None = None
) -> str:
    """Return the name of the layer's constructor argument that has this size, or an
    empty string. Of `in_channels` and `out_channels` of one size, `dim` of the weight
    decides.
    """
    built = program.built.get(module)
    names = [
        name
        for name, value in (built.values if built is not None else ())
        if value == size and type(value) is int and name not in NO_SIZES
    ]
    is_turned = built is not None and "Transpose" in built.class_name
    side = {None: "", 0: "in_" if is_turned else "out_"}.get(dim, "")
    return next((name for name in names if side and name.startswith(side)),
                next(iter(names), ""))  # fmt: skip


NO_SIZES = frozenset({"kernel_size", "stride", "padding", "dilation", "groups"})
"""Arguments of layers that are numbers, but no size of a dim."""
