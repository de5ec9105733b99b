"""Read loops of the program's text as data: their letters, elements and sums.

Only loops that are read as a whole count: each statement is an element or row that is
written, added to or appended, a name for what is used further down, or another loop.
Whatever else stands in a loop (a call of a layer, a print, a break) makes it unread,
and nothing is said of it.
"""

from __future__ import annotations

import ast
from copy import deepcopy
from dataclasses import dataclass, field

from shapewright.program.syntax_nodes import (
    build_name,
    get_dotted_name,
)

SUM = "sum over"
"""The name of the call that stands for a sum in a step: of a term, over letters."""


class Unread(Exception):
    """Raised for a loop that cannot be read."""


@dataclass(slots=True)
class LoopLetter:
    """A loop variable: over a `range`, or along dim 0 of a tensor (`tensor`).

    The ends of a `triangular` range depend on letters further out.
    """

    letter: str
    range: ast.Call | None = None
    tensor: str = ""
    header: ast.expr | None = None
    triangular: bool = False
    comprehension: ast.expr | None = None


@dataclass(slots=True)
class NestStatement:
    """A statement that runs for all letters: `target operator= value`.

    `operator` is "=", "+", "-", "append", "stack" or "cat"; `node` is the statement as
    it was written. It runs where the `condition` holds.
    """

    target: ast.expr
    operator: str
    value: ast.expr
    node: ast.stmt | ast.expr
    letters: tuple[str, ...]
    condition: ast.expr | None = None


@dataclass(slots=True)
class Nest:
    """A loop with everything inside it.

    `bound` are names for what is used further down, `sums` those that began as 0,
    `holding` the conditions around what is being read; `heart` is the statement that
    adds up, where there is one.
    """

    root: ast.stmt | ast.expr
    loops: list[LoopLetter] = field(default_factory=list)
    steps: list[NestStatement] = field(default_factory=list)
    bound: dict[str, ast.expr] = field(default_factory=dict)
    sums: dict[str, tuple[str, ...]] = field(default_factory=dict)
    function: ast.AST | None = None
    holding: list[ast.expr] = field(default_factory=list)
    heart: ast.stmt | None = None


def collect_names_read(node: ast.AST) -> set[str]:
    """Return every dotted name that a tree reads, and all prefixes of these names."""
    names = set()
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute) and isinstance(
            child.ctx, ast.Load
        ):
            name = get_dotted_name(child)
            while name:
                names.add(name)
                name = name.rpartition(".")[0]
    return names


def substitute_names(node: ast.expr, bound: dict[str, ast.expr]) -> ast.expr:
    """Return the expression with names replaced by their definitions."""

    class Replace(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            if isinstance(node.ctx, ast.Load) and node.id in bound:
                return deepcopy(bound[node.id])
            return node

    expression: ast.expr = Replace().visit(deepcopy(node))
    return expression


def _build_element(tensor: ast.expr, index: ast.expr) -> ast.Subscript:
    """Build `tensor[index]`."""
    return ast.Subscript(tensor, index, ast.Load())


# -- headers ---------------------------------------------------------------------------


def _read_header(nest: Nest, target: ast.expr, over: ast.expr) -> list[str]:
    """Read the letters of a loop's header; other targets are bound to elements."""
    if isinstance(over, ast.Call) and not over.keywords:
        name = get_dotted_name(over.func)
        if name == "range" and isinstance(target, ast.Name):
            _read_range(nest, target.id, over)
            return [target.id]
        if name == "enumerate" and len(over.args) == 1:
            if not (isinstance(target, ast.Tuple) and len(target.elts) == 2):
                raise Unread
            letter, item = target.elts
            if not isinstance(letter, ast.Name):
                raise Unread
            return _bind_along(nest, letter.id, item, over.args[0], over)
        if name == "zip" and over.args and isinstance(target, ast.Tuple):
            if len(target.elts) != len(over.args):
                raise Unread
            fresh = _find_unused_letter(nest)
            for item, tensor in zip(target.elts, over.args, strict=True):
                _bind_along(nest, fresh, item, tensor, over)
            return [fresh]
    return _bind_along(nest, _find_unused_letter(nest), target, over, over)


def read_comprehension(nest: Nest, node: ast.ListComp | ast.GeneratorExp) -> list[str]:
    """Read the letters of a comprehension such as `[... for row in x]`."""
    if len(node.generators) != 1 or node.generators[0].ifs:
        raise Unread
    header = _read_header(nest, node.generators[0].target, node.generators[0].iter)
    nest.loops[-1].comprehension = node
    return header


def _read_range(nest: Nest, letter: str, over: ast.Call) -> None:
    """Read `range(n)`; ends that depend on other letters become conditions of the
    statements.
    """
    others = {loop.letter for loop in nest.loops}
    triangular = bool(collect_names_read(over) & others)
    nest.loops.append(LoopLetter(letter, over, header=over, triangular=triangular))
    if not triangular:
        return
    if not 1 <= len(over.args) <= 2:
        raise Unread
    for end, sign in zip(reversed(over.args), (ast.Lt(), ast.GtE()), strict=False):
        if collect_names_read(end) & others:
            nest.holding.append(ast.Compare(build_name(letter), [sign], [end]))


def _find_unused_letter(nest: Nest) -> str:
    """Return a new letter that is not a name of the program."""
    return f"{len(nest.loops)}th"


def _bind_along(
    nest: Nest, letter: str, target: ast.expr, over: ast.expr, header: ast.expr
) -> list[str]:
    """Bind a name that iterates over dim 0 of a tensor to `over[letter]`."""
    if isinstance(over, ast.Call) and get_dotted_name(over.func) == "zip":
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(over.args):
            raise Unread
        for item, tensor in zip(target.elts, over.args, strict=True):
            _bind_along(nest, letter, item, tensor, over)
        return [letter]
    plain = substitute_names(over, nest.bound)
    if not isinstance(target, ast.Name):
        raise Unread
    base = plain
    while isinstance(base, ast.Subscript):
        base = base.value
    if not get_dotted_name(base):
        raise Unread
    if letter not in [loop.letter for loop in nest.loops]:
        nest.loops.append(LoopLetter(letter, tensor=ast.unparse(over), header=header))
    nest.bound[target.id] = _build_element(plain, build_name(letter))
    return [letter]


# -- bodies ----------------------------------------------------------------------------


def read_for(nest: Nest, node: ast.For, letters: tuple[str, ...]) -> None:
    """Read a loop and its body."""
    if node.orelse:
        raise Unread
    held = len(nest.holding)
    inner = (*letters, *_read_header(nest, node.target, node.iter))
    if len(set(inner)) < len(inner):
        raise Unread
    for stmt in node.body:
        _read_statement(nest, stmt, inner)
    del nest.holding[held:]


def _read_statement(nest: Nest, stmt: ast.stmt, letters: tuple[str, ...]) -> None:
    """Read a statement of a loop's body."""
    if isinstance(stmt, ast.For):
        read_for(nest, stmt, letters)
    elif isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
        _read_assign(nest, stmt, stmt.targets[0], letters)
    elif isinstance(stmt, ast.AugAssign):
        signs = {ast.Add: "+", ast.Sub: "-"}
        sign = signs.get(type(stmt.op))
        if sign is None:
            raise Unread
        _add_step(nest, stmt, stmt.target, sign, stmt.value, letters)
    elif isinstance(stmt, ast.If) and not stmt.orelse:
        nest.holding.append(substitute_names(stmt.test, nest.bound))
        for inner in stmt.body:
            if isinstance(inner, ast.Assign) and isinstance(inner.targets[0], ast.Name):
                raise Unread
            _read_statement(nest, inner, letters)
        nest.holding.pop()
    elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
        if nest.holding:
            raise Unread
        call = stmt.value
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "append"):
            raise Unread
        if len(call.args) != 1 or not isinstance(call.func.value, ast.Name):
            raise Unread
        value = substitute_names(call.args[0], nest.bound)
        nest.steps.append(
            NestStatement(call.func.value, "append", value, stmt, letters)
        )
    elif not isinstance(stmt, ast.Pass):
        raise Unread


def _read_assign(
    nest: Nest, stmt: ast.Assign, target: ast.expr, letters: tuple[str, ...]
) -> None:
    """Read an assignment to an element, or to a name that is used further down."""
    value = stmt.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        same = ast.dump(value.left).replace("Load", "Store") == ast.dump(target)
        if same:
            _add_step(nest, stmt, target, "+", value.right, letters)
            return
    if isinstance(target, ast.Subscript):
        _add_step(nest, stmt, target, "=", value, letters)
        return
    if not isinstance(target, ast.Name) or target.id in collect_names_read(value):
        raise Unread
    if _is_zero(value):
        nest.sums[target.id] = letters
    nest.bound[target.id] = substitute_names(value, nest.bound)


def _is_zero(node: ast.expr) -> bool:
    """Return whether a node is `0` or `0.0`."""
    return (
        isinstance(node, ast.Constant)
        and type(node.value) in (int, float)
        and (node.value == 0)
    )


def _add_step(
    nest: Nest,
    stmt: ast.stmt,
    target: ast.expr,
    sign: str,
    value: ast.expr,
    letters: tuple[str, ...],
) -> None:
    """Add a statement that writes; additions to a name that began as 0 in the loop
    become a sum.
    """
    plain = substitute_names(value, nest.bound)
    if isinstance(target, ast.Name) and target.id in nest.sums:
        over = letters[len(nest.sums.pop(target.id)) :]
        if not over or target.id in collect_names_read(plain) or sign != "+":
            raise Unread
        if nest.holding:
            raise Unread
        nest.heart = stmt
        marks: list[ast.expr] = [ast.Constant(letter) for letter in over]
        nest.bound[target.id] = ast.Call(build_name(SUM), [plain, *marks], [])
        return
    if isinstance(target, ast.Name):
        if target.id in nest.bound:
            raise Unread
    elif isinstance(target, ast.Subscript):
        if not get_dotted_name(target.value):
            raise Unread
        target = _substitute_in_target(target, nest.bound)
    else:
        raise Unread
    condition: ast.expr | None = None
    for held in nest.holding:
        condition = (
            held if condition is None else ast.BinOp(condition, ast.BitAnd(), held)
        )
    nest.steps.append(NestStatement(target, sign, plain, stmt, letters, condition))


def _substitute_in_target(
    target: ast.Subscript, bound: dict[str, ast.expr]
) -> ast.Subscript:
    """Return a target in whose indices names are replaced by their definitions."""
    if get_dotted_name(target.value) in bound:
        raise Unread
    subscript = ast.Subscript(
        target.value, substitute_names(target.slice, bound), ast.Load()
    )
    return ast.copy_location(subscript, target)


# -- what may be said ------------------------------------------------------------------


def is_independent(nest: Nest) -> bool:
    """Return whether no statement reads what another one or an earlier iteration has
    written.
    """
    targets = [get_base(step.target) for step in nest.steps]
    if not targets or len(set(targets)) < len(targets):
        return False
    read: set[str] = set()
    for step in nest.steps:
        read |= collect_names_read(step.value)
        if step.condition is not None:
            read |= collect_names_read(step.condition)
        if isinstance(step.target, ast.Subscript):
            read |= collect_names_read(step.target.slice)
    for loop in nest.loops:
        if loop.tensor:
            read.add(loop.tensor)
    if any(loop.letter in nest.bound for loop in nest.loops):
        return False
    return not read & set(targets) and not any(
        name.startswith(f"{target}.") for name in read for target in targets
    )


def get_base(target: ast.expr) -> str:
    """Return the name of the tensor or list that a statement writes."""
    return get_dotted_name(
        target.value if isinstance(target, ast.Subscript) else target
    )


def has_later_uses(nest: Nest, names: set[str]) -> bool:
    """Return whether names that the loop assigns are read after the loop."""
    if nest.function is None:
        return False
    inside = set(ast.walk(nest.root))
    return any(
        isinstance(node, ast.Name)
        and node.id in names
        and isinstance(node.ctx, ast.Load)
        and node not in inside
        and node.lineno > nest.root.lineno
        for node in ast.walk(nest.function)
    )
