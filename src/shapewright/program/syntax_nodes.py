"""Parse a text, read nodes of its tree (names, calls, assignments, scopes), and build
expressions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)
LOOPS = (ast.For, ast.While, ast.AsyncFor)


def parse(text: str | bytes, file: str = "<unknown>") -> ast.Module:
    """Return a new tree of a program's text, which the caller may rewrite.

    Raises `SyntaxError` or `ValueError` for what is no program. To read a text only,
    use `SourceText`, which parses it once.
    """
    return ast.parse(text, file)


def parse_expression(text: str) -> ast.expr:
    """Return a new tree of a single expression. Raises as `parse` does."""
    return ast.parse(text, mode="eval").body


def get_last_name(node: ast.AST) -> str:
    """Return the last name of an expression, `matmul` of `torch.matmul`, or an empty
    string.
    """
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def get_called_name(node: ast.AST) -> str:
    """Return the last name of a callee, `step` of `optimizer.step()`, or an empty
    string.
    """
    return get_last_name(node.func) if isinstance(node, ast.Call) else ""


OPTIMIZERS = frozenset(
    {
        "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS",
        "NAdam", "RAdam", "RMSprop", "Rprop", "SGD", "SparseAdam",
    }
)  # fmt: skip
"""The optimizers of torch, by the names of their classes."""


def is_optimizer(node: ast.AST) -> bool:
    """Return whether an expression builds an optimizer: `torch.optim.Adam(...)`."""
    return get_called_name(node) in OPTIMIZERS


def get_dotted_name(node: ast.AST | None) -> str:
    """Return a dotted name such as `self.weight`, or an empty string for any other
    expression.
    """
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def is_starred(call: ast.Call) -> bool:
    """Return whether a call has `*args` or `**kwargs`."""
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        word.arg is None for word in call.keywords
    )


def list_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, keyword arguments last."""
    return [*call.args, *(word.value for word in call.keywords)]


def list_parameters(function: ast.AST | None) -> list[str]:
    """Return the names of the parameters of a function, in their order."""
    arguments = getattr(function, "args", None)
    if not isinstance(arguments, ast.arguments):
        return []
    whole = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [parameter.arg for parameter in whole]


def get_own_attribute(node: ast.AST | None) -> str:
    """Return `n_head` of `self.n_head`, or an empty string for any other expression."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == "self" else ""
    return ""


def get_shape_owner(node: ast.AST) -> ast.expr | None:
    """Return `x` of `x.shape` or `x.size()`, or None for any other expression."""
    func = node.func if isinstance(node, ast.Call) else node
    word = "size" if isinstance(node, ast.Call) else "shape"
    return func.value if isinstance(func, ast.Attribute) and func.attr == word else None


def collect_names(node: ast.AST, *contexts: type[ast.expr_context]) -> set[str]:
    """Return the names in a tree, or only those in the given contexts, such as
    `ast.Store`.
    """
    return {
        child.id
        for child in ast.walk(node)
        if isinstance(child, ast.Name) and (not contexts or type(child.ctx) in contexts)
    }


def list_reads(scope: ast.AST | None, name: str) -> list[ast.Name]:
    """Return the places in a piece of code that read a name, in the order of the walk:
    both `x` of `y = x + x`; none without a scope.
    """
    return [
        node
        for node in (ast.walk(scope) if scope is not None else ())
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
    ]


def is_made_of(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    """Return whether all nodes of a tree are of these kinds."""
    return all(isinstance(child, kinds) for child in ast.walk(node))


def get_first_line(node: ast.stmt) -> int:
    """Return the line on which a statement begins, with its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def get_last_line(node: ast.expr | ast.stmt) -> int:
    """Return the line on which a node ends."""
    return node.end_lineno or node.lineno


def iter_own_nodes(scope: ast.AST | None) -> Iterator[ast.AST]:
    """Yield the nodes of a body in the order of the text.

    Functions and classes in it are yielded, but nothing that stands within them.
    """
    body = getattr(scope, "body", [])
    for node in body if isinstance(body, list) else [body]:
        yield from _iter_unnested(node)


def _iter_unnested(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    if not isinstance(node, SCOPES):
        for child in ast.iter_child_nodes(node):
            yield from _iter_unnested(child)


PASSING = frozenset(
    {
        "enumerate", "tqdm", "trange", "track", "progress_bar", "islice", "iter",
        "list", "next",
    }
)  # fmt: skip
"""Functions whose items are those of their first argument."""


def get_iterated(node: ast.expr, with_zip: bool = False) -> ast.expr:
    """Return what is looped over inside `enumerate(...)`, `tqdm(...)` and the like,
    and in the first place of a `zip`, if that counts.
    """
    while isinstance(node, ast.Call) and node.args:
        name = get_called_name(node)
        if name not in PASSING and not (with_zip and name == "zip"):
            break
        node = node.args[0]
    return node


def find_uncalled(scope: ast.AST | None, method: str) -> ast.Attribute | None:
    """Return `model.eval` of a statement that names a method and does not call it."""
    for node in ast.walk(scope) if scope is not None else ():
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Attribute) and value.attr == method:
            return value
    return None


def is_generator(function: ast.FunctionDef) -> bool:
    """Return whether a function contains a `yield`."""
    kinds = ast.Yield | ast.YieldFrom
    return any(isinstance(node, kinds) for node in iter_own_nodes(function))


def pair_targets(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Return the targets of an assignment with their values: `a, b = x[:1], x[1:]`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return list(zip(target.elts, value.elts, strict=False))
    return [(target, value)]


def iter_assignments(
    scope: ast.AST | None,
    before: int | None = None,
    annotated: bool = False,
    unpacked: bool = False,
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield target and value of every `target = value` in a tree, at any depth.

    With `before`, only those that stand above this line; with `annotated`, also those
    of `target: Kind = value`; with `unpacked`, `a, b = x, y` as `a = x` and `b = y`.
    """
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and (before is None or node.lineno < before):
            for target in node.targets:
                if unpacked:
                    yield from pair_targets(target, node.value)
                else:
                    yield target, node.value
        elif annotated and isinstance(node, ast.AnnAssign) and node.value is not None:
            yield node.target, node.value


ALL = ast.Slice()
"""The item `:` of an index, which `build_index` leaves out at the end."""


def build_name(name: str) -> ast.Name:
    """Build the node of a name that is read."""
    return ast.Name(name, ast.Load())


def build_call(name: str, *args: ast.expr) -> ast.Call:
    """Build the call `name(*args)`; the name may be dotted."""
    head, *rest = name.split(".")
    func: ast.expr = build_name(head)
    for part in rest:
        func = ast.Attribute(func, part, ast.Load())
    return ast.Call(func, list(args), [])


def build_method(node: ast.expr, name: str, *args: int | ast.expr) -> ast.Call:
    """Build `node.name(*args)`."""
    arguments = [
        arg if isinstance(arg, ast.expr) else build_number(arg) for arg in args
    ]
    return ast.Call(ast.Attribute(node, name, ast.Load()), arguments, [])


def build_number(value: int) -> ast.expr:
    """Build the node of an integer; a negative one has the form that Python parses."""
    if value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def build_index(node: ast.expr, items: Sequence[ast.expr]) -> ast.expr:
    """Build `node[items]`, or return the node itself if every item is a whole dim."""
    while items and items[-1] is ALL:
        items = items[:-1]
    if not items:
        return node
    where = items[0] if len(items) == 1 else ast.Tuple(list(items), ast.Load())
    return ast.Subscript(node, where, ast.Load())


def build_shift(node: ast.expr, by: int) -> ast.expr:
    """Build `node + by`, or a single number if both are numbers."""
    if by == 0:
        return node
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return build_number(node.value + by)
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        number = node.right.value
        if type(number) is int and isinstance(node.op, ast.Add | ast.Sub):
            own = number if isinstance(node.op, ast.Add) else -number
            return build_shift(node.left, own + by)
    sign = ast.Add() if by > 0 else ast.Sub()
    return ast.BinOp(node, sign, ast.Constant(abs(by)))
