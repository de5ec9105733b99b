"""Explain failed calls: turn a failure into a finding in the user's own words."""

from __future__ import annotations

from collections.abc import Iterator

from shapewright.analysis.autograd_errors import find_cause
from shapewright.analysis.autograd_errors.custom_functions import (
    describe_given_gradient,
)
from shapewright.analysis.causes import (
    find_argument,
    find_written_argument,
    find_written_size,
    trace_size_origin,
)
from shapewright.analysis.collated_lists import explain_collated_list
from shapewright.analysis.program_run import Program, as_far_as_known, format_shape
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_names,
    find_words,
    get_operation,
    name_layer_before,
)
from shapewright.analysis.provenance.first_calls import iter_first_calls
from shapewright.analysis.provenance.origins import (
    drop_repeated,
    iter_definitions,
)
from shapewright.analysis.provenance.written_states import iter_written_states
from shapewright.analysis.refused_labels import find_refused_label
from shapewright.findings.codes import (
    DTYPE_MISMATCH,
    INDEX_OUT_OF_RANGE,
    NOT_CONTIGUOUS,
    SHAPE_MISMATCH,
    TORCH_ERROR,
)
from shapewright.findings.finding import Finding, Related
from shapewright.operators.failed_calls import Failure, Place, Repair
from shapewright.program.spans import is_installed
from shapewright.record.ops import Fact, Op

CODES = {
    "values": INDEX_OUT_OF_RANGE,
    "dtype": DTYPE_MISMATCH,
    "contiguous": NOT_CONTIGUOUS,
}
"""What is wrong with a call that this change repairs; all others: a shape."""


def explain_failure(program: Program, failure: Failure) -> Finding:
    """Explain what does not fit in a call, and where the two sizes came from."""
    op = program.trace.ops[failure.op]
    cause = find_cause(program, failure)
    if cause is not None:
        return Finding(
            cause.code, "error", cause.message, op.span, op.module,
            failure.torch_message, cause.related,
        )  # fmt: skip
    code, message = describe_failure(program, failure)
    if code == DTYPE_MISMATCH:
        message = name_layer_before(program, op, message)
    finding = Finding(
        code,
        "error",
        message,
        op.span,
        op.module,
        failure.torch_message,
        _with_makers(program, failure),
        lines=_build_extra_lines(program, failure),
    )
    return explain_collated_list(program, failure, finding)


def _build_extra_lines(program: Program, failure: Failure) -> tuple[str, ...]:
    """Return the extra lines of an unmet need, shown below its message."""
    if failure.unmet is None or not failure.unmet.lines:
        return ()
    words = find_words(program, failure)
    return tuple(_fill_words(line, words) for line in failure.unmet.lines)


def describe_failure(program: Program, failure: Failure) -> tuple[str, str]:
    """Return the code and the message of a failure."""
    if failure.unmet is not None:
        words = find_words(program, failure)
        return failure.unmet.code, _fill_words(failure.unmet.message, words)
    repairs = [
        repair
        for repair in failure.repairs
        if repair.kind != "values" or _is_of_index(failure)
    ]
    of_gradient = describe_given_gradient(program, program.trace.ops[failure.op])
    if repairs and of_gradient:
        return SHAPE_MISMATCH, of_gradient
    for repair in repairs:
        if repair.kind in CODES:
            return CODES[repair.kind], _describe_repair(program, failure, repair)
    for repair in repairs:
        if repair.kind == "size":
            return SHAPE_MISMATCH, _describe_repair(program, failure, repair)
    if repairs:
        return SHAPE_MISMATCH, _describe_repair(program, failure, repairs[0])
    op = program.trace.ops[failure.op]
    if "only for scalar outputs" in failure.torch_message and op.inputs:
        name, shape = find_tensor_names(program, op)[0], format_shape(op.inputs[0])
        start = f"{get_operation(program, op)} starts from a single number"
        return TORCH_ERROR, f"{start}, and {name} is {shape}: nothing has reduced it"
    return TORCH_ERROR, _get_first_line(failure.torch_message) or failure.error


def _is_of_index(failure: Failure) -> bool:
    """Return whether torch says that an index is beyond the end."""
    message = failure.torch_message.lower()
    return any(word in message for word in ("index", "indices", "range", "bound"))


def _fill_words(message: str, words: dict[str, str]) -> str:
    """Replace the names in braces in a message by the user's words."""

    class Words(dict[str, str]):
        def __missing__(self, key: str) -> str:
            return f"`{key}`"

    return message.format_map(Words(words))


def _get_first_line(text: str) -> str:
    """Return the first line of a text."""
    return text.strip().splitlines()[0] if text.strip() else ""


def _describe_repair(program: Program, failure: Failure, repair: Repair) -> str:
    """Describe the failure by one of its repairs."""
    op = program.trace.ops[failure.op]
    what = get_operation(program, op)
    name = find_tensor_names(program, op)[repair.tensor]
    fact = op.inputs[repair.tensor]
    if repair.kind == "values":
        refused = find_refused_label(program, failure)
        if refused is not None:
            scores = find_tensor_names(program, op)[0]
            return (
                f"{what} reads classes 0 to {refused[1] - 1} of {scores}, but {name}"
                f" holds {refused[0]}"
            )
        return f"{what} reads beyond the end: an index in {name} is out of range"
    if repair.kind == "dtype":
        return f"{what} expects {repair.new} here, but {name} is {repair.old}"
    if repair.kind == "contiguous":
        return f"{what} needs {name} to be contiguous, but it is not"
    if repair.kind == "size":
        single = _find_single(op, repair)
        if single is not None:
            other, shape = find_tensor_names(program, op)[single], op.inputs[single]
            return (
                f"{what} needs one size in dim {repair.dim} of {name} and {other}:"
                f" {format_shape(fact)} has {repair.old}, {format_shape(shape)} has 1"
            )
        return (
            f"{what} needs size {repair.new} in dim {repair.dim} of {name},"
            f" got {repair.old}: {format_shape(fact)}"
        )
    if repair.kind == "permute":
        return f"{what} needs the dims of {name} in another order: {format_shape(fact)}"
    rank = len(fact.shape)
    wanted = {"unsqueeze": rank + 1, "squeeze": rank - 1}.get(repair.kind)
    if wanted is None:
        return f"{what} needs {name} with fewer dims: {format_shape(fact)}"
    return f"{what} needs {name} with {wanted} dims, got {rank}: {format_shape(fact)}"


def _find_single(op: Op, repair: Repair) -> int | None:
    """Return the operand with size 1 where another one has more, or None."""
    rank = len(op.inputs[repair.tensor].shape)
    dim = repair.dim
    if dim is None or repair.new != 1:
        return None
    for at, fact in enumerate(op.inputs):
        if at != repair.tensor and len(fact.shape) == rank and fact.shape[dim] == 1:
            return at
    return None


def iter_both_sides(program: Program, failure: Failure) -> Iterator[Related]:
    """Yield the places where the expected size was set and where the actual size came
    from.
    """
    op = program.trace.ops[failure.op]
    wanted, got = find_sides(failure)
    if wanted and got and get_size_at(op, wanted) == get_size_at(op, got):
        return  # equal sizes: what is wrong is said in the sentence
    if wanted is None and failure.unmet is not None:
        yield from _iter_argument_origins(program, failure, failure.unmet.needs)
    of_limit = describe_failure(program, failure)[0] == INDEX_OUT_OF_RANGE
    sides = (("expected", wanted), ("expected" if of_limit else "got", got))
    for prefix, side in sides:
        if side is None:
            continue
        at, dim = side
        for number, related in enumerate(
            trace_size_origin(program, op.inputs[at], dim)
        ):
            message = f"{prefix}: {related.message}" if number == 0 else related.message
            yield Related(related.span, message)


def _iter_written_sizes(program: Program, failure: Failure) -> Iterator[Related]:
    """Yield the place where the number of the actual size is written, or that of the
    expected size, where a name stands for it.
    """
    op = program.trace.ops[failure.op]
    sides = find_sides(failure)
    for side in (sides[1], sides[0]):
        size = find_written_size(program, op.inputs[side[0]], side[1]) if side else None
        if size is not None:
            yield size
            return
    layer, unmet = program.layer(op), failure.unmet
    needs = unmet.needs if unmet is not None and sides[0] is None else None
    if layer is not None and type(needs) is int:
        size = find_written_argument(program, layer.path, needs)
        yield from () if size is None else (size,)


def _with_makers(program: Program, failure: Failure) -> tuple[Related, ...]:
    """Return the places of both sides, then the lines that made the operands, without
    repeating a line.
    """
    op = program.trace.ops[failure.op]
    sides = list(as_far_as_known(iter_both_sides(program, failure)))
    sides += as_far_as_known(iter_first_calls(program, failure))
    known = [op.span, *(side.span for side in sides)]
    more = list(as_far_as_known(_iter_written_sizes(program, failure)))
    more += as_far_as_known(iter_definitions(program, failure))
    more += as_far_as_known(_iter_makers(program, failure))
    return (*sides, *drop_repeated(more, known)[: MOST_RELATED - len(sides)])


MOST_RELATED = 7
"""Places that a finding names."""


def _iter_makers(program: Program, failure: Failure) -> Iterator[Related]:
    """Yield the places where the layer was built, and where every operand was created
    or passed in.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    for path, fact, giver in iter_written_states(program, failure):
        label = f"`{path}` {format_shape(fact)} is what `{giver.name}` gave"
        if giver.span is not None:
            yield Related(giver.span, label)
    built = program.built.get(layer.path) if layer is not None else None
    if layer is not None and built is not None:
        place = program.call_at(built.span)
        name = built.class_name if place is None else place[0].written(place[1].func)
        label = f"`{layer.path}` is built as `{name}`"
        if not built.class_name[:1].isupper() or layer.class_name != built.class_name:
            label = f"`{layer.path}` is built"
        yield Related(built.span, label)
    path = layer.path.rpartition(".")[0] if layer is not None else op.module
    while path:
        if path in program.built and not path.rpartition(".")[2].isdigit():
            yield Related(program.built[path].span, f"`{path}` is built")
            break
        path = path.rpartition(".")[0]
    names = find_tensor_names(program, op)
    meant = _find_refused_operand(failure)
    for at, (name, fact) in enumerate(zip(names, op.inputs, strict=True)):
        if fact.tensor in program.states or meant not in (None, at):
            continue
        producer = _find_maker(program, fact)
        if producer is not None and producer.span is not None:
            what = "" if name.startswith("a ") else f"{name} "
            label = f"{what}{format_shape(fact)} is made by `{producer.name}`"
            yield Related(producer.span, label.strip())
            first = _find_own_op(program, op, producer)
            if first is not None and first.span is not None:
                out = first.outputs[0]
                what = what if out.shape == fact.shape else ""
                label = f"{what}{format_shape(out)} comes from `{first.name}`"
                yield Related(first.span, label)
    for frame in reversed(op.frames[:-1]):
        if not is_installed(frame.span.file):
            yield Related(frame.span, "called from here")


def _find_maker(program: Program, fact: Fact) -> Op | None:
    """Return the call that made a tensor, behind what only cut its graph, such as
    `Variable(x)`.
    """
    maker = program.producers.get(fact.tensor)
    while maker is not None and maker.name in CUTTING and maker.inputs:
        earlier = program.producers.get(maker.inputs[0].tensor)
        if earlier is None:
            break
        maker = earlier
    return maker


CUTTING = ("Tensor.detach", "Tensor.requires_grad_", "Tensor.data")


def _find_refused_operand(failure: Failure) -> int | None:
    """Return the one operand that a call refuses for what it is, such as its dtype or
    its device, not for its size beside another.
    """
    unmet = failure.unmet
    got = unmet.got if unmet is not None else None
    if unmet is None or got is None or unmet.wanted is not None:
        return None
    is_size = type(unmet.has) is int or type(unmet.needs) is int
    if is_size or got.argument not in failure.arguments:
        return None
    return failure.arguments.index(got.argument)


MOST_OF_LIBRARY = 8
"""Calls of a library between the program's own and one that fails."""


def _find_own_op(program: Program, op: Op, producer: Op) -> Op | None:
    """Return the program's own op behind an operand, past the calls of a library.

    They all have the line that called the library.
    """
    last: Op | None = producer
    for _ in range(MOST_OF_LIBRARY):
        if last is None or last.span != op.span or not last.inputs:
            break
        last = program.producers.get(last.inputs[0].tensor)
    is_own = last is not None and last is not producer and last.span != op.span
    return last if is_own else None


def _iter_argument_origins(
    program: Program, failure: Failure, size: object
) -> Iterator[Related]:
    """Yield the constructor argument of the layer that set the expected size."""
    layer = program.layer(program.trace.ops[failure.op])
    built = program.built.get(layer.path) if layer is not None else None
    if layer is None or built is None or type(size) is not int:
        return
    name = find_argument(program, layer.path, size)
    if name:
        label = f"expected: {size} is `{name}` of `{layer.path}`"
        yield Related(built.span, label)


def get_size_at(op: Op, side: tuple[int, int]) -> int:
    """Return the size of a dim of an input."""
    at, dim = side
    return op.inputs[at].shape[dim]


def find_sides(
    failure: Failure,
) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """Return the expected and the mismatched dim, both as (input of the op, dim)."""
    unmet = failure.unmet
    if unmet is not None:
        return _find_place(failure, unmet.wanted), _find_place(failure, unmet.got)
    got = next((r for r in failure.repairs if r.kind == "size"), None)
    if got is None or got.dim is None:
        return None, None
    other = next(
        (r for r in failure.repairs if r.kind == "size" and r.tensor != got.tensor),
        None,
    )
    wanted = None if other is None or other.dim is None else (other.tensor, other.dim)
    return wanted, (got.tensor, got.dim)


def _find_place(failure: Failure, place: Place | None) -> tuple[int, int] | None:
    """Return a place as (input of the op, dim), or None if it names no dim of an
    input.
    """
    if place is None or place.dim is None or place.argument not in failure.arguments:
        return None
    return failure.arguments.index(place.argument), place.dim
