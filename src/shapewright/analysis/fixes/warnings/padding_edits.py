"""Edits that take the last step of each padded sequence, or pack the sequences; that
fill lists of labels up with what a loss ignores.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import cut_lines, write_before
from shapewright.analysis.hazards.filled_labels import get_fill
from shapewright.analysis.hazards.late_masks import LateMask, iter_late_masks
from shapewright.analysis.hazards.padded_lists import (
    find_filling_calls,
    find_fillings,
    list_fillings,
)
from shapewright.analysis.hazards.padded_steps import find_unread_lengths
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_name,
    get_own_attribute,
    is_starred,
    list_parameters,
)


def suggest_shifted_numbers(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to number the tokens of each row from 1 on."""
    if isinstance(node, ast.Call) and get_called_name(node) != "pad_sequence":
        shown = f"`{join_lines(text.written(node))} + 1`"
        yield Fix("fits", shown, (Edit(text.span(node).end, " + 1"),))


def suggest_ignored_lists(
    program: Program, text: SourceText, call: ast.Call
) -> Iterator[Fix]:
    """Suggest to fill the lists of labels up with -100: where a tensor is made of them,
    or in the call of the function that fills them with a number it is given.
    """
    fillings = find_fillings(text, call.args[0]) if call.args else []
    functions = text.functions(get_called_name(call))
    own: list[tuple[ast.Call, ast.AST]] = [(call, f) for _, f in functions]
    if not own and call.args and not fillings:
        own = find_filling_calls(text, call.args[0])
    if len(own) == 1 and not is_starred(own[0][0]):
        call, function = own[0]
        names = [name for name in list_parameters(function) if name != "self"]
        fillers = {v.id for v in list_fillings(function) if isinstance(v, ast.Name)}
        if len(fillers & {*names}) != 1:
            return
        name = (fillers & {*names}).pop()
        at = names.index(name)
        words = {word.arg: word.value for word in call.keywords}
        value = call.args[at] if at < len(call.args) else words.get(name)
        if value is None:
            yield with_keyword(text, call, f"{name}=-100")
        fillings = [value] if value is not None else []
    if len(fillings) == 1:
        value = fillings[0]
        message = f"-100 in place of `{text.written(value)}`"
        yield Fix("fits", message, (Edit(text.span(value), "-100"),))


def find_filling_name(text: SourceText, call: ast.Call) -> str:
    """Return the constant that fills up the lists of which a tensor is made, `PAD`."""
    fillings = find_fillings(text, call.args[0]) if call.args else []
    names = [value.id for value in fillings if isinstance(value, ast.Name)]
    known = [name for name in names if name.isupper()]
    return known[0] if len(fillings) == len(known) == 1 else ""


def suggest_mask_of_tokens(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a mask that is 1 for tokens and 0 for padding, in place of ones."""
    for late in iter_late_masks(text):
        if late.statement is node:
            yield from _move_mask(text, late)
            return
    if "is 1 everywhere, and the tokens" not in finding.message:
        return
    places = [program.node(related.span) for related in finding.related]
    if len(places) != 2 or not places[0] or not places[1]:
        return
    (where, ones), (other, padding) = places[0], places[1]
    new = ""
    if isinstance(ones, ast.BinOp) and isinstance(padding, ast.expr) and where is other:
        new = _write_list_of_tokens(where, ones, padding)
    elif isinstance(ones, ast.Call):
        values = [*ones.args, *([owner] if (owner := get_receiver(ones)) else [])]
        names = {
            name.id
            for value in values
            for name in ast.walk(value)
            if isinstance(name, ast.Name) and _is_own_value(where, name)
        }
        number = re.search(r"padded with (-?\d+)", finding.message)
        if len(names) == 1 and number is not None:
            new = f"({names.pop()} != {number[1]}).long()"
    if new and isinstance(ones, ast.expr):
        yield Fix("fits", f"`{new}`", (Edit(where.span(ones), new),))


def _move_mask(text: SourceText, late: LateMask) -> Iterator[Fix]:
    """Suggest to write the ones of a mask before its list is padded, or a comparison
    of the tokens with the padding.
    """
    target = late.statement.targets[0]
    if not isinstance(target, ast.Subscript):
        number = text.written(late.value)
        new = f"[int(token != {number}) for token in {late.tokens}]"
        if isinstance(late.statement.value, ast.BinOp):
            edit = Edit(text.span(late.statement.value), new)
            yield Fix("fits", f"`{new}`", (edit,))
        return
    mask, body = (
        text.written(target.value),
        getattr(text.parent(late.padding), "body", []),
    )
    first, last = body.index(late.padding), body.index(late.statement)
    moved = [
        statement
        for statement in body[first + 1 : last + 1]
        if isinstance(statement, ast.Assign)
        and text.written(statement.targets[0]) in (mask, text.written(target))
    ]
    indent = text.lines[late.padding.lineno - 1][: late.padding.col_offset]
    lines = f"\n{indent}".join(text.written(statement) for statement in moved)
    edits = (
        write_before(text, late.padding, lines),
        *(cut_lines(text, statement) for statement in moved),
    )
    yield Fix("fits", f"`{text.written(late.statement)}` before the padding", edits)


def _is_own_value(text: SourceText, name: ast.Name) -> bool:
    """Return whether a name is a value of the function that reads it."""
    function = text.around(name, *FUNCTIONS)
    return name.id in list_parameters(function) or bool(find_defining(text, name.id))


def _write_list_of_tokens(text: SourceText, ones: ast.BinOp, padding: ast.expr) -> str:
    """Write `[1] * len(ids) + [0] * room` for the mask beside `ids + [PAD] * room`."""
    filling = text.around(padding, ast.BinOp)
    whole = text.parent(filling)
    if text.around(filling, *FUNCTIONS) is not text.around(ones, *FUNCTIONS):
        return ""
    if filling is None or not isinstance(whole, ast.BinOp):
        return ""
    count = filling.right if isinstance(filling.left, ast.List) else filling.left
    tokens = text.written(whole.left)
    statement = text.statement_of(whole)
    scope = text.around(ones, ast.For, *FUNCTIONS)
    if not isinstance(whole.left, ast.Name) or scope is None:
        return ""
    if text.around(whole, ast.For, *FUNCTIONS) is not scope:
        return ""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    is_changed = tokens in map(text.written, targets)
    if is_changed and statement.lineno <= ones.lineno:
        number = text.written(padding)
        return f"[int(token != {number}) for token in {tokens}]"
    return f"[1] * len({tokens}) + [0] * {_write_factor(text, count)}"


def _write_factor(text: SourceText, node: ast.expr) -> str:
    """Write an expression as a factor of a product."""
    written = text.written(node)
    return f"({written})" if isinstance(node, ast.BinOp) else written


def suggest_last_of_each(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `x[torch.arange(len(x)), lengths - 1]` for `x[:, -1]`, and packed
    sequences for a recurrent layer.
    """
    if isinstance(node, ast.Call):
        lengths = find_unread_lengths(text, node)
        dim = int(_is_batch_first(text, node))
        counts = _list_counts(program, finding, text, node, dim)
        for count in [lengths] if lengths else counts:
            yield from _suggest_packing(text, node, count)
        step = _find_last_step(text, node, dim) if lengths else None
        if step is not None:
            yield _write_last_step(text, step, lengths)
    if not isinstance(node, ast.Subscript):
        return
    if any(isinstance(part, ast.Call) for part in ast.walk(node.value)):
        return  # it would be called twice
    counts = [*_iter_lengths(text, node)]
    counts += _list_counts(program, finding, text, node, int(_is_of_samples(node)))
    for lengths in counts:
        values = find_defining(text, lengths)
        if values and all(_is_list(value) for value in values):
            lengths = f"torch.tensor({lengths})"
        yield _write_last_step(text, node, lengths)


def _is_of_samples(step: ast.Subscript) -> bool:
    """Return whether an index takes a step of all samples, `x[:, -1]`, not `x[-1]`."""
    items = step.slice.elts if isinstance(step.slice, ast.Tuple) else [step.slice]
    return isinstance(items[0], ast.Slice)


def _write_last_step(text: SourceText, step: ast.Subscript, lengths: str) -> Fix:
    """Return the fix that takes the last step of each sequence."""
    owner, is_first = text.written(step.value), _is_of_samples(step)
    rows = f"torch.arange({owner}.size({0 if is_first else 1}))"
    steps = f"{lengths} - 1"
    new = f"{owner}[{rows}, {steps}]" if is_first else f"{owner}[{steps}, {rows}]"
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(step), new),))


def _find_last_step(
    text: SourceText, layer: ast.Call, dim: int
) -> ast.Subscript | None:
    """Return the only place at which the outputs of a recurrent layer are read, if it
    takes their last step: `out[:, -1]`.
    """
    statement, function = text.statement_of(layer), text.around(layer, *FUNCTIONS)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    output = target.elts[0] if isinstance(target, ast.Tuple) else None
    if not isinstance(output, ast.Name) or function is None:
        return None
    if _has_flag(text, layer, "bidirectional"):
        return None
    reads = [
        text.parent(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == output.id
        if isinstance(node.ctx, ast.Load)
    ]
    step = reads[0] if len(reads) == 1 else None
    if not isinstance(step, ast.Subscript):
        return None
    items = step.slice.elts if isinstance(step.slice, ast.Tuple) else [step.slice]
    is_last = len(items) > dim and ast.unparse(items[dim]) == "-1"
    others = [item for at, item in enumerate(items) if at != dim]
    return step if is_last and all(ast.unparse(o) == ":" for o in others) else None


def _is_list(value: ast.expr) -> bool:
    """Return whether an expression makes a list."""
    is_call = get_called_name(value) in ("list", "sorted", "tolist")
    return isinstance(value, ast.List | ast.ListComp) or is_call


def _list_counts(
    program: Program, finding: Finding, text: SourceText, node: ast.expr, dim: int
) -> list[str]:
    """Return how the ids that are no padding are counted in a function which embeds
    them: `(ids != PAD).sum(1)`.
    """
    counts = []
    for related in finding.related:
        place = program.call_at(related.span)
        words = DECLARED.fullmatch(related.message)
        if place is None or words is None or not place[1].args or place[0] is not text:
            continue
        ids, layer = place[1].args[0], get_last_name(place[1].func)
        is_near = text.around(place[1], *FUNCTIONS) is text.around(node, *FUNCTIONS)
        if not is_near or not isinstance(ids, ast.Name):
            continue
        number = words.group(1)
        for built in find_defining(text, layer):
            for word in built.keywords if isinstance(built, ast.Call) else ():
                value = word.value
                known = find_defining(text, text.written(value))
                is_global = any(text.around(part, *FUNCTIONS) is None for part in known)
                if word.arg == "padding_idx" and isinstance(value, ast.Name):
                    number = value.id if is_global else number
        counts.append(f"({ids.id} != {number}).sum({dim})")
    return counts


DECLARED = re.compile(r"id (\d+) is declared as padding")


def _is_batch_first(text: SourceText, call: ast.Call) -> bool:
    """Return whether the layer of a call is built with its samples first."""
    return _has_flag(text, call, "batch_first")


def _has_flag(text: SourceText, call: ast.Call, flag: str) -> bool:
    """Return whether the layer of a call is built with a flag."""
    return any(
        word.arg == flag and ast.unparse(word.value) == "True"
        for value in find_defining(text, get_last_name(call.func))
        for word in (value.keywords if isinstance(value, ast.Call) else ())
    )


def _suggest_packing(text: SourceText, call: ast.Call, lengths: str) -> Iterator[Fix]:
    """Suggest `pack_padded_sequence(x, lengths, ...)` for a layer of which only the
    states are read.
    """
    statement = text.statement_of(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    function = text.around(call, *FUNCTIONS)
    if not isinstance(target, ast.Tuple) or not call.args or function is None:
        return
    output = text.written(target.elts[0])
    reads = [
        part.lineno
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and part.id == output != "_"
    ]
    if any(line > statement.lineno for line in reads):
        return
    words = ", batch_first=True" if _is_batch_first(text, call) else ""
    known = {name for node in text.nodes for name in _list_imported(node)}
    modules = ("", "nn.utils.rnn.", "torch.nn.utils.rnn.")
    roots = zip(("pack_padded_sequence", "nn", "torch"), modules, strict=True)
    module = next((module for name, module in roots if name in known), modules[2])
    is_moved = any(get_last_name(part) in ("cuda", "device") for part in text.nodes)
    new = (
        f"{module}pack_padded_sequence({text.written(call.args[0])},"
        f" {lengths}{'.cpu()' if is_moved else ''}{words}, enforce_sorted=False)"
    )
    edit = Edit(text.span(call.args[0]), new)
    yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def _list_imported(node: ast.AST) -> list[str]:
    """Return the names that an import gives."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return []
    return [alias.asname or alias.name.partition(".")[0] for alias in node.names]


def _iter_lengths(text: SourceText, node: ast.expr) -> Iterator[str]:
    """Yield how the lengths of the sequences may be written at a place."""
    function = text.around(node, *FUNCTIONS, ast.Module)
    if function is None:
        return
    names = {
        part.id
        for part in ast.walk(function)
        if isinstance(part, ast.Name) and part.lineno <= node.lineno
    }
    names |= {part.arg for part in ast.walk(function) if isinstance(part, ast.arg)}
    for name in sorted(names):
        if "len" in name.lower() and name != "len":
            yield name
    for name in sorted(names):
        if "mask" in name.lower():
            yield _write_count(text, name)
    for key in _iter_mask_items(text, function):
        yield f"{key}.sum(1)"


def _write_count(text: SourceText, mask: str) -> str:
    """Write the lengths by a mask, which is true at padding or beside it."""
    for call in text.nodes:
        for word in call.keywords if isinstance(call, ast.Call) else ():
            is_padding = word.arg is not None and "key_padding_mask" in word.arg
            if is_padding and mask in collect_names(word.value):
                is_same = isinstance(word.value, ast.Name)
                return f"(~{mask}).sum(1)" if is_same else f"{mask}.sum(1)"
    return f"(~{mask}).sum(1)" if "pad" in mask else f"{mask}.sum(1)"


def _iter_mask_items(text: SourceText, function: ast.AST) -> Iterator[str]:
    """Yield `batch["attention_mask"]` where a function of the program has returned a
    dict with such a key, or it is read in this way.
    """
    for part in ast.walk(function):
        key = part.slice if isinstance(part, ast.Subscript) else None
        if isinstance(key, ast.Constant) and "mask" in str(key.value):
            yield text.written(part)  # type: ignore[arg-type]
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Call):
            continue
        target = part.targets[0]
        for _, maker in text.functions(get_called_name(part.value)):
            for name in _iter_returned_keys(maker):
                if "mask" in name and isinstance(target, ast.Name):
                    yield f"{target.id}[{name!r}]"


def _iter_returned_keys(function: ast.AST) -> Iterator[str]:
    """Yield the keys of a dict that a function returns."""
    for part in ast.walk(function):
        if isinstance(part, ast.Return) and isinstance(part.value, ast.Dict):
            for key in part.value.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value


def suggest_mask_of_columns(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `pad.unsqueeze(1)` for `pad.unsqueeze(1) | pad.unsqueeze(2)`, expanded
    for a layer that takes a mask for each query.
    """
    op = program.op_at(finding.span)
    if "hides every key of a padded query" not in finding.message or op is None:
        return
    parts = _list_operands(node)
    rows = next(
        (i for i, part in enumerate(parts)
         if f"by `{text.written(part)}`" in finding.message), None,
    )  # fmt: skip
    if rows is None or len(parts) != 2 or len(op.inputs) != 2:
        return
    other, fact = parts[1 - rows], op.inputs[1 - rows]
    new = text.written(other)
    if not isinstance(other, ast.Call | ast.Subscript | ast.Name | ast.Attribute):
        new = f"({new})"
    users = {
        user.name.rpartition(".")[2]
        for related in finding.related
        for user in program.trace.ops
        if user.span == related.span
    }
    if users & MASKED_LAYERS and fact.shape[-2] == 1:
        dims = ["-1"] * len(fact.shape)
        owner = get_receiver(other) if isinstance(other, ast.Call) else None
        is_view = owner is not None and get_called_name(other) == "unsqueeze"
        base = other.value if isinstance(other, ast.Subscript) else owner
        named = base if base is not None and (is_view or base is not owner) else other
        dims[-2] = f"{text.written(named)}.size(-1)"
        new = f"{new}.expand({', '.join(dims)})"
    yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))  # type: ignore[arg-type]


MASKED_LAYERS = frozenset({"multi_head_attention_forward"})
"""Functions that take a mask with a row for each query."""


def _list_operands(node: ast.AST) -> list[ast.expr]:
    """Return the two operands of `a | b`, `torch.logical_or(a, b)` and `a.bmm(b)`."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if not isinstance(node, ast.Call) or node.keywords:
        return []
    owner = get_receiver(node)
    return node.args if len(node.args) == 2 or owner is None else [owner, *node.args]


def suggest_ignored_border(
    text: SourceText, node: ast.AST, ignored: str
) -> Iterator[Fix]:
    """Suggest to fill the border of labels with the number that the loss ignores: in
    the call, or where the object is built that keeps the number.
    """
    fill = get_fill(node) if isinstance(node, ast.Call) else None
    if fill is None and isinstance(node, ast.Call):
        owner = ast.unparse(get_receiver(node) or node.func)
        is_of_pictures = owner in ("ImageOps", "TF") or "torchvision" in text.text
        word = "fill" if is_of_pictures else "value"
        word = "constant_values" if owner in ("np", "numpy") else word
        yield with_keyword(text, node, f"{word}={ignored}")
    elif isinstance(fill, ast.Constant):
        yield Fix("fits", f"`{ignored}`", (Edit(text.span(fill), ignored),))
    elif fill is not None:
        name = get_last_name(fill)
        around = ast.ClassDef if get_own_attribute(fill) else ast.FunctionDef
        called = getattr(text.around(node, around), "name", "")
        for call in text.nodes:
            if get_called_name(call) != called or not isinstance(call, ast.Call):
                continue
            words = {word.arg: word.value for word in call.keywords}
            if name in words:
                edit = Edit(text.span(words[name]), ignored)
                yield Fix("fits", f"`{name}={ignored}`", (edit,))
            else:
                yield with_keyword(text, call, f"{name}={ignored}")
