"""Edits that build a layer or a parameter anew: where an attribute of it is set, with
other settings, or on the device that it is moved to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from shapewright.analysis.fixes.constructors import change_layer_size
from shapewright.analysis.fixes.layer_kinds import get_nn_name
from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.fixes.warnings.setting_edits import (
    suggest_early_setting,
    suggest_kept_setting,
)
from shapewright.analysis.hazards.moved_parameters import get_parameter
from shapewright.analysis.hazards.norm_settings import (
    find_positional_eps,
    get_other_weight,
)
from shapewright.analysis.hazards.normalized_shortcuts import find_lost_stream
from shapewright.analysis.program_run import ConstructorCall, Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.attribute_writes import AttributeWrite, iter_attribute_writes
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_line,
    get_last_name,
    list_reads,
)

DEFAULTS: Mapping[str, object] = {
    "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0,
    "eps": 1e-5, "momentum": 0.1, "affine": True, "track_running_stats": True,
    "norm_type": 2.0, "scale_grad_by_freq": False, "sparse": False, "init": 0.25,
    "include_last_offset": False,
}  # fmt: skip
"""Arguments of layers that need not be written where they have these values."""


def suggest_turned_norm(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `self.bn(x.transpose(1, 2)).transpose(1, 2)` with as many channels as
    there are features, for a batch norm of time steps.
    """
    if "normalizes dim 1, its channels" not in finding.message:
        return
    ops = [op for op in program.trace.ops if op.span == finding.span]
    op = next((op for op in ops if op.name.endswith("batch_norm")), None)
    layer = program.layer(op) if op is not None else None
    if op is None or layer is None or not isinstance(node, ast.Call):
        return
    if len(node.args) != 1 or op.inputs[0].ndim != 3:
        return
    steps, features = op.inputs[0].shape[1:]
    source = text.written(node.args[0])
    if not isinstance(node.args[0], ast.Name | ast.Attribute | ast.Call):
        source = f"({source})"
    new = f"{text.written(node.func)}({source}.transpose(1, 2)).transpose(1, 2)"
    for fix in change_layer_size(program, layer.path, steps, features, ""):
        edits = (Edit(text.span(node), new), *fix.edits)
        yield Fix("fits", f"`{join_lines(new)}` and {fix.message}", edits)


def suggest_new_layer(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model.fc = nn.Linear(512, 3)` for `model.fc.out_features = 3`, and a
    setting before what is built of it.
    """
    built = program.built.get(finding.module)
    lines = {finding.line, *(related.span.line for related in finding.related)}
    if built is None:
        yield from suggest_early_setting(program, finding, text, node)
        yield from suggest_kept_setting(program, finding, text, node)
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


def suggest_weight_of_batch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `momentum=0.01` for `momentum=0.99`, where the number is written."""
    built = program.built.get(finding.module)
    momentum = dict(built.values).get("momentum") if built is not None else None
    if built is None or not isinstance(momentum, float):
        return
    new = get_other_weight(momentum)
    for number in _iter_written_momentums(text, node, built):
        if number.value == momentum:
            edit = Edit(text.span(number), new)
            yield Fix("fits", f"`momentum={new}`", (edit,))
            return


def _iter_written_momentums(
    text: SourceText, node: ast.AST, built: ConstructorCall
) -> Iterator[ast.Constant]:
    """Yield the numbers that may be the momentum of a layer: its argument, what a name
    there is defined as, the keyword of a `partial` or of a dict of settings.
    """
    if isinstance(node, ast.Assign):  # `layer.momentum = 0.99`
        values = [node.value]
    elif isinstance(node, ast.Call):
        at = built.arguments.index("momentum") if "momentum" in built.arguments else 9
        values = [word.value for word in node.keywords if word.arg == "momentum"]
        values += node.args[at : at + 1]
    else:
        return
    for value in values:
        defined = find_defining(text, get_last_name(value))
        for possible in (value, *(defined if len(defined) == 1 else ())):
            if isinstance(possible, ast.Constant):
                yield possible
    for other in text.nodes if not values else ():
        if get_called_name(other) in ("partial", "dict") and isinstance(
            other, ast.Call
        ):
            for word in other.keywords:
                if word.arg == "momentum" and isinstance(word.value, ast.Constant):
                    yield word.value
        elif isinstance(other, ast.Dict):
            for key, item in zip(other.keys, other.values, strict=True):
                is_momentum = isinstance(key, ast.Constant) and key.value == "momentum"
                if is_momentum and isinstance(item, ast.Constant):
                    yield item


def suggest_named_momentum(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `nn.BatchNorm2d(128, momentum=0.2)` for `nn.BatchNorm2d(128, 0.8)`, and
    no number there for layers that keep no average.
    """
    built = program.built.get(finding.module)
    if built is None or not isinstance(node, ast.Call):
        return
    value = find_positional_eps(node, built)
    at = node.args.index(value) if value is not None else 0
    number = dict(built.values).get("eps")
    if value is None or not at or number is None or len(node.args) > at + 1:
        return
    if "momentum" not in built.arguments or built.class_name.startswith("InstanceNorm"):
        span = text.span(node.args[at - 1])
        end = text.span(value)
        gap = replace(
            span, line=span.end_line, column=span.end_column,
            end_line=end.end_line, end_column=end.end_column,
        )  # fmt: skip
        yield Fix("fits", f"without `{text.written(value)}`", (Edit(gap, ""),))
    elif not any(word.arg == "momentum" for word in node.keywords) and number < 1:
        new = get_other_weight(number) if number > 0.5 else f"{number:g}"
        edit = Edit(text.span(value), f"momentum={new}")
        yield Fix("fits", f"`momentum={new}`", (edit,))


def suggest_move_inside(text: SourceText, move: ast.Call) -> Iterator[Fix]:
    """Suggest `nn.Parameter(x.to(device))` for `nn.Parameter(x).to(device)`."""
    own = get_parameter(move)
    words = [word.value for word in own.keywords if word.arg == "data"] if own else []
    values = [*(own.args[:1] if own is not None else ()), *words]
    if own is None or len(values) != 1:
        return
    inside = text.written(values[0])
    tail = text.written(move)[len(text.written(own)) :].strip()
    if not isinstance(values[0], ast.Call | ast.Name | ast.Attribute):
        inside = f"({inside})"
    start = text.written(own).index(text.written(values[0]))
    rest = text.written(own)[start + len(text.written(values[0])) :]
    new = f"{text.written(own)[:start]}{inside}{tail}{rest}"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(move), new),))


def suggest_normed_branch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x = x + f(norm(x))` for `x = norm(x)` above `x = x + f(x)`."""
    function = text.around(node, ast.FunctionDef)
    lost = find_lost_stream(program, function) if function is not None else None
    if lost is None or text.span(lost.statement) != finding.span:
        return
    sides: list[ast.expr] = []
    if isinstance(lost.behind, ast.Assign) and isinstance(lost.behind.value, ast.BinOp):
        sides = [lost.behind.value.left, lost.behind.value.right]
    shortcut = next((s for s in sides if ast.unparse(s) == lost.name), None)
    reads = [
        read
        for read in list_reads(function, lost.name)
        if lost.statement.lineno < read.lineno <= get_last_line(lost.behind)
        if read is not shortcut
    ]
    new = text.written(lost.statement.value)
    if len(reads) == 1:
        edits = cut_lines(text, lost.statement), Edit(text.span(reads[0]), new)
        shown = f"`{join_lines(new)}` in the branch alone"
        yield Fix("fits", shown, edits)
        return
    name = f"{lost.name}_normed"
    places = [lost.statement.targets[0], *reads]
    renamed = tuple(Edit(text.span(place), name) for place in places)
    yield Fix("fits", f"`{name} = {join_lines(new)}`, for the branch alone", renamed)
