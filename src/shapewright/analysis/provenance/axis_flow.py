"""Follow axes from the inputs through every op of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.axes import (
    Axis,
    Cutter,
    Dim,
    Dims,
    RegroupedDims,
    make_dims,
    rank_dim,
    resize_dim,
)
from shapewright.operators.facts import operators_with
from shapewright.record.ops import Fact, Op

Outputs = list[Dims] | Dims | None
Follower = Callable[["AxisFlow", "OperatorCall"], Outputs]
FOLLOWERS: dict[str, Follower] = {}
"""How axes go through an op, by the last part of its name."""


def follows(*names: str) -> Callable[[Follower], Follower]:
    """Register the decorated function as the rule for ops of these names."""

    def register(follow: Follower) -> Follower:
        for name in names:
            assert name not in FOLLOWERS, f"two ways through {name}"
            FOLLOWERS[name] = follow
        return follow

    return register


KEEPS = operators_with("keeps_weights")
"""Ops after which weights that sum to one along an axis still do, or as good as."""


RANDOM = operators_with("is_sized_factory") & operators_with("is_random") - {"randperm"}
"""What stands for data where a program is given none."""
ARRAYS = operators_with("takes_program_data")
"""What takes rows from arrays there."""


class OperatorCall:
    """An op with its arguments by name, and the dims of its tensors."""

    __slots__ = ("arguments", "dims", "name", "op")

    def __init__(self, op: Op, name: str, dims: list[Dims]) -> None:
        self.op, self.name, self.dims = op, name, dims
        self.arguments = dict(op.arguments)

    def given(self, place: int, *names: str, default: Any = None) -> Any:
        """Return an argument by one of its names or by its position."""
        for name in names:
            if name in self.arguments:
                return self.arguments[name]
        return self.arguments.get(str(place), default)

    def rest(self, place: int, *names: str) -> tuple[Any, ...] | None:
        """Return the numbers from a position on, passed one by one or as a tuple, or
        None.
        """
        first = self.given(place, *names)
        if isinstance(first, list | tuple):
            return tuple(first)
        numbers = []
        while str(place) in self.arguments:
            numbers.append(self.arguments[str(place)])
            place += 1
        return tuple(numbers) if numbers else None if first is None else (first,)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the first output."""
        return self.op.outputs[0].shape


class AxisFlow:
    """Determines what every dim of every tensor of a run counts.

    `recuts` are the blocks that reshapes cut anew, with their op.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.dims: dict[int, Dims] = {}
        self.cutter = Cutter()
        self.recuts: list[tuple[Op, RegroupedDims]] = []
        self.inputs: list[Dims] = []
        self.packed: dict[
            int, tuple[Dim, Dim]
        ] = {}  # samples and steps, by batch sizes
        self.by_size: dict[int, Axis | None] = {}
        self.rooted = True
        self.weights = False  # whether a softmax was met
        self.samples: dict[int, Axis] = {}
        self.take_inputs()
        # Else the program makes its data itself.
        self.rooted = bool(self.inputs) or bool(program.batches)
        self.initial = frozenset[int]() if self.rooted else _find_state_makers(program)
        for op in program.trace.ops:
            self.step(op)

    def of(self, fact: Fact) -> Dims:
        """Return the dims of a tensor."""
        dims = self.dims.get(fact.tensor)
        if dims is None or len(dims) != len(fact.shape):
            if fact.tensor in self.program.batches and fact.shape:
                dims = self.of_loader(fact)
            else:
                dims = self.first_sight(fact)
            self.dims[fact.tensor] = dims
        return dims

    def of_loader(self, fact: Fact) -> Dims:
        """Return the dims of a batch from a loader; dim 0 counts the samples."""
        first, *rest = fact.shape
        axis = self.samples.get(first)
        if axis is None:
            axis = self.samples[first] = Axis(first, "input", "the samples", True)
        dims = ((axis,), *((Axis(size, "input", "", True),) for size in rest))
        self.inputs.append(dims)
        return dims

    # -- where axes begin ----------------------------------------------------------

    def take_inputs(self) -> None:
        """Assign axes to the dims of the inputs; dims of equal size share an axis."""
        calls = self.program.trace.calls
        if not calls:
            return
        from shapewright.record.ops import collect_leaves

        args, kwargs = calls[0].inputs
        words = self.program.inputs
        for fact in collect_leaves([*args, *kwargs.values()]):
            if fact.tensor not in self.dims:
                name = words.get(fact.tensor, "the input")
                dims = self.named(fact, name)
                self.dims[fact.tensor] = dims
                self.inputs.append(dims)

    def named(self, fact: Fact, name: str) -> Dims:
        """Return new axes for a tensor, or existing axes of the same size."""
        dims: list[Dim] = []
        for at, size in enumerate(fact.shape):
            axis = self.known(size, fact.shape.count(size), at)
            if axis is None:
                axis = Axis(size, "input", f"dim {at} of {name}", True)
                self.note(axis)
            dims.append((axis,))
        return tuple(dims)

    def known(self, size: int, count: int, at: int) -> Axis | None:
        """Return the input axis that a dim shares, by its size and place, or None."""
        if at == 0 and self.inputs and self.rooted:
            first = self.inputs[0]
            if first and first[0][0].size == size:
                return first[0][0]
        if size < 2 or count > 1:
            return None
        return self.by_size.get(size)

    def note(self, axis: Axis) -> None:
        """Remember an axis by its size, or None if several axes have this size."""
        if axis.size > 1:
            self.by_size[axis.size] = None if axis.size in self.by_size else axis

    def first_sight(self, fact: Fact) -> Dims:
        """Return dims for a tensor that no op produced: a parameter, or other data."""
        path = self.program.states.get(fact.tensor)
        if path is None and not (fact.requires_grad and fact.is_leaf):
            return self.source(fact.shape)
        words = f" of `{path}`" if path else " of a parameter"
        return tuple(
            (Axis(size, "one" if size == 1 else "state", f"dim {at}{words}"),)
            for at, size in enumerate(fact.shape)
        )

    def source(self, shape: tuple[int, ...], data: bool = True) -> Dims:
        """Return dims of data that is not an input; equal sizes share an axis."""
        dims: list[Dim] = []
        for at, size in enumerate(shape):
            axis = self.known(size, shape.count(size), at) if size > 2 else None
            if axis is None:
                axis = Axis(size, "source" if data else "made", "", data)
                if data and not self.inputs:
                    self.note(axis)
            dims.append((axis,))
        return tuple(dims)

    # -- one op --------------------------------------------------------------------

    def step(self, op: Op) -> None:
        """Determine what the dims of an op's outputs count."""
        if not op.outputs or op.kind == "same":
            return
        states = self.program.states
        if not self.rooted and all(fact.tensor in states for fact in op.outputs):
            for fact in op.outputs:
                self.dims[fact.tensor] = self.first_sight(fact)
            return
        input_dims = [self.of(fact) for fact in op.inputs]
        if _is_in_place(op):
            self.written(op, input_dims)
            return
        name = op.name.rpartition(".")[2]
        if self.is_data(op, name):
            fact = op.outputs[0]
            drawn = self.named(fact, f"what `{op.name}` made")
            self.dims[fact.tensor] = drawn
            self.inputs.append(drawn)
            return
        follow = FOLLOWERS.get(name)
        call = OperatorCall(op, name, input_dims)
        outputs: Outputs = None
        if follow is not None:
            try:
                outputs = follow(self, call)
            except (IndexError, KeyError, TypeError, ValueError, ZeroDivisionError):
                # Arguments in a form that is not known: nothing is said.
                outputs = None
        every: list[Dims] = []
        if outputs is not None:
            every = outputs if isinstance(outputs, list) else [outputs]
        for at, fact in enumerate(op.outputs):
            dims = every[at] if at < len(every) else None
            if dims is None or not _is_fitting(dims, fact.shape):
                dims = self.lined_up(input_dims, fact.shape, bool(op.inputs))
            if self.weights and name not in KEEPS:
                dims = tuple(map(_strip_mark, dims))
            if fact.tensor in self.program.batches and fact.shape:
                dims = self.of_loader(fact)
            self.dims[fact.tensor] = dims

    def is_data(self, op: Op, name: str) -> bool:
        """Return whether a random draw or an array takes the place of data in a program
        without inputs.
        """
        if self.rooted or op.inputs or op.index in self.initial:
            return False
        if name not in ARRAYS:
            return name in RANDOM
        # A list of numbers is as long as another by chance.
        array = dict(op.arguments).get("0", dict(op.arguments).get("data"))
        of_array = isinstance(array, str) and array.startswith("<ndarray")
        return len(op.outputs[0].shape) > (0 if of_array else 1)

    def written(self, op: Op, input_dims: list[Dims]) -> None:
        """Update the dims of a tensor that is written in place; a step of an optimizer
        leaves those of a parameter what they were.
        """
        written = op.inputs[0]
        if written.requires_grad and written.tensor in self.program.states:
            return
        if (
            len(input_dims) < 2
            or not input_dims[1]
            or len(input_dims[1]) != len(input_dims[0])
        ):
            return
        if any(rank_dim(dim) > 5 for dim in input_dims[0]):
            out = op.outputs[0]
            self.dims[out.tensor] = self.lined_up(input_dims[:2], out.shape, True)

    def lined_up(
        self, input_dims: list[Dims], shape: tuple[int, ...], any_inputs: bool
    ) -> Dims:
        """Return the dims of a pointwise op, aligning its inputs from the right."""
        if not any_inputs:
            return self.source(shape, data=False)
        joined_dims: list[Dim] = []
        rank = len(shape)
        for at, size in enumerate(shape):
            best: Dim | None = None
            near: Dim | None = None
            for dims in input_dims:
                place = at - rank + len(dims)
                if place < 0 or len(dims) > rank:
                    continue
                dim = dims[place]
                if get_length(dim) != size:
                    if near is None and len(dims) == rank and get_length(dim) != 1:
                        near = dim
                elif best is None or is_better(dim, best):
                    best = dim
            if best is None:
                best = (
                    resize_dim(near, size)
                    if near is not None
                    else make_dims((size,))[0]
                )
            joined_dims.append(best)
        return tuple(joined_dims)

    def recut(self, op: Op, dims: Dims, shape: tuple[int, ...]) -> Dims:
        """Return the dims after a reshape, and record the blocks that the reshape
        cut.
        """
        new_dims, blocks = self.cutter.recut(dims, shape)
        self.recuts += [(op, block) for block in blocks]
        return new_dims


def _find_state_makers(program: Program) -> frozenset[int]:
    """Return the indices of ops whose results only became parameters and buffers.

    A parameter is a tensor of its own: what it was made of has its shape, and no op
    reads it. What was computed with parameters is none.
    """
    shapes = {state.fact.shape for state in program.trace.states}
    ops = list(program.trace.ops)
    computed = set(program.states)
    readers: dict[int, set[int]] = {}
    for op in ops:
        for fact in op.inputs:
            readers.setdefault(fact.tensor, set()).add(op.index)
        if any(fact.tensor in computed for fact in op.inputs):
            computed.update(fact.tensor for fact in op.outputs)
    state_makers: set[int] = set()
    for op in reversed(ops):
        read = [readers.get(fact.tensor, set()) for fact in op.outputs]
        kept = [fact.shape in shapes for fact in op.outputs]
        if any(fact.tensor in computed for fact in op.outputs) or not read:
            continue
        if all(r <= state_makers and (r or k) for r, k in zip(read, kept, strict=True)):
            state_makers.add(op.index)
    return frozenset(state_makers)


def _is_in_place(op: Op) -> bool:
    """Return whether an op writes into its first input and returns it with the same
    shape.
    """
    if op.kind != "inplace" or not op.inputs:
        return False
    target, out = op.inputs[0], op.outputs[0]
    return target.tensor == out.tensor and target.shape == out.shape


def _strip_mark(dim: Dim) -> Dim:
    """Return a dim without its mark as weights that sum to 1."""
    if len(dim) == 1 and dim[0].softmax is not None:
        axis = dim[0]
        while axis.of is not None and axis.softmax is not None:
            axis = axis.of
        if axis.softmax is None and axis.size == dim[0].size:
            return (axis,)
        return (Axis(dim[0].size, "changed", axis.words, axis.data),)
    return dim


def is_better(dim: Dim, than: Dim) -> bool:
    """Return whether a dim is more informative than another dim of the same size."""
    if dim[0].size == 1 and than[0].size == 1:
        return than[0].explicit and not dim[0].explicit
    if len(dim) > 1 and len(than) > 1 and _is_known(than):
        return False  # put together in another order, or of other things
    return rank_dim(dim) < rank_dim(than)


def _is_known(dim: Dim) -> bool:
    """Return whether all axes of a dim are known."""
    return all(axis.kind not in ("unknown", "expanded") for axis in dim)


def get_length(dim: Dim) -> int:
    """Return the size of a dim."""
    size = 1
    for axis in dim:
        size *= axis.size
    return size


def _is_fitting(dims: Dims, shape: tuple[int, ...]) -> bool:
    """Return whether the dims belong to a tensor of this shape."""
    return len(dims) == len(shape) and all(
        get_length(dim) == size for dim, size in zip(dims, shape, strict=True)
    )
