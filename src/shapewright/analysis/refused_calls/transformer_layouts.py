"""Source and target of a transformer that are batch first, where it takes dim 1 for the
batch.
"""

from __future__ import annotations

from shapewright.analysis.fixes.keywords_and_methods import suggest_batch_first
from shapewright.analysis.program_run import Program, format_shape
from shapewright.findings.finding import Explanation, Finding

UNEQUAL = "the batch number of src and tgt must be equal"


def find_transformer_layout(program: Program, finding: Finding) -> Explanation | None:
    """Return that a transformer lacks `batch_first=True`, where its source and target
    have one batch in dim 0 and two lengths in dim 1, or None.
    """
    if UNEQUAL not in finding.words:
        return None
    for failure in program.failures:
        op = program.trace.ops[failure.op]
        if UNEQUAL not in failure.torch_message or len(op.inputs) < 2:
            continue
        source, target = op.inputs[:2]
        fixes = tuple(suggest_batch_first(program, failure))
        if not fixes or source.shape[:1] != target.shape[:1]:
            return None
        lengths = f"{source.shape[1]} and {target.shape[1]}"
        message = (
            "the transformer is built without `batch_first=True` and takes dim 1 for"
            f" the batch: the source {format_shape(source)} and the target"
            f" {format_shape(target)} have their lengths there, {lengths}"
        )
        return Explanation(message, (), fixes)
    return None
