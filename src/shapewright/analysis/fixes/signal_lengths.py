"""Fixes for what a real inverse Fourier transform gives: an even length, whatever the
length of the signal was.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.scope_tensors import list_scope_facts
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Fix
from shapewright.operators.failed_calls import Failure
from shapewright.record.ops import Fact, Op

INVERSE = "irfft"


def suggest_signal_length(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `torch.fft.irfft(f, n=x.size(-1))` where the result meets a tensor that
    is one longer, as each signal of an odd length is.
    """
    op = program.trace.ops[failure.op]
    for at, fact in enumerate(op.inputs):
        maker = _find_inverse(program, fact)
        place = program.call_at(maker.span) if maker is not None else None
        if maker is None or place is None:
            continue
        text, call = place
        length = maker.outputs[0].shape[-1] + 1
        meets = any(
            length in other.shape for n, other in enumerate(op.inputs) if n != at
        )
        if not meets or len(call.args) > 1 or any(w.arg == "n" for w in call.keywords):
            continue
        facts = list_scope_facts(program, maker, text, call)
        names = [name for name, known in facts.items() if known.shape[-1:] == (length,)]
        scope = text.around(call, ast.FunctionDef)
        parameters = [part.arg for part in scope.args.args] if scope else []
        names.sort(key=lambda name: name not in parameters)
        for name in names[:1]:
            yield with_keyword(text, call, f"n={name}.size(-1)")


def _find_inverse(program: Program, fact: Fact) -> Op | None:
    """Return the inverse transform that gave a tensor its last dim, or None."""
    for maker in iter_first_makers(program, fact):
        if maker.name.rpartition(".")[2] == INVERSE:
            return maker
        size = maker.outputs[0].shape[-1:] if maker.outputs else ()
        if not maker.inputs or size != maker.inputs[0].shape[-1:]:
            return None
    return None
