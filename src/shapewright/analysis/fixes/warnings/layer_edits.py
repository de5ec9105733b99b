"""Edits that build a layer anew where an attribute of it is set."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from shapewright.analysis.fixes.layer_kinds import get_nn_name
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import ConstructorCall, Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.attribute_writes import AttributeWrite, iter_attribute_writes
from shapewright.program.source_text import SourceText, join_lines

DEFAULTS: Mapping[str, object] = {
    "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0,
    "eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True,
    "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False, "init": 0.25,
    "include_last_offset": False,
}  # fmt: skip
"""Arguments of layers that need not be written where they have these values."""


def suggest_new_layer(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.fc = nn.Linear(512, 3)` for `model.fc.out_features = 3`."""
    built = program.built.get(finding.module)
    lines = {finding.line, *(related.span.line for related in finding.related)}
    if built is None:
        return
    writes = {
        name: write
        for name in built.arguments
        for write in iter_attribute_writes(text, name)
        if write.statement.lineno in lines
    }
    first = next(iter(writes.values()), None)
    if first is None or not isinstance(first.owner, ast.Attribute | ast.Subscript):
        return
    statements = sorted(
        {write.statement for write in writes.values()},
        key=lambda statement: statement.lineno,
    )
    has_bias = any(
        state.path == f"{finding.module}.bias" for state in program.trace.states
    )
    layer = _write_layer(text, built, writes, has_bias)
    new = f"{text.written(first.owner)} = {layer}"
    edits = [cut_lines(text, statement) for statement in statements[:-1]]
    yield Fix(
        "fits",
        f"`{join_lines(new)}`",
        (*edits, Edit(text.span(statements[-1]), new)),
    )


def _write_layer(
    text: SourceText,
    built: ConstructorCall,
    writes: Mapping[str, AttributeWrite],
    has_bias: bool,
) -> str:
    """Write the call that builds a layer with the sizes that were set."""
    arguments: list[str] = []
    for name, value in built.values:
        write = writes.get(name)
        if write is not None and write.value is not None:
            shown = text.written(write.value)
        elif _is_default(name, value):
            continue
        else:
            shown = _write_value(value)
        skipped = built.arguments.index(name) != len(arguments)
        is_named = skipped or any("=" in argument for argument in arguments)
        arguments.append(f"{name}={shown}" if is_named else shown)
    if "bias" in built.arguments and not has_bias:
        arguments.append("bias=False")
    name = f"{get_nn_name(text)}.{built.class_name}"
    return f"{name}({', '.join(arguments)})"


def _is_default(name: str, value: object) -> bool:
    """Return whether an argument has the value that it has where it is not written."""
    values = set(value) if isinstance(value, tuple) else {value}
    return name in DEFAULTS and values == {DEFAULTS[name]}


def _write_value(value: object) -> str:
    """Write a value: `3` for `(3, 3)`."""
    if isinstance(value, tuple) and len(set(value)) == 1:
        return repr(value[0])
    return repr(value)
