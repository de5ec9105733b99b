"""Containers of modules that are called as they cannot be: an `nn.ModuleList` at all,
an `nn.Sequential` with more than one tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText, find_defining
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

NO_FORWARD = re.compile(r"Module \[ModuleList\] is missing the required")
INPUTS = re.compile(
    r"Sequential\.forward\(\) (?:takes 2 positional arguments but \d+"
    r"|got an unexpected keyword argument)"
)
PLAIN = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
"""Statements above which a loop can stand."""
NESTED = (ast.comprehension, ast.Lambda, ast.IfExp, ast.BoolOp)


def find_called_container(program: Program, finding: Finding) -> Explanation | None:
    """Return that a list of layers is called, or a `Sequential` with several tensors,
    or None.
    """
    is_list = NO_FORWARD.search(finding.words) is not None
    if not is_list and INPUTS.search(finding.words) is None:
        return None
    kind = "ModuleList" if is_list else "Sequential"
    for text, call in program.iter_calls(finding):
        builds = _list_builds(text, call, kind)
        if builds:
            return _explain_call(text, call, builds[-1], is_list)
    return None


def _list_builds(text: SourceText, call: ast.Call, kind: str) -> list[ast.Call]:
    """Return the calls that build what is called, if it is such a container."""
    name = get_own_attribute(call.func)
    owner = text.around(call, ast.ClassDef)
    if name and owner is not None:
        values = [
            value
            for target, value in iter_assignments(owner, annotated=True)
            if get_own_attribute(target) == name
        ]
    else:
        values = find_defining(text, text.written(call.func))
    return [
        value
        for value in values
        if isinstance(value, ast.Call) and get_called_name(value) == kind
    ]


def _explain_call(
    text: SourceText, call: ast.Call, built: ast.Call, is_list: bool
) -> Explanation:
    """Return the explanation with `nn.Sequential`, or a loop over the layers."""
    name = text.line_of(call.func)
    related = (Related(text.span(built), "it is built here"),)
    if not is_list:
        message = (
            f"`{name}` is an `nn.Sequential`, which hands one tensor to each layer"
        )
        fixes = _iter_loops(text, call, built, True)
    else:
        message = (
            f"`{name}` is an `nn.ModuleList`, which holds layers and has no `forward`:"
            " `nn.Sequential` calls them one after another, or a loop does"
        )
        single = len(call.args) == 1 and not call.keywords
        several = list(_iter_loops(text, call, built, False))
        chained = list(_iter_chains(text, built)) if single else []
        fixes = iter([*chained, *several])
    return Explanation(message, related, tuple(fixes))


def _iter_chains(text: SourceText, built: ast.Call) -> Iterator[Fix]:
    """Yield `nn.Sequential` in place of a list of modules."""
    func = text.written(built.func)
    maker = func.replace("ModuleList", "Sequential")
    if isinstance(built.func, ast.Name) and not _has_name(text, maker):
        return
    layers = [*built.args, *(word.value for word in built.keywords)]
    if len(layers) > 1:
        return
    edits = [Edit(text.span(built.func), maker)]
    shown = f"`{maker}`"
    for value in layers:
        if isinstance(value, ast.List) and value.elts:
            last = text.span(value.elts[-1]).end
            inner = text.span(value.elts[0]).start.until(last)
            edits = [Edit(text.span(built), f"{maker}({text.at(inner)})")]
            shown = f"`{maker}` of the layers"
        else:
            new = f"{maker}(*{text.written(value)})"
            edits = [Edit(text.span(built), new)]
            shown = f"`{new}`" if "\n" not in new else f"`{maker}(*[...])`"
    yield Fix("fits", shown, tuple(edits))


def _has_name(text: SourceText, name: str) -> bool:
    """Return whether a file imports a name."""
    return any(
        alias.name == name and alias.asname is None
        for node in text.nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    )


def _iter_loops(
    text: SourceText, call: ast.Call, built: ast.Call, with_list: bool
) -> Iterator[Fix]:
    """Yield a loop over the layers in place of the call, `with_list` also a list of
    modules in place of an `nn.Sequential`.
    """
    statement = text.statement_of(call)
    if not isinstance(statement, PLAIN) or not call.args:
        return
    if any(isinstance(around, NESTED) for around in text.outwards(call)):
        return
    first = call.args[0]
    whole = getattr(statement, "value", None) is call
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if whole and isinstance(target, ast.Name):
        result = target.id
    elif isinstance(first, ast.Name):
        result = first.id
    else:
        return
    others = [*call.args[1:], *(word.value for word in call.keywords)]
    if any(result in collect_names(other) for other in others):
        return  # it would be another tensor at the second layer
    name, layer = text.written(call.func), _choose_name(text, call)
    rest = ", ".join(
        [result]
        + [text.written(value) for value in call.args[1:]]
        + [f"{word.arg}={text.written(word.value)}" for word in call.keywords]
    )
    indent = text.lines[statement.lineno - 1][: statement.col_offset]
    head = f"for {layer} in {name}:"
    rows = [head, f"    {result} = {layer}({rest})"]
    if text.written(first) != result:
        rows.insert(0, f"{result} = {text.written(first)}")
    loop = f"\n{indent}".join(rows)
    if whole and isinstance(target, ast.Name):
        edits = [Edit(text.span(statement), loop)]
    else:
        begin = text.span(statement).start
        edits = [Edit(begin, f"{loop}\n{indent}"), Edit(text.span(call), result)]
    maker = text.written(built.func).replace("Sequential", "ModuleList")
    if not with_list or (
        isinstance(built.func, ast.Name) and not _has_name(text, maker)
    ):
        yield Fix("fits", f"`{head}` `{result} = {layer}({rest})`", tuple(edits))
        return
    items = [text.written(item) for item in built.args]
    starred = len(items) == 1 and items[0].startswith("*")
    if any(get_called_name(item) == "OrderedDict" for item in built.args):
        return
    if starred or not items:
        new = f"{maker}({items[0][1:] if starred else ''})"
    else:
        inner = text.span(built.args[0]).start.until(text.span(built.args[-1]).end)
        begin, end = text.span(built), text.span(built.args[-1]).end
        between = text.at(text.span(built.func).end.until(inner.start))[1:]
        comma = text.at(end.until(begin.end))[:-1]
        new = f"{maker}([{between}{text.at(inner)}{comma}])"
    edits.insert(0, Edit(text.span(built), new))
    yield Fix("fits", f"`{maker}` and `{head}`", tuple(edits))


def _choose_name(text: SourceText, call: ast.Call) -> str:
    """Return a name for one of the layers: `conv` of `convs`."""
    name = text.written(call.func).rpartition(".")[2]
    single = re.sub(r"(x|ss|ch|sh)es$|s$", r"\1", name)
    single = single if single != name and single.isidentifier() else "layer"
    scope = text.around(call, *FUNCTIONS)
    used = collect_names(scope) if scope is not None else set()
    return next(n for n in (single, "layer", "module", "block") if n not in used)
