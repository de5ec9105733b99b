"""Edits for masks of attention: their length, the token that they lack, the order of
batch and time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from shapewright.analysis.fixes.created_tensors import iter_wanted_shapes
from shapewright.analysis.fixes.keywords_and_methods import SEQUENTIAL, with_keyword
from shapewright.analysis.fixes.operands import (
    iter_handed_arguments,
    with_method_where_made,
)
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.fixes.suspect_lines import iter_named_facts
from shapewright.analysis.makers import iter_first_makers
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import ATTENTION_MASK_SHAPE, BATCH_DIM_MISMATCH
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.facts import operators_with
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import FUNCTIONS, get_called_name
from shapewright.record.ops import Fact, ModuleCall, Op, collect_leaves

JOINS = operators_with("concatenates")
REPEATING = operators_with("repeats_whole")
TRIANGLES = operators_with("keeps_triangle")
FARTHEST = 40
"""Ops between an attention and the call that put a token before its sequence."""
PADDING = "key_padding_mask"


def suggest_masks(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest what makes the mask of an attention fit its sequence."""
    unmet = failure.unmet
    if unmet is not None and unmet.code == BATCH_DIM_MISMATCH:
        shapes = [fact.shape for fact in program.trace.ops[failure.op].inputs[:2]]
        name = program.trace.ops[failure.op].name
        if "attention" in name.lower() and shapes[0][:1] == shapes[1][:1]:
            yield from _suggest_batch_first(program)
        return
    if unmet is None or unmet.code != ATTENTION_MASK_SHAPE:
        return
    for at, wanted in iter_wanted_shapes(program, failure):
        mask = program.trace.ops[failure.op].inputs[at]
        if mask.shape == wanted[::-1] != wanted:
            yield from _suggest_batch_first(program)
        yield from _suggest_padding_mask(program, failure, mask)
        yield from _suggest_length(program, mask, wanted)
        if failure.arguments[at] in (PADDING, "mask"):
            yield from _suggest_more_keys(program, failure, mask, wanted)


def _suggest_padding_mask(
    program: Program, failure: Failure, mask: Fact
) -> Iterator[Fix]:
    """Suggest `tgt_key_padding_mask=mask == 0` for `tgt_mask=mask.float()`, where a
    mask of the tokens of each sample is given as one of queries and keys.
    """
    op = program.trace.ops[failure.op]
    text_and_call = program.call_at(op.span)
    shape = op.inputs[0].shape
    if text_and_call is None or mask.shape[:1] not in (shape[:1], shape[1:2]):
        return
    if len(mask.shape) != 2 or len({*mask.shape}) < 2:
        return
    text, call = text_and_call
    for word in call.keywords:
        new = OF_PADDING.get(word.arg or "")
        if new is None:
            continue
        value, name = word.value, text.written(word.value)
        cast = value if isinstance(value, ast.Call) and not value.args else None
        is_cast = cast is not None and get_called_name(cast) in CASTS
        if cast is not None and is_cast and isinstance(cast.func, ast.Attribute):
            name = text.written(cast.func.value)
        truths = _find_truths(program, mask)
        if truths in KEPT and isinstance(value, ast.Name):
            name = f"~{name}"
        elif (mask.dtype != "bool" and truths is None) or is_cast:
            name = f"{name} == 0"  # 1 stands for a token, and True for padding
        span = text.span(value)
        start = span.column - len(f"{word.arg}=")
        span = replace(span, column=start)
        if start < 1 or not text.at(span).startswith(f"{word.arg}="):
            continue
        edit = Edit(span, f"{new}={name}")
        yield Fix("fits", f"`{join_lines(f'{new}={name}')}`", (edit,))


def _find_truths(program: Program, mask: Fact) -> str | None:
    """Return the name of the call that made the truths of which a layer made numbers,
    or None if it was given numbers.
    """
    for op in iter_first_makers(program, mask):
        for fact in op.inputs:
            if fact.dtype == "bool":
                maker = program.producers.get(fact.tensor)
                return maker.name.rpartition(".")[2] if maker is not None else ""
    return None


KEPT = ("ne", "gt", "!=", ">")
"""Comparisons that are true of words: `ids != 0`."""
OF_PADDING = {
    "attn_mask": "key_padding_mask",
    "mask": "src_key_padding_mask",
    "src_mask": "src_key_padding_mask",
    "tgt_mask": "tgt_key_padding_mask",
    "memory_mask": "memory_key_padding_mask",
}
"""Masks of queries and keys, and the name of the mask of padding beside each."""
CASTS = ("float", "bool")


def _suggest_batch_first(program: Program) -> Iterator[Fix]:
    """Suggest `batch_first=True` for all layers of a transformer in a file.

    An encoder holds copies of a layer, so the failing one is built nowhere in the text.
    """
    for file in program.trace.sources:
        text = program.text(file)
        fixes = [
            with_keyword(text, node, "batch_first=True")
            for node in (text.nodes if text is not None else ())
            if text is not None
            and isinstance(node, ast.Call)
            and get_called_name(node) in SEQUENTIAL
            and not program.defines_class(get_called_name(node))
            and all(word.arg not in ("batch_first", None) for word in node.keywords)
        ]
        if fixes:
            more = f" and {len(fixes) - 1} more" if len(fixes) > 1 else ""
            edits = tuple(edit for fix in fixes for edit in fix.edits)
            yield Fix("fits", fixes[0].message + more, edits)


def _suggest_length(
    program: Program, mask: Fact, wanted: tuple[int, ...]
) -> Iterator[Fix]:
    """Suggest the length of another sequence where a square mask is made:
    `generate_square_subsequent_mask(tgt.size(1))` for `src.size(1)`.
    """
    if len(wanted) < 2 or len({*mask.shape[-2:]}) > 1 or len({*wanted[-2:]}) > 1:
        return
    maker = program.producers.get(mask.tensor)
    text_and_call = program.call_at(maker.span) if maker is not None else None
    if text_and_call is None:
        return
    text, call = text_and_call
    assert maker is not None
    names: dict[str, Fact | None] = {**iter_named_facts(program, maker, text, call)}
    scope = text.around(call, *FUNCTIONS)
    if isinstance(scope, ast.FunctionDef):
        for argument in scope.args.args:
            if argument.arg != "self":
                names.setdefault(argument.arg, None)
    for node in ast.walk(call):
        owner, dim = _read_size(node)
        if owner is None or not isinstance(node, ast.expr):
            continue
        for name, fact in names.items():
            sizes = fact.shape[dim:][:1] if fact is not None else wanted[-1:]
            if name != owner.id and sizes == wanted[-1:]:
                new = text.written(node).replace(owner.id, name, 1)
                edit = Edit(text.span(owner), name)
                whole = text.written(call).replace(text.written(node), new, 1)
                yield Fix("fits", f"`{join_lines(whole)}`", (edit,))


def _read_size(node: ast.AST) -> tuple[ast.Name | None, int]:
    """Return the tensor and the dim of `x.size(1)`, `x.shape[1]` or `len(x)`."""
    if isinstance(node, ast.Call) and node.args:
        dim = node.args[0]
        if isinstance(node.func, ast.Name) and node.func.id == "len":
            return (dim, 0) if isinstance(dim, ast.Name) else (None, 0)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "size":
            return _as_name(node.func.value), _as_number(dim)
    shape = node.value if isinstance(node, ast.Subscript) else None
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return _as_name(shape.value), _as_number(node.slice)  # type: ignore[attr-defined]
    return None, 0


def _as_name(node: ast.expr) -> ast.Name | None:
    """Return a node that is a plain name."""
    return node if isinstance(node, ast.Name) else None


def _as_number(node: ast.expr) -> int:
    """Return a literal dim; 99 for others."""
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return 99
    return value if type(value) is int else 99


def _suggest_more_keys(
    program: Program, failure: Failure, mask: Fact, wanted: tuple[int, ...]
) -> Iterator[Fix]:
    """Suggest keys that are not hidden for the tokens that a program puts before or
    behind its sequence: `F.pad(mask, (1, 0), value=False)`.
    """
    if len(mask.shape) != 2 or mask.shape[0] != wanted[0] or mask.dtype != "bool":
        mask = _find_bool(program, mask)
    more = wanted[-1] - mask.shape[-1]
    if more < 1 or len(mask.shape) != 2 or mask.dtype != "bool":
        return
    sides = _find_joined_tokens(program, failure, wanted[-1], more)
    if sides is None:
        return
    op = program.trace.ops[failure.op]
    for text, node in reversed([*iter_handed_arguments(program, op, mask)]):
        short = any(
            isinstance(name, ast.alias) and name.asname == "F" for name in text.nodes
        )
        function = "F.pad" if short else "torch.nn.functional.pad"
        hidden = _find_kept_value(program, text, node)
        new = f"{function}({text.written(node)}, {sides}, value={hidden})"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _find_kept_value(program: Program, text: SourceText, node: ast.expr) -> str:
    """Return what a mask that is handed on holds for tokens that are not hidden: False,
    or 1 of a mask of numbers, of which zeros are hidden.
    """
    around = text.parent(node)
    while isinstance(around, ast.keyword):
        around = text.parent(around)
    span = text.span(around) if isinstance(around, ast.Call) else None
    for call in program.trace.calls:
        if call.span != span or not isinstance(around, ast.Call):
            continue
        args, kwargs = call.inputs
        values = [*zip(around.args, args, strict=False)]
        values += [
            (word.value, kwargs[word.arg])
            for word in around.keywords
            if word.arg is not None and word.arg in kwargs
        ]
        for argument, value in values:
            if argument is node and isinstance(value, Fact):
                return "False" if value.dtype == "bool" else "1"
    return "False"


def _find_bool(program: Program, mask: Fact) -> Fact:
    """Return the truths that a mask of numbers was made of."""
    fact = mask
    for _ in range(FARTHEST):
        if fact.dtype == "bool":
            return fact
        maker = program.producers.get(fact.tensor)
        inputs = maker.inputs if maker is not None else ()
        same = [operand for operand in inputs if operand.shape == mask.shape]
        if not same:
            break
        fact = next((item for item in same if item.dtype == "bool"), same[0])
    return mask


def _find_joined_tokens(
    program: Program, failure: Failure, keys: int, more: int
) -> tuple[int, int] | None:
    """Return how many tokens a call put before and behind the sequence of a failing
    attention; None if it joins others.
    """
    before = program.trace.ops[max(0, failure.op - FARTHEST) : failure.op]
    for op in reversed(before):
        if op.name.rpartition(".")[2] not in JOINS or len(op.inputs) != 2:
            continue
        first, second = (fact.shape for fact in op.inputs)
        if len(first) != 3 or keys not in op.outputs[0].shape[:2]:
            continue
        dim = op.outputs[0].shape.index(keys)
        if first[dim] == more and second[dim] == keys - more:
            return more, 0
        if second[dim] == more and first[dim] == keys - more:
            return 0, more
    return None


def _suggest_turned_mask(program: Program, span: Span | None) -> Iterator[Fix]:
    """Suggest a mask along the keys for one along the queries, where it gets its dims:
    `unsqueeze(2)` for `unsqueeze(3)`, `[:, None, None, :]` for `[:, None, :, None]`.
    """
    where, op = program.node(span), program.op_at(span)
    if where is None or op is None or not op.outputs:
        return
    text, node = where
    last = len(op.outputs[0].shape) - 1
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        items = [text.written(item) for item in node.slice.elts]
        if items[-2:] == [":", "None"]:
            new = ", ".join([*items[:-2], "None", ":"])
            owner, value = text.written(node.value), node.value
            is_plain = isinstance(value, ast.Name | ast.Attribute | ast.Call)
            shown = f"{owner}[{new}]" if is_plain else f"({owner})[{new}]"
            edit = Edit(text.span(node.slice), new)
            yield Fix("fits", f"`{join_lines(shown)}`", (edit,))
        elif items == ["...", "None"]:
            edit = Edit(text.span(node.slice), "..., None, :")
            yield Fix("fits", f"`{text.written(node.value)}[..., None, :]`", (edit,))
    elif isinstance(node, ast.Call) and get_called_name(node) == "unsqueeze":
        dims = [*node.args[-1:], *(k.value for k in node.keywords if k.arg == "dim")]
        dim = dims[-1] if dims else None
        places = {str(last): str(last - 1), "-1": "-2"}
        new = places.get(text.written(dim), "") if dim is not None else ""
        if new and dim is not None:
            shown = text.written(node)[: -len(text.written(dim)) - 1] + f"{new})"
            yield Fix("fits", f"`{join_lines(shown)}`", (Edit(text.span(dim), new),))
    elif isinstance(node, ast.Call):
        yield from _suggest_turned_end(text, node)


def _suggest_turned_end(text: SourceText, node: ast.Call) -> Iterator[Fix]:
    """Suggest a 1 before the keys for one behind them: `"b j -> b 1 1 j"` for
    `"b i -> b 1 i 1"`, `view(b, 1, 1, n)` for `view(b, 1, n, 1)`.
    """
    name = get_called_name(node)
    if name in ("rearrange", "repeat"):
        for part in node.args[1:2]:
            pattern = part.value if isinstance(part, ast.Constant) else None
            before, arrow, after = str(pattern).partition("->")
            words = after.split()
            if (
                arrow
                and words[-1:] == ["1"]
                and words[-2:-1]
                and words[-2].isidentifier()
            ):
                ends = " ".join([*words[:-2], "1", words[-2]])
                quote = text.written(part)[0]
                new = f"{quote}{before.rstrip()} -> {ends}{quote}"
                yield Fix("fits", f"`{new}`", (Edit(text.span(part), new),))
    elif name in ("view", "reshape"):
        sizes = node.args
        if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
            sizes = sizes[0].elts
        if len(sizes) > 2 and text.written(sizes[-1]) == "1":
            keys = text.written(sizes[-2])
            edits = Edit(text.span(sizes[-2]), "1"), Edit(text.span(sizes[-1]), keys)
            written = [text.written(size) for size in sizes[:-2]]
            shown = ", ".join([*written, "1", keys])
            yield Fix("fits", f"`{name}({join_lines(shown)})`", edits)


def suggest_mask_changes(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest `mask.repeat_interleave(heads, dim=0)` for `mask.repeat(heads, 1, 1)`,
    a diagonal that is one less for a triangle that shows the next token, and the
    opposite of a mask of padding that is true where the words are; a mask of the
    future where there is none.
    """
    if "hides nothing without its" in finding.message:
        words = finding.message.split("`")[1::2]
        if isinstance(node, ast.Call) and len(words) == 3:
            yield with_keyword(text, node, f"{words[2]}={words[0]}")
        return
    if "no mask hides the future" in finding.message:
        if isinstance(node, ast.Call):
            yield from _suggest_causal_mask(program, finding, text, node)
        return
    if "it lies along the queries" in finding.message:
        for related in finding.related[-1:]:
            yield from _suggest_turned_mask(program, related.span)
        return
    if "hides the past, and shows the future" in finding.message:
        yield from _suggest_other_triangle(program, finding, text, node)
        return
    if "true where the words are" in finding.message:
        new = _write_opposite(text, node)
        if new and isinstance(node, ast.expr):
            yield Fix("fits", f"`{new}`", (Edit(text.span(node), new),))
        return
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = get_called_name(node)
    if node.args and name in REPEATING:
        first = node.args[0]
        count = first.elts[0] if isinstance(first, ast.Tuple) else first
        owner = text.written(node.func.value)
        new = f"{owner}.repeat_interleave({text.written(count)}, dim=0)"
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))
    values = [*node.args[-1:], *(word.value for word in node.keywords)]
    if name in TRIANGLES and "hides each query from itself" in finding.message:
        diagonal = next((v for v in values if isinstance(v, ast.Constant)), None)
        if diagonal is None:
            yield with_keyword(text, node, "diagonal=1")
        else:
            edit = Edit(text.span(diagonal), "1")
            yield Fix("fits", f"`diagonal=1` for `{name}`", (edit,))
        return
    for value in values if name in TRIANGLES else ():
        if isinstance(value, ast.Constant) and isinstance(value.value, int):
            new = str(value.value - 1)
            edit = Edit(text.span(value), new)
            yield Fix("fits", f"`diagonal={new}` for `{name}`", (edit,))


def _suggest_other_triangle(
    program: Program, finding: Finding, text: SourceText, node: ast.AST
) -> Iterator[Fix]:
    """Suggest the lower triangle for the upper one with its diagonal, else the fill
    where the mask is the other number.
    """
    op = program.op_at(finding.span, finding.module)
    triangles = [
        (own, call)
        for own in program.own_texts()
        for call in own.nodes
        if isinstance(call, ast.Call) and get_called_name(call) in TRIANGLES
    ]
    if op is None or len(triangles) != 1:
        return
    own, call = triangles[0]
    name = get_called_name(call)
    other = name.translate(str.maketrans("lu", "ul"))  # `triu` for `tril`
    words = [word.value for word in call.keywords if word.arg == "diagonal"]
    plain = not words and len(call.args) < 2
    if plain and isinstance(call.func, ast.Attribute):
        function = own.span(call.func)
        start = function.end_column - len(name)
        place = Span(
            own.file,
            function.end_line,
            start,
            function.end_line,
            function.end_column,
        )
        new = own.written(call).replace(name, other, 1)
        yield Fix("fits", f"`{join_lines(new)}`", (Edit(place, other),))


OPPOSITES = {ast.NotEq: "==", ast.Lt: ">="}


def _write_opposite(text: SourceText, node: ast.AST) -> str:
    """Return the opposite of a comparison or of an inverted mask, or an empty text."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return text.written(node.operand).strip("()")
    if isinstance(node, ast.Call) and get_called_name(node) == "logical_not":
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return text.written(node.args[0] if node.args else owner) if owner else ""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return ""
    right = node.comparators[0]
    if isinstance(right, ast.Constant):
        is_equal = isinstance(node.ops[0], ast.Eq)
        if (is_equal and right.value == 0) or (not is_equal and right.value is True):
            return text.written(node.left)
    sign = OPPOSITES.get(type(node.ops[0]))
    left = text.written(node.left)
    return f"{left} {sign} {text.written(right)}" if sign else ""


def suggest_mask_per_head(program: Program, failure: Failure, op: Op) -> Iterator[Fix]:
    """Suggest `mask.repeat_interleave(heads, dim=0)` for a mask of each sample."""
    heads = [value for _, value in op.arguments if type(value) is int and value > 1]
    layer = program.layer(op)
    built = program.built.get(layer.path) if layer is not None else None
    if built is not None:
        heads += [v for n, v in built.values if n == "num_heads" and type(v) is int]
        heads += [v for _, v in built.values if type(v) is int and v > 1]
    for at, name in enumerate(failure.arguments):
        shape = op.inputs[at].shape
        if "mask" in name and len(shape) == 3:
            for count in [*_write_heads(program, op)] or dict.fromkeys(heads):
                method = f".repeat_interleave({count}, dim=0)"
                yield from with_method_where_made(program, failure, at, method)


def _write_heads(program: Program, op: Op) -> Iterator[str]:
    """Yield `self.attn.num_heads` where a layer of attention is called by its name."""
    layer, text_and_call = program.layer(op), program.call_at(op.span)
    if layer is not None and layer.class_name == "MultiheadAttention" and text_and_call:
        text, call = text_and_call
        if isinstance(call.func, ast.Attribute):
            yield f"{text.written(call.func)}.num_heads"


MASK_KEYWORDS = {
    "TransformerEncoder": "mask",
    "TransformerEncoderLayer": "src_mask",
    "TransformerDecoder": "tgt_mask",
    "TransformerDecoderLayer": "tgt_mask",
    "Transformer": "tgt_mask",
    "MultiheadAttention": "attn_mask",
}
"""What layers call the mask of queries and keys of their own sequence."""
FUSED = "scaled_dot_product_attention"


def _suggest_causal_mask(
    program: Program, finding: Finding, text: SourceText, node: ast.Call
) -> Iterator[Fix]:
    """Suggest `is_causal=True`, `mask=nn.Transformer.generate_square_subsequent_mask`,
    or `att.masked_fill(future, float("-inf"))` above a softmax.
    """
    if get_called_name(node) == FUSED:
        yield with_keyword(text, node, "is_causal=True")
        return
    calls = [call for call in program.trace.calls if call.span == finding.span]
    layer = next((c for c in calls if c.class_name in MASK_KEYWORDS), None)
    if layer is not None:
        yield from _suggest_layer_mask(program, finding, text, node, layer)
    elif get_called_name(node) == "softmax":
        yield from _suggest_filled_scores(text, node)


def _suggest_layer_mask(
    program: Program, finding: Finding, text: SourceText, node: ast.Call,
    layer: ModuleCall,
) -> Iterator[Fix]:  # fmt: skip
    """Suggest the mask of a layer, made for the length of its sequence."""
    keyword = MASK_KEYWORDS[layer.class_name]
    ops = (op for op in program.trace.ops if op.span == finding.span)
    op = next((op for op in ops if op.name.endswith("attention_forward")), None)
    place = 1 if layer.class_name == "Transformer" else 0
    if op is None or len(node.args) <= place:
        return
    facts = [*collect_leaves(layer.inputs[0])][place : place + 1]
    if not facts or facts[0].ndim != 3:
        return
    sequence, steps = node.args[place], op.inputs[0].shape[0]
    dim = 1 if facts[0].shape[1] == steps else 0
    if not isinstance(sequence, ast.Name):
        return
    length = f"{sequence.id}.size({dim})"
    modules = "nn" if _is_named(text, "nn") else "torch.nn"
    new = f"{modules}.Transformer.generate_square_subsequent_mask({length})"
    yield with_keyword(text, node, f"{keyword}={new}")


def _is_named(text: SourceText, name: str) -> bool:
    """Return whether a file imports something by this name."""
    return any(
        isinstance(node, ast.alias) and (node.asname or node.name) == name
        for node in text.nodes
    )


def _suggest_filled_scores(text: SourceText, node: ast.Call) -> Iterator[Fix]:
    """Suggest scores that are filled with `-inf` for later keys, above a softmax."""
    assert isinstance(node.func, ast.Attribute)
    owner = node.func.value
    is_method = get_called_name(owner) != "" or not _is_module(text, owner)
    scores = owner if is_method else next(iter(node.args), None)
    statement = text.statement_of(node)
    names = {name.id for name in text.nodes if isinstance(name, ast.Name)}
    if scores is None or "future" in names:
        return
    name = scores.id if isinstance(scores, ast.Name) else "scores"
    lines, edits = [], []
    if not isinstance(scores, ast.Name):
        if "scores" in names:
            return
        lines.append(f"scores = {join_lines(text.written(scores))}")
        edits.append(Edit(text.span(scores), "scores"))
    ones = f"torch.ones_like({name}, dtype=torch.bool)"
    filled = f'{name} = {name}.masked_fill(future, float("-inf"))'
    lines += [f"future = {ones}.triu(diagonal=1)", filled]
    indent = text.lines[statement.lineno - 1][: statement.col_offset]
    above = write_before(text, statement, f"\n{indent}".join(lines))
    yield Fix("fits", f"`{filled}`, with `{lines[-2]}`", (above, *edits))


def _is_module(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is a module of torch, such as `F` or `torch`."""
    name = text.written(node)
    return name in ("torch", "torch.nn.functional", "nn.functional") or (
        isinstance(node, ast.Name) and _is_named(text, name)
    )
