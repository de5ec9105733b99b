"""Find numbers that each batch assigns anew, or sets to zero, and that are read behind
the loop as if they had been added up: `running_loss = loss.item()`; lists that each
batch makes anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.training_mistakes.additions import (
    VALUES,
    get_addition,
    is_same,
    is_set_between,
    iter_divisions,
)
from shapewright.analysis.training_mistakes.batch_loops import iter_batch_loops
from shapewright.analysis.training_mistakes.context import (
    RehearsalContext,
    StoryLoop,
    build_finding,
)
from shapewright.analysis.training_mistakes.kept_lists import GROWING
from shapewright.analysis.training_mistakes.loss_averages import find_mean
from shapewright.analysis.training_mistakes.sample_counts import is_sample_count
from shapewright.findings.codes import LOSS_OVERWRITTEN
from shapewright.findings.finding import Finding
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    LOOPS,
    collect_names,
    get_called_name,
    get_iterated,
    get_last_line,
)


def find_overwritten_sums(scene: RehearsalContext) -> Iterator[Finding]:
    """Find numbers that start at zero before a loop over batches, are assigned in it,
    and are divided by the number of all samples or batches behind it.
    """
    for loop in iter_batch_loops(scene):
        for statement in _iter_plain(loop.node.body):
            place = _find_division(loop, statement)
            if place is None:
                continue
            text, name = loop.text, ast.unparse(statement.targets[0])
            node, divisor, what = place
            mean = find_mean(scene, text, loop.node, statement.value)
            is_mean = mean is not None and what == "samples"
            kept = "the mean of the last batch" if is_mean else "that of the last batch"
            yield build_finding(
                LOSS_OVERWRITTEN,
                f"each batch assigns `{name}` anew, and `{text.line_of(node)}` divides"
                f" {kept} by the number of all {what}",
                text.span(statement),
                (
                    text.span(divisor),
                    f"`{name}` is divided by this, as if it were a sum",
                ),
            )


def find_sums_set_to_zero(scene: RehearsalContext) -> Iterator[Finding]:
    """Find sums that each batch sets to zero, and lists that each batch makes anew,
    which are read behind the loop only.
    """
    for loop in iter_batch_loops(scene):
        resets = [
            (statement, name, is_list)
            for statement in _iter_plain(loop.node.body, several=True)
            for name in sorted(collect_names(statement, ast.Store))
            for is_list in (False, True)
            if _is_begun(loop, statement, name, is_list=is_list)
        ]
        if not resets or _can_leave(loop):
            continue
        names = " and ".join(f"`{name}`" for _, name, _ in resets)
        use = _find_use_behind(loop, resets[0][1])
        are_lists = {is_list for _, _, is_list in resets}
        what = f"sets {names} to 0 again" if are_lists == {False} else ""
        what = what or f"makes {names} anew"
        verb = "holds" if True in are_lists else "counts"
        subject = f"it {verb}" if len(resets) == 1 else f"they {verb[:-1]}"
        yield build_finding(
            LOSS_OVERWRITTEN,
            f"each batch {what}: behind the loop {subject} the last batch only",
            loop.text.span(resets[0][0]),
            (loop.text.span(use) if use is not None else None, "it is read here"),
            *((loop.text.span(other), "and here") for other, _, _ in resets[1:]),
        )


def _is_begun(
    loop: StoryLoop, statement: ast.Assign, name: str, *, is_list: bool
) -> bool:
    """Return whether a statement of a loop sets a sum to zero, or makes a list, that
    the loop fills and that is read behind it.
    """
    if is_list:
        is_start = _is_empty_list(_get_value(statement, name))
        return is_start and _is_list_of_loop(loop, statement, name)
    return _is_set_to_zero(statement, name) and _is_sum_of_loop(loop, statement, name)


def _can_leave(loop: StoryLoop) -> bool:
    """Return whether a loop may end before its last batch, as a search does."""
    return any(
        isinstance(node, ast.Break) and loop.text.around(node, *LOOPS) is loop.node
        for node in ast.walk(loop.node)
    )


def _is_empty_list(value: ast.expr | None) -> bool:
    """Return whether an expression is `[]` or `list()`."""
    if isinstance(value, ast.Call):
        return get_called_name(value) == "list" and not value.args
    return isinstance(value, ast.List) and not value.elts


def _is_list_of_loop(loop: StoryLoop, start: ast.Assign, name: str) -> bool:
    """Return whether a loop does nothing with the list that it makes but fill it once
    in a turn, and the list is read behind the loop.

    Several items of a turn may be a picture of the last batch.
    """
    nodes = _list_uses(loop.node, name)
    fillings = [
        statement
        for statement in ast.walk(loop.node)
        if isinstance(statement, ast.stmt) and _is_filling(statement, name)
        if statement.lineno > start.lineno
        if loop.text.around(statement, *LOOPS, *FUNCTIONS) is loop.node
    ]
    if len(fillings) != 1 or len(nodes) != 2 or "last" in name.lower():
        return False
    return _find_use_behind(loop, name) is not None and not _is_read_elsewhere(
        loop, name
    )


def _is_filling(statement: ast.stmt, name: str) -> bool:
    """Return whether a statement puts items into a list."""
    if isinstance(statement, ast.AugAssign):
        return get_addition(statement)[0] == name
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or get_called_name(call) not in GROWING:
        return False
    owner = get_receiver(call)
    return isinstance(owner, ast.Name) and owner.id == name


def _is_read_elsewhere(loop: StoryLoop, name: str) -> bool:
    """Return whether a function reads the list of a loop that stands in no function:
    the loop may call it.
    """
    tree = loop.text.tree
    if tree is None or loop.text.around(loop.node, *FUNCTIONS) is not None:
        return False
    return any(
        loop.text.around(use, *FUNCTIONS) is not None for use in _list_uses(tree, name)
    )


def find_sums_as_losses(scene: RehearsalContext) -> Iterator[Finding]:
    """Find sums that start at zero, whose name each batch gives to its loss: what came
    together before is lost.
    """
    for loop in iter_batch_loops(scene):
        for statement in _iter_plain(loop.node.body):
            text, name = loop.text, ast.unparse(statement.targets[0])
            place = _find_use_as_sum(loop, statement, name)
            if place is None:
                continue
            use, what = place
            mean = find_mean(scene, text, loop.node, statement.value)
            is_mean = mean is not None and what == "samples"
            parts = "means, times their samples" if is_mean else "batches"
            yield build_finding(
                LOSS_OVERWRITTEN,
                f"`{name}` is the sum and the loss of a batch: each batch sets it anew,"
                " so that behind the loop it counts the last batch only",
                text.span(statement),
                (text.span(use), f"it is read as the sum of all {parts}"),
            )


def _find_use_as_sum(
    loop: StoryLoop, statement: ast.Assign, name: str
) -> tuple[ast.expr | ast.stmt, str] | None:
    """Return where a sum is read behind its loop, and of what, if a statement gives its
    name to a loss, which the loop reads as such: it is added to itself, or is divided
    behind the loop by the number of batches or samples.
    """
    if not isinstance(statement.value, ast.Call):
        return None
    if not collect_names(statement.value) & collect_names(loop.node, ast.Store):
        return None
    if name in collect_names(statement.value):
        return None
    if not _is_zero_before(loop.text, loop.node, name):
        return None
    additions = list_additions(loop.node, name)
    own = list_losses_of_sum(loop.node, statement, name)
    stores = [n for n in _list_uses(loop.node, name) if isinstance(n.ctx, ast.Store)]
    if len(own) < 2 or len(stores) != 1 + len(additions):
        return None
    if not additions:
        place = find_count_behind(loop, statement, name)
        return (place[0], place[2]) if place is not None else None
    is_own = all(
        any(_is_value(loop.text, use) for use in own if use in ast.walk(addition))
        for addition in additions
    )
    use = _find_use_behind(loop, name)
    return (use, "batches") if is_own and use is not None else None


def list_additions(loop: ast.AST, name: str) -> list[ast.stmt]:
    """Return the statements of a loop that add a number to a total."""
    return [
        node
        for node in ast.walk(loop)
        if isinstance(node, ast.stmt) and not isinstance(node, ast.Expr)
        if get_addition(node)[0] == name
    ]


def list_losses_of_sum(
    loop: ast.AST, statement: ast.Assign, name: str
) -> list[ast.Name]:
    """Return the places in a loop at which the name of a sum stands for the loss that a
    statement gives to it: all but the totals of the additions.
    """
    added = [get_addition(node)[1] for node in list_additions(loop, name)]
    inside = {part for node in added if node is not None for part in ast.walk(node)}
    additions = [part for n in list_additions(loop, name) for part in ast.walk(n)]
    return [
        node
        for node in _list_uses(loop, name)
        if node not in additions or node in inside
    ]


def _is_value(text: SourceText, use: ast.Name) -> bool:
    """Return whether the number of a loss is read: `loss.item()`, `float(loss)`."""
    outer = text.parent(use)
    if isinstance(outer, ast.Call):
        return get_called_name(outer) == "float"
    return isinstance(outer, ast.Attribute) and outer.attr in VALUES


def _is_sum_of_loop(loop: StoryLoop, reset: ast.Assign, name: str) -> bool:
    """Return whether a name that a loop sets to zero is only added to in it, and read
    behind it.
    """
    nodes = [n for n in ast.walk(loop.node) if isinstance(n, ast.Name) and n.id == name]
    sums = [
        statement
        for statement in ast.walk(loop.node)
        if isinstance(statement, ast.stmt) and get_addition(statement)[0] == name
        if not get_addition(statement)[2] and statement.lineno > reset.lineno
        if loop.text.around(statement, ast.For) is loop.node
    ]
    own = sum(len(_list_uses(statement, name)) for statement in sums) + 1
    is_read = _find_use_behind(loop, name) is not None
    return bool(sums) and len(nodes) == own and is_read


def _list_uses(statement: ast.AST, name: str) -> list[ast.Name]:
    """Return the places at which a statement names a number."""
    return [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id == name
    ]


def _find_use_behind(loop: StoryLoop, name: str) -> ast.Name | None:
    """Return the first place behind a loop, in its function, that reads a number which
    nothing has set again.
    """
    function = loop.text.around(loop.node, *FUNCTIONS)
    last = get_last_line(loop.node)
    uses = [
        node
        for node in (ast.walk(function) if function is not None else loop.text.nodes)
        if isinstance(node, ast.Name) and node.id == name and node.lineno > last
    ]
    uses.sort(key=lambda node: (node.lineno, node.col_offset))
    first = next(iter(uses), None)
    if first is not None and isinstance(first.ctx, ast.Store):
        # `rows = np.array(rows)` reads the name before it sets it.
        own = _list_reads(loop.text.statement_of(first), name)
        first = next(iter(own), first)
    if first is None or not isinstance(first.ctx, ast.Load):
        return None
    return first


def _list_reads(statement: ast.stmt, name: str) -> list[ast.Name]:
    """Return the places at which an assignment of a name reads it."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return _list_uses(value, name) if value is not None else []


def _iter_plain(body: list[ast.stmt], *, several: bool = False) -> Iterator[ast.Assign]:
    """Yield the assignments of one name, or of several, that each turn of a loop
    runs.
    """
    for statement in body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name) or (
                several and isinstance(target, ast.Tuple)
            ):
                yield statement
        elif isinstance(statement, ast.With):
            yield from _iter_plain(statement.body, several=several)


def _find_division(
    loop: StoryLoop, statement: ast.Assign
) -> tuple[ast.expr | ast.stmt, ast.expr, str] | None:
    """Return the division behind a loop of the number that a statement in it assigns,
    with the divisor and what it counts, where nothing in the loop reads the number.
    """
    text, name = loop.text, ast.unparse(statement.targets[0])
    inside = [node for node in ast.walk(loop.node) if isinstance(node, ast.Name)]
    if [node.id for node in inside].count(name) != 1:
        return None
    if not _is_zero_before(text, loop.node, name):
        return None
    if not collect_names(statement.value) & collect_names(loop.node, ast.Store):
        return None
    return find_count_behind(loop, statement, name)


def find_count_behind(
    loop: StoryLoop, statement: ast.Assign, name: str
) -> tuple[ast.expr | ast.stmt, ast.expr, str] | None:
    """Return the division of a number behind a loop by that of all samples or batches,
    with the divisor and what it counts.
    """
    text = loop.text
    for place, divided, divisor in iter_divisions(text, loop.node):
        if not is_same(divided, name) or is_set_between(text, loop.node, name, place):
            continue
        if is_sample_count(text, divisor, place, (loop.node, statement)):
            return place, divisor, "samples"
        if _is_batch_count(loop.node, divisor):
            return place, divisor, "batches"
    return None


def _is_zero_before(text: SourceText, loop: ast.For, name: str) -> bool:
    """Return whether the last statement before a loop, in its block or around a `with`,
    that assigns a name sets it to zero.
    """
    around: ast.AST | None = loop
    while isinstance(around, ast.For | ast.With):
        parent = text.parent(around)
        block = getattr(parent, "body", [])
        before = [node for node in block if node.lineno < around.lineno]
        for node in reversed(before):
            if isinstance(node, ast.Assign) and name in collect_names(node, ast.Store):
                return _is_set_to_zero(node, name)
        if around is not loop and isinstance(around, ast.For):
            return False
        around = parent if isinstance(parent, ast.With) else None
    return False


def _is_set_to_zero(node: ast.Assign, name: str) -> bool:
    """Return whether an assignment, of several names as well, sets a name to zero."""
    value = _get_value(node, name)
    return isinstance(value, ast.Constant) and value.value == 0


def _get_value(node: ast.Assign, name: str) -> ast.expr | None:
    """Return what an assignment, of several names as well, gives to a name."""
    for target in node.targets:
        if isinstance(target, ast.Tuple):
            names = [ast.unparse(part) for part in target.elts]
            values = getattr(node.value, "elts", [])
            if name in names and len(values) == len(names):
                value: ast.expr = values[names.index(name)]
                return value
        elif ast.unparse(target) == name:
            return node.value
    return None


def _is_batch_count(loop: ast.For, divisor: ast.expr) -> bool:
    """Return whether a number is the number of batches of a loop: the length of what it
    goes over, or a count of its turns.
    """
    written = ast.unparse(divisor)
    if written == f"len({ast.unparse(get_iterated(loop.iter))})":
        return True
    steps = [get_addition(node) for node in loop.body]
    return any(
        total == written and isinstance(added, ast.Constant) and added.value == 1
        for total, added, _ in steps
    )
