"""Objects that are not what a call takes: generators for parameters, the report of
`load_state_dict` for a model, the keys of a batch, a `forward` inside `__init__`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.model_outputs import explain_output
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Fix, Related
from shapewright.program.source_text import (
    SourceText,
    find_defining,
    join_lines,
)
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_last_line,
    get_own_attribute,
    iter_assignments,
)

NO_FORWARD = re.compile(r"Module \[(\w+)\] is missing the required")
GENERATORS = "one of the params is Module.parameters"
REPORT = "'_IncompatibleKeys' object has no attribute"
OBJECTS = "numpy.object_"
SEVERAL = "only one element tensors can be converted"
PATH = "Expected state_dict to be dict-like, got <class 'str'>"
MAPPED = "vmap: Expected all tensors to have the same size in the mapped dimension"
NO_LEAF = "support the deepcopy protocol"
KEYS = re.compile(r"'str' object has no attribute|must be Tensor, not str\b")
REMOVED = re.compile(r"'Identity' object has no attribute '(in|out)_features'")
SEVERAL_TENSORS = re.compile(
    r"must be Tensor, not (?:collections\.)?(\w*Output\w*|OrderedDict|dict)"
)
"""In torch's message about what a model of another library returns."""
OUTPUT = re.compile(r"'(\w+Output\w*)' object has no attribute")


def explain_wrong_object(
    program: Program, text: SourceText, node: ast.AST, messages: str
) -> Explanation | None:
    """Return why an object is not what a line takes it for, or None."""
    missing = NO_FORWARD.search(messages)
    if missing is not None:
        return _explain_nested_forward(program, missing[1])
    if REPORT in messages:
        return _explain_report(text)
    if REMOVED.search(messages) is not None:
        return _explain_removed_layer(text, node)
    if KEYS.search(messages) is not None:
        return explain_keys(text, node)
    output = OUTPUT.search(messages)
    if output is not None and isinstance(node, ast.Attribute):
        return explain_output(text, node.value, output[1])
    if not isinstance(node, ast.Call):
        return None
    output = SEVERAL_TENSORS.search(messages)
    if output is not None:
        values = [part for part in node.args if isinstance(part, ast.Name | ast.Call)]
        return explain_output(text, values[0], output[1]) if values else None
    if NO_LEAF in messages:
        return _explain_kept_result(text, node)
    if PATH in messages:
        return _explain_path(text, node)
    if GENERATORS in messages:
        return _explain_generators(text, node)
    if OBJECTS in messages:
        return _explain_objects(text, node)
    if SEVERAL in messages:
        return _explain_several(text, node)
    if MAPPED in messages:
        return _explain_mapped(text, node)
    return None


def _explain_nested_forward(program: Program, name: str) -> Explanation | None:
    """Explain a `forward` that is indented into another method."""
    for file in program.trace.sources:
        text = program.text(file)
        for _, kind in text.definitions(name) if text is not None else ():
            for method in getattr(kind, "body", []):
                for node in ast.walk(method):
                    if not isinstance(node, ast.FunctionDef) or node is method:
                        continue
                    if text is None or node.name != "forward":
                        continue
                    inside = getattr(method, "name", "")
                    message = (
                        f"`forward` of `{name}` stands inside its `{inside}`: it is"
                        " indented one level too far"
                    )
                    begin, end = node.lineno, get_last_line(node)
                    by = node.col_offset - method.col_offset
                    rows = text.lines[begin - 1 : end]
                    moved = "\n".join(row[by:] if row.strip() else row for row in rows)
                    span = Span(text.file, begin, 1, end, len(rows[-1]) + 1)
                    head = Span(text.file, begin, node.col_offset + 1, begin, 2)
                    related = (Related(head, "it is defined here"),)
                    fix = Fix(
                        "fits", f"`forward` beside `{inside}`", (Edit(span, moved),)
                    )
                    return Explanation(message, related, (fix,))
    return None


def _explain_removed_layer(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain `model.fc.in_features` of a model that has no `fc` any more: it was built
    with `num_classes=0`, or `nn.Identity()` was put in its place above.
    """
    size = next((n for n in ast.walk(node) if _is_size_of_layer(n)), None)
    if not isinstance(size, ast.Attribute) or not isinstance(size.value, ast.Attribute):
        return None
    layer, model = text.written(size.value), text.written(size.value.value)
    for value in find_defining(text, model.rpartition(".")[2]):
        words = value.keywords if isinstance(value, ast.Call) else []
        for word in words:
            if word.arg != "num_classes" or text.written(word.value) != "0":
                continue
            message = (
                f"`{layer}` is an `nn.Identity`: with `num_classes=0` the model is"
                " built without its classifier, and `num_features` is its width"
            )
            related = (Related(text.span(word.value), "it is left out here"),)
            new = f"{model}.num_features"
            fix = Fix("fits", f"`{new}`", (Edit(text.span(size), new),))
            return Explanation(message, related, (fix,))
    for statement in text.nodes:
        if not isinstance(statement, ast.Assign) or statement.lineno >= size.lineno:
            continue
        if text.written(statement.targets[0]) != layer:
            continue
        if get_called_name(statement.value) != "Identity":
            continue
        message = (
            f"`{layer}` is an `nn.Identity` since line {statement.lineno}: its size is"
            " to be read before it is replaced"
        )
        related = (Related(text.span(statement), "it is replaced here"),)
        edits = (
            write_before(text, statement, f"features = {text.written(size)}"),
            Edit(text.span(size), "features"),
        )
        shown = f"`features = {text.written(size)}` before it is replaced"
        return Explanation(message, related, (Fix("fits", shown, edits),))
    return None


def _is_size_of_layer(node: ast.AST) -> bool:
    """Return whether an expression is `x.in_features` or `x.out_features`."""
    return isinstance(node, ast.Attribute) and node.attr in (
        "in_features",
        "out_features",
    )


def _explain_report(text: SourceText) -> Explanation | None:
    """Explain `model = model.load_state_dict(state)`, which is no model."""
    for node in text.nodes:
        value = node.value if isinstance(node, ast.Assign) else None
        if not isinstance(node, ast.Assign) or not isinstance(value, ast.Call):
            continue
        if get_called_name(value) == "load_state_dict":
            name, written = text.written(node.targets[0]), text.line_of(value)
            message = (
                f"`{name}` is what `load_state_dict` returns, a report of keys: the"
                " weights are loaded in place"
            )
            related = (Related(text.span(node), "it is set here"),)
            edit = Edit(text.span(node), text.written(value))
            owner = value.func.value if isinstance(value.func, ast.Attribute) else None
            model = text.written(owner) if owner is not None else name
            if model != name:  # what is loaded has another name, or none
                loaded = text.written(value)
                rows = [loaded, f"{name} = {model}"]
                if isinstance(owner, ast.Call):
                    rows = [rows[1], loaded.replace(model, name, 1)]
                indent = " " * node.col_offset
                edit = Edit(text.span(node), f"\n{indent}".join(rows))
                written = join_lines("` and `".join(rows))
            return Explanation(
                message, related, (Fix("fits", f"`{written}`", (edit,)),)
            )
    return None


def _explain_path(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `model.load_state_dict("model.pt")`, which reads no file."""
    if get_called_name(call) != "load_state_dict" or not call.args:
        return None
    path = text.written(call.args[0])
    message = (
        f"`{join_lines(path)}` is the path of a file, and `load_state_dict` takes what"
        " is in it: `torch.load` reads the file"
    )
    new = f"torch.load({path})"
    fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call.args[0]), new),))
    return Explanation(message, (), (fix,))


def _explain_generators(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain a list of generators where an optimizer takes a list of parameters."""
    first = call.args[0] if call.args else None
    values = [first, *(find_defining(text, text.written(first)) if first else ())]
    for value in values:
        if not isinstance(value, ast.List | ast.Tuple):
            continue
        parts = [part for part in value.elts if get_called_name(part) == "parameters"]
        if not parts:
            continue
        edits = tuple(Edit(text.span(part).start, "*") for part in parts)
        new = ", ".join(
            f"*{text.written(part)}" if part in parts else text.written(part)
            for part in value.elts
        )
        message = (
            f"`{text.line_of(value)}` is a list of generators: an optimizer takes the"
            " parameters themselves, or a dict for each group"
        )
        related = (Related(text.span(value), "the list is made here"),)
        return Explanation(
            message, related, (Fix("fits", f"`[{join_lines(new)}]`", edits),)
        )
    return None


def _explain_objects(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain an array of objects, as a table with columns of several kinds gives."""
    value = call.args[0] if call.args else None
    if value is None:
        return None
    name = text.line_of(value)
    sources = find_defining(text, name) if isinstance(value, ast.Name) else []
    fixes = [
        Fix(
            "fits",
            f"`{text.line_of(place)}{CAST}`",
            (Edit(text.span(place).end, CAST),),
        )
        for place in [*sources[-1:], value]
    ]
    for place in [*sources[-1:], value] if "import pandas as pd" in text.text else ():
        table = place
        if isinstance(place, ast.Call) and get_called_name(place) == "to_numpy":
            table = place.func
        if isinstance(table, ast.Attribute) and table.attr in ("values", "to_numpy"):
            fixes.append(_suggest_columns(text, table.value))
    message = (
        f"`{name}` is an array of objects: its table has columns of several kinds, such"
        " as truths beside numbers, or texts"
    )
    related = tuple(
        Related(text.span(s), f"`{name}` is set here") for s in sources[-1:]
    )
    return Explanation(message, related, tuple(fixes))


def _suggest_columns(text: SourceText, table: ast.expr) -> Fix:
    """Suggest numbers for a table: columns of texts that are numbers as such, a column
    for each word where they are words.
    """
    has_words = any(
        isinstance(part, ast.Constant)
        and isinstance(part.value, str)
        and part.value.strip()
        and not part.value.strip().replace(".", "", 1).isdecimal()
        for call in text.nodes
        if isinstance(call, ast.Call) and get_called_name(call) == "DataFrame"
        for value in ast.walk(call)
        if isinstance(value, ast.List)
        for part in value.elts
    )
    if has_words:
        new = f'pd.get_dummies({text.written(table)}, dtype="float32")'
        return Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(table), new),))
    edit = Edit(text.span(table).end, NUMBERS)
    return Fix("fits", f"`{NUMBERS}`", (edit,))


CAST = '.astype("float32")'
NUMBERS = '.apply(pd.to_numeric, errors="coerce").fillna(0.0)'
"""Columns of texts that are numbers, and of texts that are none, such as a space."""


def _explain_several(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `torch.tensor(states)` of a tuple of tensors."""
    if get_called_name(call) not in ("tensor", "as_tensor") or len(call.args) != 1:
        return None
    if call.keywords:
        return None
    written = text.written(call.args[0])
    message = (
        f"`{join_lines(written)}` holds tensors of several numbers: they are stacked"
    )
    new = f"torch.stack({written})"
    if isinstance(call.args[0], ast.GeneratorExp):
        return None
    fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(call), new),))
    return Explanation(message, (), (fix,))


def _explain_mapped(text: SourceText, call: ast.Call) -> Explanation | None:
    """Explain `vmap(f)(params, x)`, which maps over the parameters too."""
    name = text.line_of(call.func)
    values = [call.func, *find_defining(text, name.rpartition(".")[2])]
    mapped = [
        part
        for value in values
        for part in ast.walk(value)
        if isinstance(part, ast.Call) and get_called_name(part) == "vmap"
    ]
    if not mapped or any(word.arg == "in_dims" for word in mapped[0].keywords):
        return None
    shared = text.written(call.args[0]) if call.args else ""
    message = (
        f"`{text.line_of(mapped[0])}` takes a sample of each argument along its first"
        f" dim, of `{shared}` too: `in_dims` names what is shared"
    )
    related = (Related(text.span(mapped[0]), "it is mapped over all arguments here"),)
    count = len(call.args)
    fixes = []
    for at in range(count if count > 1 else 0):
        dims = ", ".join("None" if other == at else "0" for other in range(count))
        new = f"in_dims=({dims})"
        end = text.span(mapped[0].args[-1]).end
        fixes.append(Fix("fits", f"`{new}`", (Edit(end, f", {new}"),)))
    return Explanation(message, related, tuple(fixes))


def explain_keys(text: SourceText, node: ast.AST) -> Explanation | None:
    """Explain names that were given the keys of a batch, which is a dict."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    loop = text.around(node, ast.For)
    target = loop.target if loop is not None else None
    pair = target
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        inner = target.elts[1]
        pair = inner if isinstance(inner, ast.Tuple) else target
    if loop is None or not isinstance(pair, ast.Tuple):
        return None
    own = [text.written(name) for name in pair.elts]
    if not names & set(own):
        return None
    keys = next(_iter_keys(text, len(own)), None)
    message = (
        f"`{', '.join(own)}` are the keys of the batch, which is a dict: a loop over a"
        " dict gives its keys"
    )
    if keys is None:
        return Explanation(
            message, (Related(text.span(pair), "they are unpacked here"),), ()
        )
    indent = text.lines[loop.body[0].lineno - 1][: loop.body[0].col_offset]
    values = ", ".join(f'batch["{key}"]' for key in keys)
    first = loop.body[0]
    start = Span(text.file, first.lineno, 1, first.lineno, 1)
    edits = (
        Edit(text.span(pair), "batch"),
        Edit(start, f"{indent}{', '.join(own)} = {values}\n"),
    )
    shown = f"`{', '.join(own)} = {values}`"
    related = (Related(text.span(pair), "they are unpacked here"),)
    return Explanation(message, related, (Fix("fits", shown, edits),))


def _iter_keys(text: SourceText, count: int) -> Iterator[list[str]]:
    """Yield the keys of the dicts that data sets return, of as many items."""
    for _, function in text.functions("__getitem__"):
        for node in ast.walk(function):
            value = node.value if isinstance(node, ast.Return) else None
            if isinstance(value, ast.Dict) and len(value.keys) == count:
                yield [
                    str(key.value)
                    for key in value.keys
                    if isinstance(key, ast.Constant)
                ]


def _explain_kept_result(text: SourceText, node: ast.Call) -> Explanation | None:
    """Explain that a module keeps a result with its graph, which `deepcopy` meets."""
    owner = node.args[0] if node.args else None
    if get_called_name(node) != "deepcopy" or owner is None:
        return None
    for function in text.nodes:
        if not isinstance(function, ast.FunctionDef) or function.name == "__init__":
            continue
        for target, value in iter_assignments(function):
            name = get_own_attribute(target)
            if not name or text.around(function, ast.ClassDef) is None:
                continue
            if isinstance(value, ast.Constant | ast.Name):
                continue
            message = (
                f"`self.{name}` keeps a result with its graph, and `deepcopy` copies no"
                " tensors but leaves: parameters, and what is detached"
            )
            new = f"{text.written(owner)}.{name} = None"
            edit = write_before(text, text.statement_of(node), new)
            where = Related(text.span(target), f"`self.{name}` is set here")
            fix = Fix("fits", f"`{new}` before it", (edit,))
            return Explanation(message, (where,), (fix,))
    return None
