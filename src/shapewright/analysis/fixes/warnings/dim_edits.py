"""Edits of the dim that a call runs along: another `dim`, the last step for the last
sample, the letters behind an arrow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.position_edits import (
    suggest_positions,
)
from shapewright.analysis.hazards.batch_statistics import OF_CHANNELS
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import SourceText, get_receiver, join_lines
from shapewright.program.syntax_nodes import collect_names, get_called_name
from shapewright.record.ops import Op

JOINS = operators_with("concatenates")
SUMMING = frozenset({"mean", "sum", "amax"})


def _suggest_sigmoid(text: SourceText, call: ast.Call) -> Iterator[Fix]:
    """Suggest `torch.sigmoid(x)` for a softmax over the only channel of a map."""
    name = get_called_name(call)
    if "WithLogits" in text.text or "with_logits" in text.text:
        return  # the loss has its own
    if name == "softmax" and isinstance(call.func, ast.Attribute):
        owner = text.written(call.func.value)
        is_function = owner in ("F", "torch", "torch.nn.functional", "nn.functional")
        value = call.args[0] if is_function and call.args else call.func.value
        new = f"torch.sigmoid({text.written(value)})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))


def suggest_other_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the last dim, then the others, for the `dim` of a call; the last step for
    the last sample.
    """
    op = program.op_at(finding.span, finding.module)
    if isinstance(node, ast.Subscript):
        yield from _suggest_last_step(text, node)
        return
    if op is None or not op.inputs:
        return
    rank = len(op.inputs[0].shape)
    for where, call in _iter_calls_with_dim(program, op, text, node):
        place = _find_dim_argument(where, call)
        shape = op.inputs[0].shape
        match = re.search(r"along dim (\d+)$", finding.message)
        own = re.search(r"along dim (\d+)", finding.message)
        wide = [dim for dim in range(rank - 1, -1, -1) if shape[dim] > 1]
        dims = [-1, *wide[1:]] if wide[:1] == [rank - 1] else wide
        if own is not None:
            dims = [dim for dim in dims if dim % rank != int(own[1]) % rank]
        if match is not None and match.start() != (own.start() if own else -1):
            right = int(match[1])
            dims = [-1 if right == rank - 1 else right]
        alone = "has size 1" in finding.message
        readers = _list_readers(program, op) if alone and rank == 2 else set()
        if readers & LOSSES_OF_NUMBERS and isinstance(call, ast.Call) and call.args:
            new = where.written(call.args[0])  # a number is meant, no probability
            yield Fix("fits", f"`{join_lines(new)}`", (Edit(where.span(call), new),))
            return
        if (alone and rank > 3) or readers & LOSSES_OF_CHANCES:
            yield from _suggest_sigmoid(where, call)
            return  # one score for each pixel: no softmax is meant
        if (op.name.rpartition(".")[2] in SUMMING or alone) and rank > 2:
            dims = [1, *dims]  # the steps, not the features
        if "softmax" in op.name and rank > 3 and 1 in wide and match is None:
            dims = [1, *dims]  # the classes of maps
        dims = list(dict.fromkeys(dims))
        if "without `dim`" in finding.message and own is not None:
            dims = [-1, int(own[1])] if rank == 3 else [int(own[1])]
        if op.name.rpartition(".")[2] in JOINS:
            dims = [1, -1]
        for dim in dims:
            if place is None:
                yield with_keyword(where, call, f"dim={dim}")
            elif where.written(place) != str(dim):
                span = where.span(place)
                shown = join_lines(where.written(call))
                old = where.written(place)
                shown = shown.replace(old, str(dim)) if shown.count(old) == 1 else ""
                message = f"`{shown}`" if shown else f"`dim={dim}`"
                yield Fix("fits", message, (Edit(span, str(dim)),))


EXPECTED = values_of("expects_input")
LOSSES_OF_CHANCES = {name for name, kind in EXPECTED.items() if kind == "probabilities"}
LOSSES_OF_NUMBERS = operators_with("is_elementwise_loss") - {*EXPECTED}


def _list_readers(program: Program, op: Op) -> set[str]:
    """Return the names of the calls that read the result of a call."""
    result = op.outputs[0].tensor if op.outputs else None
    return {
        other.name.rpartition(".")[2]
        for other in program.trace.ops
        if any(fact.tensor == result for fact in other.inputs)
    }


def suggest_dim_of_features(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `(users * items).sum(dim=-1)` for a sum of all samples, and
    `x.mean(dim=(1, 2, 3), keepdim=True)` for statistics of a batch.
    """
    if "are standardized by the mean" in finding.message:
        yield from _suggest_own_statistics(program, finding, text)
    if "adds up the features of all" in finding.message and isinstance(node, ast.Call):
        yield with_keyword(text, node, "dim=-1")
    if "are divided by one norm" in finding.message and isinstance(node, ast.Call):
        yield with_keyword(text, node, "dim=-1, keepdim=True")


def suggest_channels_last(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x.permute(0, 2, 3, 1)` for `x.transpose(1, 3)` of pixels."""
    if "exchanges rows and columns" not in finding.message:
        return
    owner = get_receiver(node) if isinstance(node, ast.Call) else None
    if owner is not None and isinstance(node, ast.Call):
        new = f"{text.written(owner)}.permute(0, 2, 3, 1)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


STATISTICS = re.compile("mean|std|var")


def _suggest_own_statistics(
    program: Program, finding: Finding, text: SourceText
) -> Iterator[Fix]:
    """Suggest the dims of one sample for all statistics of a standardization."""
    op = program.op_at(finding.span, finding.module)
    places = [finding.span, *(related.span for related in finding.related[:1])]
    nodes = [program.node(place) for place in places]
    statements = {
        text.statement_of(place[1])
        for place in nodes
        if place is not None and place[0].file == text.file
    }
    fact = op.inputs[0] if op is not None and op.inputs else None
    if fact is None:
        return
    calls = [
        call
        for statement in sorted(statements, key=lambda node: node.lineno)
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and STATISTICS.fullmatch(get_called_name(call))
        if not {word.arg for word in call.keywords} & {"dim", "axis"}
        if len(call.args) <= 1
    ]
    whole = tuple(range(fact.ndim))
    channels = [
        int(place.message.rpartition(" ")[2])
        for place in finding.related
        if place.message.startswith(OF_CHANNELS)
    ]
    for dims in (whole[1:], *(_leave_out(whole, at) for at in channels)):
        word = f"dim={dims}, keepdim=True"
        edits = {call: with_keyword(text, call, word).edits[0] for call in calls}
        if edits:
            shown = f"`{word}` for each mean and deviation"
            yield Fix("fits", shown, tuple(edits.values()))


def _leave_out(dims: tuple[int, ...], at: int) -> tuple[int, ...]:
    """Return dims without one of them."""
    return tuple(dim for dim in dims if dim != at)


def suggest_kept_dim(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `keepdim=True` for a reduction that lines up with another dim, and the
    dims of the pixels of a channel for those of a column.
    """
    if "leaves one value for each of" in finding.message:
        yield from _suggest_dims_of_channels(program, finding, text)
    if re.search("takes (it|them) along ", finding.message):
        yield from _suggest_dims_of_layer(finding, text, node)
    if "without `keepdim=True`" not in finding.message:
        return
    for place in finding.related:
        text_and_call = program.call_at(place.span)
        if text_and_call is not None:
            yield with_keyword(*text_and_call, "keepdim=True")


def _suggest_dims_of_channels(
    program: Program, finding: Finding, text: SourceText
) -> Iterator[Fix]:
    """Suggest `dim=(0, 2, 3), keepdim=True` for all statistics along the dims 0 to 2 of
    images.
    """
    op = program.op_at(finding.span, finding.module)
    rank = op.inputs[0].ndim if op is not None else 0
    if rank == 0:
        return
    dims = (0, *range(2, rank))
    edits: list[Edit] = []
    for call in text.nodes:
        name = get_called_name(call)
        if not isinstance(call, ast.Call) or not STATISTICS.fullmatch(name):
            continue
        words = {word.arg: word.value for word in call.keywords}
        places = [words.get("dim") or words.get("axis"), *call.args[:2]]
        for place in places:
            written = ast.unparse(place) if place is not None else ""
            if written.strip("()[]") == ", ".join(map(str, range(rank - 1))):
                assert place is not None
                kept = "" if "keepdim" in words else ", keepdim=True"
                edits.append(Edit(text.span(place), f"{dims}{kept}"))
    if edits:
        shown = f"`dim={dims}, keepdim=True` for each mean and deviation"
        yield Fix("fits", shown, tuple(edits))


def _suggest_dims_of_layer(
    finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the dims of a layer for the mean and the spread that a program takes of
    one tensor.
    """
    words = re.split("takes (?:it|them) along ", finding.message)[-1]
    words = words.partition(", for each")[0]
    dims = tuple(map(int, re.findall(r"\d+", words)))
    function = text.around(node, ast.FunctionDef)
    if not dims or not isinstance(node, ast.Call):
        return
    names = collect_names(node) - {"torch"}
    dim = str(dims if len(dims) > 1 else dims[0])
    edits: list[Edit] = []
    for call in ast.walk(function) if function is not None else text.nodes:
        name = get_called_name(call)
        if not isinstance(call, ast.Call) or not STATISTICS.fullmatch(name):
            continue
        if not names & collect_names(call):  # of another tensor
            continue
        several = (arg for arg in call.args if isinstance(arg, ast.Tuple | ast.List))
        place = _find_dim_argument(text, call) or next(several, None)
        is_kept = any(word.arg == "keepdim" for word in call.keywords)
        kept = "" if is_kept else ", keepdim=True"
        if place is None:
            edits += with_keyword(text, call, f"dim={dim}{kept}").edits
        else:
            edits.append(Edit(text.span(place), dim))
            if kept:
                edits += with_keyword(text, call, "keepdim=True").edits
    if edits:
        shown = f"`dim={dim}, keepdim=True` for the mean and the spread"
        yield Fix("fits", shown, tuple(edits))


def _iter_calls_with_dim(
    program: Program, op: Op, text: SourceText, node: ast.AST
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the call that has a dim: of the function, or where its layer is built."""
    layer = program.layer(op)
    if layer is not None and layer.path in program.built:
        text_and_call = program.call_at(program.built[layer.path].span)
        if text_and_call is not None:
            yield text_and_call
    elif isinstance(node, ast.Call):
        yield text, node


def _find_dim_argument(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the `dim` of a call, if the text has one."""
    for word in call.keywords:
        if word.arg in ("dim", "axis"):
            return word.value
    for argument in call.args:
        inner = argument.operand if isinstance(argument, ast.UnaryOp) else argument
        if isinstance(inner, ast.Constant) and type(inner.value) is int:
            return argument
    return None


def _suggest_last_step(text: SourceText, node: ast.Subscript) -> Iterator[Fix]:
    """Suggest `out[:, -1]` for `out[-1]`, and `h[-1]` for `h[:, -1]`."""
    index = text.written(node.slice)
    owner = text.written(node.value)
    items = [part.strip() for part in index.split(",")]
    if items[0] != ":":
        new = f"{owner}[:, {index}]"
    else:
        new = f"{owner}[{', '.join(items[1:])}]"
    yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))


def suggest_other_axis(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest another dim, or positions along another one."""
    yield from suggest_other_dim(program, finding, text, node)
    yield from suggest_positions(program, finding, text, node)


def _suggest_one_name(text: SourceText, call: ast.Call, message: str) -> Iterator[Fix]:
    """Suggest one name for two dims of an equation that were to be multiplied."""
    first, second = re.findall(r"`(\w+)`", message)[:2]
    is_word = len(first) > 1 or len(second) > 1
    for part in call.args:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            written = text.written(part)
            pattern = rf"\b{second}\b" if is_word else second
            new = re.sub(pattern, first, written)
            if new != written:
                yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))


def suggest_arrow(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest an equation with an arrow that keeps the letter all operands share."""
    if "is summed on its own" in finding.message and isinstance(node, ast.Call):
        yield from _suggest_one_name(text, node, finding.message)
        return
    first = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return
    terms = [term.strip() for term in first.value.split(",")]
    if "->" in first.value or len(terms) < 2:
        return
    letters = [c for c in dict.fromkeys("".join(terms)) if c.isalpha()]
    front = terms[0][0] if all(term.startswith(terms[0][0]) for term in terms) else ""
    once = [c for c in letters if "".join(terms).count(c) == 1]
    out = "".join(dict.fromkeys([*front, *once]))
    quote = text.written(first)[0]
    new = f"{quote}{first.value} -> {out}{quote}"
    yield Fix("fits", f"`{new}`", (Edit(text.span(first), new),))
