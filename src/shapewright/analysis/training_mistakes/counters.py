"""Find counts of one loop that are printed in the place of those of another, and counts
of an epoch that go on counting in the next.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.accuracies import is_training
from shapewright.analysis.training_mistakes.additions import (
    get_addition,
    is_same,
    iter_divisions,
)
from shapewright.analysis.training_mistakes.batch_loops import (
    iter_batch_loops,
    iter_loops,
    match_arguments,
)
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.kept_lists import iter_kept_lists
from shapewright.analysis.training_mistakes.meters import iter_meter_calls
from shapewright.analysis.training_mistakes.other_lengths import find_other_lengths
from shapewright.analysis.training_mistakes.unread_sums import find_unread_sums
from shapewright.findings.codes import COUNT_NOT_READ, COUNT_NOT_RESET, looks_for
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_last_line,
    get_last_name,
    iter_assignments,
    list_arguments,
)
from shapewright.program.unread_counts import find_unread_counts


@looks_for(COUNT_NOT_READ)
def find_counts_not_read(scene: RehearsalContext) -> Iterator[Finding]:
    """Find counts that are never read where the count of an earlier loop is, or the
    loss of the last batch, and sums that are divided by the length of another loader.
    """
    for text in scene.program.own_texts():
        is_main = scene.program.trace.target.endswith(text.file)
        for unread in find_unread_counts(text, is_main):
            names = " and ".join(f"`{name}`" for name, _ in unread.pairs)
            others = " and ".join(f"`{other}`" for _, other in unread.pairs)
            many = len(unread.pairs) > 1
            places = [
                (text.span(addition), f"`{text.written(addition)}`, in the loop above")
                for addition in unread.additions
            ]
            yield build_finding(
                COUNT_NOT_READ,
                f"{others} {'are' if many else 'is'} of an earlier loop:"
                f" {names} {'are' if many else 'is'} counted in the loop above and"
                " never read",
                text.span(unread.statement),
                *places,
            )
    yield from find_other_lengths(scene)
    yield from find_unread_sums(scene)


ON_PURPOSE = ("global", "overall", "cumul", "lifetime", "so_far", "all_", "ema")
"""Parts of names that say that a count goes on from epoch to epoch."""


@looks_for(COUNT_NOT_RESET)
def find_counts_not_reset(scene: RehearsalContext) -> Iterator[Finding]:
    """Find averages of an epoch whose sums hold those of all epochs before."""
    seen: set[tuple[str, int]] = set()
    batches = {loop.node for loop in iter_batch_loops(scene)}
    for loop in _iter_inner_loops(scene):
        place = loop.moment.file, loop.moment.line
        epochs = loop.text.around(loop.node, ast.For, ast.FunctionDef)
        if place in seen or not isinstance(epochs, ast.For) or not loop.outer:
            continue
        seen.add(place)
        outer = loop.outer[-1]
        same = (outer.file, outer.line) == (loop.moment.file, epochs.lineno)
        if same and (outer.total is None or outer.total > 1):
            yield from _find_not_reset(loop, epochs)
            yield from _find_meter_not_reset(loop, epochs)
            if loop.node in batches:
                yield from _find_lists_not_reset(loop, epochs)


def _find_lists_not_reset(loop: StoryLoop, epochs: ast.For) -> Iterator[Finding]:
    """Yield the finding for the lists of a loop that go on in the next epoch."""
    text = loop.text
    for name, reader, start, growth in iter_kept_lists(text, loop.node, epochs):
        if any(part in name for part in ON_PURPOSE):
            continue
        yield build_finding(
            COUNT_NOT_RESET,
            f"`{name}` is made once, before the loop over epochs, and never emptied:"
            f" `{text.line_of(reader)}` is of all epochs so far, not of this one",
            text.span(reader),
            (text.span(start), "made here"),
            (text.span(epochs.target), "the loop over epochs"),
            (text.span(growth), "it grows here"),
        )
        return


def _iter_inner_loops(scene: RehearsalContext) -> Iterator[StoryLoop]:
    """Yield the loops over batches, of any data, that stand in another loop."""
    yield from iter_batch_loops(scene)
    yield from iter_loops(scene, scene.rehearsal.story, ())


def _collect_sums(text: SourceText, loop: ast.For) -> dict[str, ast.stmt]:
    """Return the sums that a loop adds up, or functions of the program that it calls,
    with the first addition to each.
    """
    sums: dict[str, ast.stmt] = {}
    for node in ast.walk(loop):
        if isinstance(node, ast.stmt):
            name, _, is_list = get_addition(node)
            if name and not is_list:
                sums.setdefault(name, node)
        functions = text.functions(get_called_name(node))
        if not isinstance(node, ast.Call) or len(functions) != 1:
            continue
        names = match_arguments(functions[0][1], node)
        for inner in ast.walk(functions[0][1]):
            if not isinstance(inner, ast.stmt):
                continue
            name, _, is_list = get_addition(inner)
            root = re.split(r"[.\[]", name)[0]
            is_own = root == "self" and ast.unparse(node.func).startswith("self.")
            if name and not is_list and (root in names or is_own):
                name = names.get(root, root) + name[len(root) :]
                sums.setdefault(name, inner)
    return sums


def _find_not_reset(loop: StoryLoop, epochs: ast.For) -> Iterator[Finding]:
    """Yield the finding for the sums of a loop that go on in the next epoch."""
    text = loop.text
    sums = _collect_sums(text, loop.node)
    starts = {name: _find_only_start(text, epochs, name) for name in sums}
    kept = {name for name, start in starts.items() if start is not None}
    kept = {name for name in kept if not any(p in name for p in ON_PURPOSE)}
    later = _find_read_later(text, epochs)
    kept = {name for name in kept if not {name, name.partition("[")[0]} & later}
    for place, divided, divisor in iter_divisions(text, loop.node):
        names = [name for name in sorted(kept) if is_same(divided, name)]
        if not names or place.lineno > get_last_line(epochs):
            continue
        if isinstance(place, ast.AugAssign):
            continue
        by = ast.unparse(divisor)
        is_constant = get_called_name(divisor) == "len"
        counts = "==" in ast.unparse(sums[names[0]]) or not is_training(loop.moment)
        start = starts[names[0]]
        is_of_epoch = by in sums and by in _list_set_to_zero(epochs)
        if start is None or not (is_constant or is_of_epoch or (by in kept and counts)):
            continue
        others = [name for name in (*names, by) if name in kept]
        what = " and ".join(f"`{name}`" for name in dict.fromkeys(others))
        verb = "begin" if len(set(others)) > 1 else "begins"
        yield build_finding(
            COUNT_NOT_RESET,
            f"{what} {verb} at zero once, before the loop over epochs:"
            f" `{text.line_of(place)}` is of all epochs so far, not of this one",
            text.span(place),
            (text.span(start), "set to zero here"),
            (text.span(epochs.target), "the loop over epochs"),
            (text.span(sums[names[0]]), "it grows here"),
        )
        return


def _list_set_to_zero(epochs: ast.For) -> set[str]:
    """Return the names that each epoch sets to zero."""
    return {
        ast.unparse(target)
        for target, value in iter_assignments(epochs, unpacked=True)
        if isinstance(value, ast.Constant) and value.value == 0
    }


def _find_meter_not_reset(loop: StoryLoop, epochs: ast.For) -> Iterator[Finding]:
    """Yield the finding for an object that averages, is built before the loop over
    epochs, and whose mean of all epochs is read in each.
    """
    text = loop.text
    later = _find_read_later(text, epochs)
    for call in iter_meter_calls(text, loop.node):
        meter, owner = call.meter, call.owner
        root = owner.partition("[")[0]
        start = _find_start_of_meter(text, epochs, root, meter.name)
        if start is None or root in later or any(p in root for p in ON_PURPOSE):
            continue
        reader = text.around(meter.division, ast.FunctionDef)
        words = {reader.name} if reader is not None else set()
        if isinstance(parent := text.parent(meter.division), ast.Assign):
            words |= {get_last_name(target) for target in parent.targets}
        inside = [node for node in ast.walk(epochs) if isinstance(node, ast.Attribute)]
        uses = [node for node in inside if ast.unparse(node.value) == owner]
        known = words | {meter.method.name}
        means = [
            node
            for node in uses
            if node.attr in words and node.lineno > get_last_line(loop.node)
        ]
        shown: list[ast.expr] = [*means, *_list_shown(text, loop.node, epochs, owner)]
        if not shown or any(use.attr not in known and _is_call(text, use)
                            for use in uses):  # fmt: skip
            continue  # one of its own methods may begin anew
        yield build_finding(
            COUNT_NOT_RESET,
            f"`{owner}` is built once, before the loop over epochs, and never begins"
            f" anew: `{text.line_of(shown[0])}` is of all epochs so far",
            text.span(shown[0]),
            (text.span(start), "built here"),
            (text.span(epochs.target), "the loop over epochs"),
            (text.span(call.node), "it grows here"),
        )
        return


def _list_shown(
    text: SourceText, loop: ast.For, epochs: ast.For, owner: str
) -> list[ast.expr]:
    """Return where a meter is printed as a whole, below a loop over batches."""
    return [
        node
        for node in ast.walk(epochs)
        if isinstance(node, ast.Name | ast.Attribute)
        and ast.unparse(node) == owner
        and node.lineno > get_last_line(loop)
        and (
            isinstance(text.parent(node), ast.FormattedValue)
            or get_called_name(text.parent(node) or node) in PRINTING
        )
    ]


PRINTING = frozenset({"print", "str", "info"})


def _is_call(text: SourceText, use: ast.Attribute) -> bool:
    """Return whether an attribute is called."""
    parent = text.parent(use)
    return isinstance(parent, ast.Call) and parent.func is use


def _find_start_of_meter(
    text: SourceText, epochs: ast.For, root: str, name: str
) -> ast.stmt | None:
    """Return the statement beside the loop over epochs that builds a meter, if nothing
    in that loop may replace it.
    """
    beside = text.parent(epochs)
    starts = []
    for target, value in iter_assignments(text.around(epochs, *FUNCTIONS, ast.Module)):
        aims = target.elts if isinstance(target, ast.Tuple) else [target]
        if root in [ast.unparse(aim).partition("[")[0] for aim in aims]:
            starts.append((text.statement_of(target), value))
    for node in ast.walk(epochs):
        if not isinstance(node, ast.Call):
            continue
        passed = [ast.unparse(arg) for arg in list_arguments(node)]
        if root in passed and get_called_name(node) not in PRINTING:
            return None  # whatever gets it may reset it
    if len(starts) != 1 or text.parent(starts[0][0]) is not beside:
        return None
    statement, value = starts[0]
    is_built = any(get_called_name(part) == name for part in ast.walk(value))
    return statement if is_built and statement.lineno < epochs.lineno else None


def _find_only_start(text: SourceText, epochs: ast.For, name: str) -> ast.stmt | None:
    """Return the assignment of zero before the epochs, if it is a name's only one.

    An attribute begins in the constructor of its object, an entry with its dict.
    """
    root, bracket, _ = name.partition("[")
    is_own = root.startswith("self.")
    scope = text.tree if is_own else text.around(epochs, ast.FunctionDef, ast.Module)
    starts: list[ast.stmt] = []
    for target, value in iter_assignments(scope):
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for part, number in pairs:
            word = ast.unparse(part)
            is_entry = bool(bracket) and word.partition("[")[0] == root
            if word != root and not is_entry:
                continue
            if name in collect_names(number):
                continue
            if is_entry and word != root:
                return None
            if not _is_zero(number, bool(bracket)):
                return None
            starts.append(text.statement_of(part))
    if bracket and _is_emptied(text, epochs, root):
        return None
    if len(starts) != 1:
        return None
    if is_own:
        function = text.around(starts[0], ast.FunctionDef)
        is_first = function is not None and function.name == "__init__"
        within = text.around(epochs, ast.ClassDef)
        same = within is not None and text.around(starts[0], ast.ClassDef) is within
        return starts[0] if is_first and same else None
    beside = text.parent(epochs)
    alone = text.parent(starts[0]) is beside
    return starts[0] if alone and starts[0].lineno < epochs.lineno else None


def _is_zero(value: ast.expr, is_dict: bool) -> bool:
    """Return whether a value is zero, or a dict of zeros."""
    if not is_dict:
        return isinstance(value, ast.Constant) and value.value == 0
    if isinstance(value, ast.Dict):
        return all(isinstance(item, ast.Constant) for item in value.values)
    if isinstance(value, ast.DictComp):
        return isinstance(value.value, ast.Constant)
    called = get_called_name(value)
    return called in ("fromkeys", "defaultdict", "Counter", "zeros", "dict")


def _is_emptied(text: SourceText, epochs: ast.For, root: str) -> bool:
    """Return whether a dict may be emptied in a loop: by a method, or by what else gets
    it and sets its entries.
    """
    for node in ast.walk(epochs):
        if not isinstance(node, ast.Call):
            continue
        func = node.func
        is_method = isinstance(func, ast.Attribute) and ast.unparse(func.value) == root
        if is_method and get_called_name(node) in ("clear", "update", "pop"):
            return True
        if root not in [ast.unparse(part) for part in list_arguments(node)]:
            continue
        functions = text.functions(get_called_name(node))
        if len(functions) > 1:
            return True
        for _, function in functions:
            names = match_arguments(function, node)
            own = {key for key, word in names.items() if word == root}
            for inner in ast.walk(function):
                if isinstance(inner, ast.Assign) and any(
                    isinstance(target, ast.Subscript)
                    and ast.unparse(target.value) in own
                    for target in inner.targets
                ):
                    return True
                called = get_called_name(inner)
                if called in ("clear", "update", "pop"):
                    return True
    return False


def _find_read_later(text: SourceText, epochs: ast.For) -> set[str]:
    """Return the names that are read behind the loop over epochs."""
    function = text.around(epochs, ast.FunctionDef, ast.Module)
    last = get_last_line(epochs)
    return {
        ast.unparse(node)
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Name | ast.Attribute) and node.lineno > last
    }
