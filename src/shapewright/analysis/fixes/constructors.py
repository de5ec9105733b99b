"""Fixes that change sizes where a layer is constructed or a tensor is created."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from math import lcm

from shapewright.analysis.causes import NO_SIZES, trace_dim
from shapewright.analysis.explanations import find_sides
from shapewright.analysis.fixes.suspect_lines import (
    find_other_item,
    iter_names_for,
    write_size,
)
from shapewright.analysis.program_run import Program
from shapewright.analysis.provenance.origins import (
    find_constructor,
    iter_arguments,
    iter_attribute_values,
)
from shapewright.findings.codes import (
    BROADCAST_MISMATCH,
    DOES_NOT_DIVIDE,
    ELEMENT_COUNT_MISMATCH,
    SHUFFLED_SIZES,
)
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure, Repair
from shapewright.operators.metadata_rules import Made
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    get_called_name,
    get_last_name,
    iter_own_nodes,
)
from shapewright.record.ops import Fact, Op


def fix_consumer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Change the layer that sets the expected size so that it expects the actual
    size.
    """
    wanted, got = find_sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = wanted
    for module, layer_size in _iter_modules(program, op.inputs[at], dim):
        size = has if layer_size == needs else None
        if size is not None:
            written = _as_product(program, op.inputs[got[0]], got[1])
            written = written or _as_sum(program, module, op.inputs[got[0]], got[1])
            yield from change_layer_size(program, module, needs, size, written)


def fix_expecting_layer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Change the constructor argument of the failing layer that sets the size it
    expects.
    """
    op = program.trace.ops[failure.op]
    layer = program.layer(op)
    if layer is None or layer.path not in program.built:
        return
    for has, needs in find_size_pairs(program, failure):
        written = ""
        got = find_sides(failure)[1]
        if got is not None and op.inputs[got[0]].shape[got[1]] == has:
            written = _as_product(program, op.inputs[got[0]], got[1])
            written = written or _as_sum(program, layer.path, op.inputs[got[0]], got[1])
        yield from change_layer_size(program, layer.path, needs, has, written)


def find_size_pairs(program: Program, failure: Failure) -> list[tuple[int, int]]:
    """Return pairs of (actual, expected) sizes, the most certain first."""
    op = program.trace.ops[failure.op]
    pairs: list[tuple[int, int]] = []
    unmet = failure.unmet
    if unmet is not None and type(unmet.has) is int and type(unmet.needs) is int:
        pairs.append((unmet.has, unmet.needs))
    wanted, got = find_sides(failure)
    if wanted is not None and got is not None:
        needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
        pairs.append((has, needs))
    for repair in failure.repairs:
        if repair.kind == "size" and isinstance(repair.old, int):
            pairs.append((repair.old, repair.new))
    return list(dict.fromkeys(pairs))


def fix_producer(program: Program, failure: Failure) -> Iterator[Fix]:
    """Make the layer that set the actual size produce the expected size."""
    wanted, got = find_sides(failure)
    if wanted is None or got is None:
        return
    op = program.trace.ops[failure.op]
    needs, has = (op.inputs[at].shape[dim] for at, dim in (wanted, got))
    at, dim = got
    for module, layer_size in _iter_modules(program, op.inputs[at], dim):
        if layer_size == has:
            yield from change_layer_size(program, module, has, needs, "")


def resize_producer(program: Program, fact: Fact, dim: int, size: int) -> Iterator[Fix]:
    """Make the layer that set the size of a dim produce another size."""
    for module, layer_size in _iter_modules(program, fact, dim % len(fact.shape)):
        yield from change_layer_size(program, module, layer_size, size, "")


def fix_shuffle(program: Program, failure: Failure) -> Iterator[Fix]:
    """Make the layer before a pixel shuffle produce the channels that the shuffle
    needs.
    """
    unmet = failure.unmet
    if unmet is None or unmet.code != SHUFFLED_SIZES or unmet.got is None:
        return
    has, needs = unmet.has, unmet.needs
    op = program.trace.ops[failure.op]
    if type(has) is not int or type(needs) is not int or needs < 2:
        return
    for module, size in _iter_modules(program, op.inputs[0], unmet.got.dim or 1):
        factors = [
            factor for _, factor in op.arguments if type(factor) is int and factor > 1
        ]
        squared = [has * factor for factor in factors if has % factor == 0]
        near = (*squared, needs, lcm(has, needs), -(-has // needs) * needs)
        for new in dict.fromkeys(near):
            if new and size == has:
                yield from change_layer_size(program, module, has, new, "")


def fix_share(program: Program, failure: Failure) -> Iterator[Fix]:
    """Scale the output size of a layer so that the sizes of a view match it."""
    unmet = failure.unmet
    if unmet is None or unmet.code not in (ELEMENT_COUNT_MISMATCH, DOES_NOT_DIVIDE):
        return
    has, needs = unmet.has, unmet.needs
    if type(has) is not int or type(needs) is not int or not has or not needs:
        return
    fact = program.trace.ops[failure.op].inputs[0]
    for dim in range(len(fact.shape)):
        for module, size in _iter_modules(program, fact, dim):
            if size * needs % has == 0:
                yield from change_layer_size(
                    program, module, size, size * needs // has, ""
                )


def _iter_modules(program: Program, fact: Fact, dim: int) -> Iterator[tuple[str, int]]:
    """Yield the layers whose parameters set the size of a dim, together with that
    size.
    """
    origin = trace_dim(program, fact, dim)
    if origin.why != "parameter":
        return
    path = program.states.get(origin.fact.tensor)
    if path is not None:
        yield path.rpartition(".")[0], origin.fact.shape[origin.dim]


def change_layer_size(
    program: Program, module: str, old: int, new: int, written: str
) -> Iterator[Fix]:
    """Yield fixes that write `new` for `old` in the call that constructs a layer.

    Where a constructor of the program's own hands the size on, its caller's argument
    comes first: that changes this layer alone.
    """
    for name, node, value in iter_arguments(program, module):
        if value not in (old, (old,)) or name in NO_SIZES:
            continue
        constructor = find_constructor(program, module)
        assert constructor is not None
        text, call = constructor
        shown = written or find_other_item(program, text, node, new)
        shown = shown or write_changed_size(text, node, old, new)
        here = replace_argument(text, call, name, node, shown)
        named = any(True for _ in iter_names_for(text, node, new))
        if named and isinstance(node, ast.Name) and new == 2 * old:
            # Another name may have this size by chance.
            yield from _find_outer_argument(
                program, module, text, call, node.id, (old, new), twice=True
            )
            twice = f"2 * {text.written(node)}"
            yield replace_argument(text, call, name, node, twice)
        if named:
            yield here
        if isinstance(node, ast.Name):
            yield from _find_outer_argument(
                program, module, text, call, node.id, (old, new)
            )
        if not named:
            yield here


def _find_outer_argument(
    program: Program,
    module: str,
    text: SourceText,
    call: ast.Call,
    name: str,
    sizes: tuple[int, int],
    twice: bool = False,
) -> Iterator[Fix]:
    """Find the outer module's argument behind a name in its constructor; with `twice`
    it is doubled, whatever else has its size.
    """
    owner = text.around(call, ast.ClassDef)
    path = module.rpartition(".")[0]
    if owner is None:
        yield from _find_function_argument(module, text, call, name, sizes)
    while path and owner is not None:
        built = program.built.get(path)
        if built is not None and built.class_name == owner.name:
            constructor = find_constructor(program, path)
            for own, node, _ in iter_arguments(program, path):
                if own == name and constructor is not None:
                    outer, around = constructor
                    if sizes[1] < sizes[0]:
                        yield from _suggest_constant(outer, node, sizes[1])
                    shown = write_changed_size(outer, node, *sizes)
                    shown = f"2 * {outer.written(node)}" if twice else shown
                    yield replace_argument(outer, around, own, node, shown)
            return
        path = path.rpartition(".")[0]


def replace_argument(
    text: SourceText, call: ast.Call, name: str, node: ast.expr, shown: str
) -> Fix:
    """Replace an argument of a call; the fix's message shows the call."""
    span, outer = text.span(node), text.span(call)
    message = f"`{name}={shown}`"
    if span.line == outer.line == outer.end_line:
        whole, left = text.written(call), span.column - outer.column
        whole = whole[:left] + shown + whole[left + len(text.written(node)) :]
        message = f"`{join_lines(whole)}`"
    return Fix("fits", message, (Edit(span, shown),))


PRODUCTS = (ast.Mult, ast.FloorDiv)
"""Operators whose result may be multiplied without brackets."""


def write_changed_size(text: SourceText, node: ast.expr, old: int, new: int) -> str:
    """Write a size as the author might: `hidden`, `n_items + 1`, `2 * hidden`."""
    written = text.written(node)
    for name in iter_names_for(text, node, new):
        return name
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        if old > 1 and new % old == 0:
            return f"{new // old} * {written}"
        if new > 1 and old % new == 0:
            return f"{written} // {old // new}"
        if abs(new - old) < 2:
            return f"{written} {'+' if new > old else '-'} {abs(new - old)}"
    is_product = isinstance(node, ast.BinOp) and isinstance(node.op, PRODUCTS)
    if is_product and old > 1 and new % old == 0:
        return f"{written} * {new // old}"
    if isinstance(node, ast.BinOp) and old > 1 and new == 2 * old:
        return f"2 * ({written})"
    return str(new)


def _as_sum(program: Program, module: str, fact: Fact, dim: int) -> str:
    """Return the width of joined tensors as a sum of what a layer's own class is built
    with, `emb + 2 * hid`, or an empty string.
    """
    maker = program.producers.get(fact.tensor)
    if maker is None or maker.name.rpartition(".")[2] not in JOINS:
        return ""
    dim %= fact.ndim
    rest = [part.shape[:dim] + part.shape[dim + 1 :] for part in maker.inputs]
    if any(shape != rest[0] for shape in rest):
        return ""
    values = {
        name: value
        for name, _, value in iter_arguments(program, module.rpartition(".")[0])
        if type(value) is int and value > 1
    }
    words: list[str] = []
    for part in maker.inputs:
        size = part.shape[dim]
        same = [name for name, value in values.items() if value == size]
        twice = [f"2 * {name}" for name, value in values.items() if 2 * value == size]
        word = (same or twice or [""])[0]
        if not word or word in words:
            return ""
        words.append(word)
    return " + ".join(words)


JOINS = operators_with("concatenates")


def _as_product(program: Program, fact: Fact, dim: int) -> str:
    """Return a size that a flatten made as a product, `16 * 4 * 4`, or an empty
    string.
    """
    origin = trace_dim(program, fact, dim)
    if origin.why != "product" or origin.op is None:
        return ""
    sizes = [origin.op.inputs[at].shape[d] for at, d in origin.places]
    return " * ".join(map(str, sizes))


MAKERS = operators_with("is_sized_factory", "is_range_factory") | {"new_tensor"}
"""Functions that make a tensor of sizes that they are given."""


def fix_created_tensor(program: Program, failure: Failure) -> Iterator[Fix]:
    """Create the mismatched tensor with other sizes."""
    op = program.trace.ops[failure.op]
    for at, shape in iter_wanted_shapes(program, failure):
        fact = op.inputs[at]
        if fact.tensor in program.states and _is_for_one_sample(fact.shape, shape):
            continue
        maker = program.producers.get(fact.tensor)
        if maker is None or maker.name.rpartition(".")[2] not in MAKERS:
            continue
        yield from resize_tensor(program, failure, maker, fact.shape, shape)
    lines_up = failure.unmet is not None and failure.unmet.code == BROADCAST_MISMATCH
    for at, dim, size in _iter_wanted_sizes(failure):
        if lines_up and size == 1:
            continue  # one element would line up with anything
        origin = trace_dim(program, op.inputs[at], dim)
        if origin.why == "parameter" and origin.fact.tensor in program.states:
            if 1 in (origin.fact.shape[origin.dim], size):
                continue  # of one sample, to be expanded to the batch
            yield from _resize_state(program, failure, origin.fact, origin.dim, size)
        maker = origin.op
        if maker is None or maker.inputs or origin.dim >= len(origin.fact.shape):
            continue
        if maker.name.rpartition(".")[2] in MAKERS and origin.steps:
            before = origin.fact.shape
            if before[origin.dim] == op.inputs[at].shape[dim]:
                after = (*before[: origin.dim], size, *before[origin.dim + 1 :])
                yield from resize_tensor(program, failure, maker, before, after)


def _is_for_one_sample(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a dim of size 1 gets another size, or a dim of another size 1:
    what is learned for each place would be learned once, or the reverse.
    """
    return len(before) == len(after) and any(
        a != b and 1 in (a, b) for a, b in zip(before, after, strict=True)
    )


def _resize_state(
    program: Program, failure: Failure, fact: Fact, dim: int, size: int
) -> Iterator[Fix]:
    """Create one of the program's own parameters or buffers with another size."""
    path = program.states[fact.tensor]
    op = program.trace.ops[failure.op]
    text = program.text(op.span.file) if op.span is not None else None
    if text is None:
        return
    after = (*fact.shape[:dim], size, *fact.shape[dim + 1 :])
    for value in iter_attribute_values(text, path.rpartition(".")[2]):
        for node in ast.walk(value):
            if isinstance(node, ast.Call) and get_called_name(node) in MAKERS:
                yield from _rewrite_sizes(
                    program, failure, text, node, fact.shape, after
                )


def iter_wanted_shapes(
    program: Program, failure: Failure
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield (input, shape) for every shape with which the call would succeed."""
    op = program.trace.ops[failure.op]
    for grant in failure.unmet.grants if failure.unmet is not None else ():
        if grant.argument in failure.arguments and isinstance(grant.value, Made):
            yield failure.arguments.index(grant.argument), tuple(grant.value.shape)
    for repair in failure.repairs:
        shape = _repair_shape(op.inputs[repair.tensor].shape, repair)
        if shape is not None:
            yield repair.tensor, shape


def _iter_wanted_sizes(failure: Failure) -> Iterator[tuple[int, int, int]]:
    """Yield (input, dim, size) for every dim that would fit if it had another size."""
    for repair in failure.repairs:
        if repair.kind == "size" and repair.dim is not None:
            yield repair.tensor, repair.dim, repair.new


def _repair_shape(shape: tuple[int, ...], repair: Repair) -> tuple[int, ...] | None:
    """Return the shape after a repair."""
    dim = repair.dim or 0
    if repair.kind == "size":
        return (*shape[:dim], repair.new, *shape[dim + 1 :])
    if repair.kind == "permute":
        return tuple(shape[at] for at in repair.new)
    if repair.kind == "unsqueeze" and repair.new is None:
        return (*shape[:dim], 1, *shape[dim:])
    if repair.kind == "squeeze":
        return (*shape[:dim], *shape[dim + 1 :])
    return None


def resize_tensor(
    program: Program,
    failure: Failure,
    maker: Op,
    before: Sequence[int],
    after: tuple[int, ...],
    scaled: Collection[int] = (),
) -> Iterator[Fix]:
    """Rewrite the call that creates a tensor so that the tensor has another shape.

    A size of a dim in `scaled` is written as a multiple of the present one.
    """
    text_and_call = program.call_at(maker.span)
    if text_and_call is not None:
        yield from _rewrite_sizes(
            program, failure, *text_and_call, before, after, scaled
        )


def _rewrite_sizes(
    program: Program,
    failure: Failure,
    text: SourceText,
    call: ast.Call,
    before: Sequence[int],
    after: tuple[int, ...],
    scaled: Collection[int] = (),
) -> Iterator[Fix]:
    """Rewrite the sizes in a call so that the tensor that it creates has another
    shape.
    """
    nodes = find_size_nodes(text, call, len(before))
    if nodes is None:
        return
    written = [text.written(node) for node in nodes]
    words: list[str] = []
    left = list(zip(before, written, strict=True))
    for place, size in enumerate(after):
        same = place < len(before) and len(before) == len(after)
        if same and before[place] == size:
            words.append(written[place])
            continue
        kept = next(
            (
                size_and_text
                for size_and_text in left
                if size_and_text[0] == size and size != 1
            ),
            None,
        )
        if kept is not None and (sorted(before) == sorted(after) or not same):
            left.remove(kept)
            words.append(kept[1])
            continue
        if same and place in scaled:
            words.append(write_changed_size(text, nodes[place], before[place], size))
            continue
        named = list(iter_names_for(text, nodes[place], size)) if same else []
        near = same and abs(before[place] - size) <= MOST_EXTRA and min(before) > 0
        plain = ast.Name | ast.Attribute | ast.Call
        if near and not named and isinstance(nodes[place], plain):
            sign = "+" if size > before[place] else "-"
            named = [f"{written[place]} {sign} {abs(size - before[place])}"]
        words.append(
            named[0] if named else write_size(program, failure, text, call, size)
        )
    yield _with_words(text, call, nodes, words)


def _suggest_constant(text: SourceText, node: ast.expr, size: int) -> Iterator[Fix]:
    """Suggest `N_CLASSES = 7` where the file gives a name its only number."""
    name = node.id if isinstance(node, ast.Name) else ""
    values = find_defining(text, name) if name.isupper() else []
    if len(values) == 1 and isinstance(values[0], ast.Constant):
        yield Fix(
            "fits", f"`{name} = {size}`", (Edit(text.span(values[0]), f"{size}"),)
        )


MOST_EXTRA = 2
"""Places that a table may have for more than its name counts: those of tokens."""


def _find_function_argument(
    module: str,
    text: SourceText,
    call: ast.Call,
    name: str,
    sizes: tuple[int, int],
) -> Iterator[Fix]:
    """Find the argument behind a name in a function that builds a part of a model: the
    call whose result has a name on the path of the layer, or the only call.
    """
    function = text.around(call, ast.FunctionDef)
    parameters = [a.arg for a in function.args.args] if function is not None else []
    if function is None or name not in parameters:
        return
    calls = [
        node
        for node in text.nodes
        if isinstance(node, ast.Call) and get_called_name(node) == function.name
    ]
    own: list[ast.Call] = []
    for outer in calls:
        statement = text.statement_of(outer)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if any(get_last_name(target) in module.split(".") for target in targets):
            own.append(outer)
    chosen = own if len(own) == 1 else calls
    at = parameters.index(name)
    if len(chosen) == 1 and len(chosen[0].args) > at:
        node = chosen[0].args[at]
        shown = write_changed_size(text, node, *sizes)
        yield replace_argument(text, chosen[0], name, node, shown)


def find_size_nodes(
    text: SourceText, call: ast.Call, rank: int
) -> list[ast.expr] | None:
    """Return the expressions of the sizes in a call, one per dim.

    A name among the arguments that stands for a tuple is looked up.
    """
    values = [
        _find_value(
            text, argument.value if isinstance(argument, ast.Starred) else argument
        )
        for argument in call.args
    ]
    for value in values:
        if isinstance(value, ast.Tuple | ast.List):
            sure = not any(isinstance(item, ast.Starred) for item in value.elts)
            return list(value.elts) if len(value.elts) == rank and sure else None
    arguments = list(call.args)
    if len(arguments) != rank or any(
        isinstance(argument, ast.Starred) for argument in arguments
    ):
        return None
    return arguments


def _find_value(text: SourceText, node: ast.expr) -> ast.expr:
    """Return the tuple assigned to a name in the same function, else
    the node itself.
    """
    scope = text.around(node, *FUNCTIONS)
    for statement in iter_own_nodes(scope) if isinstance(node, ast.Name) else ():
        if isinstance(statement, ast.Assign) and statement.lineno < node.lineno:
            target, value = statement.targets[0], statement.value
            same = isinstance(target, ast.Name) and get_last_name(
                target
            ) == get_last_name(node)
            if same and isinstance(value, ast.Tuple):
                return value
    return node


def _with_words(
    text: SourceText, call: ast.Call, nodes: list[ast.expr], words: list[str]
) -> Fix:
    """Replace all sizes of a call at once."""
    first, last = text.span(nodes[0]), text.span(nodes[-1])
    span = first.until(last)
    new = ", ".join(words)
    whole, outer = text.written(call), text.span(call)
    message = f"`{new}`" if len(words) < 2 else f"`({new})`"
    inside = outer.line == outer.end_line == span.line
    if inside and outer.column < span.column < outer.end_column:
        start, end = span.column - outer.column, span.end_column - outer.column
        message = f"`{whole[:start]}{new}{whole[end:]}`"
    return Fix("fits", message, (Edit(span, new),))
