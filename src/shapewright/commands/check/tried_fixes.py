"""Compare tried fixes: whether one helps, is enough, and which of two is better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from shapewright.analysis.fixes import DECIDED, GUESSED
from shapewright.analysis.fixes.options import FixOption
from shapewright.analysis.fixes.stand_in_data import (
    is_within,
    make_filter,
    make_filter_of_makers,
)
from shapewright.analysis.program_run import Program
from shapewright.commands.check.fixes import (
    Overlay,
    Place,
    Tried,
    count_layers,
    get_finding_place,
    get_place,
    is_at,
    list_failures,
    list_operands,
    list_refusals,
)
from shapewright.findings.codes import (
    CHANNEL_MISMATCH,
    CHANNELS_LAST,
    DRAWN_INDEX,
    INDEX_OUT_OF_RANGE,
    MIXED_DEVICES,
    NORMALIZED_SHAPE,
    ONE_VALUE_PER_CHANNEL,
    PADDED_LAST_STEP,
    PADDED_MEAN,
)
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure

OF_ELEMENTS = frozenset({"any-batch", "dtype", "missing-items", "numpy", "storage"})
"""Kinds of fixes that change no shape, leave out items that are none, or make as many
rows as a batch has.
"""
HEEDING = DECIDED | OF_ELEMENTS
"""Kinds of fixes behind which the same call may fail for another reason."""
EXPLAINED = frozenset({"cause", "value"})
"""Kinds of fixes that follow from the explained cause of an error."""
FOLLOWING = HEEDING | EXPLAINED | {"drawn"}
"""Kinds of fixes behind which no other is looked for among those tried at once."""
Crowded = Collection[tuple[str, int]]
"""Lines with several calls that fail by themselves."""


@dataclass(slots=True)
class Mend:
    """A candidate repair of a finding, and the outcome of the run with this repair."""

    option: FixOption
    texts: Overlay
    tried: Tried
    moved: Tried  # with its places at the lines of the program that was edited
    place: Place | None = None  # of the error that was to be mended

    @property
    def fix(self) -> Fix:
        """Return the change of the text."""
        return self.option.fix

    @property
    def loses_samples(self) -> bool:
        """Return whether the repair drops or merges samples; a cast keeps them, even
        where the rest of the run joins two batches.
        """
        return self.tried.samples is False and self.option.kind not in OF_ELEMENTS


def _is_clean(mend: Mend, before: tuple[Place, ...]) -> bool:
    """Return whether the run with a repair reached its end without another error."""
    tried = mend.moved
    return tried.complete and all(place in before for place in tried.failures)


def is_enough(
    mend: Mend,
    before: tuple[Place, ...],
    wanted: tuple[tuple[int, ...], ...] | None,
    turn: int,
    shared: int = 0,
    code: str = "",
) -> bool:
    """Return whether, after some rounds of trials, no better repair needs to be
    searched for.
    """
    tried = mend.tried
    if mend.option.kind in EXPLAINED and (tried.complete or tried.failures):
        return True  # another number would hide the cause
    is_decided = mend.option.kind in (*OF_ELEMENTS, "drawn") or (
        mend.option.kind in DECIDED and turn > 0
    )  # what is warned of then was behind the error
    is_worse = _count_warnings(mend, before) > shared and not is_decided
    if _is_of_order(mend.option, code) and tried.complete and turn > 0:
        return True  # a number that fits as well is dropped for it
    if not _is_clean(mend, before) or is_worse:
        return False
    if wanted is not None and _has_other_output(mend, wanted):
        return False
    return not tried.failures or turn > 0 or mend.option.kind in HEEDING


def _has_other_output(mend: Mend, wanted: tuple[tuple[int, ...], ...]) -> bool:
    """Return whether a run with a repair ends with other shapes than are wanted; of one
    that makes as many rows as a batch has, the last ones are fewer.
    """
    return mend.option.kind != "any-batch" and mend.tried.output != wanted


HIDDEN = frozenset({PADDED_MEAN, PADDED_LAST_STEP})
"""Warnings of padding, which the right repair of a mask or a mean brings to light."""


def _count_warnings(mend: Mend, before: tuple[Place, ...] = ()) -> int:
    """Return how many warnings of a run may be due to its repair: the range of labels
    is not due to their shape or their dtype. What is warned of at the line of another
    error that is gone was behind that error.
    """
    hidden = HIDDEN | {DRAWN_INDEX} if mend.option.kind in HEEDING else HIDDEN
    own = mend.place[:2] if mend.place is not None else None
    failing = {place[:2] for place in mend.moved.failures}
    behind = {place[:2] for place in before} - failing - {own}
    is_distant = mend.option.kind == "distant"  # which adds nothing that runs
    return sum(
        place[2] not in hidden
        and place[:2] not in behind
        and (not is_distant or place[:2] == own)
        for place in mend.moved.warnings
    )


def is_output_sure(program: Program) -> bool:
    """Return whether the output of the run past all errors is the intended output."""
    if not program.trace.complete:
        return False
    for failure in program.failures:
        decided = failure.unmet is not None and not failure.unmet.guessed
        if failure.unmet is not None and failure.unmet.code in OF_VALUES:
            return False
        if failure.guessed or not (decided or _is_parameter_size(failure)):
            return False
    return True


OF_VALUES = frozenset({INDEX_OUT_OF_RANGE})
"""Codes where what came out says nothing of what was to come out."""


def _is_parameter_size(failure: Failure) -> bool:
    """Return whether a parameter determines the expected size."""
    return any(repair.kind == "size" and repair.parameter for repair in failure.repairs)


UNCOUNTED = frozenset({"left-out", "definition", "value"})
"""Kinds of fixes with which fewer layers may run."""


EXPLAINED = frozenset({"cause", "definition"})
"""Kinds of fixes that follow from an explained cause."""


def is_helpful(
    option: FixOption,
    tried: Tried,
    gone: Place,
    code: str,
    run: Program,
    crowded: Crowded = (),
) -> bool:
    """Return whether a fix of the error `code` at `gone` removes it, no other error has
    taken its place, and as many layers run.

    A fix of an order may bring another error to light if it mends more than that;
    behind one that follows from an explained cause, another call of the line may fail,
    and behind one of the elements the same call for another reason.
    """
    before = list_failures(run)
    left = [place for place in before if not is_at(place, gone, crowded)]
    is_explained = option.kind in EXPLAINED and gone not in tried.failures
    if not is_explained and any(is_at(at, gone, crowded) for at in tried.failures):
        if not _has_other_error(tried, gone, run, option.kind):
            return False
        left = list(before)
    new = [place for place in tried.failures if place not in left]
    if tried.layers < count_layers(run) and option.kind not in UNCOUNTED:
        return False  # what leaves a layer out is no fix
    if _is_of_earlier_error(tried, gone, run):
        return False
    if run.trace.complete:
        mends_more = len({*tried.failures}) < len({*before})
        uncovers = mends_more and _is_of_order(option, code)
        uncovers |= option.kind == "load" and _has_only_refused_values(tried, new)
        return tried.complete and (not new or uncovers)
    ends_alike = bool(left) and before[-1] in left and before[-1] in tried.failures
    if (tried.ops >= len(run.trace.ops) or ends_alike) and not new and left:
        return True  # it comes as far, to the error that ended the run before
    return (tried.complete and not new) or tried.ops > len(run.trace.ops)


def _has_other_error(tried: Tried, gone: Place, run: Program, kind: str) -> bool:
    """Return whether the call that was given something that is no tensor, which is a
    `TypeError`, gets a tensor now, and fails by what that holds; of a fix of its
    elements, whether torch refuses it by other words; of another fix that follows from
    the call, whether it does so for its values, or later.
    """
    before, after = dict(list_refusals(run)).get(gone), dict(tried.refusals).get(gone)
    if before is None or after is None:
        return False
    if before[0].startswith("TypeError") and not after[0].startswith("TypeError"):
        return True
    if before[0] == after[0] or kind not in HEEDING:
        return False
    if kind in OF_ELEMENTS or after[1] > before[1]:
        return True
    return _is_of_values(after[0]) and not _is_of_values(before[0])


def _has_only_refused_values(tried: Tried, places: Collection[Place]) -> bool:
    """Return whether torch refuses what tensors hold at places: of a batch that did not
    stack nothing is known, and its values are seen with the fix.
    """
    refusals = dict(tried.refusals)
    return all(
        place in refusals and _is_of_values(refusals[place][0]) for place in places
    )


def _is_of_values(refusal: str) -> bool:
    """Return whether torch refuses what a tensor holds, not its shape."""
    is_bare = refusal.startswith("IndexError") and refusal.endswith(" ")
    return is_bare or refusal.endswith(INDEX_OUT_OF_RANGE)


def _is_of_earlier_error(tried: Tried, gone: Place, run: Program) -> bool:
    """Return whether a call that failed before still fails, of other sizes: what comes
    behind it then says nothing.
    """
    after, known = dict(tried.operands), list_operands(run)
    if all(place != gone for place, _ in known):
        return False  # no call failed there: items of a data set do not stack
    for place, shapes in known:
        if place == gone:
            break
        if after.get(place, shapes) != shapes:
            return True
    return False


def _is_last(mend: Mend) -> bool:
    """Return whether a repair leaves out a last batch of one sample."""
    return mend.option.kind == "last-batch"


def choose_meant(program: Program, mends: Sequence[Mend], code: str = "") -> list[Mend]:
    """Return the repairs without those that only fit, if others follow from the call.

    Any two sizes can be made equal by another number somewhere, or by stand-in data of
    another size; where the call itself says how its operand is to be changed, these fit
    by accident.
    """
    for kind in ALONE:
        alone = [mend for mend in mends if mend.option.kind == kind]
        if alone:
            return alone
    if any(_is_of_order(mend.option, code) for mend in mends):
        mends = [mend for mend in mends if mend.option.kind not in SIZED]
    if any(mend.option.kind == "any-batch" for mend in mends):
        mends = [mend for mend in mends if mend.option.kind != "last-batch"]
    if code == ONE_VALUE_PER_CHANNEL and any(_is_last(mend) for mend in mends):
        mends = [mend for mend in mends if _is_last(mend)]  # others merge samples
    mends = _drop_larger_tables(mends)
    if any(mend.option.kind == "table" for mend in mends):
        mends = [mend for mend in mends if mend.option.kind != "layer"]
    if code == INDEX_OUT_OF_RANGE:
        mends = _drop_larger_numbers(mends)
    is_decided = any(mend.option.kind in DECIDED for mend in mends)
    is_decided |= code == INDEX_OUT_OF_RANGE and any(
        mend.option.kind not in GUESSED for mend in mends
    )  # any larger number would fit
    if is_decided:
        mends = [mend for mend in mends if mend.option.kind not in GUESSED]
    sized = [
        edit.span
        for mend in mends
        if mend.option.kind in SIZED
        for edit in mend.fix.edits
    ]
    mends = [
        mend
        for mend in mends
        if mend.option.kind not in GUESSED
        or not all(is_within(edit.span, sized) for edit in mend.fix.edits)
    ]  # another number in a size that is known gives the same product
    is_of_makers = make_filter_of_makers(program)
    mends = [
        mend
        for mend in mends
        if mend.option.kind not in GUESSED or not is_of_makers(mend.fix)
    ]
    is_of_data = make_filter(program)
    others = [
        mend
        for mend in mends
        if mend.option.kind in OF_OWN_DATA or not is_of_data(mend.fix)
    ]
    return _drop_partial(program, others or list(mends))


def _drop_partial(program: Program, mends: list[Mend]) -> list[Mend]:
    """Return the repairs without those that mend one call of several that fail alike,
    such as that of training but not that of validation, or move one tensor of several,
    where the best mends all.
    """
    needs: dict[Place, set[object]] = {}
    for failure in program.failures:
        need = failure.unmet or failure.torch_message
        needs.setdefault(get_place(program, failure), set()).add(str(need))
    for finding in program.trace.findings:
        if finding.code == MIXED_DEVICES:
            needs.setdefault(get_finding_place(finding), set()).add(MIXED_DEVICES)
    kept = []
    for mend in mends:
        left = {*mend.moved.failures} - {*mends[0].moved.failures}
        gone = needs.keys() - {*mend.moved.failures}
        mended = {need for place in gone for need in needs[place]}
        if not any(needs.get(place, set()) & mended for place in left):
            kept.append(mend)
    return kept


def _drop_larger_tables(mends: Sequence[Mend]) -> list[Mend]:
    """Return the repairs without a second size for a table that has one already: more
    rows than enough fit as well, and mean nothing.
    """
    kept: list[Mend] = []
    places: set[object] = set()
    for mend in mends:
        place = tuple((edit.span.file, edit.span.line) for edit in mend.fix.edits)
        if mend.option.kind == "table" and place in places:
            continue
        if mend.option.kind == "table":
            places.add(place)
        kept.append(mend)
    return kept


def _drop_larger_numbers(mends: Sequence[Mend]) -> list[Mend]:
    """Return the repairs with the smallest number of those that replace one: more rows
    or classes than enough fit as well.
    """
    smallest: dict[object, int] = {}
    for mend in mends:
        edits = mend.fix.edits
        if len(edits) == 1 and edits[0].text.isdecimal():
            span, number = edits[0].span, int(edits[0].text)
            smallest[span] = min(number, smallest.get(span, number))
    return [
        mend
        for mend in mends
        if all(
            int(edit.text) == smallest.get(edit.span, int(edit.text))
            for edit in mend.fix.edits
            if edit.text.isdecimal()
        )
    ]


OF_OWN_DATA = ("colours", "drawn", "made-dtype", "state")
"""Kinds of fixes of what the program itself makes, which is no data of a trial."""
OF_ORDER = frozenset({CHANNEL_MISMATCH, CHANNELS_LAST, NORMALIZED_SHAPE})
"""Codes of a layer whose size stands in another dim of its input: where the dims in
their order fit, the layer has the size that is meant.
"""
SIZED = ("consumer", "layer")
"""Kinds of fixes that write the size of a layer as it comes about."""
ALONE = (
    "pooled", "last-state", "reduced", "sibling", "summed", "flag", "batches", "column",
    "row", "labels", "distant",
)  # fmt: skip
"""Kinds of fixes beside which others only fit: a layer for each pixel or state, a
transpose that mixes maps and anchors, one column of an action for all, the
flag with which a model was saved."""


def _is_of_order(option: FixOption, code: str) -> bool:
    """Return whether a fix puts the dims into the order that a layer's size asks for:
    what fails behind it then was never reached in that order.
    """
    return code in OF_ORDER and option.kind == "order"


def drop_last_resorts(mends: Sequence[Mend]) -> list[Mend]:
    """Return the repairs without batches of one, where another lets the program run."""
    others = [mend for mend in mends if mend.option.kind != "single"]
    is_mended = any(mend.tried.complete for mend in others)
    return others if is_mended else list(mends)


def drop_unended(mends: Sequence[Mend]) -> list[Mend]:
    """Return the repairs without those behind which another call still fails, if the
    whole program runs with the best.
    """
    best = mends[0].tried if mends else None
    if best is None or not best.complete or best.failures:
        return list(mends)
    return [mend for mend in mends if not mend.tried.failures]


def count_shared_warnings(mends: Sequence[Mend]) -> int:
    """Return how many warnings all repairs have whose runs had no error left.

    With a single one nothing tells whether a warning is due to it.
    """
    clean = [
        Counter(place[2] for place in mend.tried.warnings if place[2] not in HIDDEN)
        for mend in mends
        if mend.tried.complete and not mend.tried.failures
    ]
    if len(clean) < 2:
        return 0
    shared = clean[0]
    for warnings in clean[1:]:
        shared &= warnings
    return shared.total()


GROUNDS = 5
"""How many parts of a rank say that a mend is worse, and not only less likely."""


def rank_repair(
    mend: Mend,
    before: tuple[Place, ...],
    wanted: tuple[tuple[int, ...], ...] | None,
    shared: int = 0,
    code: str = "",
) -> tuple[float, ...]:
    """Return a sort key: repairs that let the program end come first, then those with
    the right output.

    `shared` warnings come with every repair, from what the error had kept from running.
    """
    tried = mend.moved
    new = [place for place in tried.failures if place not in before]
    new = [] if _is_of_order(mend.option, code) else new
    left = {*tried.failures}
    if mend.option.kind == "load" and _has_only_refused_values(tried, new):
        new, left = [], left & {*before}  # the values were not known before
    differs = wanted is not None and _has_other_output(mend, wanted)
    return (
        not tried.complete,
        bool(new),
        differs,
        mend.loses_samples,
        max(0, _count_warnings(mend, before) - shared),
        len(left),
        mend.option.cost,
    )
