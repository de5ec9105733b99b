"""Items of several lengths: a function that puts them into one batch, padded or in
lists.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from shapewright.analysis.fixes.keywords_and_methods import with_keyword
from shapewright.analysis.fixes.operands import append_method
from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Finding, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.syntax_nodes import get_called_name, get_last_name

DIFFERENCE = re.compile(r"batch: (\[.+\])? ?is \(([\d, ]*)\) in one and \(([\d, ]*)\)")
"""The field of a finding's message, and its two shapes."""
COUNTS = re.compile(r"one has \d+ fields?, the other \d+")
"""How a message speaks of items with several numbers of fields."""
LISTS = re.compile(r"batch: (\[.+\]) holds \d+ (\w+) in one and \d+ in the other")
"""How it speaks of a field with lists of several lengths."""
PADDING = re.compile(r"^PAD(DING)?(_?(ID|IDX|INDEX|TOKEN|VALUE))?(_ID|_IDX)?$", re.I)
"""Names of the number that fills the end of a sequence."""
CHANNELS = (1, 3, 4)
"""Channels of images in grey, in RGB and in RGBA."""
OF_BOXES = 4
"""Numbers of a box."""
PAIR = ("inputs", "targets")
DEFAULT = "torch.utils.data.default_collate"
DELIVERING = "__getitem__"
MISSING = "of the data set is None"
"""How a message speaks of an item that the data set could not read."""
DROPPING = (
    [
        "items = [item for item in items if item is not None]",
        f"return {DEFAULT}(items)",
    ],
    "leaves out the items that are None",
)


def suggest_joined_items(
    text: SourceText, loaders: list[ast.Call], finding: Finding
) -> Iterator[Fix]:
    """Suggest a `collate_fn` that pads the sequences of a batch, or keeps in lists what
    no tensor can hold.
    """
    returned = _find_item(text, loaders)
    is_missing = MISSING in finding.message
    if (returned is None and not is_missing) or not loaders:
        return
    name = "collate" if not _is_taken(text, "collate") else "collate_items"
    bodies = [DROPPING] if is_missing else _iter_bodies(text, returned, finding)
    for body, words in bodies:
        function = f"def {name}(items):\n" + "\n".join(f"    {row}" for row in body)
        top = _find_top(text, loaders[0])
        if top is None:
            return
        keyword = f"collate_fn={name}"
        edits = [write_before(text, top, f"{function}\n\n")]
        for loader in loaders:
            edits += with_keyword(text, loader, keyword).edits
        yield Fix("fits", f"`{keyword}`, a function that {words}", tuple(edits))


def suggest_whole_windows(text: SourceText) -> Iterator[Fix]:
    """Suggest `len(series) - lookback - horizon + 1` windows for a data set that also
    counts those which its series has no numbers left for.
    """
    for own, function in text.functions("__len__"):
        kind = text.around(function, ast.ClassDef)
        value = _get_returned(function)
        items = [
            other
            for name, other in text.functions(DELIVERING)
            if text.around(other, ast.ClassDef) is kind and kind is not None
        ]
        if not items or not isinstance(value, ast.BinOp) or "." not in own:
            continue
        counted = text.written(value)
        widths = dict.fromkeys(
            text.written(part)
            for node in ast.walk(items[0])
            if isinstance(node, ast.Slice) and isinstance(node.upper, ast.BinOp)
            for part in (node.upper.left, node.upper.right)
            if isinstance(part, ast.Attribute)
        )
        missing = [width for width in widths if width not in counted]
        if len(missing) == 1:
            for more in (" + 1", ""):
                new = f"{counted} - {missing[0]}{more}"
                yield Fix(
                    "fits", f"`{join_lines(new)}`", (Edit(text.span(value), new),)
                )


def get_collate_kind(finding: Finding) -> str:
    """Return the kind of the fixes for items that do not stack."""
    return "missing-items" if MISSING in finding.message else "load"


def suggest_turned_items(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `return spec.T, label` in a data set whose items differ in the dim behind
    the one that `pad_sequence` pads.
    """
    op = program.trace.ops[failure.op]
    shapes = [fact.shape for fact in op.inputs]
    if op.name.rpartition(".")[2] != "pad_sequence" or len(shapes) < 2:
        return
    if {len(shape) for shape in shapes} != {2} or len({s[0] for s in shapes}) > 1:
        return
    for file in program.trace.sources:
        text = program.text(file)
        for _, function in text.functions(DELIVERING) if text is not None else ():
            value = _get_returned(function)
            parts = value.elts if isinstance(value, ast.Tuple) else [value]
            for part in parts:
                if text is not None and isinstance(part, ast.Name | ast.Attribute):
                    yield append_method(text, part, ".T")


def _iter_bodies(
    text: SourceText, returned: ast.expr | None, finding: Finding
) -> Iterator[tuple[list[str], str]]:
    """Yield what a function may do with the items, and that in words."""
    field, first, second = read_difference(finding.message)
    is_turned = _is_turned_sequence(first, second)
    is_sequence = _is_sequence(first, second) or is_turned
    lists = LISTS.search(finding.message)
    field = lists[1] if lists is not None else field
    is_list = lists is not None or COUNTS.search(finding.message) is not None
    has_texts = lists is not None and lists[2] != "numbers"
    pad = _write_padding(text)
    if is_turned:
        pad = f"{pad.replace('{}', '[row.T for row in {}]')}.transpose(1, 2)"
    if not isinstance(returned, ast.Tuple):
        if is_sequence and not field and not isinstance(returned, ast.Dict):
            yield [f"return {pad.format('items')}"], "pads them"
        elif isinstance(returned, ast.Dict):
            if is_list and not has_texts:
                pad = pad.replace("{}", "[torch.as_tensor(row) for row in {}]")
            pad = "{}" if has_texts else pad
            is_ragged = is_sequence or lists is not None
            yield from _iter_bodies_of_dicts(text, returned, field, is_ragged, pad)
        return
    names = _name_columns(returned)
    split = f"{', '.join(names)} = zip(*items)"
    at = int(field[1:-1]) if re.fullmatch(r"\[\d+\]", field) else -1
    choices = [(at,), range(len(names))] if is_sequence and at >= 0 else []
    if is_list and not has_texts:
        choices += [(max(at, 0),), range(len(names))]
    rows = "[torch.as_tensor(row) for row in {}]" if _has_rows(text, is_list) else "{}"
    if is_turned and rows != "{}":
        pad = pad.replace("[row.T for row in {}]", "{}")
        rows = "[torch.as_tensor(row).T for row in {}]"
    padded = []
    for columns in choices:
        body = [split]
        body += [
            f"{names[i]} = "
            + _pad_labels(text, names[i], pad).format(rows.format(names[i]))
            for i in columns
        ]
        kept = [
            name if i in columns else f"{DEFAULT}({name})"
            for i, name in enumerate(names)
        ]
        padded_names = " and ".join(f"`{names[i]}`" for i in columns)
        body.append(f"return {', '.join(kept)}")
        padded.append((body, f"pads {padded_names}"))
    stacked = f"return {DEFAULT}({names[0]}), {', '.join(names[1:])}"
    in_lists = [
        ([split, stacked], f"keeps {' and '.join(f'`{n}`' for n in names[1:])} apart"),
        (["return tuple(zip(*items))"], "keeps the items apart"),
    ]
    if _is_map(first, second) and at >= 0:
        padded += list(_iter_bodies_of_maps(names, split, at))
    of_boxes = at > 0 and first[1:] == (OF_BOXES,)
    yield from [*in_lists, *padded] if of_boxes else [*padded, *in_lists]


def _is_sequence(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether two shapes differ in their length alone, and are no images of
    other channels.
    """
    if len(first) != len(second) or not first or first[1:] != second[1:]:
        return False
    return len(first) != 3 or not {first[0], second[0]} <= set(CHANNELS)


def _is_turned_sequence(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether two shapes have their length behind the features, as spectrograms
    of frequencies and frames have.
    """
    return len(first) == len(second) == 2 and first[0] == second[0] > 1


def _is_map(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Return whether two shapes differ in their height or width alone."""
    return len(first) == len(second) > 2 and first[:-2] == second[:-2]


def _iter_bodies_of_maps(
    names: list[str], split: str, at: int
) -> Iterator[tuple[list[str], str]]:
    """Yield functions that pad one field of images, or all of them, to the largest
    height and width of the batch.
    """
    sides = [
        f"{side} = max(item[{at}].shape[{dim}] for item in items)"
        for side, dim in (("height", -2), ("width", -1))
    ]
    pad = [
        "def pad(image):",
        "    more = (0, width - image.shape[-1], 0, height - image.shape[-2])",
        "    return torch.nn.functional.pad(image, more)",
    ]
    for columns in ((at,), tuple(range(len(names)))):
        kept = [
            f"torch.stack([pad(item) for item in {name}])"
            if i in columns
            else f"{DEFAULT}({name})"
            for i, name in enumerate(names)
        ]
        padded_names = " and ".join(f"`{names[i]}`" for i in columns)
        yield (
            [*sides, *pad, split, f"return {', '.join(kept)}"],
            f"pads {padded_names} to the largest",
        )


def _iter_bodies_of_dicts(
    text: SourceText, returned: ast.Dict, field: str, is_sequence: bool, pad: str
) -> Iterator[tuple[list[str], str]]:
    """Yield functions that pad one field of items that are dicts, that and another one,
    or all of them.
    """
    constants = [key for key in returned.keys if isinstance(key, ast.Constant)]
    keys = [key.value for key in constants if isinstance(key.value, str)]
    own = [key for key in keys if field == f"[{key!r}]"]
    if len(keys) != len(returned.keys) or not own or not is_sequence:
        return
    others = [key for key in keys if key not in own][:MOST_OTHERS]
    pairs = [[key for key in keys if key in (*own, other)] for other in others]
    choices = [own, *pairs, *([keys] if len(keys) > len(PAIR) else [])]
    for padded in choices:
        rows = [
            f'    "{key}": {_pad_labels(text, key, pad).format(_get_column(key))},'
            for key in padded
        ]
        yield (
            [
                "columns = {key: [item[key] for item in items] for key in items[0]}",
                "padded = {",
                *rows,
                "}",
                "return {",
                f"    key: padded[key] if key in padded else {DEFAULT}(column)",
                "    for key, column in columns.items()",
                "}",
            ],
            ("keeps " if pad == "{}" else "pads ")
            + " and ".join(f"`{key}`" for key in padded),
        )


MOST_OTHERS = 6
"""Fields that are padded beside another one, one after the other."""


def _get_column(key: str) -> str:
    """Return the text of the values of a field."""
    return f'columns["{key}"]'


LABELS = re.compile(r"label|target|tag|class|^y$", re.I)
IGNORING = frozenset({"CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss"})
"""Losses that leave out labels of -100 unless they are given another number."""


def _pad_labels(text: SourceText, name: str, pad: str) -> str:
    """Return the call that pads labels with the number that the loss leaves out, and
    that for other fields as it is.
    """
    if not LABELS.search(name) or "padding_value" in pad or "batch_first" not in pad:
        return pad
    calls = [node for node in text.nodes if get_called_name(node) in IGNORING]
    ignored = [
        text.written(word.value)
        for call in calls
        for word in getattr(call, "keywords", [])
        if word.arg == "ignore_index"
    ]
    if (
        not calls
        or len({*ignored}) > 1
        or (ignored and not NUMBER.fullmatch(ignored[0]))
    ):
        return pad
    value = f", padding_value={ignored[0] if ignored else -100})"
    return f"{pad[:-1]}{value}"


NUMBER = re.compile(r"-?\d+|[A-Z][A-Z_0-9]*")


def _has_rows(text: SourceText, is_list: bool) -> bool:
    """Return whether sequences may be lists of numbers or arrays, and no tensors."""
    return is_list or any(
        (isinstance(node, ast.Name) and node.id in ("np", "numpy"))
        or (isinstance(node, ast.Attribute) and node.attr == "numpy")
        for node in text.nodes
    )


def read_difference(message: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Return the field of which a message speaks, and its two shapes."""
    match = DIFFERENCE.search(message)
    if match is None:
        return "", (), ()
    sizes = [tuple(map(int, re.findall(r"\d+", part))) for part in match.groups()[1:]]
    return match[1] or "", sizes[0], sizes[1]


def _find_item(text: SourceText, loaders: list[ast.Call]) -> ast.expr | None:
    """Return what the data set of the loaders returns as an item."""
    items = {
        own.split(".")[-2]: function
        for own, function in text.functions(DELIVERING)
        if "." in own
    }
    for loader in loaders:
        for value in _iter_data(text, loader):
            if get_last_name(value) in items:
                return _get_returned(items[get_last_name(value)])
    return _get_returned(next(iter(items.values()))) if len(items) == 1 else None


def _iter_data(text: SourceText, loader: ast.Call) -> Iterator[ast.expr]:
    """Yield the functions that are called for the data set of a loader."""
    datasets = [
        *loader.args[:1],
        *(w.value for w in loader.keywords if w.arg == "dataset"),
    ]
    for value in datasets:
        sources = find_defining(text, value.id) if isinstance(value, ast.Name) else []
        for source in [value, *sources]:
            yield from (
                node.func for node in ast.walk(source) if isinstance(node, ast.Call)
            )


def _get_returned(function: ast.AST) -> ast.expr | None:
    """Return the value of the last `return` of a function."""
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]
    return values[-1] if values else None


def _name_columns(returned: ast.Tuple) -> list[str]:
    """Return a name for each of the values of an item."""
    names: list[str] = []
    for at, value in enumerate(returned.elts):
        name = _name_value(value)
        if not name.isidentifier() or name in names or name in RESERVED:
            name = PAIR[at] if len(returned.elts) == len(PAIR) else f"field_{at}"
        names.append(name)
    return names


RESERVED = frozenset({"torch", "nn", "items", "self", "zip"})


def _name_value(value: ast.expr) -> str:
    """Return the name of a value: of `torch.tensor(self.labels[i])` it is `labels`, of
    `self.load(i).float()` it is `load`.
    """
    while isinstance(value, ast.Subscript | ast.Call) or _is_turned(value):
        if isinstance(value, ast.Subscript | ast.Attribute):
            value = value.value
            continue
        function = value.func
        inner = function.value if isinstance(function, ast.Attribute) else None
        if isinstance(inner, ast.Call | ast.Subscript):
            value = inner
        elif value.args and not isinstance(value.args[0], ast.Name):
            value = value.args[0]
        else:
            return get_last_name(function)
    return get_last_name(value)


def _is_turned(value: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(value, ast.Attribute) and value.attr in ("T", "mT")


def _write_padding(text: SourceText) -> str:
    """Return the call that pads a list of sequences, with `{}` in its place."""
    names = {node.id for node in text.nodes if isinstance(node, ast.Name)}
    known = [name for name, needed in WRITTEN.items() if needed in names]
    function = known[0] if known else "torch.nn.utils.rnn.pad_sequence"
    stored = {
        target.id
        for statement in _list_top(text)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name) and PADDING.match(target.id)
    }
    value = f", padding_value={min(stored)}" if stored else ""
    return f"{function}({{}}, batch_first=True{value})"


WRITTEN = {
    "pad_sequence": "pad_sequence",
    "nn.utils.rnn.pad_sequence": "nn",
    "torch.nn.utils.rnn.pad_sequence": "torch",
}
"""Ways to write the function that pads, and the name that a program needs for it."""


def _is_taken(text: SourceText, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in text.nodes)


def _find_top(text: SourceText, node: ast.Call) -> ast.stmt | None:
    """Return the statement of the file that a call stands in."""
    statement = text.statement_of(node)
    around = [statement, *text.outwards(statement)]
    for top in _list_top(text):
        if any(top is outer for outer in around):
            return None if getattr(top, "decorator_list", None) else top
    return None


def _list_top(text: SourceText) -> list[ast.stmt]:
    return text.tree.body if text.tree is not None else []
