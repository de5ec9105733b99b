"""Find hazards: calls that run but likely do not do what was meant. Hazards that the
user switched off are left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

from shapewright.analysis.failure_keys import strip_numbers
from shapewright.analysis.hazards import adversarial_labels as adversarial_labels
from shapewright.analysis.hazards import anew_modules as anew_modules
from shapewright.analysis.hazards import attention_masks as attention_masks
from shapewright.analysis.hazards import averaged_weights as averaged_weights
from shapewright.analysis.hazards import axis_mistakes as axis_mistakes
from shapewright.analysis.hazards import batch_first as batch_first
from shapewright.analysis.hazards import batch_mixing as batch_mixing
from shapewright.analysis.hazards import box_formats as box_formats
from shapewright.analysis.hazards import broadcasting as broadcasting
from shapewright.analysis.hazards import centred_boxes as centred_boxes
from shapewright.analysis.hazards import class_labels as class_labels
from shapewright.analysis.hazards import clipped_objectives as clipped_objectives
from shapewright.analysis.hazards import covariances as covariances
from shapewright.analysis.hazards import cpu_tensors as cpu_tensors
from shapewright.analysis.hazards import custom_gradients as custom_gradients
from shapewright.analysis.hazards import data_values as data_values
from shapewright.analysis.hazards import distance_roots as distance_roots
from shapewright.analysis.hazards import drawn_indices as drawn_indices
from shapewright.analysis.hazards import dropped_results as dropped_results
from shapewright.analysis.hazards import dropped_states as dropped_states
from shapewright.analysis.hazards import einsum_mistakes as einsum_mistakes
from shapewright.analysis.hazards import equal_steps as equal_steps
from shapewright.analysis.hazards import equal_units as equal_units
from shapewright.analysis.hazards import exchanged_roles as exchanged_roles
from shapewright.analysis.hazards import flipped_predictions as flipped_predictions
from shapewright.analysis.hazards import float_masks as float_masks
from shapewright.analysis.hazards import functional_dropout as functional_dropout
from shapewright.analysis.hazards import future_steps as future_steps
from shapewright.analysis.hazards import graph_batches as graph_batches
from shapewright.analysis.hazards import grouped_weights as grouped_weights
from shapewright.analysis.hazards import ignored_labels as ignored_labels
from shapewright.analysis.hazards import inclusive_products as inclusive_products
from shapewright.analysis.hazards import integer_differences as integer_differences
from shapewright.analysis.hazards import inverse_transforms as inverse_transforms
from shapewright.analysis.hazards import language_targets as language_targets
from shapewright.analysis.hazards import log_limits as log_limits
from shapewright.analysis.hazards import logit_thresholds as logit_thresholds
from shapewright.analysis.hazards import loss_graphs as loss_graphs
from shapewright.analysis.hazards import loss_inputs as loss_inputs
from shapewright.analysis.hazards import loss_scales as loss_scales
from shapewright.analysis.hazards import loss_targets as loss_targets
from shapewright.analysis.hazards import mask_fills as mask_fills
from shapewright.analysis.hazards import means_of_none as means_of_none
from shapewright.analysis.hazards import mixing_views as mixing_views
from shapewright.analysis.hazards import noise_scales as noise_scales
from shapewright.analysis.hazards import norm_settings as norm_settings
from shapewright.analysis.hazards import one_samples as one_samples
from shapewright.analysis.hazards import own_statistics as own_statistics
from shapewright.analysis.hazards import padded_means as padded_means
from shapewright.analysis.hazards import padded_steps as padded_steps
from shapewright.analysis.hazards import padding_masks as padding_masks
from shapewright.analysis.hazards import padding_numbers as padding_numbers
from shapewright.analysis.hazards import parametrized_weights as parametrized_weights
from shapewright.analysis.hazards import penalty_norms as penalty_norms
from shapewright.analysis.hazards import pixel_scales as pixel_scales
from shapewright.analysis.hazards import plain_tensors as plain_tensors
from shapewright.analysis.hazards import policy_losses as policy_losses
from shapewright.analysis.hazards import quantile_losses as quantile_losses
from shapewright.analysis.hazards import recurrent_steps as recurrent_steps
from shapewright.analysis.hazards import repeated_indices as repeated_indices
from shapewright.analysis.hazards import repeated_layers as repeated_layers
from shapewright.analysis.hazards import result_gradients as result_gradients
from shapewright.analysis.hazards import reused_tensors as reused_tensors
from shapewright.analysis.hazards import risk_sets as risk_sets
from shapewright.analysis.hazards import row_indices as row_indices
from shapewright.analysis.hazards import score_scales as score_scales
from shapewright.analysis.hazards import self_similarities as self_similarities
from shapewright.analysis.hazards import (
    separate_permutations as separate_permutations,
)
from shapewright.analysis.hazards import several_labels as several_labels
from shapewright.analysis.hazards import single_scores as single_scores
from shapewright.analysis.hazards import state_dicts as state_dicts
from shapewright.analysis.hazards import summed_derivatives as summed_derivatives
from shapewright.analysis.hazards import target_ranges as target_ranges
from shapewright.analysis.hazards import target_values as target_values
from shapewright.analysis.hazards import temperatures as temperatures
from shapewright.analysis.hazards import tied_weights as tied_weights
from shapewright.analysis.hazards import unit_lengths as unit_lengths
from shapewright.analysis.hazards.context import HazardContext
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import (
    BATCH_AXIS,
    CODES,
    WRONG_AXIS,
    Looker,
    list_lookers,
)
from shapewright.findings.faults import raise_in_tests
from shapewright.findings.finding import Finding
from shapewright.program.spans import Span

COMMENT = re.compile(r"#\s*shapewright:\s*ignore\[([\w\s,-]+)\]")


NUMBERED = re.compile(r"_\d+$")
"""What a rehearsal appends to the name of a second model of the same class."""


def is_ignored_here(program: Program, finding: Finding) -> bool:
    """Return whether a comment names the finding's code, at the end of a line of the
    call or on a line of its own above the call.

    Example: ``loss = pred - target  # shapewright: ignore[outer-broadcast]``
    """
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if span is None or text is None or "shapewright:" not in text.text:
        return False
    lines = text.lines[span.line - 1 : span.end_line]
    first = _find_statement_line(program, finding) - 1
    if first > 0 and text.lines[first - 1].lstrip().startswith("#"):
        lines.append(text.lines[first - 1])
    return any(finding.code in _parse_codes(line) for line in lines)


def _find_statement_line(program: Program, finding: Finding) -> int:
    """Return the first line of the statement that contains a finding."""
    assert finding.span is not None
    text_and_node = program.node(finding.span)
    if text_and_node is None:
        return finding.span.line
    text, node = text_and_node
    return text.statement_of(node).lineno


@lru_cache(maxsize=256)
def _parse_codes(line: str) -> frozenset[str]:
    """Return the codes that a comment on a line switches off."""
    match = COMMENT.search(line)
    if match is None:
        return frozenset()
    return frozenset(code.strip() for code in match.group(1).split(","))


def find_hazards(
    program: Program, ignored: Collection[str] = (), strict: bool = False
) -> list[Finding]:
    """Return all findings sorted by place; equal blocks of a loop share one.

    `ignored` are codes that are switched off.
    """
    scene = HazardContext(program)
    unsure = find_dependent_places(program)
    findings: dict[tuple[object, ...], Finding] = {}
    firsts: dict[tuple[object, ...], Looker] = {}  # what reported it first
    for looker in list_lookers("hazard"):
        if all(_is_off(code, ignored, strict) for code in looker.codes):
            continue
        for finding in _run_looker(looker, scene):
            if finding.code in ignored or is_ignored_here(program, finding):
                continue
            if finding.span in unsure and CODES[finding.code].of_shapes:
                continue
            module = NUMBERED.sub("", strip_numbers(finding.module))
            key = finding.code, finding.span, module
            old = findings.get(key)
            if old is None:
                findings[key] = finding
            elif firsts[key] is looker:
                findings[key] = replace(old, count=old.count + 1)
            firsts.setdefault(key, looker)
    wrong = {f.span for f in findings.values() if f.code == WRONG_AXIS}
    return sorted(
        (f for f in findings.values() if f.code != BATCH_AXIS or f.span not in wrong),
        key=_get_place,
    )  # a dim that is told of as the wrong one is not told of as the batch as well


def _is_off(code: str, ignored: Collection[str], strict: bool) -> bool:
    """Return whether a code is switched off, or is reported by `check --strict`
    only.
    """
    return code in ignored or (CODES[code].strict and not strict)


def find_dependent_places(program: Program) -> set[Span]:
    """Return the places of calls that depend on the output of a refused call.

    The run supposed its shape there; once the error is mended they are looked at.
    """
    failed = {failure.op for failure in program.failures}
    supposed: set[int] = set()
    spans: set[Span] = set()
    for index, op in enumerate(program.trace.ops if failed else ()):
        behind = any(fact.tensor in supposed for fact in op.inputs)
        if behind and op.span is not None:
            spans.add(op.span)
        if behind or index in failed:
            supposed |= {fact.tensor for fact in op.outputs}
    return spans


def _run_looker(looker: Looker, scene: HazardContext) -> list[Finding]:
    """Run one check; a bug in it is reported as a finding and does not stop the other
    checks.
    """
    code = looker.codes[0]
    try:
        return list(looker.find(scene))
    except Exception as error:  # ours: the other hazards are reported
        raise_in_tests(error)
        failure = f"{type(error).__name__}: {error}"
        message = f"could not check for `{code}` ({failure})"
        return [Finding(code, "note", message)]


def _get_place(finding: Finding) -> tuple[str, int, int]:
    """Return the place of a finding as a sort key."""
    span = finding.span
    return (span.file, span.line, span.column) if span is not None else ("", 0, 0)
