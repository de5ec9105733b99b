"""What an error that ended a run comes from: each way to explain it, in turn."""

from __future__ import annotations

from collections.abc import Callable

from shapewright.analysis import python_errors
from shapewright.analysis.causes_with_edits import find_error_cause
from shapewright.analysis.collated_lists import explain_list_attribute
from shapewright.analysis.einops_errors import explain_einops
from shapewright.analysis.exported_sizes import explain_exported_size
from shapewright.analysis.missing_values import explain_missing_value
from shapewright.analysis.mistaken_calls import explain_mistaken_call
from shapewright.analysis.model_definitions import explain_definition
from shapewright.analysis.program_run import Program
from shapewright.analysis.refused_numbers import find_number_cause
from shapewright.analysis.table_labels import explain_row_label
from shapewright.analysis.traced_constants import explain_traced_constant
from shapewright.analysis.unused_parameters import explain_unused_parameters
from shapewright.findings.finding import Finding

Explain = Callable[[Program, Finding], Finding]
"""Returns the finding with its cause, or as it is where the error is another."""

OF_REFUSED_CALLS: tuple[Explain, ...] = (
    python_errors.explain_signature,
    explain_mistaken_call,
    explain_missing_value,
)
"""For calls that torch refuses and no need of an operator names."""
OF_ERRORS: tuple[Explain, ...] = (
    python_errors.explain_signature,
    explain_definition,
    explain_einops,
    explain_missing_value,
    explain_list_attribute,
    explain_mistaken_call,
    explain_row_label,
    explain_unused_parameters,
    explain_exported_size,
    explain_traced_constant,
)
"""For errors that end a run, of torch or of the program's own Python."""


def explain_refused_call(program: Program, finding: Finding) -> Finding:
    """Return the finding on a call that torch refused in its own words, with its cause
    where one is known.
    """
    for explain in OF_REFUSED_CALLS:
        finding = explain(program, finding)
    return finding


def explain_error(program: Program, finding: Finding, own: bool) -> Finding:
    """Return the finding on an error that ended the run, with its cause where one is
    known; `own`: raised by the program's own Python.
    """
    if own:
        finding = python_errors.explain_python_error(program, finding)
    for explain in OF_ERRORS:
        finding = explain(program, finding)
    cause = find_error_cause(program, finding) or find_number_cause(program, finding)
    return cause.apply(finding) if cause is not None else finding
