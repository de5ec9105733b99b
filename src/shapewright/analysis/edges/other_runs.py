"""Runs at other sizes: which dims can change, summaries of the runs,
and the findings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shapewright.analysis import python_errors
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.independent_failures import explain_failures
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axes import Axis
from shapewright.analysis.provenance.axis_flow import OperatorCall
from shapewright.analysis.provenance.layer_axes import CONVOLUTIONS
from shapewright.findings.codes import (
    BAG_OFFSETS,
    CTC_LENGTHS,
    INDEX_OUT_OF_RANGE,
    PACKED_LENGTHS,
    PROGRAM_ERROR,
    SIZE_CHECK,
    TORCH_ERROR,
)
from shapewright.findings.finding import Finding, Related, Severity
from shapewright.operators.facts import operators_with
from shapewright.program.assertions import is_stated
from shapewright.program.spans import Span
from shapewright.record.ops import Fact, collect_leaves

Role = Literal["batch", "sequence", "depth", "height", "width", "length"]
InputDim = tuple[int, int]
"""Which tensor of the inputs, which dim of it."""

LETTERS = {
    "batch": "B", "sequence": "T", "depth": "D", "height": "H", "width": "W",
    "length": "L",
}  # fmt: skip
SIDES: dict[int, tuple[Role, ...]] = {
    1: ("length",),
    2: ("height", "width"),
    3: ("depth", "height", "width"),
}
POOLS = {
    f"{way}_pool{n}d": n
    for way in ("max", "avg", "adaptive_avg", "adaptive_max")
    for n in SIDES
}
WINDOWED = CONVOLUTIONS | POOLS
ROWS = operators_with("treats_rows_alone")
NAMED: dict[str, Role] = {
    "B": "batch", "N": "batch", "T": "sequence", "S": "sequence", "L": "sequence",
    "H": "height", "W": "width",
}  # fmt: skip
"""What a letter of a spec stands for where the run does not tell."""


@dataclass(frozen=True, slots=True)
class Free:
    """Dims of the inputs that share a size and can be given another size together.

    `stated` says that `letter` is the user's own; `guessed`, that it is not sure that
    these are all the dims that go together.
    """

    role: Role
    letter: str
    size: int
    places: tuple[InputDim, ...]
    stated: bool = False
    guessed: bool = False

    def at(self, size: int) -> str:
        """Return a size as text: `B=1`, or `batch 1` if the user gave no letter."""
        if self.stated:
            return f"{self.letter}={size}"
        word = "sequence length" if self.role == "sequence" else self.role
        return f"{word} {size}"


Letters = Sequence[tuple[str | None, ...]]
"""For each tensor of the inputs the letter or formula of each dim."""


def find_free_dims(scene: HazardContext, letters: Letters = ()) -> list[Free]:
    """Return the dims that can be given other sizes, the batch dim first."""
    facts = _collect_inputs(scene)
    if len(facts) != len(scene.flow.inputs):
        return []
    roles = dict(_iter_roles(scene, facts))
    for at, names in enumerate(letters):
        for dim, name in enumerate(names):
            role = NAMED.get(name or "")
            first = role != "batch" or dim == 0
            if role is not None and first and (at, dim) not in roles:
                roles[at, dim] = role
    dims: list[Free] = []
    for place, role in roles.items():
        if any(place in dim.places for dim in dims):
            continue
        dims.append(_group_dims(place, role, roles, facts, letters))
    order = list(LETTERS)
    dims.sort(key=lambda dim: order.index(dim.role))
    firsts = {dim.role: dim for dim in reversed(dims)}
    return [dim for dim in firsts.values() if dim in dims][::-1]


def _collect_inputs(scene: HazardContext) -> list[Fact]:
    """Return the tensors that the program was given, without duplicates."""
    calls = scene.program.trace.calls
    if not calls:
        return []
    args, kwargs = calls[0].inputs
    inputs: dict[int, Fact] = {}
    for fact in collect_leaves([*args, *kwargs.values()]):
        inputs.setdefault(fact.tensor, fact)
    return list(inputs.values())


def _group_dims(
    place: InputDim,
    role: Role,
    roles: dict[InputDim, Role],
    facts: Sequence[Fact],
    letters: Letters,
) -> Free:
    """Return a dim together with all dims that change with it, matched by letter or
    else by size.
    """
    at, dim = place
    size = facts[at].shape[dim]
    name = letters[at][dim] if at < len(letters) else None
    if name is not None and name.isidentifier():
        own = [
            (n, d)
            for n, names in enumerate(letters)
            for d, letter in enumerate(names)
            if letter == name
        ]
        return Free(role, name, size, tuple(own), True)
    places: list[InputDim] = []
    guessed = False
    for n, fact in enumerate(facts):
        own = [(n, d) for d in range(fact.ndim) if roles.get((n, d)) == role]
        more = [
            (n, d)
            for d, other_size in enumerate(fact.shape)
            if other_size == size and (n, d) not in roles
        ]
        own = [(n, d) for n, d in own if fact.shape[d] == size]
        if own and own[0] == place:
            more = []  # where it was told from
        more = more if own else _match_other_dims(more, role, size, roles, facts)
        places += own + more
        guessed |= bool(more)
    members = tuple(dict.fromkeys(places))
    alone = {n for n, fact in enumerate(facts) if fact.shape} - {n for n, _ in members}
    guessed |= role == "batch" and bool(alone)  # which may go with it by a formula
    return Free(role, LETTERS[role], size, members, guessed=guessed)


def _match_other_dims(
    more: list[InputDim],
    role: Role,
    size: int,
    roles: dict[InputDim, Role],
    facts: Sequence[Fact],
) -> list[InputDim]:
    """Return the dims of another input, among `more`, that go with a role; for a square
    image, only the side of that role.
    """
    peers = [
        side
        for side in SIDES[3]
        if any(facts[n].shape[d] == size for (n, d), r in roles.items() if r == side)
    ]
    if role in peers and len(peers) == len(more):
        return [more[peers.index(role)]]
    return more


def _iter_roles(
    scene: HazardContext, facts: Sequence[Fact]
) -> Iterator[tuple[InputDim, Role]]:
    """Yield every input dim whose role the run reveals, together with that role."""
    where: dict[int, list[InputDim]] = {}
    for at, dims in enumerate(scene.flow.inputs):
        for dim, axes in enumerate(dims):
            if len(axes) == 1:
                where.setdefault(id(axes[0]), []).append((at, dim))
    batch = scene.batch
    axis_roles: dict[int, Role] = {}
    if batch is not None and id(batch) in where and _has_batch_axis(scene):
        axis_roles[id(batch)] = "batch"
    for axis, role in (*_find_sequence_dims(scene, facts), *_find_side_dims(scene)):
        if axis is not batch:
            axis_roles.setdefault(id(axis), role)
    for key, role in axis_roles.items():
        for place in where.get(key, ()):
            yield place, role


def _has_batch_axis(scene: HazardContext) -> bool:
    """Return whether an output has the batch axis or, if all outputs are scalars,
    whether the batch axis is certain.
    """
    outputs = collect_leaves(scene.program.trace.output)
    carried = any(scene.has_batch(dim) for out in outputs for dim in scene.flow.of(out))
    return carried or (scene.sure and all(not out.shape for out in outputs))


def _find_sequence_dims(
    scene: HazardContext, facts: Sequence[Fact]
) -> Iterator[tuple[Axis, Role]]:
    """Find sequence dims: of token ids, of inputs to recurrent layers and attention,
    and the middle dim of a 3-D input in front of a linear layer.
    """
    inputs = scene.flow.inputs
    for fact, dims in zip(facts, inputs, strict=True):
        if fact.dtype in ("int64", "int32") and len(dims) == 2:
            for dim in dims:
                if scene.batch is not None and dim[0] is not scene.batch:
                    yield dim[0], "sequence"
    for claim in scene.claims:
        if claim.role == "time":
            yield claim.axis, "sequence"
    threes = {id(dims[1][0]): dims[1][0] for dims in inputs if len(dims) == 3}
    for call in scene.calls:
        if call.name in ROWS and call.dims and len(call.dims[0]) > 2:
            for dim in call.dims[0][:-1]:
                if len(dim) == 1 and id(dim[0]) in threes:
                    yield dim[0], "sequence"


def _find_side_dims(scene: HazardContext) -> Iterator[tuple[Axis, Role]]:
    """Yield the dims along which windows move."""
    for call in scene.calls:
        count = WINDOWED.get(call.name)
        if count is not None and call.dims and len(call.dims[0]) > count:
            yield from _get_window_dims(call, count)


def _get_window_dims(call: OperatorCall, count: int) -> Iterator[tuple[Axis, Role]]:
    for dim, role in zip(call.dims[0][-count:], SIDES[count], strict=True):
        if len(dim) == 1 and dim[0].root.data:
            yield dim[0].root, role


Shape = tuple[int, ...]
State = Literal["runs", "fails", "refuses", "unsure"]
"""refuses: the program itself states that it does not take the size. unsure: nothing
can be said of it."""
OF_VALUES = frozenset({CTC_LENGTHS, PACKED_LENGTHS, BAG_OFFSETS})
"""Codes that depend on what inputs hold, which was made for the given sizes."""
OF_PYTHON = ("IndexError", "ZeroDivisionError")


@dataclass(frozen=True, slots=True)
class RunStep:
    """A call of a run: its place and the shapes that it returned."""

    name: str
    module: str
    place: Span | None
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The outcome of a run. `finding` explains its failure; `steps` are kept on
    request.
    """

    state: State
    finding: Finding | None = None
    output: tuple[Shape, ...] = ()
    steps: tuple[RunStep, ...] = ()


UNSURE = RunOutcome("unsure")


def summarise_run(program: Program, whole: bool) -> RunOutcome:
    """Summarise a run; if `whole` is true, also keep the shapes that every call
    returned.
    """
    trace = program.trace
    passed = _collect_calls(program) if whole else ()
    finding = _explain_refusal(program)
    if finding is not None:
        drawn = finding.code == INDEX_OUT_OF_RANGE and len(trace.assumptions) > 0
        unsure = drawn or finding.code in OF_VALUES
        return RunOutcome("unsure" if unsure else "fails", finding, (), passed)
    ended = next(
        (finding for finding in trace.findings if finding.severity == "error"), None
    )
    if ended is not None:
        return replace(_get_outcome(program, ended), steps=passed)
    if not trace.complete:
        return UNSURE
    return RunOutcome(
        "runs", None, tuple(f.shape for f in collect_leaves(trace.output)), passed
    )


def _explain_refusal(program: Program) -> Finding | None:
    """Return the explained finding for the first call that torch refused."""
    explanations = explain_failures(program) if program.failures else []
    return explanations[0][0] if explanations else None


def _get_outcome(program: Program, finding: Finding) -> RunOutcome:
    """Return the outcome for an error raised by the program's own Python code; its own
    checks do not count as failures.
    """
    if finding.code != PROGRAM_ERROR:
        return RunOutcome("fails", finding) if finding.code == TORCH_ERROR else UNSURE
    explanation = python_errors.explain_python_error(program, finding)
    if explanation.code == SIZE_CHECK or _is_own_check(program, finding):
        return RunOutcome("refuses", explanation)
    python = finding.torch_message.startswith(OF_PYTHON)
    unpacks = "to unpack (expected" in finding.torch_message
    return RunOutcome("fails" if unpacks or python else "refuses", explanation)


def _is_own_check(program: Program, finding: Finding) -> bool:
    """Return whether an error comes from a `raise` or an `assert` of the program."""
    node = program.node(finding.span)
    return node is not None and is_stated(*node)


def _collect_calls(program: Program) -> tuple[RunStep, ...]:
    """Return the calls of a run with the shapes that they returned."""
    return tuple(
        RunStep(op.name, op.module, op.span, tuple(fact.shape for fact in op.outputs))
        for op in program.trace.ops
    )


RUNS = 24
"""Runs of one program at other sizes."""
FEWEST = 4
"""Runs of a program however large."""
OPS = 12_000
"""Calls of all these runs together, about."""


Look = Literal["", "steps", "cause"]


@dataclass(frozen=True, slots=True)
class Request:
    """A run to perform: new sizes of free dims, and the model's mode (None: unchanged).

    `look` asks more of a run that was made: what each call gave ("steps"), or why it
    fails ("cause").
    """

    sizes: tuple[tuple[Free, int], ...] = ()
    training: bool | None = None
    look: Look = ""


@dataclass(slots=True)
class Runs:
    """The runs performed so far, and the means to perform more."""

    make: Callable[[Sequence[Request]], Sequence[RunOutcome | None]]
    left: int
    known: dict[Request, RunOutcome] = field(default_factory=dict)

    def ask(self, requests: Sequence[Request]) -> None:
        """Perform the requested runs that are still missing, within the budget."""
        new = [
            request for request in dict.fromkeys(requests) if request not in self.known
        ]
        if not any(request.look for request in new):
            new = new[: self.left]
            self.left -= len(new)
        for request, outcome in zip(new, self.make(new) if new else (), strict=True):
            self.known[request] = outcome or UNSURE

    def steps(self, requests: Sequence[Request]) -> list[tuple[RunStep, ...]]:
        """Return the calls of each of the requested runs."""
        asked = [replace(request, look="steps") for request in requests]
        self.ask(asked)
        return [self.at(request).steps for request in asked]

    def cause(self, request: Request) -> Finding | None:
        """Return the finding that explains why a run fails, or None if it does not fail
        for certain.
        """
        asked = replace(request, look="cause")
        self.ask([asked])
        seen = self.at(asked)
        return seen.finding if seen.state == "fails" else None

    def at(self, request: Request) -> RunOutcome:
        """Return the outcome of a run; `UNSURE` if it was not performed."""
        return self.known.get(request, UNSURE)


def compute_run_budget(ops: int) -> int:
    """Return how many runs to spend on a program with this number of ops."""
    return max(FEWEST, min(RUNS, OPS // max(1, ops)))


Place = tuple[RunStep, str]
"""The call where two runs part, and what is to be said of it."""


def add_sizes(
    finding: Finding,
    severity: Severity,
    sizes: Sequence[tuple[Free, int]],
    training: bool | None,
    joined: str = " and ",
) -> Finding:
    """Add to a finding the sizes at which the finding occurs.

    Example: "at batch 1 in training, `bn` needs more than one value per channel".
    """
    where = joined.join(free.at(size) for free, size in sizes)
    message = f"{where}{_format_mode(training)}, {finding.message}"
    letters = ", ".join(f"{free.letter}={size}" for free, size in sizes)
    if not where:
        message = f"{_format_mode(training).strip()}, {finding.message}"
    else:
        message = f"at {message}"
    return replace(finding, severity=severity, message=message, sizes=letters, fixes=())


def _format_mode(training: bool | None) -> str:
    """Return ` in training`, ` in evaluation`, or an empty string."""
    if training is None:
        return ""
    return " in training" if training else " in evaluation"


def format_sizes(free: Free, sizes: Sequence[int]) -> str:
    """Return a text such as `batch 2, 3 and 8`."""
    first = free.at(sizes[0])
    rest = [str(size) for size in sizes[1:]]
    if not rest:
        return first
    return ", ".join([first, *rest[:-1]]) + f" and {rest[-1]}"


def format_shape(shape: Shape) -> str:
    """Return a shape as text: `(10,)`."""
    inner = ", ".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"


def find_rank_change(
    steps: Sequence[RunStep], other_steps: Sequence[RunStep]
) -> Place | None:
    """Return the first call whose outputs differ in rank between two runs, or None."""
    for mine, theirs in zip(steps, other_steps, strict=False):
        if (mine.name, mine.place) != (theirs.name, theirs.place):
            return None
        for a, b in zip(mine.shapes, theirs.shapes, strict=False):
            if len(a) != len(b):
                return (
                    mine,
                    f"it gives {format_shape(a)} here, and {format_shape(b)} otherwise",
                )
    return None


def move_finding(finding: Finding, place: Place | None) -> Finding:
    """Move a finding to the call at which two runs differ."""
    if place is None or place[0].place is None:
        return finding
    step, label = place
    assert step.place is not None
    related = (Related(step.place, label),)
    return replace(finding, span=step.place, module=step.module, related=related)


@dataclass(frozen=True, slots=True)
class EdgeContext:
    """A program, the dims of its inputs that may vary, and its runs at other sizes."""

    program: Program
    free: list[Free]
    runs: Runs
