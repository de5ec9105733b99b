"""Totals of a run: parameters, FLOPs, memory, and the ops not counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from shapewright.record.ops import ITEMSIZE, Fact, ModuleCall, Op, State, shorten_name

_MOVES = """
zeros zeros_like ones ones_like empty empty_like empty_strided full full_like new_zeros
new_ones new_empty new_full tensor as_tensor new_tensor scalar_tensor eye arange
linspace logspace meshgrid tril_indices triu_indices rand randn randint randperm
rand_like randn_like normal uniform trunc_normal bernoulli multinomial fill zero
cat concat concatenate stack hstack vstack dstack split chunk unbind narrow
getitem __getitem__ setitem __setitem__ [] index index_select index_copy index_put take
take_along_dim gather scatter embedding one_hot masked_fill masked_select
masked_scatter where nonzero pad clone contiguous copy detach to type type_as float half
double bfloat16 int long short bool byte cpu cuda repeat repeat_interleave tile roll
flip rot90 reshape view flatten unflatten transpose permute movedim swapaxes expand
broadcast_to broadcast_tensors squeeze unsqueeze t T mT tril triu diag diagonal
diag_embed unfold fold pixel_shuffle pixel_unshuffle channel_shuffle
size shape dim numel item tolist sort argsort topk unique searchsorted bucketize isin
"""
MOVES = frozenset(_MOVES.split())
"""Short names of ops that move or create data without notable arithmetic."""


@dataclass(frozen=True, slots=True)
class Subtotal:
    """The totals of a module call, its children included.

    `parameters` counts elements, a tensor that stands in two places once; `elsewhere`
    is True when all of them are counted at an earlier place (tied weights).
    `written` is bytes of new storage.
    """

    parameters: int
    flops: int
    written: int
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a run. Sizes are in bytes, parameters in elements.

    Example: GPT-2 small on ``i64[1, 128]`` has 124,439,808 `parameters` although its
    output layer repeats the embedding, and 32.2 G `flops`, that is 16.1 G
    `multiply_adds`. `uncounted` are ops that calculate but have no formula, with how
    often they ran. `activation_bytes` is all new storage that ops wrote, which is more
    than the peak of a run that frees as it goes; `real_bytes` adds the model.
    """

    parameters: int
    trainable: int
    parameter_bytes: int
    buffers: int
    buffer_bytes: int
    tied: tuple[tuple[str, str], ...]
    unused: tuple[str, ...]
    unused_parameters: int
    flops: int
    uncounted: tuple[tuple[str, int], ...]
    largest: tuple[Op, Fact] | None
    activations: int
    activation_bytes: int
    ops: int
    calls: tuple[Subtotal, ...]

    def __repr__(self) -> str:
        return (
            f"<Totals: {self.parameters:,} parameters, {self.flops:,} FLOPs, "
            f"{self.activation_bytes:,} bytes in {self.activations:,} new tensors by "
            f"{self.ops:,} ops>"
        )

    @property
    def multiply_adds(self) -> int:
        """Return half of `flops`, as torch's formulas count a multiply-add as two."""
        return self.flops // 2

    @property
    def real_bytes(self) -> int:
        """Return the bytes that a real run would have allocated; freed memory is
        included.
        """
        return self.parameter_bytes + self.buffer_bytes + self.activation_bytes


def compute_totals(
    ops: Iterable[Op],
    calls: Iterable[ModuleCall],
    states: Sequence[State],
    complete: bool,
) -> Totals:
    """Sum up a run in one pass over its ops; `complete` says that it reached its end.

    Example: for LeNet on ``f32[1024, 1, 32, 32]``, ``trace.totals.parameters`` is
    61,706 and ``.largest[1].shape`` is ``(1024, 6, 28, 28)``.
    """
    work = _Work()
    for op in ops:
        work.add(op)
    unique = [state for state in states if state.tied is None]
    parameters = [state for state in unique if not state.buffer]
    buffers = [state.fact for state in unique if state.buffer]
    unused = [s for s in parameters if s.fact.tensor and s.fact.tensor not in work.read]
    if work.opaque:
        unused = [s for s in unused if not work.is_hidden(s.path)]
    if not complete:
        unused = []
    return Totals(
        parameters=_count_elements(state.fact for state in parameters),
        trainable=_count_elements(s.fact for s in parameters if s.fact.requires_grad),
        parameter_bytes=sum(state.fact.nbytes for state in parameters),
        buffers=_count_elements(buffers),
        buffer_bytes=sum(fact.nbytes for fact in buffers),
        tied=tuple((s.path, s.tied) for s in states if s.tied is not None),
        unused=tuple(state.path for state in unused),
        unused_parameters=_count_elements(state.fact for state in unused),
        flops=sum(work.flops),
        uncounted=tuple(work.uncounted.most_common()),
        largest=work.largest,
        activations=work.activations,
        activation_bytes=sum(work.written),
        ops=len(work.flops),
        calls=_compute_subtotals(calls, states, work),
    )


class _Work:
    """The running sums during the pass over the ops."""

    def __init__(self) -> None:
        self.flops: list[int] = []
        self.written: list[int] = []
        self.uncounted: Counter[str] = Counter()
        self.read: set[int] = set()
        self.opaque: set[str] = set()  # modules whose parameters no op names
        self.largest: tuple[Op, Fact] | None = None
        self.largest_bytes = -1
        self.activations = 0

    def add(self, op: Op) -> None:
        self.flops.append(op.flops or 0)
        self.read.update([fact.tensor for fact in op.inputs])
        if op.kind == "opaque":
            self.opaque.add(op.module)
        if op.flops is None and _is_arithmetic(op):
            self.uncounted[op.name] += 1
        self.written.append(self._allocate(op) if _is_allocation(op) else 0)

    def is_hidden(self, path: str) -> bool:
        """Return whether a parameter belongs to an opaque (scripted) module."""
        return any(
            not prefix or path.startswith(f"{prefix}.") for prefix in self.opaque
        )

    def _allocate(self, op: Op) -> int:
        storages: dict[int, int] = {}
        for place, fact in enumerate(op.outputs):
            if not _is_new_storage(op, fact):
                continue
            key = fact.storage or -1 - place
            size = count_storage_bytes(fact)
            storages[key] = max(storages.get(key, 0), size)
            if size > self.largest_bytes:
                self.largest, self.largest_bytes = (op, fact), size
        self.activations += len(storages)
        return sum(storages.values())


def _is_allocation(op: Op) -> bool:
    """Return whether the op's outputs are in new storage."""
    return op.kind in ("new", "copy", "opaque")


def _is_arithmetic(op: Op) -> bool:
    """Return whether the op does arithmetic, not only creates, moves or views data."""
    if op.kind not in ("new", "inplace", "opaque") or not op.outputs:
        return False
    name = shorten_name(op.name)
    return name not in MOVES and name.rstrip("_") not in MOVES


def count_storage_bytes(fact: Fact) -> int:
    """Return the bytes that the tensor's elements span in its storage.

    An expanded tensor spans less than its elements would: ``(1, 768)`` expanded to
    ``(4096, 768)`` in float32 spans 3,072 bytes.
    """
    if fact.stride is None or fact.numel == 0:
        return fact.nbytes
    steps = sum(
        (size - 1) * abs(step)
        for size, step in zip(fact.shape, fact.stride, strict=True)
    )
    return (fact.storage_offset + steps + 1) * ITEMSIZE.get(fact.dtype, 1)


def _is_new_storage(op: Op, fact: Fact) -> bool:
    return not fact.storage or all(
        fact.storage != source.storage for source in op.inputs
    )


def _count_elements(facts: Iterable[Fact]) -> int:
    return sum(fact.numel for fact in facts)


def _compute_subtotals(
    calls: Iterable[ModuleCall], states: Iterable[State], work: _Work
) -> tuple[Subtotal, ...]:
    flops = [0, *accumulate(work.flops)]
    written = [0, *accumulate(work.written)]
    sizes = count_parameters_under(states)
    subtotals = []
    for call in calls:
        begin, end = call.ops
        end = min(end, len(work.flops))
        own, elsewhere = sizes.get(call.path, (0, 0))
        subtotals.append(
            Subtotal(
                own + elsewhere,
                flops[end] - flops[begin],
                written[end] - written[begin],
                elsewhere=elsewhere > 0 and own == 0,
            )
        )
    return tuple(subtotals)


def count_parameters_under(states: Iterable[State]) -> dict[str, tuple[int, int]]:
    """Map module paths to their parameter count and the count first met elsewhere.

    Both count elements, children included, a tensor once however often it stands
    there. The root's path is "".
    """
    counted: dict[str, dict[str, int]] = {}
    for state in states:
        if state.buffer:
            continue
        owner = state.path
        while owner:
            owner = owner.rpartition(".")[0]
            place = counted.setdefault(owner, {})
            place[state.tied or state.path] = state.fact.numel
    return {path: _split(path, tensors) for path, tensors in counted.items()}


def _split(path: str, tensors: dict[str, int]) -> tuple[int, int]:
    prefix = f"{path}." if path else ""
    own = sum(size for name, size in tensors.items() if name.startswith(prefix))
    return own, sum(tensors.values()) - own
