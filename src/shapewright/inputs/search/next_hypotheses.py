"""Derive hypotheses that avoid the failure of a torch call: other sizes, ranks, dtypes
or values of the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from shapewright.findings.codes import (
    DIM_OUT_OF_RANGE,
    EINSUM_LETTERS,
    TOO_MANY_INDICES,
    WRONG_RANK,
)
from shapewright.inputs.search.first_hypotheses import Beginning, settle_letters
from shapewright.inputs.search.hypotheses import Dim, Hypothesis, Path, Tensor
from shapewright.inputs.search.input_sources import (
    Back,
    InputAxis,
    Observations,
    find_way_back,
)
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import MOVING_KINDS, Failure, Repair, Unmet
from shapewright.record.ops import Fact, Op
from shapewright.record.trace import Trace

INDEXED = operators_with("indexes_along_dim")
LARGEST = 1 << 18
"""A dim of an input does not become larger for a view."""
VIEWED = re.compile(r"shape '\[([^\]]*)\]' is invalid for input of size")
SPATIAL = ("H", "W", "D", "L", "T")


def _mend_division(mender: Mender, failure: Failure, op: Op) -> Iterator[Hypothesis]:
    """Change a dim so that the elements fit the shape that a view requests."""
    match = VIEWED.search(failure.torch_message)
    if match is None or not op.inputs:
        return
    fact, wanted = op.inputs[0], find_numbers(match[1].replace("-1", ""))
    unit, total = prod(wanted), prod(fact.shape)
    open_ended = "-1" in match[1]
    if not unit or not total:
        return
    for dim, old in reversed(list(enumerate(fact.shape))):
        rest = total // old
        if open_ended:
            step = unit // gcd(unit, rest)
            new = -(-old // step) * step
        else:
            new = unit // rest
        if new != old and 0 < new * rest <= LARGEST * total and not new * rest % unit:
            for hypothesis in _mend_size(mender, fact, dim, old, new, op):
                yield replace(hypothesis, cost=hypothesis.cost + 0.3)


def _mend_size(
    mender: Mender, fact: Fact, dim: int, old: int, new: int, op: Op
) -> Iterator[Hypothesis]:
    """Change the size of the input dims that a dim was computed from."""
    sources = mender.way.sources(fact, dim)
    if len(sources) == 1 and sources[0].exact:
        yield from _resize_input(mender, sources[0], new, op)
        return
    for source in sources:
        tensor = mender.hypothesis.at(source.path)
        known = tensor.dims[source.dim] if isinstance(tensor, Tensor) else ""
        if isinstance(known, int) and known + new > old:  # joined with others
            yield from _resize_input(mender, source, known + new - old, op)
    yield from _mend_alike(mender, fact, old, new, op)
    yield from _mend_by_estimate(mender, fact, dim, old, new, op, sources)


def _resize_input(
    mender: Mender, source: InputAxis, new: int, op: Op
) -> Iterator[Hypothesis]:
    """Change a dim of an input."""
    hypothesis = mender.hypothesis
    tensor = hypothesis.at(source.path)
    if not isinstance(tensor, Tensor) or source.dim >= len(tensor.dims):
        return
    dim = tensor.dims[source.dim]
    why = f"`{source.path[-1]}` has a dim of {new} by `{op.name}`"
    uses = [
        d for _, other_tensor in hypothesis.tensors() for d in other_tensor.dims
    ].count(dim)
    if dim in ("H", "W") and "H" in tensor.dims and "W" in tensor.dims:
        yield hypothesis.with_sizes({"H": new, "W": new}, why, 0.3)
        yield hypothesis.with_sizes({str(dim): new}, why, 1.5)
        return
    if isinstance(dim, str) and uses > 1:
        yield hypothesis.with_sizes({dim: new}, why, 0.6)
    letters = [
        letter
        for _, other_tensor in hypothesis.tensors()
        for letter in other_tensor.dims
        if isinstance(letter, str) and letter != dim
        and hypothesis.sizes[letter] == new
    ]  # fmt: skip
    for letter in dict.fromkeys(letters):
        if letter != "B" or source.dim == 0:
            dims = replace_dim(tensor.dims, source.dim, letter)
            changed = replace(tensor, dims=dims)
            yield hypothesis.with_value(source.path, changed, "", 0.3)
    changed = replace(tensor, dims=replace_dim(tensor.dims, source.dim, new))
    yield hypothesis.with_value(
        source.path, changed, why, 0.4 if isinstance(dim, str) else 1.2
    )


def _mend_alike(
    mender: Mender, fact: Fact, old: int, new: int, op: Op
) -> Iterator[Hypothesis]:
    """Change input dims that have the wrong size themselves, one at a time."""
    for path in mender.way.ancestors(fact):
        tensor = mender.hypothesis.at(path)
        shape = tensor.shape(mender.hypothesis.sizes)
        for dim, size in enumerate(shape):
            if size == old and tensor.dims[dim] != "B":
                for hypothesis in _resize_input(
                    mender, InputAxis(path, dim, False), new, op
                ):
                    yield replace(hypothesis, cost=hypothesis.cost - 0.1)


def _mend_by_estimate(
    mender: Mender,
    fact: Fact,
    dim: int,
    old: int,
    new: int,
    op: Op,
    sources: list[InputAxis],
) -> Iterator[Hypothesis]:
    """Estimate the sizes for which a derived size becomes the needed size."""
    hypothesis = mender.hypothesis
    letters = []
    for source in sources:
        tensor = hypothesis.at(source.path)
        if isinstance(tensor, Tensor) and source.dim < len(tensor.dims):
            letter = tensor.dims[source.dim]
            if isinstance(letter, str) and letter not in letters:
                letters.append(letter)
    if not letters:
        for path in mender.way.ancestors(fact):
            tensor = hypothesis.at(path)
            if isinstance(tensor, Tensor):
                letters += [d for d in tensor.dims if d in SPATIAL]
    letters = [letter for letter in dict.fromkeys(letters) if isinstance(letter, str)]
    spatial = [letter for letter in letters if letter != "B"] or letters
    if not spatial:
        return
    if set(spatial) & {"H", "W"}:
        spatial = list(dict.fromkeys([*spatial, "H", "W"]))
        spatial = [letter for letter in spatial if letter in hypothesis.sizes]
    power = max(len(spatial), 1)
    key = (op.name, op.span, dim, new, tuple(spatial))
    size = hypothesis.sizes[spatial[0]]
    why = f"{new} features at `{op.name}` ask for {' x '.join(spatial)}"
    tries = mender.observed.estimates(key, size, old, new, power)
    for n, estimate in enumerate(tries):
        sizes = dict.fromkeys(spatial, estimate)
        yield hypothesis.with_sizes(sizes, why, 0.1 + 0.25 * n)


def replace_dim(dims: tuple[Dim, ...], place: int, dim: Dim) -> tuple[Dim, ...]:
    """Return the dims with the dim at one position replaced."""
    return (*dims[:place], dim, *dims[place + 1 :])


NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")


def find_numbers(text: str) -> list[int]:
    """Return the integers in a message."""
    return [int(number) for number in NUMBER.findall(text)]


OF_RANK = frozenset({WRONG_RANK, EINSUM_LETTERS, TOO_MANY_INDICES, DIM_OUT_OF_RANGE})
"""Codes of calls that want another number of dims."""

FRESH = ("S", "U", "V", "X", "Y", "Z", "Q", "R", "P", "K")


@dataclass(slots=True)
class Mender:
    """Derives new hypotheses from the failed run of a hypothesis."""

    known: Beginning
    observed: Observations
    hypothesis: Hypothesis
    made: Trace
    failures: Sequence[Failure]
    way: Back
    ops: tuple[Op, ...]

    def mended(self) -> Iterator[Hypothesis]:
        """Yield the hypotheses to try next, each with its cost."""
        blamed: list[Path] = []
        for count, failure in enumerate(self.failures[:6]):
            op = self.ops[failure.op]
            paths = [path for fact in op.inputs for path in self.way.ancestors(fact)]
            fresh = [path for path in paths if path not in blamed]
            if count and not fresh:
                continue
            blamed += fresh
            for hypothesis in self.of_failure(failure, op):
                yield replace(hypothesis, cost=hypothesis.cost + 1.5 * count)
            if count == 0:
                for path in dict.fromkeys(paths):
                    yield from self.known.alternatives(self.hypothesis, path)

    # -- a call that torch refused ------------------------------------------------

    def of_failure(self, failure: Failure, op: Op) -> Iterator[Hypothesis]:
        """Apply repairs with which torch accepts the call, or meet the call's needs."""
        yield from self.batches(failure)
        yield from _mend_division(self, failure, op)
        for place, repair in enumerate(failure.repairs[:12]):
            if 0 <= repair.tensor < len(op.inputs) and not repair.parameter:
                fact = op.inputs[repair.tensor]
                for hypothesis in self.of_repair(repair, fact, op):
                    yield replace(hypothesis, cost=hypothesis.cost + 0.3 * place)
        unmet = failure.unmet
        if unmet is None or unmet.got is None:
            return
        yield from self.match_sizes(failure, op, unmet)
        names = list(failure.arguments)
        at = names.index(unmet.got.argument) if unmet.got.argument in names else -1
        if at >= 0:
            fact = op.inputs[at]
            more = _count_missing_dims(unmet, len(fact.shape))
            doubt = 3.0 if unmet.code == DIM_OUT_OF_RANGE else 0.0
            for hypothesis in self.ranked(fact, more) if more else ():
                yield replace(hypothesis, cost=hypothesis.cost + doubt)

    def match_sizes(
        self, failure: Failure, op: Op, unmet: Unmet
    ) -> Iterator[Hypothesis]:
        """Change either of two mismatched sizes to the other."""
        if type(unmet.has) is not int or type(unmet.needs) is not int:
            return
        names = list(failure.arguments)
        sides = (
            (unmet.got, unmet.has, unmet.needs),
            (unmet.wanted, unmet.needs, unmet.has),
        )
        arguments = [place.argument for place, _, _ in sides if place is not None]
        places = [names.index(name) for name in arguments if name in names]
        decided = any(not self.way.ancestors(op.inputs[at]) for at in places)
        for place, old, new in sides:
            known = place is not None and place.argument in names
            if place is None or not known or place.dim is None:
                continue
            fact = op.inputs[names.index(place.argument)]
            fits = 0 <= place.dim < len(fact.shape) and fact.shape[place.dim] == old
            if fits and self.way.ancestors(fact):
                for hypothesis in _mend_size(self, fact, place.dim, old, new, op):
                    yield replace(
                        hypothesis, cost=hypothesis.cost + (0 if decided else 2)
                    )

    def batches(self, failure: Failure) -> Iterator[Hypothesis]:
        """Use a batch size of 2 if a norm requires more than one value per channel."""
        if "more than 1 value per channel" in failure.torch_message:
            yield self.hypothesis.with_sizes({"B": 2}, cost=0.1)

    def of_repair(self, repair: Repair, fact: Fact, op: Op) -> Iterator[Hypothesis]:
        """Apply a repair of an operand to the inputs that it came from."""
        if repair.kind == "dtype" and isinstance(repair.new, str):
            yield from self.change_dtype(fact, repair.new, op)
        elif repair.kind == "values":
            yield from self.lower_indices(fact, op, repair)
        elif repair.kind == "size" and repair.dim is not None:
            if type(repair.new) is int and type(repair.old) is int:
                yield from _mend_size(
                    self, fact, repair.dim, repair.old, repair.new, op
                )
        elif repair.kind in MOVING_KINDS:
            yield from self.moved(fact, repair)

    def change_dtype(self, fact: Fact, dtype: str, op: Op) -> Iterator[Hypothesis]:
        """Change the dtype of the input whose elements the tensor contains."""
        path = self.way.find_carried(fact)
        tensor = self.hypothesis.at(path) if path is not None else None
        if path is None or not isinstance(tensor, Tensor) or tensor.dtype == dtype:
            return
        fill = ""
        if dtype in ("int64", "int32"):
            table = _find_table_size(op, fact)
            fill = f"0..{table}" if table is not None and table > 1 else "zeros"
        elif dtype == "bool":
            fill = "zeros"
        cost = 0.1 if tensor.dtype == fact.dtype else 1.0
        changed = replace(tensor, dtype=dtype, fill=fill)
        why = f"`{path[-1]}` is {dtype} by what `{op.name}` takes"
        yield self.hypothesis.with_value(path, changed, why, cost)
        if len(tensor.dims) != 2 and fill:  # rows of tokens are likelier than others
            rows = replace(changed, dims=("B", "T"))
            yield settle_letters(
                self.hypothesis.with_value(path, rows, why, cost - 0.05)
            )

    def lower_indices(self, fact: Fact, op: Op, repair: Repair) -> Iterator[Hypothesis]:
        """Keep indices below the size of the dim that they index."""
        path = self.way.find_carried(fact)
        tensor = self.hypothesis.at(path) if path is not None else None
        if path is None or not isinstance(tensor, Tensor):
            return
        table = _find_table_size(op, fact)
        for cost, fill in enumerate(
            (f"0..{table}" if table else "zeros", "zeros", "ones")
        ):
            if fill != tensor.fill:
                why = f"`{path[-1]}` has values that `{op.name}` takes"
                changed = replace(tensor, fill=fill)
                yield self.hypothesis.with_value(path, changed, why, 0.1 + cost)

    def moved(self, fact: Fact, repair: Repair) -> Iterator[Hypothesis]:
        """Add, remove or reorder dims of the input with the dims of the tensor."""
        path = self.whole(fact)
        tensor = self.hypothesis.at(path) if path is not None else None
        if path is None or not isinstance(tensor, Tensor):
            return
        dims = list(tensor.dims)
        if repair.kind == "unsqueeze" and repair.dim is not None:
            dims.insert(repair.dim, self.fresh())
        elif repair.kind == "squeeze" and repair.dim is not None:
            if repair.dim < len(dims):
                del dims[repair.dim]
        elif isinstance(repair.new, tuple) and len(repair.new) == len(dims):
            dims = [dims[place] for place in repair.new]
        changed = replace(tensor, dims=tuple(dims))
        yield self.hypothesis.with_value(path, changed, "", 0.9)

    def whole(self, fact: Fact) -> Path | None:
        """Return the path of the input whose dims are those of a tensor, or None."""
        path = self.way.input(fact)
        if path is not None:
            return path
        sources = [self.way.sources(fact, dim) for dim in range(len(fact.shape))]
        places = [(s[0].path, s[0].dim) for s in sources if s]
        if not places or len({path for path, _ in places}) != 1:
            return None
        tensor = self.hypothesis.at(places[0][0])
        same = isinstance(tensor, Tensor) and len(tensor.dims) == len(fact.shape)
        return places[0][0] if same else None

    def ranked(self, fact: Fact, more: int) -> Iterator[Hypothesis]:
        """Change the rank of the inputs that a tensor was computed from."""
        for path in self.way.ancestors(fact):
            yield from change_rank(self, path, more)

    def fresh(self) -> str:
        """Return an unused letter."""
        used = {dim for _, tensor in self.hypothesis.tensors() for dim in tensor.dims}
        return next(letter for letter in FRESH if letter not in used)


def _count_missing_dims(unmet: Unmet, rank: int) -> int:
    """Return the number of missing dims: negative for extra dims, 0 if unknown."""
    if unmet.code in (WRONG_RANK, EINSUM_LETTERS) and type(unmet.needs) is int:
        return unmet.needs - rank
    if unmet.code == TOO_MANY_INDICES and type(unmet.has) is int:
        return unmet.has - rank
    if unmet.code == DIM_OUT_OF_RANGE and type(unmet.has) is int:
        dim = unmet.has
        return (dim + 1 if dim >= 0 else -dim) - rank
    return 0


def change_rank(mender: Mender, path: Path, more: int) -> Iterator[Hypothesis]:
    """Add `more` dims to an input, or remove some if it is negative."""
    hypothesis = mender.hypothesis
    tensor = hypothesis.at(path)
    if not isinstance(tensor, Tensor) or more == 0:
        return
    rank = len(tensor.dims) + more
    if rank < 0 or rank > 7:
        return
    why = f"`{path[-1]}` has {rank} dims"
    for alternative in mender.known.alternatives(hypothesis, path):
        other = alternative.at(path)
        if isinstance(other, Tensor) and len(other.dims) == rank:
            yield replace(
                alternative, cost=hypothesis.cost + 0.5 + 0.1 * (alternative.cost > 8)
            )
    dims = tensor.dims
    if more > 0:
        fresh = [letter for letter in FRESH if letter not in dims][:more]
        for n, place in enumerate((1, len(dims), 0, 2)):
            if place <= len(dims):
                new_dims = (*dims[:place], *fresh, *dims[place:])
                changed = replace(tensor, dims=new_dims)
                cost = 0.8 + 0.2 * n
                yield settle_letters(hypothesis.with_value(path, changed, why, cost))
    else:
        for n, place in enumerate((1, 0, len(dims) - 1)):
            if place >= 0 and place - more <= len(dims):
                new_dims = (*dims[:place], *dims[place - more :])
                yield hypothesis.with_value(
                    path, replace(tensor, dims=new_dims), why, 0.8 + 0.2 * n
                )


def _find_table_size(op: Op, index: Fact) -> int | None:
    """Return the number of rows of the table that an index is used for."""
    others = [fact for fact in op.inputs if fact.tensor != index.tensor and fact.shape]
    if not others:
        numbers = [value for _, value in op.arguments if type(value) is int]
        return numbers[0] if op.name.endswith("one_hot") and numbers else None
    if op.name.rpartition(".")[2] in ("cross_entropy", "nll_loss"):
        shape = others[0].shape
        return shape[1] if len(shape) > 1 else shape[0]
    if op.name.rpartition(".")[2] in INDEXED:
        dim = next((v for _, v in op.arguments if type(v) is int), 0)
        shape = others[0].shape
        return shape[dim] if -len(shape) <= dim < len(shape) else None
    return others[0].shape[0]


def make_mender(
    known: Beginning,
    observed: Observations,
    hypothesis: Hypothesis,
    trace: Trace,
    failures: Sequence[Failure],
) -> Mender:
    """Return a mender for the failed run of a hypothesis."""
    ops = tuple(trace.ops)
    way = find_way_back(trace, hypothesis)
    return Mender(known, observed, hypothesis, trace, failures, way, ops)
