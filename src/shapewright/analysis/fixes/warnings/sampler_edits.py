"""Edits for samplers that are not told the epoch, or were made of another data set, and
streams that do not ask for their worker.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.analysis.training_mistakes.other_samplers import (
    SampledLoader,
    find_sampled,
    iter_mismatched,
    read_part,
)
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_dotted_name,
    iter_assignments,
)


def suggest_set_epoch(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `sampler.set_epoch(epoch)` as the first statement of the epochs' loop."""
    line = finding.span.line if finding.span is not None else 0
    for loop in text.for_loops(line):
        if not isinstance(loop.target, ast.Name):
            continue
        for owner, condition in _iter_owners(program, finding, text, loop):
            new = shown = f"{owner}.set_epoch({loop.target.id})"
            if condition:
                indent = " " * loop.body[0].col_offset
                new = f"if {condition}:\n{indent}    {new}"
            yield Fix("fits", f"`{shown}`", (write_before(text, loop.body[0], new),))


def _iter_owners(
    program: Program, finding: Finding, text: SourceText, loop: ast.For
) -> Iterator[tuple[str, str]]:
    """Yield how a loop can name the sampler, with the condition under which it is one,
    empty if it always is: by its own name, or as that of its loader.
    """
    for related in finding.related:
        place = program.call_at(related.span)
        own = list(_iter_own_names(text, place[1], loop)) if place else []
        if own and place is not None and place[0] is text:
            yield from own
            return
    for loader in _find_loaders(program, finding, text, loop):
        if _is_in_scope(text, loader, loop):
            yield f"{text.written(loader)}.{_find_way(text, loader)}", ""


def _iter_own_names(
    text: SourceText, call: ast.Call, loop: ast.For
) -> Iterator[tuple[str, str]]:
    """Yield the name that a sampler is assigned where a loop can read it."""
    statement = text.statement_of(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    name = get_dotted_name(target)
    if target is None or not name or not _is_in_scope(text, target, loop):
        return
    values = [
        value
        for node in text.nodes
        if isinstance(node, ast.Assign)
        and get_dotted_name(node.targets[0]) == name
        and text.around(node, *FUNCTIONS) is text.around(statement, *FUNCTIONS)
        for value in _list_branches(node.value)
    ]
    others = [value for value in values if value is not call]
    is_none = [isinstance(v, ast.Constant) and v.value is None for v in others]
    if len(others) == len(values):
        return
    if not others:
        yield name, ""
    elif all(is_none):
        yield name, f"{name} is not None"
    else:
        yield name, f"isinstance({name}, {get_dotted_name(call.func)})"


def _list_branches(node: ast.expr) -> list[ast.expr]:
    """Return what an expression may be: both sides of `a if condition else b`."""
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node]


def _is_in_scope(text: SourceText, node: ast.expr, loop: ast.For) -> bool:
    """Return whether what an expression names has that name in a loop, too."""
    mine, its = (text.around(part, *FUNCTIONS) for part in (node, loop))
    if get_dotted_name(node).startswith("self."):
        classes = [text.around(part, ast.ClassDef) for part in (node, loop)]
        return classes[0] is not None and classes[0] is classes[1]
    return mine is None or mine is its


def _find_loaders(
    program: Program, finding: Finding, text: SourceText, loop: ast.For
) -> Iterator[ast.expr]:
    """Yield the loader that is read, as the loop over epochs names it."""
    for related in finding.related:
        where = program.text(related.span.file)
        if where is None:
            continue
        for reading in where.for_loops(related.span.line):
            loader = _strip_wrappers(reading.iter)
            function = where.around(reading, ast.FunctionDef)
            if where is text and function is text.around(loop, ast.FunctionDef):
                yield loader
            elif function is not None and isinstance(loader, ast.Name):
                yield from _find_argument(loop, function, loader.id)


def _strip_wrappers(node: ast.expr) -> ast.expr:
    """Return the loader in `enumerate(tqdm(loader))`."""
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return node


def _find_argument(
    loop: ast.For, function: ast.FunctionDef, name: str
) -> Iterator[ast.expr]:
    """Yield what calls of a function in a loop give for a parameter."""
    names = [argument.arg for argument in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    for call in ast.walk(loop):
        if isinstance(call, ast.Call) and get_called_name(call) == function.name:
            values = dict(zip(names, call.args, strict=False))
            values.update({word.arg: word.value for word in call.keywords if word.arg})
            value = values.get(name)
            if isinstance(value, ast.Name | ast.Attribute):
                yield value


def _find_way(text: SourceText, loader: ast.expr) -> str:
    """Return the attributes that lead from a loader to its sampler."""
    name = get_dotted_name(loader).rpartition(".")[2]
    for value in find_defining(text, name):
        words = [word.arg for word in getattr(value, "keywords", ())]
        if "batch_sampler" in words:
            return "batch_sampler.sampler"
    return "sampler"


SHARE = (
    "worker = torch.utils.data.get_worker_info()",
    "start, step = (worker.id, worker.num_workers) if worker else (0, 1)",
)


def suggest_share_of_worker(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest that each worker of a stream yields a share of its samples."""
    place = program.node(finding.related[0].span) if finding.related else None
    reader = place[0].around(place[1], ast.FunctionDef) if place is not None else None
    if place is None or reader is None:
        return
    where = place[0]
    loops = [part for part in reader.body if isinstance(part, ast.For)]
    names = collect_names(reader) & {"worker", "start", "step"}
    if len(loops) != 1 or names or "import torch\n" not in where.text:
        return
    loop = loops[0]
    before = {
        name
        for part in reader.body[: reader.body.index(loop)]
        for name in collect_names(part, ast.Store)
    }
    kept = [
        part
        for part in ast.walk(loop)
        if (isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)
            and part.value.id in before and part.attr in KEEPING)
        or (isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            and part.id in before)
    ]  # fmt: skip
    yields = [part for part in ast.walk(loop) if isinstance(part, YIELDS)]
    if kept or not yields or reader.body[-1] is not loop:
        return  # what it yields depends on the samples before
    head = _write_share(where, loop.iter)
    indent = " " * loop.col_offset
    edits = [
        write_before(where, loop, f"\n{indent}".join(SHARE)),
        Edit(where.span(loop.iter), head),
    ]
    if head.startswith("itertools.") and "import itertools" not in where.text:
        first = next(n for n in where.nodes if isinstance(n, ast.Import))
        edits.append(write_before(where, first, "import itertools"))
    yield Fix("fits", f"`{SHARE[0]}`, and `{head}`", tuple(edits))


YIELDS = (ast.Yield, ast.YieldFrom)
KEEPING = frozenset({"append", "extend", "add", "update", "appendleft", "pop"})


def _write_share(text: SourceText, iterated: ast.expr) -> str:
    """Return what a worker goes over, of what a loop goes over."""
    if get_called_name(iterated) == "range" and isinstance(iterated, ast.Call):
        if len(iterated.args) == 1:
            return f"range(start, {text.written(iterated.args[0])}, step)"
        if len(iterated.args) == 2:
            first, last = map(text.written, iterated.args)
            return f"range({first} + start, {last}, step)"
    return f"itertools.islice({text.written(iterated)}, start, None, step)"


def suggest_sampled_data(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the data set of the part that the name of a loader says, for the loader
    or for its sampler.
    """
    for loader in iter_mismatched(text):
        if loader.data is not node:
            continue
        statement = text.statement_of(loader.call)
        names = statement.targets if isinstance(statement, ast.Assign) else []
        part = read_part(text, names[0]) if len(names) == 1 else ""
        data, sampled = text.written(loader.data), text.written(loader.sampled)
        if part == read_part(text, loader.sampled):
            edit = Edit(text.span(loader.data), sampled)
            yield Fix("fits", f"`DataLoader({sampled}, ...)`", (edit,))
        elif part and loader.sampled in ast.walk(loader.sampler):
            edit = Edit(text.span(loader.sampled), data)
            yield Fix("fits", f"`{loader.sampler.arg}` of `{data}`", (edit,))
        elif part:
            yield from _suggest_own_sampler(text, loader)


def _suggest_own_sampler(text: SourceText, loader: SampledLoader) -> Iterator[Fix]:
    """Suggest the only other sampler, which was made of the loader's data set."""
    data = text.written(loader.data)
    names = [
        text.written(target)
        for target, value in iter_assignments(text.tree)
        if isinstance(target, ast.Name | ast.Attribute)
        if (sampled := find_sampled(text, value)) is not None
        if text.written(sampled) == data and target is not loader.sampler.value
    ]
    if len(names) == 1:
        edit = Edit(text.span(loader.sampler.value), names[0])
        yield Fix("fits", f"`{loader.sampler.arg}={names[0]}`", (edit,))
