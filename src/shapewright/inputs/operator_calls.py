"""An operator call as a person types it, read as data: nothing in it is evaluated.

    >>> call = parse_call("torch.gather(f32[4, 6], dim=0, index=i64[1, 6])")
    >>> call.name, [str(leaf) for leaf in call.leaves()]
    ('torch.gather', ['f32[4, 6]', 'i64[1, 6]'])

Also methods (`f32[2, 3].transpose(0, 1)`), `F.` and `nn.functional.`, layers
(`nn.Conv2d(3, 8, 3)(f32[1, 3, 8, 8])`), operators (`f32[3, 1] + f32[4]`), indexing
(`f32[4, 4][:, None]`), calls in calls (`torch.arange(12).view(3, 4)`). Tensors are
`DTYPE[sizes]`, a size may have a letter (`f32[B=8, T, 3]`); all else is a literal.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from math import lcm
from typing import Any

from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.spec_syntax import (
    DTYPES,
    Arithmetic,
    DividedByZero,
    NamedSize,
    Size,
    StatedSize,
    TensorSpec,
    compute_size,
    find_letters,
)
from shapewright.program.syntax_nodes import get_dotted_name, parse_expression

_TENSOR = re.compile(rf"\b(?:{'|'.join(map(re.escape, DTYPES))})\s*\[[^\[\]]*\]")
_STATED = re.compile(r"(?<![=<>!])=(?!=)")
_SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip


@dataclass(slots=True)
class _Letters:
    """The letters of a call with their sizes, and those whose sizes were chosen."""

    sizes: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)


def _as_python(text: str) -> str:
    """Replace `B=8` by `B:8` in the brackets of tensors, so that Python can parse it.

    Values (`i64[2]=0..3`) are blanked. Every character stays where it is.
    """
    for start, end in _find_fills(text).values():
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return _TENSOR.sub(lambda match: _STATED.sub(":", match[0]), text)


def _find_fills(text: str) -> dict[int, tuple[int, int]]:
    """Return where the values of tensors stand, by the end of each tensor's brackets.

    Example: ``{7: (7, 12)}`` for ``f(i64[2]=0..3)``, values with their `=`.
    """
    fills: dict[int, tuple[int, int]] = {}
    for match in _TENSOR.finditer(text):
        end = match.end()
        word = re.match(r"\s*=(?!=)\s*(?:\[|-?[\w.]+)", text[end:])
        if word is None:
            continue
        at = end + word.end()
        depth = int(word[0].endswith("["))
        while depth and at < len(text):
            depth += (text[at] == "[") - (text[at] == "]")
            at += 1
        fills[end] = end, at
    return fills


@dataclass(frozen=True, slots=True)
class _FilledTensor(TensorSpec):
    """A tensor whose values are stated, as in `i64[2, 4]=0..3`."""

    def make_values(self) -> Any:
        """Return a tensor with these values, or None if it is too large for them."""
        from shapewright.inputs.spec import make_filled

        return make_filled(self)


def _find_letters(tree: ast.expr, text: str) -> _Letters:
    """Return all letters of a call with their sizes; those not stated get a small size.

    Chosen sizes differ from each other and from those that were stated, so that what
    has the same size has the same letter; a letter that is divided gets a multiple.
    """
    letters = _Letters()
    stated: dict[str, tuple[int, int]] = {}
    free: dict[str, int] = {}
    for node in _iter_sizes(tree):
        if isinstance(node, ast.Slice):
            letter, size = _read_stated(node, text)
            before = stated.setdefault(letter.name, (size, letter.position))
            if before[0] != size:
                message = (
                    f"`{letter.name}` is {before[0]} at column {before[1] + 1}"
                    f" and {size} here"
                )
                raise InputError(message, text, letter.position)
            continue
        written = _read_size(node, text)
        for letter in find_letters(written):
            free.setdefault(letter.name, 1)
        for name, divisor in _iter_divided(written):
            free[name] = lcm(free[name], divisor)
    letters.sizes = {name: size for name, (size, _) in stated.items()}
    for name, multiple in free.items():
        if name not in letters.sizes:
            used = {*letters.sizes.values()}
            fresh = (n * multiple for n in count(1))
            size = next(n for n in fresh if n > 1 and n not in used)
            letters.sizes[name] = letters.chosen[name] = size
    return letters


def _iter_sizes(tree: ast.expr) -> Iterator[ast.expr]:
    """Yield the size expressions inside tensor brackets, in the order of the text."""
    size_nodes = [
        item
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in DTYPES
        for item in _get_items(node)
    ]
    yield from sorted(size_nodes, key=lambda node: (node.lineno, node.col_offset))


def _get_items(node: ast.Subscript) -> list[ast.expr]:
    """Return the size expressions of a tensor."""
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _read_stated(node: ast.Slice, text: str) -> tuple[NamedSize, int]:
    """Return the letter and the size of `B=8`, rewritten as `B:8` for Python."""
    name, size = node.lower, node.upper
    written = text[node.col_offset : node.end_col_offset]
    if "=" not in written or not isinstance(name, ast.Name) or name.id in DTYPES:
        raise InputError("a size is an integer or a letter", text, node.col_offset)
    number = isinstance(size, ast.Constant) and size.value
    if type(number) is not int or node.step is not None:
        place = node.col_offset if size is None else size.col_offset
        message = f"the size of `{name.id}` must be a number, 0 or more"
        raise InputError(message, text, place)
    return NamedSize(name.id, node.col_offset), number


def _read_size(node: ast.expr, text: str) -> Size:
    """Convert a size expression to data: a number, a letter, or arithmetic on them."""
    at = node.col_offset
    if isinstance(node, ast.Slice):
        return _read_stated(node, text)[0]
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return StatedSize(node.value, at)
    if isinstance(node, ast.Name):
        if node.id in DTYPES:
            raise InputError(f"`{node.id}` cannot be a size", text, at)
        return NamedSize(node.id, at)
    if isinstance(node, ast.BinOp) and type(node.op) in _SYMBOLS:
        sides = _read_size(node.left, text), _read_size(node.right, text)
        return Arithmetic(_SYMBOLS[type(node.op)], *sides, at)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        raise InputError("sizes are divided by `//`", text, at)
    raise InputError("a size is an integer, 0 or more", text, at)


def _iter_divided(size: Size) -> Iterator[tuple[str, int]]:
    """Yield each letter that is divided by a number, with that number."""
    if isinstance(size, Arithmetic):
        if size.operator in ("//", "%") and isinstance(size.right, StatedSize):
            for letter in find_letters(size.left):
                yield letter.name, size.right.value or 1
        yield from _iter_divided(size.left)
        yield from _iter_divided(size.right)


def _compute_size(
    node: ast.expr, text: str, letters: _Letters
) -> tuple[int, str | None]:
    """Return the value of a size expression, and its letter if it is only one."""
    written = _read_size(node, text)
    try:
        number = compute_size(written, letters.sizes)
    except DividedByZero as error:
        message = "this size divides by zero"
        raise InputError(message, text, error.position) from None
    if number < 0:
        message = f"a size is an integer, 0 or more; this is {number}"
        raise InputError(message, text, node.col_offset)
    return number, written.name if isinstance(written, NamedSize) else None


@dataclass(frozen=True, slots=True)
class _Named:
    """A named value of torch, like `torch.float32` or `torch.channels_last`."""

    name: str


@dataclass(frozen=True, slots=True)
class _OperationCall:
    """A call: a dotted torch name and its arguments, which may themselves be calls.

    Leaves of arguments are `TensorSpec`, `_Named`, `_OperationCall` or plain values.
    `built` are the arguments that a layer is built with (`nn.Conv2d(3, 8, 3)(x)`), None
    for a function. `letters` are the names of sizes, `chosen` those of them whose size
    the text does not say.
    """

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    built: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    letters: dict[str, int] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)

    def leaves(self) -> Iterator[TensorSpec]:
        """Yield the tensors in the call, in order."""
        yield from _iter_tensors((self.args, tuple(self.kwargs.values())))


def _iter_tensors(nest: Any) -> Iterator[TensorSpec]:
    """Yield the tensors in nested arguments."""
    if isinstance(nest, TensorSpec):
        yield nest
    elif isinstance(nest, _OperationCall):
        yield from nest.leaves()
    elif isinstance(nest, tuple | list):
        for item in nest:
            yield from _iter_tensors(item)


def _is_tensor(value: Any) -> bool:
    """Return whether a value is a tensor, or a call that may return one."""
    return isinstance(value, TensorSpec | _OperationCall)


def parse_call(text: str) -> _OperationCall:
    """Parse a call, or raise an `InputError` that points at what is not one."""
    if not text.strip():
        raise InputError('no call given; write one as in "f32[3, 1] + f32[4]"')
    text = text.strip()
    try:
        tree = parse_expression(_as_python(text))
    except SyntaxError as error:
        message = f"not an expression: {error.msg}"
        raise InputError(message, text, (error.offset or 1) - 1) from None
    letters = _find_letters(tree, text)
    if isinstance(tree, ast.Name) and tree.id not in DTYPES:
        raise InputError(f"`{tree.id}` is not a call; {AS_CALL}", text, 0)
    call = _Reader(text, letters).value(tree)
    if isinstance(call, TensorSpec):
        call = _OperationCall("tensor", (call,), {}, text)
    if not isinstance(call, _OperationCall):
        raise InputError(f"not a call of a torch operator; {AS_CALL}", text, 0)
    return replace(call, letters=letters.sizes, chosen=letters.chosen)


def list_chain(call: _OperationCall) -> list[_OperationCall]:
    """Return the calls of a chain of methods, the first first; one if it is no chain.

    Example: two for ``f32[2, 6].view(2, 3, 2).transpose(1, 2)``.
    """
    chain: list[_OperationCall] = []
    node: Any = call
    while isinstance(node, _OperationCall):
        chain.insert(0, replace(node, letters=call.letters, chosen=call.chosen))
        if not node.name.startswith("torch.Tensor.") or node.built is not None:
            break
        node = node.args[0] if node.args else None
    return chain


def is_expression(text: str) -> bool:
    """Return whether a text can be a call: messages in English are none."""
    try:
        parse_expression(_as_python(text))
    except SyntaxError:
        return False
    return True


AS_CALL = (
    "an operator is drawn with its arguments, as in "
    '"torch.gather(f32[4, 6], 0, i64[2, 6])"'
)
AS_TENSOR = "; a tensor is a dtype with sizes, as in `f32[4, 6]`, `i64[2]`, `bool[3]`"

OPERATORS: dict[type, str] = {
    ast.Add: "torch.add", ast.Sub: "torch.sub", ast.Mult: "torch.mul",
    ast.Div: "torch.div", ast.FloorDiv: "torch.floor_divide",
    ast.Mod: "torch.remainder", ast.Pow: "torch.pow", ast.MatMult: "torch.matmul",
    ast.BitAnd: "torch.bitwise_and", ast.BitOr: "torch.bitwise_or",
    ast.Lt: "torch.lt", ast.LtE: "torch.le", ast.Gt: "torch.gt", ast.GtE: "torch.ge",
    ast.Eq: "torch.eq", ast.NotEq: "torch.ne",
    ast.USub: "torch.neg", ast.Invert: "torch.bitwise_not",
}  # fmt: skip
PREFIXES = {
    "F": "torch.nn.functional", "nn": "torch.nn", "linalg": "torch.linalg",
    "fft": "torch.fft",
}  # fmt: skip


class _Reader:
    """A converter of a syntax tree to data that knows the position of each part."""

    def __init__(self, text: str, letters: _Letters) -> None:
        self.text = text
        self.letters = letters
        self.fills = _find_fills(text)

    def read_fill(
        self, shape: tuple[int, ...], dtype: str, written: str, node: ast.AST
    ) -> Any:
        """Return the values of a tensor, as a spec of inputs has them."""
        from shapewright.inputs.spec import parse_spec

        sizes = ", ".join(map(str, shape))
        try:
            (leaf,) = parse_spec(f"{dtype}[{sizes}]{written}").leaves
        except InputError as error:
            message = str(error).partition("\n")[0]
            raise self.refuse(message, node) from None
        return leaf.fill

    def refuse(self, message: str, node: ast.AST) -> InputError:
        column = getattr(node, "col_offset", 0)
        return InputError(message, self.text, column)

    def value(self, node: ast.expr) -> Any:
        """Convert an expression to a tensor, a call, a name in torch, or a literal."""
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            sides = self.value(node.left), self.value(node.right)
            if all(type(side) is int for side in sides):  # `f32[B=8, T].view(B*T)`
                return _compute_size(node, self.text, self.letters)[0]
            return self.made(OPERATORS[type(node.op)], sides, {}, node)
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
            inside = self.value(node.operand)
            if isinstance(inside, TensorSpec | _OperationCall):
                return self.made(OPERATORS[type(node.op)], (inside,), {}, node)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            name = OPERATORS.get(type(node.ops[0]))
            if name:
                sides = self.value(node.left), self.value(node.comparators[0])
                return self.made(name, sides, {}, node)
        if isinstance(node, ast.Attribute):
            if node.attr in ("T", "mT", "H", "mH") and not self.read_dotted_name(node):
                name = f"torch.Tensor.{node.attr}"
                return self.made(name, (self.value(node.value),), {}, node)
            return self.attribute(node)
        if isinstance(node, ast.Name) and node.id in DTYPES:
            return TensorSpec((), DTYPES[node.id])
        if isinstance(node, ast.Name) and node.id in self.letters.sizes:
            return self.letters.sizes[node.id]
        return self.literal(node)

    def literal(self, node: ast.expr) -> Any:
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Tuple):
            return tuple(self.value(item) for item in node.elts)
        if isinstance(node, ast.Slice):
            ends = (node.lower, node.upper, node.step)
            return slice(*(None if end is None else self.value(end) for end in ends))
        try:
            return ast.literal_eval(node)
        except ValueError:
            pass
        if isinstance(node, ast.Name):
            hint = suggest_name(node.id, DTYPES) or AS_TENSOR
            raise self.refuse(f"unknown name `{node.id}`{hint}", node)
        raise self.refuse("only tensors, literals and torch's names are read", node)

    def made(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], node: ast.expr
    ) -> _OperationCall:
        text = ast.get_source_segment(self.text, node) or self.text
        return _OperationCall(name, args, kwargs, text)

    def read_dotted_name(self, node: ast.expr) -> str:
        """Return the dotted name of a chain of attributes, or an empty string."""
        first, dot, rest = get_dotted_name(node).partition(".")
        return "" if first in DTYPES else f"{PREFIXES.get(first, first)}{dot}{rest}"

    def attribute(self, node: ast.Attribute) -> Any:
        name = self.read_dotted_name(node)
        if name.startswith("torch.") and name.count(".") == 1:
            return _Named(name)
        if name:
            raise self.refuse(f"`{name}` is named, not called; {AS_CALL}", node)
        raise self.refuse(
            f"`.{node.attr}` is not drawn; methods are, as in `f32[2, 3].t()`", node
        )

    def call(self, node: ast.Call) -> Any:
        for part in (*node.args, *node.keywords):
            if isinstance(part, ast.Starred) or getattr(part, "arg", "") is None:
                raise self.refuse("`*` and `**` are not supported", node)
        args = tuple(self.value(argument) for argument in node.args)
        kwargs = {
            str(keyword.arg): self.value(keyword.value) for keyword in node.keywords
        }
        name = self.read_dotted_name(node.func)
        if name.startswith("torch."):
            return self.made(name, args, kwargs, node)
        if name == "len" and len(args) == 1 and _is_tensor(args[0]):
            return self.made("torch.Tensor.__len__", args, kwargs, node)
        if name:
            hint = f"`torch.{name}` or `F.{name}`" if "." not in name else "`torch...`"
            raise self.refuse(f"`{name}` is not torch's; write {hint}", node)
        if isinstance(node.func, ast.Name):
            raise self.refuse(
                f"sizes are written in brackets: `{node.func.id}[2, 3]`", node
            )
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            method = f"torch.Tensor.{node.func.attr}"
            return self.made(method, (base, *args), kwargs, node)
        if isinstance(node.func, ast.Call):
            layer = self.value(node.func)
            if isinstance(layer, _OperationCall) and layer.name.startswith("torch.nn."):
                text = ast.get_source_segment(self.text, node) or self.text
                if any(isinstance(argument, _OperationCall) for argument in layer.args):
                    raise self.refuse(
                        "only one layer can be drawn; `shapewright trace` runs "
                        "whole networks",
                        node.func,
                    )
                built = layer.args, layer.kwargs
                return _OperationCall(layer.name, args, kwargs, text, built)
        raise self.refuse("only torch's operators and layers are called", node)

    def subscript(self, node: ast.Subscript) -> Any:
        base = node.value
        if isinstance(base, ast.Name) and base.id in DTYPES:
            sizes = [
                _compute_size(item, self.text, self.letters)
                for item in _get_items(node)
            ]
            letters = tuple(letter for _, letter in sizes)
            shape = tuple(number for number, _ in sizes)
            written = self.fills.get(node.end_col_offset or 0)
            if written is None:
                return TensorSpec(shape, DTYPES[base.id], letters=letters)
            fill = self.read_fill(shape, base.id, self.text[slice(*written)], node)
            return _FilledTensor(shape, DTYPES[base.id], letters=letters, fill=fill)
        index = self.value(node.slice)
        inner = (self.value(base), index)
        return self.made("torch.Tensor.__getitem__", inner, {}, node)
