"""The counters of a loop, the conditions that depend on them, and the values that a
turn passes to the next.

A head's names (`for step, batch in ...`) count, and so do names to which the body adds
a number in every turn (`step += 1`, `self.step += 1`), a loop within it too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapewright.program.syntax_nodes import SCOPES, collect_names, is_made_of

PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.Load)
"""Nodes of expressions that may be evaluated once more without any effect."""

REACHED = (
    *PLAIN,
    ast.BinOp,
    ast.UnaryOp,
    ast.operator,
    ast.unaryop,
    ast.Tuple,
    ast.List,
)
"""Kinds of nodes in expressions with which a counter is compared."""

Loop = ast.For | ast.While

JOINS = ("cat", "concat", "concatenate", "append", "vstack", "hstack", "column_stack")


@dataclass(frozen=True, slots=True)
class _Condition:
    """`test` holds at a count of `value`.

    Where it `divides`, that is a pair: at counts that leave the second as the rest of
    a division by the first.
    `number` is the place of what counts in `Counting.numbers`, None for anything else.
    `node` is the `if` whose body runs then; None where other things decide too.
    """

    line: int
    test: str
    value: ast.expr
    number: int | None
    divides: bool
    node: ast.If | None


@dataclass(frozen=True, slots=True)
class _Guarded:
    """A `target` that is counted in iterations in which `name`, a number of the head,
    meets a test.
    """

    target: ast.expr
    number: int
    name: str
    test: ast.expr


@dataclass(slots=True)
class Counting:
    """The numbers that a loop counts, each with whether the loop's head sets it, and
    the conditions on them.
    """

    numbers: list[tuple[ast.expr, bool]] = field(default_factory=list)
    guarded: list[_Guarded] = field(default_factory=list)
    conditions: list[_Condition] = field(default_factory=list)

    def counters(self) -> Iterator[tuple[int, ast.expr]]:
        """Yield the counters of the body with their indices."""
        for index, (number, is_head) in enumerate(self.numbers):
            if not is_head:
                yield index, number


def find_counters(loop: Loop) -> Counting:
    """Find the counters of a loop and the conditions that depend on them."""
    heads = collect_names(loop.target) if isinstance(loop, ast.For) else set()
    own = list_counters(loop)
    counts = Counting()
    places: dict[str, int] = {}

    def place(name: str) -> int:
        if name not in places:
            number = own.get(name, ast.Name(name, ast.Load()))
            places[name] = len(counts.numbers)
            counts.numbers.append((number, name not in own))
        return places[name]

    for test, node, inner in _iter_tests(loop):
        waits: list[tuple[ast.expr, bool, str]] = []
        others: list[ast.expr] = []
        for left, value, divides in _iter_comparisons(test):
            names = {ast.unparse(atom) for atom in iter_atoms(left)}
            known = [*sorted(names & own.keys()), *sorted(names & heads)]
            if known:
                waits.append((value, divides, known[0]))
            elif divides and not inner:
                others.append(value)
        alone = node if len(waits) == _count_conditions(test) else None
        about = test.lineno, ast.unparse(test)
        for value, divides, name in waits:
            condition = _Condition(*about, value, place(name), divides, alone)
            counts.conditions.append(condition)
        for value in others:
            counts.conditions.append(_Condition(*about, value, None, True, None))
    for name, target, test in _iter_guarded(loop, heads):
        counts.guarded.append(_Guarded(target, place(name), name, test))
    for name in own:  # they are right in the last turn as well
        place(name)
    return counts


def _iter_guarded(
    loop: Loop, heads: set[str]
) -> Iterator[tuple[str, ast.expr, ast.expr]]:
    """Yield counters that grow by 1 under an `if` that only the loop's head decides."""
    stored = [
        ast.unparse(child)
        for child in ast.walk(loop)
        if isinstance(getattr(child, "ctx", None), ast.Store | ast.Del)
    ]
    for node in loop.body:
        names = collect_names(node.test) if isinstance(node, ast.If) else set()
        if not isinstance(node, ast.If) or len(names & heads) != 1:
            continue
        if not _is_test(node.test) or (names - heads) & set(stored):
            continue
        for statement in node.body:
            target = statement.target if isinstance(statement, ast.AugAssign) else None
            if target is None or not is_increment(statement):
                continue
            if stored.count(ast.unparse(target)) == 1:
                yield next(iter(names & heads)), target, node.test


def is_increment(node: ast.AST) -> bool:
    """Return whether a node is `x += 1`."""
    return (
        isinstance(node, ast.AugAssign)
        and isinstance(node.op, ast.Add)
        and isinstance(node.value, ast.Constant)
        and node.value.value == 1
        and is_made_of(node.target, (*PLAIN, ast.Store))
    )


def _is_test(test: ast.expr) -> bool:
    """Return whether a test may be repeated: `(i + 1) % 4 == 0 or i == len(x)`."""
    calls = [child for child in ast.walk(test) if isinstance(child, ast.Call)]
    known = all(ast.unparse(call.func) == "len" for call in calls)
    kinds = ast.Compare, ast.BoolOp, ast.cmpop, ast.boolop, ast.Call
    return known and is_made_of(test, (*REACHED, *kinds))


def find_joined(loop: Loop) -> list[ast.expr]:
    """Return the targets that grow by concatenation: `x = torch.cat([x, y])`."""
    targets: dict[str, ast.expr] = {}
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, SCOPES):
            continue
        waiting += ast.iter_child_nodes(node)
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name | ast.Attribute) and _is_joining(node, target):
            targets.setdefault(ast.unparse(target), target)
    return list(targets.values())


def _is_joining(node: ast.AST, target: ast.expr) -> bool:
    """Return whether a value extends a target: `y if i == 0 else cat([x, y])`."""
    text = ast.unparse(target)
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        parts = [child for argument in call.args for child in ast.walk(argument)]
        exprs = [part for part in parts if isinstance(part, ast.expr)]
        if call.func.attr in JOINS and text in map(ast.unparse, exprs):
            return is_made_of(target, (*PLAIN, ast.Store))
    return False


def _iter_tests(loop: Loop) -> Iterator[tuple[ast.expr, ast.If | None, bool]]:
    """Yield each condition of a loop, its `if`, and whether it is in an inner loop.

    The `if` is left out where another stands around it, or where the body is passed.
    """
    waiting: list[tuple[ast.AST, bool, bool]] = [(e, False, False) for e in loop.body]
    if isinstance(loop, ast.While):
        yield loop.test, None, False
    while waiting:
        node, inner, under = waiting.pop(0)
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, ast.If):
            alone = not under and _is_met_at(node.test)
            yield node.test, node if alone else None, inner
        elif isinstance(node, ast.IfExp):
            yield node.test, None, inner
        elif isinstance(node, ast.While):
            yield node.test, None, True
        inner |= isinstance(node, Loop)
        under |= isinstance(node, ast.If)
        waiting += [(child, inner, under) for child in ast.iter_child_nodes(node)]


def _is_met_at(test: ast.expr) -> bool:
    """Return whether the body runs when the count is reached: `i % 10 == 0`, but not `i
    % 10`.
    """
    if isinstance(test, ast.BoolOp):
        return all(map(_is_met_at, test.values))
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not _is_met_at(test.operand)
    if isinstance(test, ast.BinOp):
        return not isinstance(test.op, ast.Mod)
    return not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq))


def _count_conditions(test: ast.expr) -> int:
    """Return the number of simple conditions in a condition."""
    if isinstance(test, ast.BoolOp):
        return sum(map(_count_conditions, test.values))
    return 1


def _iter_comparisons(test: ast.expr) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield the two sides of `a % b` and `a < b` in a condition."""
    rests: dict[ast.AST, ast.expr] = {}
    divided: set[ast.AST] = set()
    for child in ast.walk(test):
        if isinstance(child, ast.Compare) and len(child.ops) == 1:
            rests[child.left] = child.comparators[0]
        if isinstance(child, ast.BinOp) and isinstance(child.op, ast.Mod):
            divided.add(child)
            rest = rests.get(child, ast.Constant(0))
            if is_made_of(child.right, PLAIN) and is_made_of(rest, REACHED):
                yield child.left, ast.Tuple([child.right, rest], ast.Load()), True
    for child in ast.walk(test):
        if not isinstance(child, ast.Compare) or len(child.ops) != 1:
            continue
        left, right = child.left, child.comparators[0]
        if any(part in divided for part in ast.walk(child)):
            continue
        for side, other_side in ((left, right), (right, left)):
            if not isinstance(side, ast.Constant) and is_made_of(other_side, REACHED):
                yield side, other_side, False


def list_counters(loop: Loop) -> dict[str, ast.expr]:
    """Return the targets to which each iteration of the body adds a number."""
    counters: dict[str, ast.expr] = {}
    bound: set[str] = set()
    counted: set[ast.AST] = set()
    inner: set[ast.AST] = set()
    waiting: list[ast.AST] = [*loop.body]
    while waiting:
        node = waiting.pop(0)
        within = isinstance(node, Loop) or node in inner
        if isinstance(node, Loop | ast.With | ast.Try) or (
            isinstance(node, ast.If) and within
        ):
            body = [
                statement for statement in node.body if isinstance(statement, ast.stmt)
            ]
            waiting += body
            inner.update(body if within else ())
        if isinstance(node, ast.AugAssign | ast.Assign) and _is_addition(node):
            added: ast.expr = (
                node.target if isinstance(node, ast.AugAssign) else node.targets[0]
            )
            counted.update(ast.walk(added))
            counters.setdefault(ast.unparse(added), added)
    heads = [loop.target] if isinstance(loop, ast.For) else []
    for top in [*heads, *loop.body]:
        for node in ast.walk(top):
            stores = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
            if stores and node not in counted:
                bound.add(ast.unparse(node))
    return {name: node for name, node in counters.items() if name not in bound}


def _is_addition(node: ast.AugAssign | ast.Assign) -> bool:
    """Return whether a node is `x += 1`, `x = x + 1`, `seen += len(batch)`."""
    target: ast.expr
    if isinstance(node, ast.AugAssign):
        target, value, op = node.target, node.value, node.op
    else:
        target = node.targets[0]
        if len(node.targets) > 1 or not isinstance(node.value, ast.BinOp):
            return False
        op, value = node.value.op, node.value.right
        if ast.unparse(node.value.left) != ast.unparse(target):
            return False
    number = value.value if isinstance(value, ast.Constant) else 1
    return (
        isinstance(op, ast.Add)
        and type(number) is int
        and number > 0
        and isinstance(target, ast.Name | ast.Attribute)
        and is_made_of(target, (*PLAIN, ast.Store))
    )


def iter_atoms(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the names and attributes of a sum, a difference or a product."""
    if isinstance(node, ast.Name | ast.Attribute):
        yield node
    elif isinstance(node, ast.BinOp):
        yield from iter_atoms(node.left)
        yield from iter_atoms(node.right)


ADDING = ("append", "extend", "insert")
"""Methods that make a list longer."""


def find_carried(loop: Loop) -> list[ast.expr]:
    """Return the names that an iteration reads before it sets them: values of the
    previous one.
    """
    first: dict[str, bool] = {}
    stored: set[str] = set()
    for name in _iter_in_order(loop.body):
        reads = isinstance(name.ctx, ast.Load)
        first.setdefault(name.id, reads)
        if not reads:
            stored.add(name.id)
    heads = collect_names(loop.target) if isinstance(loop, ast.For) else set()
    names = [name for name, reads in first.items() if reads and name in stored]
    return [ast.Name(name, ast.Load()) for name in names if name not in heads]


def _iter_in_order(nodes: Sequence[ast.AST]) -> Iterator[ast.Name]:
    """Yield names in order of evaluation: values before their targets."""
    for node in nodes:
        if isinstance(node, SCOPES):
            continue
        if isinstance(node, ast.Name):
            yield node
            continue
        inner = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.Assign | ast.For | ast.comprehension):
            inner.sort(key=lambda child: _rank_in_order(node, child))
        elif isinstance(node, ast.AugAssign):
            yield from (
                ast.Name(name, ast.Load()) for name in collect_names(node.target)
            )
        yield from _iter_in_order(inner)


def _rank_in_order(node: ast.AST, inner: ast.AST) -> int:
    """Return 0 for the part that is evaluated first, 1 for the target set to it, 2 for
    a body.
    """
    if isinstance(node, ast.Assign):
        return int(inner is not node.value)
    if isinstance(node, ast.For):
        return 0 if inner is node.iter else 1 if inner is node.target else 2
    assert isinstance(node, ast.comprehension)
    return int(inner is not node.iter)


def is_uneven(loop: Loop) -> bool:
    """Return whether only some iterations add to a list: `append` under an `if`.

    Iterations that leave the loop (`break`, `return`, `raise`) are not counted.
    """
    ways = _list_ways(loop.body)
    if ways is None:
        return True
    return len({adds for adds, end in ways if end is not ast.Break}) > 1


MOST_WAYS = 32
"""Ways through the body of a loop, above which they are not told apart."""

Way = tuple[tuple[str, ...], type[ast.stmt] | None]
"""The lists to which one way through statements adds, and how it ends early."""

LEAVES = (ast.Break, ast.Return, ast.Raise)


def _list_ways(body: Sequence[ast.stmt]) -> set[Way] | None:
    """Return the ways through statements, or None where they are not known."""
    ways: set[Way] = {((), None)}
    for statement in body:
        own = _list_ways_of(statement)
        if own is None:
            return None
        open_ways = [adds for adds, end in ways if end is None]
        ways = {way for way in ways if way[1] is not None}
        ways.update(
            (tuple(sorted((*before, *adds))), end)
            for before in open_ways
            for adds, end in own
        )
        if len(ways) > MOST_WAYS:
            return None
    return ways


def _list_ways_of(statement: ast.stmt) -> set[Way] | None:
    """Return the ways through one statement, or None where they are not known."""
    if isinstance(statement, SCOPES):
        return {((), None)}
    if isinstance(statement, LEAVES):
        return {((), ast.Break)}
    if isinstance(statement, ast.Continue):
        return {((), ast.Continue)}
    if isinstance(statement, ast.If):
        then, other = _list_ways(statement.body), _list_ways(statement.orelse)
        return None if then is None or other is None else then | other
    if isinstance(statement, ast.With):
        return _list_ways(statement.body)
    if isinstance(statement, Loop):
        if is_uneven(statement):
            return None
        return {(tuple(_list_added(statement)), None)}
    added = tuple(_list_added(statement))
    if isinstance(statement, ast.Try | ast.Match):
        return None if added else {((), None), ((), ast.Break)}
    return {(added, None)}


def _list_added(statement: ast.stmt) -> list[str]:
    """Return the lists to which a statement adds, one name for each call."""
    return sorted(
        ast.unparse(node.func)
        for node in _iter_within(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ADDING
    )


def _iter_within(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a statement that belong to no inner function."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPES):
            yield from _iter_within(child)
