"""Arrays that a library refuses: views with negative strides, sparse matrices that are
asked for their length, images with the channels first.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.common_mistakes import SIGNS
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_dotted_name,
    iter_assignments,
    iter_own_nodes,
)

NEGATIVE = "stride in the given numpy array is negative"
SPARSE = re.compile(r"sparse (?:array|matrix) length is ambiguous")
NO_IMAGE = re.compile(r"Cannot handle this data type: \(1, 1, (\d+)\)")
NOT_SHOWN = re.compile(r"Invalid shape \(([\d, ]+)\) for image data")
NO_CAST = re.compile(
    r"Cannot cast ufunc '(\w+)' output from dtype\('\w+'\) to dtype\('(\w+)'\)"
)
CHANNELS = 4
"""The most channels that an image of PIL has."""
MAKING = re.compile(r"(from_numpy|(as_)?tensor|asarray)$")
FLIPPING = re.compile(r"flip(lr|ud)?$|rot90$")
COPYING = re.compile(r"copy$|as(contiguous|fortran)?array$|array$|astype$|stack$")
"""Functions and methods whose result has no negative strides."""
PRIMARY = ast.Name | ast.Attribute | ast.Call | ast.Subscript
FARTHEST = 4
"""How many names and functions a value is followed through."""


def find_refused_array(program: Program, finding: Finding) -> Explanation | None:
    """Return why a library refused an array, or None."""
    place, words = program.node(finding.span), finding.words
    if NEGATIVE in words:
        return _explain_negative_strides(program, finding)
    if place is None:
        return None
    text, node = place
    if SPARSE.search(words):
        return _explain_sparse_length(text, node)
    cast = NO_CAST.search(words)
    if cast is not None:
        return _explain_cast(text, node, cast[2])
    refused = NO_IMAGE.search(words)
    if refused is not None and int(refused[1]) > CHANNELS:
        return _explain_first_channels(text, node, int(refused[1]))
    shown = NOT_SHOWN.search(words)
    if shown is not None:
        sizes = [int(size) for size in re.findall(r"\d+", shown[1])]
        return _explain_shown_image(program, finding, sizes)
    return None


# -- negative strides ------------------------------------------------------------------


def _explain_negative_strides(program: Program, finding: Finding) -> Explanation:
    """Explain a flipped array that is made a tensor."""
    place = program.node(finding.span)
    text, node = place if place is not None else (None, None)
    argument = _find_argument(node) if node is not None else None
    flips: list[tuple[SourceText, ast.expr]] = []
    if text is not None and argument is not None:
        scope = text.around(node, *FUNCTIONS)
        flips = list(_iter_flips(program, text, argument, scope, FARTHEST))
    else:  # a loader makes the tensors of the items
        items = [f for own in program.own_texts() for f in _iter_items(own)]
        flips = [
            flip
            for own, item in items
            for part in _iter_results(item)
            for flip in _iter_flips(program, own, part, item, FARTHEST)
        ]
    flips = list({own.span(flip): (own, flip) for own, flip in flips}.values())
    message = "tensors have no negative strides, and"
    fixes = []
    if flips:
        own, flip = flips[0]
        message += (
            f" `{own.line_of(flip)}` is a view that reads its array backwards: it"
            " needs a copy"
        )
        edits = [Edit(own.span(flip).end, ".copy()") for own, flip in flips]
        shown = f"`{join_lines(own.written(flip))}.copy()`"
        fixes.append(Fix("fits", shown, tuple(edits)))
    elif text is not None and argument is not None:
        message += f" `{text.line_of(argument)}` is a view that reads its array"
        message += " backwards: it needs a copy"
    else:
        message += " an array is a view that reads another one backwards"
    if text is not None and argument is not None:
        new = _append(text, argument, ".copy()")
        shown = f"`{join_lines(new)}`"
        fixes.append(Fix("fits", shown, (Edit(text.span(argument), new),)))
    related = [Related(own.span(flip), "it is flipped here") for own, flip in flips]
    related = [place for place in related if place.span.line != finding.line]
    return Explanation(message, tuple(related), tuple(fixes))


def _find_argument(node: ast.AST) -> ast.expr | None:
    """Return what a call makes a tensor of, such as `x` of `torch.from_numpy(x)`."""
    if not isinstance(node, ast.Call):
        return None
    name = get_called_name(node)
    is_maker = bool(MAKING.match(name))
    is_class = name.endswith(("Tensor", "to_tensor")) or isinstance(node.func, ast.Call)
    return node.args[0] if node.args and (is_maker or is_class) else None


def _iter_items(text: SourceText) -> Iterator[tuple[SourceText, ast.AST]]:
    """Yield the functions that return the items of data sets."""
    for name in ("__getitem__", "__iter__"):
        for _, function in text.functions(name):
            yield text, function


def _iter_results(function: ast.AST) -> Iterator[ast.expr]:
    """Yield what a function returns, or the parts of a tuple or a dict."""
    for node in iter_own_nodes(function):
        value = node.value if isinstance(node, ast.Return | ast.Yield) else None
        if isinstance(value, ast.Tuple):
            yield from value.elts
        elif isinstance(value, ast.Dict):
            yield from value.values
        elif value is not None:
            yield value


def _iter_flips(
    program: Program,
    text: SourceText,
    value: ast.expr | None,
    scope: ast.AST | None,
    farthest: int,
) -> Iterator[tuple[SourceText, ast.expr]]:
    """Yield the expressions that make a value a view with negative strides, in itself,
    in what its names are set to, or in the functions that it calls.
    """
    if value is None or not farthest:
        return
    if isinstance(value, ast.IfExp):
        for part in (value.body, value.orelse):
            yield from _iter_flips(program, text, part, scope, farthest)
    elif _is_flip(value):
        yield text, value
    elif isinstance(value, ast.Name | ast.Attribute):
        name = get_dotted_name(value)
        owner = text.around(value, ast.ClassDef) if "." in name else None
        held = owner or scope or text.tree
        last = None if owner is not None else value.lineno
        for target, other in iter_assignments(held, before=last, unpacked=True):
            if get_dotted_name(target) == name and other is not value:
                yield from _iter_flips(program, text, other, scope, farthest - 1)
        if isinstance(value, ast.Attribute) and value.attr == "T":
            yield from _iter_flips(program, text, value.value, scope, farthest)
    elif isinstance(value, ast.Subscript):
        yield from _iter_flips(program, text, value.value, scope, farthest)
    elif isinstance(value, ast.Call):
        name = get_called_name(value)
        if COPYING.search(name):
            return
        defined = [
            (own, f) for own in program.own_texts() for _, f in own.functions(name)
        ]
        for own, function in defined:
            for part in _iter_results(function):
                yield from _iter_flips(program, own, part, function, farthest - 1)
        if not defined and isinstance(value.func, ast.Attribute):  # of a view of it
            yield from _iter_flips(program, text, value.func.value, scope, farthest)
            for part in value.args[:1]:
                yield from _iter_flips(program, text, part, scope, farthest)


def _is_flip(value: ast.expr) -> bool:
    """Return whether an expression is itself a flipped view: `np.fliplr(x)` or
    `x[:, ::-1]`.
    """
    if isinstance(value, ast.Call):
        owner, _, name = get_dotted_name(value.func).rpartition(".")
        return owner in ("np", "numpy", "") and bool(FLIPPING.match(name))
    if not isinstance(value, ast.Subscript):
        return False
    items = value.slice.elts if isinstance(value.slice, ast.Tuple) else [value.slice]
    return any(
        isinstance(item, ast.Slice)
        and isinstance(item.step, ast.UnaryOp)
        and isinstance(item.step.op, ast.USub)
        for item in items
    )


def _append(text: SourceText, value: ast.expr, method: str) -> str:
    """Return the text of a value with a method call behind it."""
    written = text.written(value)
    return (
        f"{written}{method}" if isinstance(value, PRIMARY) else f"({written}){method}"
    )


# -- sparse matrices -------------------------------------------------------------------


def _explain_sparse_length(
    text: SourceText, node: ast.expr | ast.stmt
) -> Explanation | None:
    """Explain `len(x)` of a sparse matrix of SciPy."""
    message = (
        "a sparse matrix of SciPy has no `len()`, which would be the number of rows or"
        " of the values stored"
    )
    is_length = get_called_name(node) == "len" and isinstance(node, ast.Call)
    if not isinstance(node, ast.Call) or not is_length or len(node.args) != 1:
        return Explanation(f"{message}: its rows are counted by `shape[0]`")
    matrix = node.args[0]
    new = _append(text, matrix, ".shape[0]")
    written = text.line_of(matrix)
    edits = [Edit(text.span(call), new) for call in _iter_lengths(text, node, written)]
    message = f"`{written}` is a sparse matrix of SciPy, which has no `len()`:"
    message += f" its rows are `{join_lines(new)}`"
    return Explanation(
        message, (), (Fix("fits", f"`{join_lines(new)}`", tuple(edits)),)
    )


def _iter_lengths(text: SourceText, node: ast.Call, written: str) -> Iterator[ast.Call]:
    """Yield the calls of `len` with the same matrix: those of an attribute in its
    class, those of a name in its function.
    """
    kinds = (ast.ClassDef,) if written.startswith("self.") else FUNCTIONS
    scope = text.around(node, *kinds)
    for call in text.nodes:
        if not isinstance(call, ast.Call) or get_called_name(call) != "len":
            continue
        is_same = [text.line_of(part) for part in call.args] == [written]
        if is_same and (text.around(call, *kinds) is scope or call is node):
            yield call


# -- images ----------------------------------------------------------------------------


def _explain_first_channels(
    text: SourceText, node: ast.expr | ast.stmt, last: int
) -> Explanation | None:
    """Explain `Image.fromarray` of an array with the channels first."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if get_called_name(node) != "fromarray":
        return None
    image = node.args[0]
    message = (
        "`Image.fromarray` takes an array of (H, W, C), and the last dim of"
        f" `{text.line_of(image)}` has {last} elements: its channels come first"
    )
    read, values = text.around(node, *FUNCTIONS), [image]
    for target, value in iter_assignments(read or text.tree, before=node.lineno):
        if get_dotted_name(target) and get_dotted_name(target) in _list_names(image):
            values.append(value)
    fixes = []
    for of_tensor, of_array in (
        (".permute(1, 2, 0)", ".transpose(1, 2, 0)"),
        (".squeeze(0)", ".squeeze(0)"),
    ):
        edit, new = _move_channels(text, values, of_tensor, of_array)
        fixes.append(Fix("fits", f"`{join_lines(new)}`", (edit,)))
    return Explanation(message, (), tuple(fixes))


def _list_names(node: ast.expr) -> list[str]:
    """Return the dotted names in an expression."""
    parts = (get_dotted_name(part) for part in ast.walk(node))
    return [name for name in parts if name]


def _move_channels(
    text: SourceText, values: list[ast.expr], of_tensor: str, of_array: str
) -> tuple[Edit, str]:
    """Return the edit that puts a method behind a tensor where it becomes the array of
    an image, else behind the array.
    """
    for value in values:
        for part in ast.walk(value):
            is_array = isinstance(part, ast.Call) and get_called_name(part) == "numpy"
            if not is_array or not isinstance(part, ast.Call):
                continue
            if isinstance(part.func, ast.Attribute) and not part.args:
                end = text.span(part.func).end
                column = end.column - len(".numpy")
                at = replace(end, column=column, end_column=column)
                start = text.span(part)
                written = text.at(replace(end, line=start.line, column=start.column))
                shown = f"{written.removesuffix('.numpy')}{of_tensor}.numpy()"
                return Edit(at, of_tensor), shown
    whole = _append(text, values[0], of_array)
    return Edit(text.span(values[0]), whole), whole


# -- images that are shown -------------------------------------------------------------


def _explain_shown_image(
    program: Program, finding: Finding, sizes: list[int]
) -> Explanation | None:
    """Explain `plt.imshow(image)` of an image whose channels stand first."""
    shown = [
        (text, call)
        for text, call in program.iter_calls(finding)
        if get_called_name(call) in ("imshow", "figimage", "set_data") and call.args
    ]
    if not shown:
        return None
    text, call = shown[0]
    value, written = call.args[0], text.line_of(call.args[0])
    message = (
        f"`{get_called_name(call)}` takes (height, width) or (height, width, channels),"
        f" and `{written}` is ({', '.join(map(str, sizes))})"
    )
    batch = "[0]" if len(sizes) == 4 and sizes[0] == 1 else ""
    inner = sizes[1:] if batch else sizes
    if len(inner) != 3 or isinstance(value, ast.Starred):
        return Explanation(message)
    if inner[0] == 1:
        ways = [f"{batch}.squeeze(0)", f"{batch}.squeeze(0)"]
    elif inner[0] in (3, CHANNELS) and inner[2] not in (3, CHANNELS):
        ways = [f"{batch}.permute(1, 2, 0)", f"{batch}.transpose(1, 2, 0)"]
    else:
        return Explanation(message)
    message += ": the channels stand first"
    array = _find_conversion(value)
    if array is not None:  # of a tensor, in front of `.numpy()`
        owner = array.value
        new = _append(text, owner, ways[0])
        whole = text.span(value)
        left = text.at(whole.start.until(text.span(owner).start))
        right = text.at(text.span(owner).end.until(whole.end))
        if left or not isinstance(owner, PRIMARY):
            new = f"{_append(text, value, ways[1])}"
            edits = [(Edit(whole, new), new)]
        else:
            edits = [(Edit(text.span(owner), new), new + right)]
    else:
        texts = dict.fromkeys(_append(text, value, way) for way in ways)
        edits = [(Edit(text.span(value), new), new) for new in texts]
    fixes = [Fix("fits", f"`{join_lines(new)}`", (edit,)) for edit, new in edits]
    return Explanation(message, (), tuple(fixes))


def _find_conversion(value: ast.expr) -> ast.Attribute | None:
    """Return `image.numpy` of `image.numpy()` or of a method of its result, or None."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == "numpy":
            return value.func
        value = value.func.value
    return None


# -- arithmetic in place ---------------------------------------------------------------


def _explain_cast(text: SourceText, node: ast.AST, dtype: str) -> Explanation | None:
    """Explain `image -= MEAN` of whole numbers, which cannot hold the result."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    if not isinstance(statement, ast.AugAssign):
        return None
    sign = SIGNS.get(type(statement.op))
    target, value = statement.target, text.written(statement.value)
    if sign is None:
        return None
    name = text.line_of(target)
    message = (
        f"`{name}` is {dtype}, and `{sign}=` would write floats into it; out of place"
        f" `{name} {sign} ...` gives a new array of floats"
    )
    fixes: tuple[Fix, ...] = ()
    if isinstance(statement.value, ast.BinOp | ast.IfExp | ast.BoolOp | ast.Compare):
        value = f"({value})"
    if get_dotted_name(target) and _is_read_later(text, statement):
        new = f"{text.written(target)} = {text.written(target)} {sign} {value}"
        edit = Edit(text.span(statement), new)
        fixes = (Fix("fits", f"`{join_lines(new)}`", (edit,)),)
    return Explanation(message, (), fixes)


def _is_read_later(text: SourceText, statement: ast.AugAssign) -> bool:
    """Return whether a name is read below a statement of its function: what was done in
    place for a caller would be lost out of place.
    """
    target = statement.target
    if not isinstance(target, ast.Name):
        return True  # an attribute
    scope = text.around(statement, *FUNCTIONS)
    return any(
        isinstance(node, ast.Name)
        and node.id == target.id
        and isinstance(node.ctx, ast.Load)
        and node.lineno > statement.lineno
        and text.around(node, *FUNCTIONS) is scope
        for node in text.nodes
    )
