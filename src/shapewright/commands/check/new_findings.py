"""What a run finds that no earlier run did: failed loads, refused calls, and the error
that ended it, each with the edits that may mend it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from shapewright.analysis.causes_with_edits import find_sole_cause
from shapewright.analysis.error_causes import explain_error, explain_refused_call
from shapewright.analysis.explanations import MOST_RELATED
from shapewright.analysis.fixes import (
    find_fixes,
    fix_error,
    fix_missing_value,
    fix_mistaken_call,
)
from shapewright.analysis.fixes.autograd.uncut_losses import describe_decisions
from shapewright.analysis.fixes.batch_edits import (
    describe_last_batch,
    describe_single_sample,
    describe_unbatched,
)
from shapewright.analysis.fixes.batches_of_one import describe_batch_of_one
from shapewright.analysis.fixes.chained_layers import describe_unchained_layers
from shapewright.analysis.fixes.class_tables import describe_count_of_ids
from shapewright.analysis.fixes.collate_edits import (
    describe_unused_collate,
    explain_uncollated_loader,
    suggest_collate,
    suggest_single_items,
)
from shapewright.analysis.fixes.device_edits import suggest_moves
from shapewright.analysis.fixes.dtype_edits import suggest_target_dtype
from shapewright.analysis.fixes.evaluation_edits import describe_training_mode
from shapewright.analysis.fixes.flat_images import describe_flat_map
from shapewright.analysis.fixes.grown_batches import describe_grown_batch
from shapewright.analysis.fixes.halved_crops import describe_halved_difference
from shapewright.analysis.fixes.halved_images import describe_multiple
from shapewright.analysis.fixes.ignored_labels import describe_ignored_labels
from shapewright.analysis.fixes.image_sizes import describe_unsized_images
from shapewright.analysis.fixes.kept_dims import describe_default_dim
from shapewright.analysis.fixes.kept_sizes import describe_kept_sizes
from shapewright.analysis.fixes.last_states import describe_collected_states
from shapewright.analysis.fixes.lost_dims import describe_first_sample
from shapewright.analysis.fixes.maker_edits import describe_picture_channels
from shapewright.analysis.fixes.options import FixOption, iter_options
from shapewright.analysis.fixes.pooled_bags import describe_single_bags
from shapewright.analysis.fixes.ragged_items import get_collate_kind
from shapewright.analysis.fixes.refusals import (
    FailedRun,
    build_failed_outline,
)
from shapewright.analysis.fixes.sequence_layouts import describe_layout
from shapewright.analysis.fixes.shortcuts import describe_identity
from shapewright.analysis.fixes.signed_labels import describe_signed_labels
from shapewright.analysis.fixes.single_scores import describe_single_score
from shapewright.analysis.fixes.token_edits import describe_special_tokens
from shapewright.analysis.fixes.turned_sequences import describe_turned_sequence
from shapewright.analysis.fixes.view_labels import describe_labels_of_views
from shapewright.analysis.fixes.viewed_images import describe_viewed_size
from shapewright.analysis.fixes.vocabulary_sizes import (
    describe_counted_vocabulary,
    describe_first_number,
)
from shapewright.analysis.fixes.written_vocabularies import describe_old_file
from shapewright.analysis.independent_failures import explain_failures
from shapewright.analysis.late_layers import find_late_layer, suggest_flags
from shapewright.analysis.missing_devices import find_written_device
from shapewright.analysis.mistaken_calls import (
    explain_unbuilt_class,
    suggest_built_class,
)
from shapewright.analysis.mixed_devices import explain_devices
from shapewright.analysis.position_limits import find_position_limit
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.item_values import describe_field_values
from shapewright.analysis.provenance.origins import drop_repeated, iter_line_definitions
from shapewright.analysis.refused_calls.transform_inputs import (
    explain_normalized_channels,
)
from shapewright.analysis.refused_numbers import find_number_cause
from shapewright.analysis.state_dicts import (
    explain_load,
    list_load_places,
    suggest_fixes,
)
from shapewright.analysis.table_labels import describe_table_of_one
from shapewright.commands.check.earlier_hazards import (
    find_hazards_before,
    suggest_for_hazards,
)
from shapewright.commands.check.fixes import (
    LOAD,
    Place,
    get_finding_place,
    get_place,
    is_at,
    list_failures,
)
from shapewright.commands.check.original_lines import OriginalLines
from shapewright.commands.check.tried_fixes import (
    Crowded,
    Mend,
)
from shapewright.findings.codes import (
    COLLATED_LIST,
    DTYPE_MISMATCH,
    INDEX_OUT_OF_RANGE,
    ITEMS_DO_NOT_STACK,
    MISSING_DEVICE,
    MIXED_DEVICES,
    ONE_VALUE_PER_CHANNEL,
    PROGRAM_ERROR,
    TORCH_ERROR,
    TUPLE_AS_TENSOR,
    UNPACKED_SIZES,
)
from shapewright.findings.faults import raise_in_tests
from shapewright.findings.finding import Finding, Related
from shapewright.operators.failed_calls import Failure

NO_TENSOR = "must be Tensor, not"
"""What torch says of an object that holds tensors."""


@dataclass(slots=True)
class Reported:
    """A finding with the repairs that help, the best first."""

    finding: Finding
    place: Place
    mends: list[Mend] = field(default_factory=list)
    numbers: frozenset[int] = frozenset()
    untried: int = 0  # ways to mend it that had no turn
    hazards: list[Finding] = field(default_factory=list)
    carried: bool = False  # the runs behind it had its best repair
    failed: FailedRun | None = None  # what is compared with the runs with a fix
    deferred: bool = False  # its fixes are tried with those of others
    mended: Program | None = None  # in which it was found, with the fixes of others
    original: Place | None = None  # in the text as it is on disk
    last: Place | None = None  # the failure that ended the run in which it was found

    @property
    def is_to_repeat(self) -> bool:
        """Whether the best repair was tried in a process that had made other runs."""
        return bool(self.mends) and not self.mends[0].tried.alone

    @property
    def is_of_objects(self) -> bool:
        """Whether the call was given something that is no tensor: another error may
        stand behind it, of the tensor that it gets then.
        """
        is_tuple = self.finding.code == TUPLE_AS_TENSOR
        return is_tuple or NO_TENSOR in self.finding.torch_message

    @property
    def is_passed(self) -> bool:
        """Whether the call fails in another way with the best repair."""
        return self.carried and any(
            self.place in mend.moved.failures for mend in self.mends[:1]
        )

    def mark_complete(self) -> None:
        """Note that the program reaches its end with the best repair."""
        for first in self.mends[:1]:
            self.mends[0] = replace(first, tried=replace(first.tried, complete=True))

    def outline_failed(self, program: Program) -> FailedRun:
        """Return what is compared of the run with the runs with a fix."""
        if self.failed is None:
            failures = (
                f for f in program.failures if get_place(program, f) == self.place
            )
            self.failed = build_failed_outline(program, next(failures, None))
        return self.failed

    def removes(self, place: Place, crowded: Crowded) -> bool:
        """Return whether the best repair of this finding removes the failure at a
        place.

        A layer that is left out fails nowhere, which says nothing of its other calls.
        """
        if not self.mends or self.mends[0].option.kind == "left-out":
            return False
        best = self.mends[0].tried
        failures = (*best.failures, *self.mends[0].moved.failures)
        left = any(is_at(failure, place, crowded) for failure in failures)
        is_as_far = self.last is not None and self.last in failures
        return (best.complete or is_as_far) and not left


@dataclass(slots=True)
class NewFindings:
    """The findings of a run behind those that are known.

    `known` are those of earlier runs, `crowded` the lines with several calls that fail,
    `where` tells lines of the original if the program runs with the repair of another
    error. `fresh` grows while it is read: whether a finding follows from another one
    depends on what mended that.
    """

    program: Program
    known: list[Reported]
    crowded: set[tuple[str, int]]
    where: OriginalLines | None
    fresh: list[Reported] = field(default_factory=list)

    def iterate(self, alone: bool) -> Iterator[tuple[Reported, list[FixOption]]]:
        """Yield each with the edits to try; only the first where it is told `alone`."""
        for reported, options in self.iterate_all(alone):
            reported.original = self.find_original(reported.place)
            if not self.program.trace.complete:
                reported.last = next(reversed(list_failures(self.program)), None)
            yield reported, options

    def find_original(self, place: Place) -> Place:
        """Return a place in the text as it is on disk, if it stands there."""
        line = self.where.find_number(place[0], place[1]) if self.where else 0
        return (place[0], line or place[1], place[2])

    def iterate_all(self, alone: bool) -> Iterator[tuple[Reported, list[FixOption]]]:
        """Yield the findings in their order: loads, refused calls, all else."""
        known = (reported for reported in self.known if not reported.is_passed)
        seen = {reported.original or reported.place for reported in known}
        yield from self.iterate_loads(seen)
        lines = set[tuple[str, int]]()
        yield from self.iterate_refused(seen, lines, alone)
        failures = self.program.failures
        lines |= {get_place(self.program, failure)[:2] for failure in failures}
        for finding in self.program.trace.findings:
            place = get_finding_place(finding)
            if self.find_original(place) not in seen:
                is_left = place[:2] in lines
                yield from self.iterate_other(finding, place, is_left, alone)

    def iterate_loads(
        self, seen: set[Place]
    ) -> Iterator[tuple[Reported, list[FixOption]]]:
        """Yield the state dicts that do not fit, each once where a loop loads it."""
        counts = Counter(
            (span, explain_load(span, misloaded).message)
            for span, misloaded in self.program.loads
            if misloaded.matched is None
        )
        for span, misloaded in self.program.loads:
            place = (span.file, span.line, LOAD)
            is_new = self.find_original(place) not in seen
            if is_new and misloaded.matched is None:
                load = explain_load(span, misloaded)
                count = counts.pop((span, load.message), 0)
                if not count:
                    continue
                places = list_load_places(self.program, span, misloaded)
                load = replace(load, count=count, related=places)
                load = replace(load, related=_collect_places(self.program, load))
                late = find_late_layer(self.program, misloaded)
                fixes = suggest_fixes(self.program, span, misloaded)
                options = [*iter_options("load", 1.0, fixes)]
                if misloaded.resized:
                    flags = suggest_flags(self.program, span, misloaded)
                    options = [*iter_options("flag", 0.5, flags), *options]
                if late is not None:
                    load = late.apply(load)
                    options = [*iter_options("definition", 1.0, late.fixes)]
                yield Reported(load, place), options

    def iterate_refused(
        self, seen: set[Place], lines: set[tuple[str, int]], alone: bool
    ) -> Iterator[tuple[Reported, list[FixOption]]]:
        """Yield the calls that torch refuses, and add their lines to `lines`."""
        program = self.program
        explained = [
            (finding, failures, get_place(program, failures[0]))
            for finding, failures in explain_failures(program)
        ]
        places = {place for *_, place in explained}
        mixed = [f for f in program.trace.findings if f.code == MIXED_DEVICES]
        places |= {get_finding_place(entry) for entry in mixed}
        calls = Counter(place[:2] for place in places)
        self.crowded |= {line for line, count in calls.items() if count > 1}
        for finding, failures, place in explained:
            if _is_of_guessed_batch(program, failures):
                continue
            lines.add(place[:2])
            before = (*self.known, *self.fresh)
            follows = any(reported.removes(place, self.crowded) for reported in before)
            mine = _get_sizes(failures[0])
            if self.where is not None and mine:
                # The mend chose one of two sizes, and this call wants the other.
                follows |= any(reported.numbers == mine for reported in before)
            is_seen = self.find_original(place) in seen
            if is_seen or follows or (alone and self.fresh):
                continue
            try:
                reported, options = self.explain_refused(
                    finding, failures[0], place, mine
                )
            except Exception as fault:  # ours: the call is told without its cause
                raise_in_tests(fault)
                reported, options = Reported(finding, place, numbers=mine), []
            same = reported.finding.message, reported.finding.span
            if all((r.finding.message, r.finding.span) != same for r in before):
                yield reported, options

    def explain_refused(
        self, finding: Finding, failure: Failure, place: Place, sizes: frozenset[int]
    ) -> tuple[Reported, list[FixOption]]:
        """Return the finding on a refused call with its cause, and the edits to try."""
        program = self.program
        if finding.code == TORCH_ERROR:
            finding = explain_refused_call(program, finding)
        finding = explain_normalized_channels(program, finding, failure)
        refused, finding = finding, explain_unbuilt_class(program, finding)
        is_unbuilt = finding != refused
        related = describe_single_sample(program, failure.op)
        related = related or describe_unbatched(program, failure)
        related = related or next(
            (known for describe in PLACES if (known := describe(program, failure))),
            None,
        )
        if related is None and finding.code == ONE_VALUE_PER_CHANNEL:
            op = program.trace.ops[failure.op]
            related = describe_training_mode(program, op)
            size = describe_batch_of_one(program, op) if related is not None else None
            if size is not None:
                finding = replace(finding, related=(size, *finding.related))
        if related is not None:
            finding = replace(finding, related=(related, *finding.related))
        hazards = find_hazards_before(program, failure)
        options = suggest_for_hazards(program, hazards)
        options += iter_options("value", 0.3, suggest_built_class(program, finding))
        options += find_fixes(program, failure)
        limit = find_position_limit(program, failure)
        cause = limit or find_sole_cause(program, finding)
        if cause is None and finding.code == TORCH_ERROR:
            cause = find_number_cause(program, finding)
        if cause is not None and not is_unbuilt:
            finding = cause.apply(finding)
            options = list(iter_options("definition", 0.5, cause.fixes))
        if finding.code == TORCH_ERROR and (cause is None or not cause.fixes):
            options = [*fix_mistaken_call(program, finding), *options]
        if finding.code == TUPLE_AS_TENSOR:
            options = list(fix_missing_value(program, finding))
        reported = Reported(finding, place, numbers=sizes, hazards=hazards)
        return reported, options

    def iterate_other(
        self, finding: Finding, place: Place, is_left: bool, alone: bool
    ) -> Iterator[tuple[Reported, list[FixOption]]]:
        """Yield what a run noted itself: items that do not stack, two devices, and the
        error that ended it. `is_left`: a refused call on its line is told already.
        """
        program, fresh = self.program, self.fresh
        if finding.code == ITEMS_DO_NOT_STACK:
            if any(reported.removes(place, self.crowded) for reported in fresh):
                return  # its data set is that of an earlier loader
            if any(_is_beyond_data(program, failure) for failure in program.failures):
                return  # what is cut off at the end of the data follows from that
            unsized = describe_unsized_images(program, finding)
            unused = describe_unused_collate(program, finding)
            bags = describe_single_bags(program, finding)
            places = (*finding.related, *unsized, *unused, *bags)
            shown = replace(finding, related=places)
            shown = explain_uncollated_loader(program, shown)
            if not shown.related or bags:
                values = describe_field_values(program, finding)
                shown = replace(shown, related=(*shown.related, *values))
            fixes = suggest_collate(program, finding)
            options = list(iter_options(get_collate_kind(finding), 1.0, fixes))
            items = suggest_single_items(program, finding)
            options += iter_options("single", 2.0, items)
            yield Reported(shown, place), options
            return
        if alone and fresh:
            return
        if finding.code == MIXED_DEVICES:
            if any(reported.removes(place, self.crowded) for reported in fresh):
                return  # one edit moves this tensor too
            shown = explain_devices(program, finding)
            if not any(_is_same_stray(shown, entry.finding) for entry in fresh):
                moves = suggest_moves(program, finding)
                yield Reported(shown, place), list(iter_options("move", 1.0, moves))
            return
        if finding.code == MISSING_DEVICE:
            asked = find_written_device(program, finding)
            shown = asked.apply(finding) if asked is not None else finding
            fixes = iter(asked.fixes if asked is not None else ())
            yield Reported(shown, place), list(iter_options("cause", 0.5, fixes))
            return
        if finding.code == DTYPE_MISMATCH:
            casts = suggest_target_dtype(program, finding)
            yield Reported(finding, place), list(iter_options("dtype", 1.0, casts))
            return
        ended = finding.code in (TORCH_ERROR, PROGRAM_ERROR)
        if ended and is_left:
            return
        if not ended or finding.severity == "note":  # rests on what was supposed
            yield Reported(finding, place), []
            return
        if _is_left_by_backward(program, finding):
            return
        if any(reported.removes(place, self.crowded) for reported in fresh):
            return  # it does not end the run where an earlier error is mended
        shown = explain_error(program, finding, finding.code == PROGRAM_ERROR)
        if shown.code == UNPACKED_SIZES:
            single = describe_single_sample(program, None)
            first = (single,) if single is not None else ()
            shown = replace(shown, related=(*first, *shown.related))
        shown = replace(shown, related=_collect_places(program, shown))
        code = shown.code if shown.code == COLLATED_LIST else finding.code
        options = fix_error(program, replace(finding, code=code))
        yield Reported(shown, place), options


def _is_left_by_backward(program: Program, finding: Finding) -> bool:
    """Return whether an error only says that a refused backward pass left nothing."""
    refused = any(failure.of_history for failure in program.failures)
    return refused and "'NoneType'" in finding.message


PLACES: tuple[Callable[[Program, Failure], Related | None], ...] = (
    describe_identity,
    describe_decisions,
    describe_default_dim,
    describe_flat_map,
    describe_picture_channels,
    describe_layout,
    describe_turned_sequence,
    describe_single_score,
    describe_ignored_labels,
    describe_labels_of_views,
    describe_signed_labels,
    describe_kept_sizes,
    describe_unchained_layers,
    describe_halved_difference,
    describe_multiple,
    describe_count_of_ids,
    describe_collected_states,
    describe_viewed_size,
    describe_grown_batch,
    describe_first_sample,
    describe_table_of_one,
    describe_special_tokens,
    describe_old_file,
    describe_counted_vocabulary,
    describe_first_number,
    describe_last_batch,
)
"""What names a place that a refused call comes from; the first that knows one tells."""


def _is_of_guessed_batch(program: Program, failures: list[Failure]) -> bool:
    """Return whether a call failed behind a loader whose items do not stack: its batch
    was guessed.
    """
    frames = program.trace.ops[failures[0].op].frames[:1]
    if _is_beyond_data(program, failures[0]):
        return False
    for finding in program.trace.findings:
        if finding.code != ITEMS_DO_NOT_STACK or finding.span is None:
            continue
        if any(frame.span.line >= finding.span.line for frame in frames):
            return True
    return False


def _is_beyond_data(program: Program, failure: Failure) -> bool:
    """Return whether an index is beyond the data in the `__getitem__` of a data set."""
    frames, unmet = program.trace.ops[failure.op].frames, failure.unmet
    if unmet is None or unmet.code != INDEX_OUT_OF_RANGE or not frames:
        return False
    return frames[-1].function.rpartition(".")[2] == "__getitem__"


def _is_same_stray(finding: Finding, other: Finding) -> bool:
    """Return whether one tensor is on the wrong device in two calls on a line."""
    return (
        finding.code == other.code == MIXED_DEVICES
        and finding.related[:1] == other.related[:1] != ()
        and (finding.span is None) == (other.span is None)
    )


def _get_sizes(failure: Failure) -> frozenset[int]:
    """Return the two sizes that do not match."""
    unmet = failure.unmet
    both = (unmet.has, unmet.needs) if unmet is not None else ()
    return frozenset(size for size in both if type(size) is int)


def _collect_places(program: Program, finding: Finding) -> tuple[Related, ...]:
    """Return the places that a finding names, and those that define the names on its
    line.
    """
    known = [finding.span, *(place.span for place in finding.related)]
    more = drop_repeated(iter_line_definitions(program, finding.span), known)
    return (*finding.related, *more)[:MOST_RELATED]
