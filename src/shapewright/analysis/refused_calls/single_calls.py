"""What is refused because of the form in which one call gets it, with the edit in the
call: `nn.Sequential(layers)`, `torch.sqrt(64)`, `Adam(z)`, `np.float`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.assigned_values import find_last_value
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    is_optimizer,
)

Words = re.Match[str]
Explain = Callable[[SourceText, ast.expr, Words], Explanation | None]
"""Explains the words of an error at an expression on its line, or returns None."""


def find_single_call(program: Program, finding: Finding) -> Explanation | None:
    """Return which call gets what in a form that it does not take, or None."""
    span = finding.span
    text = program.text(span.file) if span is not None else None
    if text is None or span is None:
        return None
    for pattern, explain in ROWS:
        words = pattern.search(finding.words)
        if words is None:
            continue
        for node in text.nodes:
            if not isinstance(node, ast.expr):
                continue
            if span.line <= node.lineno <= (span.end_line or span.line):
                cause = explain(text, node, words)
                if cause is not None:
                    return cause
    return None


def _replace(text: SourceText, node: ast.expr, new: str) -> Fix:
    """Return the fix that writes something else for an expression."""
    return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(node), new),))


def _explain_modules(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`nn.Sequential(layers)`: the modules are given one by one."""
    if get_called_name(node) != "Sequential" or not isinstance(node, ast.Call):
        return None
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return None
    first = text.written(node.args[0])
    new = f"{text.written(node.func)}(*{first})"
    message = "`nn.Sequential` takes modules one by one"
    message += f", and `{first}` is a {words[1]}"
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_table(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`torch.from_numpy(table)`: a table of pandas is no array."""
    if get_called_name(node) != "from_numpy" or not isinstance(node, ast.Call):
        return None
    first = text.written(node.args[0])
    new = f"{first}.to_numpy(copy=True)"
    message = (
        f"`torch.from_numpy` takes an array, and `{first}` is a `{words[1]}` of pandas"
    )
    return Explanation(message, (), (_replace(text, node.args[0], new),))


def _explain_key(text: SourceText, node: ast.expr, words: Words) -> Explanation | None:
    """`names[label]` of a dict: a tensor is no number, even if it holds one."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Constant):
        return None
    key = text.written(node.slice)
    message = (
        f"the keys of `{text.written(node.value)}` are numbers, and `{key}` is a"
        " tensor, which is found by what it is and not by its value"
    )
    return Explanation(message, (), (_replace(text, node.slice, f"{key}.item()"),))


def _explain_number(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`torch.sqrt(64)`: functions of torch take tensors."""
    name = words[1]
    if get_called_name(node) != name or not isinstance(node, ast.Call) or not node.args:
        return None
    first = text.written(node.args[0])
    message = f"`torch.{name}` takes a tensor, and `{first}` is a number of Python"
    if name == "sqrt":
        simple = isinstance(node.args[0], ast.Name | ast.Attribute | ast.Constant)
        new = f"{first} ** 0.5" if simple else f"({first}) ** 0.5"
        parent = text.parent(node)
        is_operand = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Pow)
        new = f"({new})" if is_operand else new
    elif re.search(r"^import math$", text.text, re.MULTILINE):
        new = f"math.{name}({first})"
    else:
        new = f"torch.{name}(torch.tensor({first}))"
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_optimizer(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`CosineAnnealingLR(model)`: schedulers take the optimizer."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if not re.search(r"LR$|LR\w*$|Scheduler", get_called_name(node)):
        return None
    first = text.written(node.args[0])
    message = (
        f"`{get_called_name(node)}` sets the rates of an optimizer, and `{first}` is a"
        f" `{words[1]}`"
    )
    names = [
        target.id
        for statement in text.nodes
        if isinstance(statement, ast.Assign) and statement.lineno < node.lineno
        for target in statement.targets
        if isinstance(target, ast.Name)
        if "optim." in text.written(statement.value)
        or "lr=" in text.written(statement.value)
    ]
    fixes = tuple(_replace(text, node.args[0], name) for name in names[-1:])
    return Explanation(message, (), fixes)


def _explain_epochs(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`OneCycleLR(..., epochs=9)`: the steps of an epoch are needed, too."""
    if get_called_name(node) != "OneCycleLR" or not isinstance(node, ast.Call):
        return None
    message = (
        "`OneCycleLR` counts steps: with `epochs` it needs `steps_per_epoch` as well"
    )
    loaders = [
        target.id
        for statement in text.nodes
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
        and get_called_name(statement.value) == "DataLoader"
    ]
    training = [name for name in loaders if re.search(r"tr(ai)?n", name)] or loaders
    fixes = tuple(
        with_keyword(text, node, f"steps_per_epoch=len({name})")
        for name in training[:1]
        if any(word.arg == "epochs" for word in node.keywords)
    )
    return Explanation(message, (), fixes)


def _explain_tensor(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`Adam(z)`: optimizers take a list of tensors."""
    if not isinstance(node, ast.Call) or not node.args or not is_optimizer(node):
        return None
    first = text.written(node.args[0])
    message = f"`{get_called_name(node)}` takes a list of tensors, and `{first}` is one"
    return Explanation(message, (), (_replace(text, node.args[0], f"[{first}]"),))


OF_NUMPY = {
    "float": "np.float64", "int": "np.int64", "bool": "np.bool_", "object": "object",
    "complex": "np.complex128", "str": "np.str_", "long": "np.int64",
    "unicode": "np.str_",
}  # fmt: skip
"""What stands for the names that NumPy has taken off."""


def _explain_removed(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`np.float`: NumPy has taken these names off."""
    if not isinstance(node, ast.Attribute) or node.attr != words[1]:
        return None
    new = OF_NUMPY.get(words[1], "")
    if not new or get_dotted_name(node.value) not in ("np", "numpy"):
        return None
    new = new.replace("np.", f"{get_dotted_name(node.value)}.")
    message = f"NumPy has no `{words[1]}` since 1.24: `{new}` is the dtype"
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_spectrum(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`torch.fft(x, 1)`: a module since torch 1.8."""
    name = get_dotted_name(node.func) if isinstance(node, ast.Call) else ""
    if name not in ("torch.fft", "fft") or not isinstance(node, ast.Call):
        return None
    message = f"`{name}` is a module since torch 1.8: `torch.fft.fft` is the function"
    first = text.written(node.args[0]) if node.args else ""
    fixes = (_replace(text, node, f"torch.fft.fft({first})"),) if first else ()
    return Explanation(message, (), fixes)


def _explain_scores(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`accuracy_score(y, scores)`: metrics of classes take classes."""
    name = get_called_name(node)
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return None
    if not name.endswith(("_score", "_matrix", "_report")):
        return None
    first = text.written(node.args[1])
    is_table = "multioutput" in words[1] or "multilabel" in words[1]
    new = f"{first}.argmax(axis=1)" if is_table else f"({first} > 0.5)"
    message = f"`{name}` takes classes, and `{first}` holds scores"
    return Explanation(message, (), (_replace(text, node.args[1], new),))


def _explain_windows(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`scaler.fit_transform(windows)`: scalers take rows of features."""
    name = get_called_name(node)
    if name not in ("fit_transform", "transform", "fit") or not isinstance(
        node, ast.Call
    ):
        return None
    if not node.args or not isinstance(node.args[0], ast.Name | ast.Attribute):
        return None
    first = text.written(node.args[0])
    new = f"{text.written(node.func)}({first}.reshape(-1, {first}.shape[-1]))"
    new += "" if name == "fit" else f".reshape({first}.shape)"
    message = (
        f"a scaler takes rows of features, and `{first}` has {words[1]} dims: the steps"
        " of all samples are its rows"
    )
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_row(text: SourceText, node: ast.expr, words: Words) -> Explanation | None:
    """`table.append(row)`: pandas 2 has taken it off."""
    if get_called_name(node) != "append" or not isinstance(node, ast.Call):
        return None
    if not node.args or not isinstance(node.func, ast.Attribute):
        return None
    owner, row = text.written(node.func.value), text.written(node.args[0])
    is_table = isinstance(node.args[0], ast.Call) and get_called_name(node.args[0]) in (
        "DataFrame", "Series",
    )  # fmt: skip
    part = row if is_table else f"pd.DataFrame([{row}])"
    rest = [
        f"ignore_index={text.written(word.value)}"
        for word in node.keywords
        if word.arg == "ignore_index"
    ]
    new = f"pd.concat({', '.join([f'[{owner}, {part}]', *rest])})"
    message = (
        "tables of pandas have no method `append` since pandas 2: `pd.concat` joins"
        " them"
    )
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_trace(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`torch.jit.trace` of a model that returns a dict."""
    if get_called_name(node) != "trace" or not isinstance(node, ast.Call):
        return None
    message = (
        "`torch.jit.trace` takes tensors and tuples as results, and this model returns"
        f" a {words[1]}: `strict=False` allows it"
    )
    return Explanation(message, (), (with_keyword(text, node, "strict=False"),))


def _explain_pattern(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`einsum("b n, b m -> n m", q, k)` of einops: the pattern is the last argument."""
    if get_called_name(node) != "einsum" or not isinstance(node, ast.Call):
        return None
    if len(node.args) < 2 or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    operands = [text.written(part) for part in (*node.args[1:], node.args[0])]
    new = f"{text.written(node.func)}({', '.join(operands)})"
    message = "`einops.einsum` takes its pattern behind the tensors, not before them"
    return Explanation(message, (), (_replace(text, node, new),))


def _explain_read_only(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`values[0] = 1` of an array that shares the memory of a table."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return None
    name = get_dotted_name(node.value)
    for statement in reversed([*_iter_made(text, name, node.lineno)]):
        value = statement.value
        written = text.written(value)
        is_call = get_called_name(value) == "to_numpy" and isinstance(value, ast.Call)
        fix = (
            with_keyword(text, value, "copy=True")  # type: ignore[arg-type]
            if is_call
            else _replace(text, value, f"{written}.copy()")
        )
        message = (
            f"`{name}` shares the memory of what it was made of, which may not be"
            " written: a copy may"
        )
        return Explanation(message, (), (fix,))
    return None


def _iter_made(text: SourceText, name: str, line: int) -> Iterator[ast.Assign]:
    """Yield the statements that set a name to an array of a table, above a line."""
    for node in text.nodes:
        if not isinstance(node, ast.Assign) or node.lineno >= line or not name:
            continue
        value = node.value
        is_array = get_called_name(value) in ("to_numpy", "asarray") or (
            isinstance(value, ast.Attribute) and value.attr == "values"
        )
        if is_array and get_dotted_name(node.targets[0]) == name:
            yield node


def _explain_channels(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """Pixel values of other channels than the configuration of a model says."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or "Config" not in get_called_name(call):
            continue
        message = (
            f"the images have {words[2]} channel(s), and the configuration of the model"
            f" says {words[1]}"
        )
        words_of_channels = [w for w in call.keywords if w.arg == "num_channels"]
        fix = (
            _replace(text, words_of_channels[0].value, words[2])
            if words_of_channels
            else with_keyword(text, call, f"num_channels={words[2]}")
        )
        return Explanation(message, (), (fix,))
    return None


OTHER_WORDS = {
    "in_channels": "in_chans", "num_channels": "in_chans", "n_classes": "num_classes",
    "image_size": "img_size", "dropout": "drop_rate",
}  # fmt: skip
"""Arguments of other libraries, and what timm calls them."""


def _explain_keyword(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`timm.create_model(..., in_channels=4)`: timm calls it `in_chans`."""
    if get_called_name(node) != "create_model" or not isinstance(node, ast.Call):
        return None
    new = OTHER_WORDS.get(words[1])
    for word in node.keywords:
        if word.arg == words[1] and new is not None:
            written = f"{new}={text.written(word.value)}"
            begin = text.column(word.lineno, word.col_offset)
            end = text.span(word.value)
            span = Span(text.file, word.lineno, begin, end.end_line, end.end_column)
            edit = Edit(span, written)
            message = f"timm calls `{words[1]}` of a model `{new}`"
            return Explanation(message, (), (Fix("fits", f"`{written}`", (edit,)),))
    return None


def _explain_several_classes(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`roc_auc_score(y, scores)` of more than two classes."""
    if get_called_name(node) != "roc_auc_score" or not isinstance(node, ast.Call):
        return None
    message = (
        "`roc_auc_score` of more than two classes is told how they become pairs of two:"
        ' `multi_class="ovr"` takes each against the rest'
    )
    return Explanation(message, (), (with_keyword(text, node, 'multi_class="ovr"'),))


def _explain_next_batch(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`next(batches)` beyond the last batch of a loader."""
    if get_called_name(node) != "next" or not isinstance(node, ast.Call):
        return None
    if len(node.args) != 1:
        return None
    first = text.written(node.args[0])
    message = (
        f"`{first}` has no batch left (`StopIteration`): an iterator goes through its"
        " loader once, and another `iter(...)` of the loader begins anew"
    )
    fixes = []
    for statement in text.nodes:
        if not isinstance(statement, ast.Assign) or statement.lineno >= node.lineno:
            continue
        value = statement.value
        is_iterator = get_called_name(value) == "iter" and isinstance(value, ast.Call)
        if is_iterator and text.written(statement.targets[0]) == first:
            args = value.args  # type: ignore[attr-defined]
            new = f"next(iter({text.written(args[0])}))"
            fixes = [_replace(text, node, new)]
    return Explanation(message, (), tuple(fixes))


def _explain_uncoalesced(
    text: SourceText, node: ast.expr, words: Words
) -> Explanation | None:
    """`(a + b).indices()` of sparse tensors: it may hold an index twice."""
    if get_called_name(node) != words[1] or not isinstance(node, ast.Call):
        return None
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if owner is None:
        return None
    value = find_last_value(text, owner, node.lineno)
    written = text.written(value if value is not None else owner)
    new = f"({written})" if isinstance(value or owner, ast.BinOp) else written
    message = (
        f"`{text.written(owner)}` may hold an index twice, as a sum of sparse tensors"
        f" does: it has `{words[1]}()` once `coalesce()` has added up its entries"
    )
    return Explanation(
        message, (), (_replace(text, value or owner, f"{new}.coalesce()"),)
    )


ROWS: tuple[tuple[re.Pattern[str], Explain], ...] = (
    (
        re.compile(r"^`?TypeError`?: (list|tuple) is not a Module subclass"),
        _explain_modules,
    ),
    (re.compile(r"expected np\.ndarray \(got (DataFrame|Series)\)"), _explain_table),
    (re.compile(r"KeyError`?: tensor\("), _explain_key),
    (
        re.compile(
            r"(\w+)\(\): argument 'input' \(position 1\) must be Tensor, not (?:int|fl)"
        ),
        _explain_number,
    ),
    (re.compile(r"(\w+) is not an Optimizer"), _explain_optimizer),
    (re.compile(r"You must define either total_steps OR"), _explain_epochs),
    (
        re.compile(r"params argument given to the optimizer should be an iterable"),
        _explain_tensor,
    ),
    (re.compile(r"module 'numpy' has no attribute '(\w+)'"), _explain_removed),
    (re.compile(r"'module' object is not callable"), _explain_spectrum),
    (
        re.compile(r"metrics can't handle a mix of \S+ and ([\w-]+) targets"),
        _explain_scores,
    ),
    (re.compile(r"Found array with dim (\d+)"), _explain_windows),
    (
        re.compile(r"'(?:DataFrame|Series)' object has no attribute 'append'"),
        _explain_row,
    ),
    (
        re.compile(r"Encountering a (dict|list) at the output of the tracer"),
        _explain_trace,
    ),
    (
        re.compile(r"last argument passed to `einops.einsum` must be a string"),
        _explain_pattern,
    ),
    (re.compile(r"assignment destination is read-only"), _explain_read_only),
    (
        re.compile(
            r"channel dimension of the pixel values match.*Expected (\d+) but got (\d+)"
        ),
        _explain_channels,
    ),
    (re.compile(r"got an unexpected keyword argument '(\w+)'"), _explain_keyword),
    (re.compile(r"multi_class must be in"), _explain_several_classes),
    (re.compile(r"StopIteration"), _explain_next_batch),
    (re.compile(r"Cannot get (\w+) on an uncoalesced tensor"), _explain_uncoalesced),
)
"""The words of errors, each with what explains them."""
