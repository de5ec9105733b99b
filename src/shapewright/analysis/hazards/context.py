"""The context that all hazard checks share (a run, its axes, its batch dim)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shapewright.analysis.program_run import Program, format_shape
from shapewright.analysis.provenance import layer_axes as layer_axes
from shapewright.analysis.provenance import view_axes as view_axes
from shapewright.analysis.provenance.axes import Axis, Dim, Dims
from shapewright.analysis.provenance.axis_flow import AxisFlow, OperatorCall
from shapewright.analysis.provenance.call_expressions import (
    find_tensor_names,
    get_operation,
)
from shapewright.analysis.provenance.layer_axes import CONVOLUTIONS, is_sequence_first
from shapewright.findings.codes import CODES
from shapewright.findings.finding import Finding, Related, Severity
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op, collect_leaves

ARITHMETIC = operators_with("broadcasts_operands")
LOSSES = operators_with("is_elementwise_loss")
ALL_LOSSES = operators_with("is_loss")


RECURRENT = operators_with("is_recurrent")
LAYERS = frozenset({"linear", "embedding", *CONVOLUTIONS})
GRAPHS = operators_with("adds_by_index")
"""Ops with which messages are sent along edges: dim 0 counts nodes then."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The meaning that a layer gives to a dim of its input: "batch" or "time"."""

    role: str
    axis: Axis
    call: OperatorCall
    dim: int


class HazardContext:
    """A run together with the axes of its tensors."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.flow = AxisFlow(program)
        refused = {failure.op for failure in program.failures}
        self.calls = [
            self.call(op)
            for op in program.trace.ops
            if op.outputs and op.index not in refused
        ]
        self.read_by_refused = {
            fact.tensor for at in refused for fact in program.trace.ops[at].inputs
        }
        self.users: dict[int, list[OperatorCall]] = {}
        self.writes: dict[int, list[OperatorCall]] = {}  # in place, by storage
        for call in self.calls:
            for tensor in {fact.tensor for fact in call.op.inputs}:
                self.users.setdefault(tensor, []).append(call)
            if call.op.kind == "inplace" and call.op.inputs:
                storage = call.op.inputs[0].storage
                self.writes.setdefault(storage, []).append(call)

    def call(self, op: Op) -> OperatorCall:
        """Return an op with the dims of its tensors."""
        dims = [self.flow.of(fact) for fact in op.inputs]
        return OperatorCall(op, op.name.rpartition(".")[2], dims)

    # -- the batch -----------------------------------------------------------------

    @cached_property
    def claims(self) -> list[Claim]:
        """Return the dims that layers take for the batch and for time."""
        return list(self.claimed())

    def claimed(self) -> Iterator[Claim]:
        for call in self.calls:
            if call.name in CONVOLUTIONS or call.name == "batch_norm":
                dims = call.dims[0]
                whole = len(dims) == len(call.dims[1]) if len(call.dims) > 1 else False
                if dims and len(dims[0]) == 1 and (call.name == "batch_norm" or whole):
                    yield Claim("batch", dims[0][0], call, 0)
            elif call.name in RECURRENT or call.name == "multi_head_attention_forward":
                yield from self.of_sequence(call)

    def of_sequence(self, call: OperatorCall) -> Iterator[Claim]:
        """Yield the batch and time dims that a recurrent layer or attention claims."""
        dims = call.dims[0]
        if len(dims) != 3:
            return
        first = True
        if call.name in RECURRENT:
            first = is_sequence_first(call) is True
        batch = 1 if first else 0
        turned = call.name not in RECURRENT and self.turned_inside(call)
        for role, dim in (("batch", batch), ("time", 1 - batch)):
            if len(dims[dim]) == 1:
                place = 1 - dim if turned else dim
                yield Claim(role, dims[dim][0], call, place)

    def turned_inside(self, call: OperatorCall) -> bool:
        """Return whether attention transposed its input itself, because of
        `batch_first=True`.
        """
        maker = self.program.producers.get(call.op.inputs[0].tensor)
        return (
            maker is not None
            and maker.name.endswith("transpose")
            and maker.module == call.op.module
            and maker.span == call.op.span
        )

    @cached_property
    def batch(self) -> Axis | None:
        """Return the axis of the samples; None if it is unknown."""
        if any(_is_sum_of_messages(call) for call in self.calls):
            return None
        batch_axes = [claim.axis.root for claim in self.claims if claim.role == "batch"]
        time = {id(claim.axis.root) for claim in self.claims if claim.role == "time"}
        sure = [axis for axis in batch_axes if id(axis) not in time and axis.data]
        first = self.first_of_inputs
        if sure:
            best = max(
                sure, key=lambda axis: sum(axis is candidate for candidate in sure)
            )
            return best
        return first if first is not None and id(first) not in time else None

    @cached_property
    def sure(self) -> bool:
        """Return whether a layer determines the batch axis, rather than its position
        alone.
        """
        return self.batch is not None and any(
            claim.role == "batch" and claim.axis.root is self.batch.root
            for claim in self.claims
        )

    @cached_property
    def first_of_inputs(self) -> Axis | None:
        """Return dim 0 of the first input with several dims, else a dim 0 that all
        inputs share.

        Where the program makes its data itself: dim 0 of what the first layer is given.
        """
        if not self.flow.rooted:
            for call in self.calls:
                if call.name in LAYERS and call.dims[0] and call.dims[0][0][0].data:
                    return call.dims[0][0][0]
            return None
        for dims in self.flow.inputs:
            if len(dims) > 1:
                return dims[0][0]
        firsts = {id(dims[0][0]) for dims in self.flow.inputs if dims}
        return self.flow.inputs[0][0][0] if len(firsts) == 1 else None

    @cached_property
    def model(self) -> bool:
        """Return whether a model with parameters or buffers ran."""
        return bool(self.program.trace.calls and self.program.trace.states)

    @cached_property
    def of_function(self) -> bool:
        """Return whether a plain function ran, such as a script's `main`, and no
        module.
        """
        calls = self.program.trace.calls
        frames = next((op.frames for op in self.program.trace.ops if op.frames), ())
        return bool(calls and frames and frames[0].function == calls[0].class_name)

    @cached_property
    def keeps_samples(self) -> bool | None:
        """Return whether the samples have a dim of their own in what is returned, or in
        what each loss is given, perhaps with steps or pixels; None if unknown.
        """
        batch = self.batch
        loaded = bool(self.program.batches)
        if batch is None or batch.size < 2 or not (loaded or self.sure):
            return None
        if loaded:
            facts = [
                call.op.inputs[0]
                for call in self.calls
                if call.name in ALL_LOSSES and call.op.inputs
            ]
        else:
            facts = list(collect_leaves(self.program.trace.output))
        facts = [f for f in facts if f.shape and f.dtype.startswith(("float", "bf"))]
        if not facts:
            return None
        kept = [self._keeps_samples(self.flow.of(fact)) for fact in facts]
        return None if None in kept and False not in kept else all(kept)

    def _keeps_samples(self, dims: Dims) -> bool | None:
        """Return whether one of these dims counts samples; None if a dim may, such as
        one of rows that a mask has chosen.
        """
        if any(map(self._counts_samples, dims)):
            return True
        unclear = any(
            axis.kind in ("source", "unknown") and axis.size > 1
            for dim in dims
            for axis in dim
        )
        return None if unclear else False

    def _counts_samples(self, dim: Dim) -> bool:
        """Return whether a dim counts samples, and no features with them."""
        roots = {id(axis) for axis in self.flow.samples.values()}
        roots |= {id(self.batch.root)} if self.batch is not None else set()
        own = any(id(axis.root) in roots for axis in dim)
        return own and all(axis.data for axis in dim)

    def is_batch(self, dim: Dim) -> bool:
        """Return whether a dim counts samples and nothing else."""
        return (
            self.batch is not None and len(dim) == 1 and dim[0].root is self.batch.root
        )

    def has_batch(self, dim: Dim) -> bool:
        """Return whether a dim counts samples, perhaps merged with other axes."""
        batch = self.batch
        return batch is not None and any(axis.root is batch.root for axis in dim)

    @cached_property
    def row_writes(self) -> dict[int, list[int]]:
        """Return how many entries each tensor had that was written into a row of a
        storage: `out[i, :n] = row`, by the storage.
        """
        lengths: dict[int, list[int]] = {}
        for call in self.calls:
            inputs = call.op.inputs
            if call.op.name != "[]=" or len(inputs) != 2:
                continue
            target, row = inputs
            items = call.given(1)
            items = items if isinstance(items, tuple) else (items,)
            starts = [i for i in items if isinstance(i, str) and i not in (":", "...")]
            behind = len(starts) == 1 and starts[0].startswith(":")
            if behind and row.shape and len(target.shape) >= len(row.shape):
                lengths.setdefault(target.storage, []).append(row.shape[0])
        return lengths

    # -- walking -------------------------------------------------------------------

    def maker(self, fact: Fact) -> OperatorCall | None:
        """Return the call that created a tensor."""
        op = self.program.producers.get(fact.tensor)
        return self.call(op) if op is not None else None

    def in_user_code(self, op: Op) -> bool:
        """Return whether the program's own text made the call, not a layer of torch."""
        return op.span is not None and self.program.layer(op) is None

    # -- words ---------------------------------------------------------------------

    def words(self, op: Op) -> list[str]:
        """Return the program's expressions for the tensors of a call."""
        return find_tensor_names(self.program, op)

    def names(self, op: Op) -> list[str]:
        """Return the program's expressions for the tensors of a call, with shapes."""
        pairs = zip(self.words(op), op.inputs, strict=True)
        return [f"{name} {format_shape(fact)}" for name, fact in pairs]

    def operation(self, op: Op) -> str:
        """Return the path of a call's layer, or the name of its function."""
        return get_operation(self.program, op)

    def finding(
        self,
        code: str,
        op: Op,
        message: str,
        *related: tuple[Op | None, str],
        severity: Severity | None = None,
    ) -> Finding:
        """Return a finding at the place of a call, with the places that support the
        finding.
        """
        places = tuple(
            Related(other.span, text)
            for other, text in related
            if other is not None and other.span is not None
        )
        severity = severity or CODES[code].severity
        return Finding(code, severity, message, op.span, op.module, related=places)


def _is_sum_of_messages(call: OperatorCall) -> bool:
    """Return whether a call adds up floats of rows by an index; counts of pairs of
    labels do not, nor those within each row.
    """
    if call.given(1, "dim") not in (0, None):
        return False
    return call.name in GRAPHS and any(
        fact.shape and fact.dtype.startswith(("float", "bf")) for fact in call.op.inputs
    )


def describe_axis(axis: Axis) -> str:
    """Describe what an axis counts, as in `dim 1 of the input`."""
    return axis.words or axis.root.words
