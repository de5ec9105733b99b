"""Edits for data that lost its order, for data sets that are shared, and for averages
of weights and of features that are taken the other way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.statements import cut_lines, replace_lines, write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.call_expressions import find_tensor_expressions
from shapewright.analysis.training_mistakes.filtered_indices import (
    iter_filtered_indices,
)
from shapewright.analysis.training_mistakes.terminal_states import is_factor
from shapewright.analysis.training_mistakes.unequal_transforms import list_steps
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    get_receiver,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import collect_names, get_called_name

LERPS = frozenset({"lerp", "lerp_"})
SEEDING = frozenset({"manual_seed", "manual_seed_all"})


def suggest_one_permutation(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest one permutation for two tensors whose rows belong together."""
    other = program.node(finding.related[0].span) if finding.related else None
    indices = [_get_index(part) for part in (other[1] if other else None, node)]
    if other is None or other[0] is not text or None in indices or other[1] is node:
        return
    first, second = (index for index in indices if index is not None)
    if isinstance(first, ast.Name) and isinstance(second, ast.Name):
        new = text.written(first)
        yield Fix("fits", f"`{new}` for both", (Edit(text.span(second), new),))
    elif isinstance(first, ast.Call) and isinstance(second, ast.Call):
        places = [text.statement_of(part) for part in (other[1], second)]
        if text.parent(places[0]) is not text.parent(places[1]):
            return
        taken = {name for n in text.nodes for name in collect_names(n)}
        name = next(n for n in ("order", "permutation", "row_order") if n not in taken)
        drawn = f"{name} = {text.written(first)}"
        earlier = min(places, key=lambda place: place.lineno)
        edits = (
            write_before(text, earlier, drawn),
            Edit(text.span(first), name),
            Edit(text.span(second), name),
        )
        yield Fix("fits", f"`{join_lines(drawn)}` for both", edits)


def _get_index(node: ast.AST | None) -> ast.expr | None:
    """Return the index by which an expression chooses rows, or None."""
    if isinstance(node, ast.Subscript):
        return node.slice
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return node.args[1]  # `x.index_select(0, order)`
    return None


def suggest_swapped_factors(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `decay` and `1 - decay` in each other's place."""
    if not isinstance(node, ast.expr | ast.stmt):
        return
    statement = text.statement_of(node)
    yield from _swap_weight(text, statement)
    yield from _swap_numbers(text, statement)
    body = getattr(text.parent(statement), "body", [])
    before = body[: body.index(statement)][-1:] if statement in body else []
    for statements in ([statement], [*before, statement]):
        parts = [part for whole in statements for part in ast.walk(whole)]
        fixes = list(_swap_factors(text, parts))
        yield from fixes
        if fixes:
            return


def _swap_numbers(text: SourceText, statement: ast.stmt) -> Iterator[Fix]:
    """Suggest two numbers of a statement that sum to one in each other's place."""
    numbers = [
        part
        for part in ast.walk(statement)
        if isinstance(part, ast.Constant) and isinstance(part.value, float)
    ]
    values = [float(text.written(part)) for part in numbers]
    if len(numbers) == 2 and abs(sum(values) - 1) < 1e-9:
        first, second = numbers
        edits = (
            Edit(text.span(first), text.written(second)),
            Edit(text.span(second), text.written(first)),
        )
        shown = f"`{text.written(second)}` and `{text.written(first)}` exchanged"
        yield Fix("fits", shown, edits)


def _swap_factors(text: SourceText, parts: list[ast.AST]) -> Iterator[Fix]:
    """Suggest `decay` for `1 - decay`, where each stands once, and the reverse."""
    for rest in parts:
        if not isinstance(rest, ast.BinOp) or not _is_rest(rest):
            continue
        decay = text.written(rest.right)
        alone = [
            part
            for part in parts
            if isinstance(part, ast.expr)
            and part is not rest.right
            and text.written(part) == decay
        ]
        if len(alone) != 1:
            continue
        written = text.span(rest), text.written(rest)
        place = _get_bracketed(text, written[0])
        edits = Edit(place, decay), Edit(text.span(alone[0]), text.at(place))
        if place == written[0] and isinstance(text.parent(alone[0]), ast.BinOp):
            edits = edits[0], Edit(edits[1].span, f"({written[1]})")
        yield Fix("fits", f"`{decay}` and `{written[1]}` swapped", edits)


def _is_rest(node: ast.BinOp) -> bool:
    """Return whether an expression is what is left of 1: `1 - decay`."""
    is_whole = isinstance(node.left, ast.Constant) and node.left.value == 1
    return is_whole and isinstance(node.op, ast.Sub)


def _swap_weight(text: SourceText, statement: ast.stmt) -> Iterator[Fix]:
    """Suggest `1 - decay` as the weight of `lerp`, or `decay` for it."""
    for call in ast.walk(statement):
        if not isinstance(call, ast.Call) or get_called_name(call) not in LERPS:
            continue
        words = [word.value for word in call.keywords if word.arg == "weight"]
        for weight in (*call.args[-1:], *words)[-1:]:
            new = f"1 - {text.written(weight)}"
            if isinstance(weight, ast.BinOp) and _is_rest(weight):
                new = text.written(weight.right)
            elif not isinstance(weight, ast.Name | ast.Attribute):
                return
            yield Fix("fits", f"`{new}` as weight", (Edit(text.span(weight), new),))


def _get_bracketed(text: SourceText, span: Span) -> Span:
    """Return the span of an expression with the brackets around it, if it has some and
    they are not those of a call.
    """
    line = text.lines[span.line - 1]
    before, behind = span.column - 2, span.end_column - 1
    if span.line != span.end_line or before < 0 or behind >= len(line):
        return span
    called = before > 0 and (line[before - 1].isalnum() or line[before - 1] in "_)]")
    if line[before] != "(" or line[behind] != ")" or called:
        return span
    return Span(span.file, span.line, before + 1, span.line, behind + 2)


def suggest_mean_of_features(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the mean over dim 0, for all means of the same text that take dim 1."""
    edits = [edit for call in text.nodes for edit in _find_mean_dim(text, call, node)]
    if edits:
        yield Fix("fits", "the mean over dim 0", tuple(edits))


def _find_mean_dim(text: SourceText, call: ast.AST, like: ast.AST) -> Iterator[Edit]:
    """Yield the edit of the dim of a mean in the same function as another mean."""
    if not isinstance(call, ast.Call) or not isinstance(like, ast.Call):
        return
    if text.around(call, ast.FunctionDef) is not text.around(like, ast.FunctionDef):
        return
    if text.written(call.func).rpartition(".")[2] != "mean":
        return
    dims = [*call.args, *(word.value for word in call.keywords if word.arg == "dim")]
    for argument in dims:
        if text.written(argument) in ("1", "-1"):
            yield Edit(text.span(argument), "0")


def suggest_own_data_set(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest a copy of the data set for the part that is set last."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    owner = target.value if isinstance(target, ast.Attribute) else None
    if not isinstance(owner, ast.Attribute) or not isinstance(node, ast.stmt):
        return
    whole = text.written(owner)
    new = f"{whole} = copy.copy({whole})"
    edits = [write_before(text, node, new)]
    imported = write_import_of_copy(text)
    if imported is not None:
        yield Fix("fits", f"`{new}`", (*edits, *imported))


def write_import_of_copy(text: SourceText) -> tuple[Edit, ...] | None:
    """Return the edit that imports `copy`: none where it is imported, None where no
    import shows the place.
    """
    imports = [
        n for n in text.nodes
        if isinstance(n, ast.Import) and any(a.name == "copy" for a in n.names)
    ]  # fmt: skip
    if imports:
        return ()
    later = [n for n in text.nodes if isinstance(n, ast.Import | ast.ImportFrom)]
    first = later[0] if later else None
    if isinstance(first, ast.ImportFrom) and first.module == "__future__":
        first = later[1] if len(later) > 1 else first
    return None if first is None else (write_before(text, first, "import copy"),)


def suggest_loader_in_order(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `shuffle=False` for the loader whose results are put in order."""
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is not None and place[0].around(place[1], ast.For) is not None:
        return  # it builds the loader of the training, too
    for word in place[1].keywords if place is not None else ():
        if word.arg == "shuffle" and place is not None:
            edit = Edit(place[0].span(word.value), "False")
            yield Fix("fits", "`shuffle=False`", (edit,))


def suggest_shuffle(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `shuffle=True` for the loader that trains on sorted data."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or get_called_name(call) != "DataLoader":
            continue
        words = [word for word in call.keywords if word.arg == "shuffle"]
        if not words and not any(word.arg is None for word in call.keywords):
            yield with_keyword(text, call, "shuffle=True")
        for word in words:
            if isinstance(word.value, ast.Constant):
                edit = Edit(text.span(word.value), "True")
                yield Fix("fits", "`shuffle=True`", (edit,))


def suggest_unit_length(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `F.normalize` for the side of a similarity that has no unit length."""
    op = program.op_at(finding.span, finding.module)
    raw = finding.message.partition(" has unit length and ")[2].partition(" has not")[0]
    places = find_tensor_expressions(program, op) if op is not None else []
    for at, place in enumerate(places):
        if place is None or f"`{text.line_of(place[0])}`" != raw:
            continue
        written = text.written(place[0])
        new = f"F.normalize({written}, dim={-1 if at == 0 else -2})"
        if "functional as F" not in text.text:
            new = f"nn.functional.{new.removeprefix('F.')}"
        fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(place[0]), new),))
        yield fix


def suggest_softmax_of_groups(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest weights that sum to one for each node, where the statement assigns a
    softmax along dim 0 to a name.
    """
    statement = text.statement_of(node) if isinstance(node, ast.expr) else None
    places = [program.call_at(related.span) for related in finding.related]
    op = program.op_at(finding.span)
    if not isinstance(statement, ast.Assign) or statement.value is not node or not op:
        return
    scores = find_tensor_expressions(program, op)
    added = places[0] if places else None
    if added is None or not scores or scores[0] is None or added[0] is not text:
        return
    call = added[1]
    index = call.args[1] if len(call.args) == 3 else None
    nodes = _write_count_of_rows(text, call)
    is_dim_0 = bool(call.args) and text.written(call.args[0]) == "0"
    name = statement.targets[0]
    is_index = isinstance(index, ast.Name | ast.Subscript) and is_dim_0
    is_sum = get_called_name(call).rstrip("_") == "index_add"
    if not isinstance(name, ast.Name) or not is_index or not nodes or not is_sum:
        return
    assert index is not None
    score, groups = text.written(scores[0][0]), text.written(index)
    if not isinstance(scores[0][0], ast.Name):
        score = f"({score})"
    first = f"{name.id} = ({score} - {score}.detach().max()).exp()"
    total = f"{name.id}.new_zeros({nodes}, *{name.id}.shape[1:])"
    second = f"{name.id} / {total}.index_add(0, {groups}, {name.id})[{groups}]"
    indent = text.lines[statement.lineno - 1][: statement.col_offset]
    rows = f"{indent}{first}\n{indent}{name.id} = {second}"
    yield Fix(
        "fits",
        f"`{first}` and `{name.id} = {second}`",
        (replace_lines(text, statement, rows),),
    )


def _write_count_of_rows(text: SourceText, call: ast.Call) -> str:
    """Write the rows of the zeros to which a call adds: `n` for `torch.zeros(n, 8)`."""
    target = call.func.value if isinstance(call.func, ast.Attribute) else None
    defined = find_defining(text, target.id) if isinstance(target, ast.Name) else []
    for value in (target, *defined):
        if not isinstance(value, ast.Call) or not value.args:
            continue
        first = value.args[0]
        if get_called_name(value) in ("zeros", "new_zeros"):
            if isinstance(first, ast.Tuple | ast.List) and first.elts:
                first = first.elts[0]
            return "" if isinstance(first, ast.Starred) else text.written(first)
        if get_called_name(value) == "zeros_like" and isinstance(first, ast.Name):
            return f"{text.written(first)}.size(0)"
    return ""


def suggest_one_seed(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to leave out a seed that is set in each epoch, and that of the GPUs."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    body: list[ast.stmt] = getattr(text.parent(statement), "body", [])
    seeds = [
        part
        for part in body
        if part is statement
        or (isinstance(part, ast.Expr) and get_called_name(part.value) in SEEDING)
    ]
    if isinstance(statement, ast.Expr) and len(body) > len(seeds):
        written = " and ".join(f"`{join_lines(text.written(part))}`" for part in seeds)
        edits = tuple(cut_lines(text, part) for part in seeds)
        yield Fix("fits", f"{written} left out", edits)


def suggest_fitted_scaler(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `transform` for the second `fit_transform` of a scaler."""
    func = node.func if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(func, ast.Attribute):
        if func.attr != "fit_transform" or isinstance(func.value, ast.Call):
            return
        written = text.written(node)
        new = f"{text.written(func.value)}.transform"
        shown = written.replace(".fit_transform", ".transform", 1)
        edit = Edit(text.span(func), new)
        yield Fix("fits", f"`{join_lines(shown)}`", (edit,))


def suggest_normalize(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the `Normalize` of one transform at the end of the other."""
    items = list_steps(node)
    for place in finding.related:
        other = program.call_at(place.span)
        norms = [
            item
            for item in (list_steps(other[1]) if other is not None else [])
            if "normali" in text.written(item).lower()
        ]
        if other is not None and norms and items:
            new = other[0].written(norms[0])
            edit = Edit(text.span(items[-1]).end, f", {new}")
            yield Fix("fits", f"`{join_lines(new)}` at its end", (edit,))


def suggest_end_of_episode(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest to multiply a discounted value by `1 - done`, or by its mask."""
    if "and nowhere else" in finding.message and isinstance(node, ast.expr):
        new = f"(1 - {text.written(node)})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return
    for flag in (program.node(place.span) for place in finding.related):
        if flag is None or not isinstance(node, ast.expr):
            continue
        name = flag[0].written(flag[1])
        start, end = ("", "") if is_factor(flag[0], name) else ("(1 - ", ")")
        for written in (name, f"{name}.float()"):
            new = f" * {start}{written}{end}"
            words = f"`{join_lines(text.written(node))}{new}`"
            yield Fix("fits", words, (Edit(text.span(node).end, new),))


def suggest_inverse_permutation(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the `argsort` of the first permutation: for what is sorted a second time,
    or where its order is used again.
    """
    first = program.node(finding.related[0].span) if finding.related else None
    assigned = text.statement_of(first[1]) if first is not None else None
    if first is None or first[0] is not text or not isinstance(assigned, ast.Assign):
        return
    target = assigned.targets[0]
    name = target.elts[-1] if isinstance(target, ast.Tuple) else target
    if not isinstance(name, ast.Name):
        return
    if isinstance(node, ast.Call) and get_called_name(node) == "argsort":
        owner = get_receiver(node)
        is_function = isinstance(owner, ast.Name) and owner.id == "torch"
        sorted_one = owner if not is_function else next(iter(node.args), None)
        words = {word.arg for word in node.keywords}
        if sorted_one is not None and "descending" not in words:
            place, start = text.span(sorted_one), text.span(node)
            new = text.written(node)
            if place.line == start.line:
                head, tail = (
                    new[: place.column - start.column],
                    new[place.end_column - start.column :],
                )
                edit = Edit(place, name.id)
                yield Fix("fits", f"`{head}{name.id}{join_lines(tail)}`", (edit,))
        return
    call = first[1]
    along = [word.value for word in getattr(call, "keywords", []) if word.arg == "dim"]
    dim = f"dim={text.written(along[0])}" if along else ""
    uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name.id]
    if len(uses) == 1:
        new = f"{name.id}.argsort({dim})"
        yield Fix("fits", f"`{new}`", (Edit(text.span(uses[0]), new),))


def suggest_one_repeat(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `repeat_interleave` for a `repeat` of rows that meet such rows."""
    for related in finding.related:
        place = program.call_at(related.span)
        owner = get_receiver(place[1]) if place is not None else None
        if place is None or owner is None or get_called_name(place[1]) != "repeat":
            continue
        first, *others = place[1].args
        rest = [part.value for part in others if isinstance(part, ast.Constant)]
        if len(rest) == len(others) and set(rest) <= {1}:
            count = place[0].written(first)
            new = f"{place[0].written(owner)}.repeat_interleave({count}, dim=0)"
            edit = Edit(place[0].span(place[1]), new)
            yield Fix("fits", f"`{join_lines(new)}`", (edit,))


def suggest_flip_of_result(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `model(x.flip(-1)).flip(-1)` for `model(x.flip(-1))`."""
    place = program.call_at(finding.related[0].span) if finding.related else None
    if place is None or place[0] is not text:
        return
    turn, owner = place[1], get_receiver(place[1])
    arguments = list(turn.args)
    if isinstance(owner, ast.Name) and owner.id == "torch":
        arguments = arguments[1:]
    written = [text.written(part) for part in (*arguments, *turn.keywords)]  # type: ignore[arg-type]
    name = get_called_name(turn)
    if name == "rot90" and written:
        written[0] = f"-{written[0]}"
    elif name != "flip":
        return
    held = text.parent(turn)
    calls = [held] if isinstance(held, ast.Call) and turn in held.args else []
    if isinstance(held, ast.Assign) and isinstance(held.targets[0], ast.Name):
        calls = [
            n
            for n in text.nodes
            if isinstance(n, ast.Call)
            and any(
                isinstance(part, ast.Name) and part.id == held.targets[0].id
                for part in n.args
            )
        ]
    if len(calls) == 1:
        back = f".{name}({', '.join(written)})"
        new = f"{text.written(calls[0])}{back}"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(calls[0]), new),))


def suggest_filtered_rows(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `boxes[mask][keep]` for `boxes[keep]`, wherever `keep` is used so."""
    for index in iter_filtered_indices(text):
        if index.uses[0] is not node:
            continue
        mask = text.written(index.mask)
        rows = [f"{text.written(use.value)}[{mask}]" for use in index.uses]
        pairs = zip(index.uses, rows, strict=True)
        edits = [Edit(text.span(use.value), new) for use, new in pairs]
        words = f"`{rows[0]}[{text.written(index.uses[0].slice)}]`"
        more = len(edits) - 1
        yield Fix("fits", words + (f", and {more} more" if more else ""), tuple(edits))
