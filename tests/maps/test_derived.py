"""Index maps against rules, needs and torch: what they must agree in is derived.

On torch's operator samples, and on samples with one thing broken at random:

- a call that torch takes: the shape of the map is that of torch and of the rule; no
  read leaves its operand; a dim of the output ends where a read would leave;
- a call that a need refuses for its sizes: the map cannot be made, or it reads, writes
  or ends elsewhere than in its operands.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

from checking.needs.breaking import Call, broken
from checking.needs.metas import seen
from checking.needs.oracle import real
from maps.derivation import (
    Operands,
    derived_sizes,
    reads_each_once,
    refusal,
    unread_end,
)
from rules.oracle import leaves, mapped, meta_of, rule_of, shown, tensors
from rules.test_samples import functions, label, samples
from shapewright.engine.dispatch.answers import find_needs
from shapewright.index_maps.index_map import IndexMap
from shapewright.operators.failed_calls import Unmet
from shapewright.operators.metadata_rules import Misfit, Same
from shapewright.runtime.operator_calls.drawing import (
    MetaOf,
    _find_maps,
    iter_named_tensors,
    name_arguments,
)
from shapewright.runtime.operator_calls.operator_names import get_drawn_names

PARTS = frozenset(
    """
    split split_with_sizes split_with_sizes_copy tensor_split unsafe_split chunk
    unsafe_chunk hsplit vsplit dsplit unbind unbind_copy select narrow narrow_copy
    __getitem__ as_strided as_strided_copy pad constant_pad_nd unfold unfold_copy
    diagonal diagonal_copy diag trace masked_select masked_scatter index_select gather
    take_along_dim scatter scatter_add scatter_reduce interpolate upsample_nearest
    channel_shuffle
    """.split()
)
"""Operators that may read a part of an operand, so that a dim may end before it."""

ONCE = frozenset("reshape reshape_as view view_as unflatten".split())
"""Operators that read each element once."""

SEEN_IN_MAPS = frozenset(
    """
    broadcast-mismatch inner-dim-mismatch missing-transpose batch-dim-mismatch
    channel-mismatch channels-last normalized-shape joined-sizes-differ
    stacked-shapes-differ expand-mismatch target-shape class-weights repeat-counts
    index-out-of-range index-larger-than-source source-shape written-shape
    element-count-mismatch in-place-too-small
    """.split()
)
"""Needs about sizes that meet. Others are about arguments that a map takes as right:
which dims there are, dtypes, ranks, numbers that are positive, ends of padding."""

UNSEEN = {
    "the map broadcasts a size of 1 that torch does not": """
        bmm baddbmm inner cdist binary_cross_entropy binary_cross_entropy_with_logits
    """,
    "the map leaves out what a factor of 0 leaves out": """
        addmm addmv addr addbmm baddbmm
    """,
    "the statistics that a training updates are not read": "batch_norm instance_norm",
    "a group reads its own channels, and others may be left": """
        conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    """,
    "only the weights, and losses, of the classes that are met are read": """
        cross_entropy nll_loss
    """,
    "an index beyond the input writes nothing": """
        scatter scatter_add scatter_reduce index_add
    """,
    "a part without elements may begin anywhere": "narrow index_put",
    "an index counts from the end, as often as it must": "select",
    "a tensor without dims joins with one element": "vstack dstack",
    "counts are added up, whatever their number": "repeat_interleave",
    "places in row-major order go round": "masked_scatter take_along_dim",
}
"""Operators whose maps cannot show some of what their needs ask for, by reason."""

_UNSEEN = frozenset(" ".join(UNSEEN.values()).split())


def maps_of(
    name: str, args: Any, kwargs: Any
) -> tuple[tuple[IndexMap, ...], dict[str, MetaOf]]:
    """The maps of a call, none where it is not drawn, and its tensors' metadata."""
    named = name_arguments(name, args, kwargs)
    metas = {key: MetaOf.of(value) for key, value in iter_named_tensors(named)}
    return _find_maps(name, named, metas)[0], metas


def rule_shapes(func: Any, args: Any, kwargs: Any) -> list[Any] | None:
    """The shapes that the rule gives; None where it has no answer."""
    rule = rule_of(func)
    if rule is None:
        return None
    try:
        out = rule[1].metadata(*mapped(args, meta_of), **mapped(kwargs, meta_of))
    except (Misfit, TypeError, AttributeError):  # judged by tests/rules
        return None
    if out is NotImplemented:
        return None
    given = {**dict(enumerate(args)), **kwargs}
    every = [one for one in leaves(out) if one is not None]
    return [
        tuple((given[one.argument] if isinstance(one, Same) else one).shape)
        for one in every
    ]


def short(name: str) -> str:
    """`scatter` for `torch.Tensor.scatter_`."""
    last = name.rpartition(".")[2]
    return last if last.endswith("__") else last.removesuffix("_")


class Comparison:
    """Calls compared, counted, and what disagrees."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []

    def add(self, func: Any, name: str, args: Any, kwargs: Any) -> None:
        """Compare one call."""
        out = real(func, args, kwargs)
        call = f"{name}{shown(args, kwargs)}"
        if isinstance(out, Exception):
            found = self.refused(func, name, args, kwargs)
        else:
            found = list(self.taken(func, name, args, kwargs, out))
        self.wrong += [f"{call}: {one}" for one in found]

    def taken(
        self, func: Any, name: str, args: Any, kwargs: Any, out: Any
    ) -> Iterator[str]:
        """What disagrees on a call that torch takes."""
        sizes = [tuple(o.shape) for o in leaves(out) if isinstance(o, torch.Tensor)]
        maps, metas = maps_of(name, args, kwargs)
        if not maps or not sizes:
            self.counts["not drawn"] += 1
            return
        self.counts["taken"] += 1
        by_rule = rule_shapes(func, args, kwargs)
        self.counts["taken, with a rule"] += by_rule is not None
        if by_rule not in (None, sizes):
            yield f"the rule gives {by_rule}, torch {sizes}"
        if [drawn.shape for drawn in maps] != sizes:
            yield f"the maps are of {[drawn.shape for drawn in maps]}, torch's {sizes}"
        reads_all = short(name) not in PARTS
        for drawn in maps:
            operands = Operands(drawn, metas)
            if found := refusal(drawn, operands, False):
                yield found
            if 0 in drawn.shape:
                continue
            if reads_all and (found := unread_end(drawn, operands)):
                yield found
            if short(name) in ONCE and not reads_each_once(drawn, operands):
                yield "it does not read each element once"
            yield from self.sizes(drawn, operands, reads_all)

    def sizes(
        self, drawn: IndexMap, operands: Operands, reads_all: bool
    ) -> Iterator[str]:
        """Where a dim of the output ends elsewhere than its letter can run."""
        most = max(drawn.shape, default=0)
        found = derived_sizes(drawn, operands, most)
        for derived, size in zip(found, drawn.shape, strict=True):
            self.counts["dims"] += 1
            if derived is None:
                continue
            self.counts["dims derived"] += derived == size
            if derived < size or (reads_all and derived > size):
                yield f"the reads end at {found}, the output at {drawn.shape}"

    def refused(self, func: Any, name: str, args: Any, kwargs: Any) -> list[str]:
        """What disagrees on a call that torch refuses."""
        need = find_needs(func)
        no: Unmet | None = None
        if need is not None:
            try:
                no = need(*mapped(args, seen), **mapped(kwargs, seen))
            except (TypeError, AttributeError):  # arguments that torch has not either
                return []
        if no is None or no.code not in SEEN_IN_MAPS:
            self.counts["refused, not for sizes"] += 1
            return []
        if any(not tensor.numel() for tensor in tensors((args, kwargs))):
            self.counts["refused, but empty"] += 1  # a map of no elements reads nothing
            return []
        self.counts["refused for sizes"] += 1
        if self.is_refused(name, args, kwargs):
            self.counts["refused by the map"] += 1
        elif short(name) in _UNSEEN:
            self.counts["not seen by the map"] += 1
        else:
            return [f"only the need refuses it: {no.code}: {no.message}"]
        return []

    def is_refused(self, name: str, args: Any, kwargs: Any) -> bool:
        """Whether the call has no map, or one that reads elsewhere than it may."""
        try:
            maps, metas = maps_of(name, args, kwargs)
            reads_all = short(name) not in PARTS
            every = [(drawn, Operands(drawn, metas)) for drawn in maps]
            found = [refusal(drawn, operands, reads_all) for drawn, operands in every]
            if short(name) in ONCE:
                found += ["" if reads_each_once(*one) else "not once" for one in every]
        except Exception:  # made for calls that torch takes: any fault is a refusal
            return True
        if name.endswith("_") and not name.endswith("__"):
            written = next(iter(metas.values())).shape
            found += ["written"] if any(m.shape != written for m in maps) else []
        return not maps or any(found)


def forms(op: Any) -> dict[Any, str]:
    """The forms of an operator that have index maps, with their names."""
    known = get_drawn_names()
    return {form: known[form] for form in functions(op) if _has_map(form)}


@cache
def _known() -> set[int]:
    return {id(func) for func in get_drawn_names()}


def _has_map(form: Any) -> bool:
    return id(form) in _known()


def compared(op: Any, most: int, times: int, first: bool) -> Comparison:
    """The operator's samples, each also broken so many times, in each form."""
    made = Comparison()
    draw = random.Random(1)
    calls = list(given(op, most, first))
    for form, name in list(forms(op).items())[: 1 if first else None]:
        for sample, is_right in calls:
            right = Call(form, (sample.input, *sample.args), sample.kwargs)
            every = [right]
            for _ in range(times if is_right else 0):
                every += filter(None, [broken(draw, right)])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for call in every:
                    made.add(form, name, call.args, call.kwargs)
    return made


def given(op: Any, most: int, first: bool) -> Iterator[tuple[Any, bool]]:
    """Samples, and inputs that the operator must refuse; `False` with these."""
    for dtype in (torch.float32, torch.int64)[: 1 if first else None]:
        if dtype in op.supported_dtypes("cpu"):
            for sample in samples(op, dtype, most):
                yield sample, True
    if op.error_inputs_func is not None:
        for error in op.error_inputs_func(op, "cpu"):
            yield error.sample_input, False


DRAWN = [op for op in op_db if forms(op)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Small tensors: waking threads costs more than the work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_maps_agree_with_rules_and_needs() -> None:
    every = [compared(op, 2, 2, first=True) for op in DRAWN]
    wrong = [line for one in every for line in one.wrong]
    assert not wrong, "\n".join(wrong[:20])
    counts = sum((one.counts for one in every), Counter())
    assert counts["taken, with a rule"] > 1000
    assert counts["dims derived"] > 0.7 * counts["dims"]
    assert counts["refused by the map"] > 0.75 * counts["refused for sizes"]


@pytest.mark.long
@pytest.mark.parametrize("op", DRAWN, ids=label)
def test_maps_agree_with_rules_and_needs_on_many_samples(op: Any) -> None:
    made = compared(op, 30, 6, first=False)
    assert not made.wrong, "\n".join(made.wrong[:20])
