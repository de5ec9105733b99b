"""Find edits of the program's text that may repair a failure, the likeliest first; the
caller then tries them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shapewright.analysis.fixes import (
    common_mistakes,
    constructors,
    keywords_and_methods,
    numbers_and_names,
    operands,
)
from shapewright.analysis.fixes import constructors as created
from shapewright.analysis.fixes.suspect_lines import suspects, suspects_of_error
from shapewright.analysis.program_run import Program, as_far_as_known
from shapewright.findings.codes import CHANNELS_LAST, MISSING_TRANSPOSE, NOT_FLATTENED
from shapewright.findings.finding import Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.spans import Span, apply_edits
from shapewright.program.syntax_nodes import last_line

STEP = 0.01
"""How much dearer each further change of one kind is."""


@dataclass(frozen=True, slots=True)
class FixOption:
    """A fix to try. The lower its `cost`, the likelier that it is what
    the user meant.
    """

    fix: Fix
    kind: str
    cost: float


def options(kind: str, cost: float, fixes: Iterable[Fix]) -> Iterator[FixOption]:
    """Yield fixes of the same kind, the likelier first."""
    for n, fix in enumerate(as_far_as_known(fixes)):
        yield FixOption(fix, kind, cost + n * STEP)


def candidates(program: Program, failure: Failure) -> list[FixOption]:
    """Return the fixes to try, without duplicates, the likeliest first."""
    if failure.of_history:
        return []
    return _tidy(program, [*_pointed(program, failure), *_possible(program, failure)])


OF_OPERANDS = frozenset({NOT_FLATTENED, CHANNELS_LAST, MISSING_TRANSPOSE})
"""Codes that say how an operand is to be changed."""


def _of_inputs(program: Program, fix: Fix) -> bool:
    """Return whether a fix changes the inputs of the trial instead of the program."""
    for edit in fix.edits:
        text = program.text(edit.span.file)
        for name, node in text.functions("example_inputs") if text is not None else ():
            inside = node.lineno <= edit.span.line <= last_line(node)
            if inside and name == "example_inputs":
                return True
    return False


def of_program_error(program: Program, finding: Finding) -> list[FixOption]:
    """Return the fixes to try for an error that the program itself raised."""
    lines = suspects_of_error(program, finding.span)
    last = common_mistakes.left_out(program, len(program.trace.ops))
    return _tidy(
        program,
        [
            *options("last-batch", 1.0, last),
            *options("words", 2.0, keywords_and_methods.near(program, finding.span)),
            *options("unpacked", 2.0, operands.of_unpacking(program, finding)),
            *options("number", 3.0, numbers_and_names.changed(program, lines, [])),
            *options(
                "argument", 3.0, numbers_and_names.numbers_by_name(program, lines)
            ),
            *options("swapped", 3.2, numbers_and_names.arguments(program, lines)),
        ],
    )


def _tidy(program: Program, found: Iterable[FixOption]) -> list[FixOption]:
    """Return the fixes whose results differ, sorted by cost."""
    seen: dict[object, FixOption] = {}
    for option in sorted(found, key=lambda option: option.cost):
        seen.setdefault(_edited_texts(program, option.fix), option)
    return [each for each in seen.values() if not _of_inputs(program, each.fix)]


def _edited_texts(program: Program, fix: Fix) -> frozenset[tuple[str, str]]:
    """Return the files that a fix changes, each with its text afterwards.

    Two fixes may write the same text with edits of different spans.
    """
    edits: dict[str, list[tuple[Span, str]]] = {}
    for edit in fix.edits:
        edits.setdefault(edit.span.file, []).append((edit.span, edit.text))
    texts = {file: program.text(file) for file in edits}
    return frozenset(
        (file, apply_edits(text.text, edits[file]) if text else str(edits[file]))
        for file, text in texts.items()
    )


def _pointed(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that follow from the failing call itself."""
    ordered = operands.of_order(program, failure, sure=True)
    yield from options("any-batch", 0.9, common_mistakes.of_any_size(program, failure))
    yield from options("last-batch", 1.0, common_mistakes.left_out(program, failure.op))
    yield from options("dtype", 1.0, operands.of_dtype(program, failure))
    yield from options("storage", 1.0, operands.of_storage(program, failure))
    yield from options("turned", 1.4, numbers_and_names.orders(program, failure, True))
    yield from options("order", 1.5, ordered)
    yield from options("turned", 1.6, numbers_and_names.orders(program, failure, False))
    yield from options("family", 1.8, common_mistakes.of_family(program, failure))
    unmet = failure.unmet
    turned = unmet is not None and unmet.code in OF_OPERANDS
    cost = 3.5 if turned else 2.0
    yield from options("consumer", cost, constructors.of_consumer(program, failure))
    yield from options("layer", cost + 0.1, constructors.of_layer(program, failure))
    yield from options("table", 2.0, constructors.of_table(program, failure))
    yield from options("shuffle", 1.9, constructors.of_shuffle(program, failure))
    yield from options("share", 2.2, constructors.of_share(program, failure))
    yield from options("dim", 2.2, numbers_and_names.of_dims(program, failure))
    yield from options("created", 2.4, created.of_created(program, failure))
    yield from options("larger", 2.6, operands.of_larger(program, failure, True))
    yield from options("left-out", 2.8, operands.layers(program, failure))
    if failure.error != "IndexError":
        cost = 1.7 if turned else 3.0
        yield from options("rank", cost, operands.of_rank(program, failure))
    yield from options("name", 3.2, numbers_and_names.names(program, failure))
    yield from options("producer", 3.4, constructors.of_producer(program, failure))
    yield from options("operands", 3.6, numbers_and_names.operands(program, failure))


FUSED = ("_transformer_encoder_layer_fwd", "_native_multi_head_attention")
"""Kernels of evaluation; a flag that turns them off repairs nothing that they need."""


def _possible(program: Program, failure: Failure) -> Iterator[FixOption]:
    """Yield fixes that change a word, name or number on the lines that led
    to the call.
    """
    lines = suspects(program, failure)
    yield from options("keyword", 3.0, keywords_and_methods.keywords(program, lines))
    yield from options("flattened", 1.9, operands.flattens(program, lines))
    yield from options("copied", 3.2, keywords_and_methods.copied(program, lines))
    if not program.trace.ops[failure.op].name.endswith(FUSED):
        yield from options("flag", 4.1, keywords_and_methods.flags(program, lines))
    yield from options("squeeze", 3.0, operands.squeezes(program, lines))
    yield from options("dropped", 3.3, keywords_and_methods.dropped(program, lines))
    yield from options("method", 3.5, keywords_and_methods.methods(program, lines[:1]))
    yield from options(
        "number", 4.0, numbers_and_names.of_failure(program, failure, lines)
    )
    yield from options("swapped", 4.0, numbers_and_names.arguments(program, lines))
    yield from options(
        "argument", 4.2, numbers_and_names.numbers_by_name(program, lines)
    )
    yield from options("larger?", 4.6, operands.of_larger(program, failure, False))
    yield from options("source", 4.5, operands.at_sources(program, failure))
    unsure = operands.of_order(program, failure, sure=False)
    yield from options("order?", 5.0, unsure)
