"""Turn an expression for a single element into an expression for all elements at once.

Every dim of the result has a name: the letter of a loop, or `~1`, `~2`, ... for the
dims of whole rows, counted from the last. Operands are aligned by these names, so that
broadcasting, transposing and new dims of size 1 follow from the names.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from shapewright.analysis.python_loops.loop_nests import (
    SUM,
    Unread,
)
from shapewright.operators.facts import operators_with
from shapewright.program.expression_values import SIGNED, evaluate_whole_number
from shapewright.program.syntax_nodes import (
    ALL,
    build_call,
    build_index,
    build_method,
    build_name,
    build_number,
    get_dotted_name,
)
from shapewright.record.ops import Fact

REDUCING = operators_with("reduces_in_loops")
ELEMENTWISE = operators_with("computes_each_element")
"""Functions and methods whose result at a place depends on that place only."""

PRODUCTS = operators_with("is_product") - {"__rmatmul__"}
MEETING = frozenset({"torch", "F"})


@dataclass(frozen=True, slots=True)
class Vec:
    """An expression `node` with the names of its dims.

    `factors` are those of a product; `over` are dims of theirs that it has summed.
    """

    node: ast.expr
    axes: tuple[str, ...] = ()
    number: bool = False
    factors: tuple[Vec, ...] = ()
    over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LetterRange:
    """The values of a letter, from `start` up to but excluding `stop`, written as
    `end`.
    """

    start: int
    stop: int
    end: ast.expr


def _name_rows(count: int) -> tuple[str, ...]:
    """Return the names of the dims of a whole row."""
    return tuple(f"~{count - n}" for n in range(count))


@dataclass(slots=True)
class Vectoriser:
    """Reads expressions for all letters at once.

    `order` is how the dims of what is made stand; rows that are not in it come last.
    `style` is how sums of products are written: "matmul", "einsum" or "sum".
    `read_element` reads an element of a tensor: `x[i, j]`, `x[index[i, j], j]`.
    """

    facts: Mapping[str, Fact]
    ranges: Mapping[str, LetterRange]
    order: tuple[str, ...]
    style: str
    read_element: Callable[[Vectoriser, ast.Subscript], Vec]
    names: int = 0

    def read(self, node: ast.expr) -> Vec:
        """Vectorise an expression."""
        if isinstance(node, ast.Constant):
            if type(node.value) not in (int, float, bool):
                raise Unread
            return Vec(node, number=True)
        name = get_dotted_name(node)
        if name in self.ranges:
            return self.counted(name)
        if name in self.facts:
            return Vec(node, _name_rows(self.facts[name].ndim))
        if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
            return self.transposed(self.read(node.value))
        if name:
            return Vec(node, number=True)
        if isinstance(node, ast.Subscript):
            return self.read_element(self, node)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                raise Unread
            operand = self.read(node.operand)
            return replace(operand, node=ast.UnaryOp(node.op, operand.node), factors=())
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            if not isinstance(
                node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE | ast.Eq | ast.NotEq
            ):
                raise Unread
            left, right = self.read(node.left), self.read(node.comparators[0])
            return self.together(
                [left, right], lambda x, y: ast.Compare(x, node.ops, [y])
            )
        if isinstance(node, ast.IfExp):
            chosen = [self.read(part) for part in (node.test, node.body, node.orelse)]
            if chosen[0].number:
                raise Unread
            return self.together(
                chosen, lambda *operands: build_call("torch.where", *operands)
            )
        if isinstance(node, ast.Call):
            return self.called(node)
        raise Unread

    def counted(self, letter: str) -> Vec:
        """Return the values of a letter as a tensor: `torch.arange(n)`."""
        known = self.ranges[letter]
        start = [] if known.start == 0 else [build_number(known.start)]
        node = build_call("torch.arange", *start, known.end)
        away = [name for name, fact in self.facts.items() if fact.device != "cpu"]
        if away:
            device = ast.Attribute(build_name(away[0]), "device", ast.Load())
            node.keywords.append(ast.keyword("device", device))
        return Vec(node, (letter,))

    # -- where dims meet -----------------------------------------------------------

    def place(self, axis: str) -> tuple[int, int]:
        """Return the sort key of a dim: letters in order, then rows."""
        if axis in self.order:
            return 0, self.order.index(axis)
        return 1, -int(axis[1:])

    def aligned(self, vec: Vec, axes: Sequence[str]) -> ast.expr:
        """Return the node with its dims in the order of `axes`; missing dims get size
        1.
        """
        if vec.number:
            return vec.node
        own = [axis for axis in axes if axis in vec.axes]
        if len(own) < len(vec.axes):
            raise Unread
        node = _permute_node(vec.node, vec.axes, own)
        if not own:
            return node
        first = axes.index(own[0])
        items = [
            ALL if axis in vec.axes else ast.Constant(None) for axis in axes[first:]
        ]
        if all(item is ALL for item in items):
            return node
        return build_index(node, items)

    def together(self, vecs: Sequence[Vec], make: Callable[..., ast.expr]) -> Vec:
        """Combine operands elementwise."""
        axes = tuple(sorted({a for vec in vecs for a in vec.axes}, key=self.place))
        nodes = [self.aligned(vec, axes) for vec in vecs]
        return Vec(make(*nodes), axes, all(vec.number for vec in vecs))

    def binary(self, node: ast.BinOp) -> Vec:
        """Vectorise `+ - * / ** // %`, and `@` between rows."""
        left, right = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.MatMult):
            return self.product(left, right)
        allowed = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod)
        bits = (ast.BitAnd, ast.BitOr)
        if not isinstance(node.op, (*allowed, *bits)):
            raise Unread
        result = self.together([left, right], lambda x, y: ast.BinOp(x, node.op, y))
        if isinstance(node.op, ast.Mult):
            both = (*_split_factors(left), *_split_factors(right))
            over = (*left.over, *right.over)
            if over and not result.number:
                return self.contracted(both, over, result.axes)
            return replace(result, factors=both)
        return result

    def product(self, left: Vec, right: Vec) -> Vec:
        """Vectorise a matrix product of rows or matrices, which sums over their inner
        dims.
        """
        a = sum(axis.startswith("~") for axis in left.axes)
        b = sum(axis.startswith("~") for axis in right.axes)
        if not 1 <= a <= 2 or not 1 <= b <= 2 or left.number or right.number:
            raise Unread
        inner = self.unused()
        lefts = _rename_dims(left, {"~1": inner, "~2": "~2" if b == 2 else "~1"})
        if b == 2:
            rights = _rename_dims(right, {"~2": inner})
        else:
            rights = _rename_dims(right, {"~1": inner})
        letters = {x for x in (*lefts.axes, *rights.axes) if x[0] not in "~@"}
        ends = {x for x in (*lefts.axes, *rights.axes) if x.startswith("~")}
        wanted = (*sorted(letters, key=self.place), *sorted(ends, key=self.place))
        return self.contracted((lefts, rights), (inner,), wanted)

    def called(self, node: ast.Call) -> Vec:
        """Vectorise a function of elements or rows, or a sum over iterations."""
        if isinstance(node.func, ast.Name) and node.func.id == SUM:
            over = [str(arg.value) for arg in node.args[1:]]  # type: ignore[attr-defined]
            return self.summed(self.read(node.args[0]), tuple(over))
        name = get_dotted_name(node.func)
        head, _, last = name.rpartition(".")
        if head in MEETING or head == "torch.nn.functional":
            return self.function(node, node.func, list(node.args), last)
        if name == "int" and len(node.args) == 1:
            return self.read(node.args[0])
        if isinstance(node.func, ast.Attribute):
            return self.of_method(node, node.func)
        raise Unread

    def of_method(self, node: ast.Call, func: ast.Attribute) -> Vec:
        """Vectorise `x[i].exp()`, `x[i].sum()` and `x[i].item()`."""
        own = self.read(func.value)
        if own.number:
            raise Unread
        if func.attr == "item" and not node.args:
            if any(axis.startswith("~") for axis in own.axes):
                raise Unread
            return own
        if func.attr in ("t", "transpose"):
            swapped = [ast.unparse(arg) for arg in node.args]
            if sorted(swapped) not in ([], ["-1", "-2"], ["0", "1"]):
                raise Unread
            return self.transposed(own)
        if func.attr in REDUCING:
            return self.reduced(own, func.attr, node)
        if func.attr in PRODUCTS and len(node.args) == 1:
            return self.product(own, self.read(node.args[0]))
        if func.attr not in ELEMENTWISE or node.keywords:
            raise Unread
        rest = [self.read(arg) for arg in node.args]
        return self.together(
            [own, *rest], lambda x, *more: build_method(x, func.attr, *more)
        )

    def function(
        self, node: ast.Call, func: ast.expr, args: list[ast.expr], last: str
    ) -> Vec:
        """Vectorise `torch.exp(x[i])`, `torch.dot(a[i], b[j])`, `torch.sum(x[i])`."""
        if last in PRODUCTS and len(args) == 2 and not node.keywords:
            return self.product(*map(self.read, args))
        if last in REDUCING and args:
            rest = ast.Call(func, args[1:], node.keywords)
            return self.reduced(self.read(args[0]), last, rest)
        if last not in ELEMENTWISE or node.keywords:
            raise Unread
        vecs = [self.read(arg) for arg in args]
        if all(vec.number for vec in vecs):
            raise Unread
        return self.together(vecs, lambda *operands: ast.Call(func, list(operands), []))

    def transposed(self, vec: Vec) -> Vec:
        """Transpose the matrix of every iteration by exchanging the names of its
        dims.
        """
        if vec.number or sum(axis.startswith("~") for axis in vec.axes) != 2:
            raise Unread
        return _rename_dims(vec, {"~1": "~2", "~2": "~1"})

    # -- sums ----------------------------------------------------------------------

    def reduced(self, vec: Vec, name: str, node: ast.Call) -> Vec:
        """Apply `sum`, `mean`, ... to whole rows, over all of their dims or a single
        one.
        """
        inner = [axis for axis in vec.axes if axis.startswith("~")]
        dims = [*node.args, *(k.value for k in node.keywords if k.arg == "dim")]
        if len(dims) != len(node.args) + len(node.keywords) or len(dims) > 1:
            raise Unread
        over = inner
        if dims:
            at = evaluate_whole_number(dims[0], SIGNED)
            if at is None or not -len(inner) <= at < len(inner):
                raise Unread
            over = [inner[at]]
        if not over:
            raise Unread
        gone = {axis: self.unused() for axis in over}
        left = [axis for axis in inner if axis not in over]
        gone |= dict(zip(left, _name_rows(len(left)), strict=True))
        fresh = replace(
            _rename_dims(vec, gone),
            factors=tuple(_rename_dims(f, gone) for f in vec.factors),
        )
        axes = tuple(gone[axis] for axis in over)
        if name == "sum":
            return self.summed(fresh, axes)
        return self.over_dims(fresh, axes, name)

    def summed(self, vec: Vec, over: tuple[str, ...]) -> Vec:
        """Sum over dims, as a matrix product if possible."""
        if not over:
            return vec
        if set(over) - set(vec.axes):
            raise Unread
        wanted = tuple(axis for axis in vec.axes if axis not in over)
        if len(vec.factors) > 1 and self.style != "sum":
            return self.contracted(vec.factors, (*over, *vec.over), wanted)
        total = self.over_dims(vec, over, "sum")
        if self.style == "einsum" and not vec.over:
            return replace(total, factors=(vec,), over=over)
        return total

    def unused(self) -> str:
        """Return an unused name for a dim that is summed."""
        self.names += 1
        return f"@{self.names}"

    def over_dims(self, vec: Vec, over: tuple[str, ...], name: str) -> Vec:
        """Reduce over dims, as in `x.sum(0)`; letters are counted from the front, rows
        from the back.
        """
        rank, left = len(vec.axes), [axis for axis in vec.axes if axis not in over]
        if not left:
            return Vec(build_method(vec.node, name))
        at = [vec.axes.index(axis) for axis in over]
        if any(axis[0] in "~@" for axis in over):
            at = [place - rank for place in at]
        dims = build_number(at[0])
        if len(at) > 1:
            dims = ast.Tuple([build_number(place) for place in at], ast.Load())
        return Vec(build_method(vec.node, name, dims), tuple(left))

    def contracted(
        self, vecs: Sequence[Vec], over: tuple[str, ...], wanted: tuple[str, ...]
    ) -> Vec:
        """Multiply several tensors and sum the product over dims."""
        numbers = [vec for vec in vecs if vec.number]
        tensors = [vec for vec in vecs if not vec.number]
        if self.style == "matmul":
            product = _build_matrix_product(tensors, over, wanted)
        elif self.style == "einsum":
            product = _build_einsum(tensors, wanted)
        else:
            names = [*over, *wanted]
            order = {axis: n for n, axis in enumerate(names)}
            nodes = [
                self.aligned(
                    Vec(
                        _permute_node(
                            v.node, v.axes, sorted(v.axes, key=order.__getitem__)
                        ),
                        tuple(sorted(v.axes, key=order.__getitem__)),
                    ),
                    names,
                )
                for v in tensors
            ]
            node = nodes[0]
            for other in nodes[1:]:
                node = ast.BinOp(node, ast.Mult(), other)
            product = self.over_dims(Vec(node, tuple(names)), over, "sum")
        for number in numbers:
            product = replace(
                product, node=ast.BinOp(number.node, ast.Mult(), product.node)
            )
        if self.style != "einsum":
            return product
        return replace(product, factors=tuple(vecs), over=over)


def _split_factors(vec: Vec) -> tuple[Vec, ...]:
    """Return the factors of a product; any other expression is its own only factor."""
    return vec.factors or (vec,)


def _rename_dims(vec: Vec, names: Mapping[str, str]) -> Vec:
    """Return the expression with its dims renamed."""
    return Vec(vec.node, tuple(names.get(axis, axis) for axis in vec.axes), vec.number)


def _permute_node(
    node: ast.expr, axes: Sequence[str], wanted: Sequence[str]
) -> ast.expr:
    """Return the node with its dims in another order."""
    if list(axes) == list(wanted):
        return node
    if len(axes) == 2:
        return ast.Attribute(node, "T", ast.Load())
    if list(axes[:-2]) == list(wanted[:-2]):
        return ast.Attribute(node, "mT", ast.Load())
    return build_method(node, "permute", *(axes.index(axis) for axis in wanted))


def _build_matrix_product(
    tensors: Sequence[Vec], over: tuple[str, ...], wanted: tuple[str, ...]
) -> Vec:
    """Build `a @ b`, if the order of the dims allows it."""
    if len(tensors) != 2 or len(over) != 1:
        raise Unread
    (inner,) = over
    for left, right in (tensors, tensors[::-1]):
        if inner not in left.axes or inner not in right.axes:
            raise Unread
        mine, theirs = set(left.axes), set(right.axes)
        batch = tuple(axis for axis in wanted if axis in mine and axis in theirs)
        rest = wanted[len(batch) :]
        if wanted[: len(batch)] != batch or len(rest) > 2:
            continue
        if len(rest) == 2 and rest[0] in mine and rest[1] in theirs:
            sides = (*batch, rest[0], inner), (*batch, inner, rest[1])
        elif not rest and not batch:
            sides = (inner,), (inner,)
        elif len(rest) == 1 and rest[0] in mine and not batch:
            sides = (rest[0], inner), (inner,)
        elif len(rest) == 1 and rest[0] in theirs and not batch:
            sides = (inner,), (inner, rest[0])
        else:
            shared = [axis for axis in wanted if axis in mine]
            if len(right.axes) <= 2 and wanted[: len(shared)] == tuple(shared):
                continue
            continue
        nodes = []
        for side, vec in zip(sides, (left, right), strict=True):
            if set(side) != set(vec.axes):
                break
            nodes.append(_permute_node(vec.node, vec.axes, side))
        if len(nodes) == 2:
            return Vec(ast.BinOp(nodes[0], ast.MatMult(), nodes[1]), wanted)
    return _build_batch_product(tensors, inner, wanted)


def _build_batch_product(
    tensors: Sequence[Vec], inner: str, wanted: tuple[str, ...]
) -> Vec:
    """Build `batch @ matrix`, with one matrix for the whole batch."""
    for left, right in (tensors, tensors[::-1]):
        if left.axes[-1:] != (inner,) or inner not in right.axes:
            continue
        if len(right.axes) == 1 and left.axes[:-1] == wanted:
            return Vec(ast.BinOp(left.node, ast.MatMult(), right.node), wanted)
        if len(right.axes) != 2 or wanted[:-1] != left.axes[:-1]:
            continue
        side = (inner, wanted[-1])
        if set(side) != set(right.axes):
            continue
        node = _permute_node(right.node, right.axes, side)
        return Vec(ast.BinOp(left.node, ast.MatMult(), node), wanted)
    raise Unread


def _build_einsum(tensors: Sequence[Vec], wanted: tuple[str, ...]) -> Vec:
    """Build `torch.einsum("ik,kj->ij", a, b)`, with the loop's
    letters where possible.
    """
    names: dict[str, str] = {}
    spare = iter("dcefghabmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    every = [axis for vec in tensors for axis in vec.axes]
    for axis in dict.fromkeys(every):
        if len(axis) == 1 and axis.isalpha() and axis.isascii():
            names[axis] = axis
    for axis in dict.fromkeys(every):
        while axis not in names:
            letter = next(spare)
            if letter not in names.values():
                names[axis] = letter
    sides = ["".join(names[axis] for axis in vec.axes) for vec in tensors]
    equation = f"{','.join(sides)}->{''.join(names[axis] for axis in wanted)}"
    nodes = [vec.node for vec in tensors]
    return Vec(build_call("torch.einsum", ast.Constant(equation), *nodes), wanted)
