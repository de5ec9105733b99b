"""Lists and dicts of modules that a model does not know, and modules that `forward`
builds anew: `nn.ModuleList`, an attribute set in `__init__`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_after
from shapewright.analysis.program_run import Program
from shapewright.findings.codes import DTYPE_MISMATCH
from shapewright.findings.finding import Edit, Fix
from shapewright.operators.failed_calls import Failure
from shapewright.program.source_text import SourceText, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_dotted_name,
    get_own_attribute,
    iter_assignments,
)

HOLDERS = {ast.List: "nn.ModuleList", ast.ListComp: "nn.ModuleList",
           ast.Dict: "nn.ModuleDict", ast.DictComp: "nn.ModuleDict"}  # fmt: skip


def find_module_list(program: Program, span: Span) -> Fix | None:
    """Return `nn.ModuleList` or `nn.ModuleDict` for the list or dict in which a module
    is built at a place, if it is in one.
    """
    nested = _find_nested_list(program, span)
    holder = find_holder(program, span)
    if nested is not None or holder is None:
        return nested
    text, node = holder
    kind = HOLDERS[type(node)]
    written = text.written(node)
    inner = "" if written in ("[]", "{}") else written
    prefix = _get_module_prefix(text, kind)
    shown = join_lines(f"{prefix}({inner})")
    shown = shown if len(shown) <= 60 else f"{prefix}(...)"
    return Fix("fits", f"`{shown}`", (Edit(text.span(node), f"{prefix}({inner})"),))


def suggest_registered_lists(program: Program, failure: Failure) -> Iterator[Fix]:
    """Suggest `nn.ModuleList` for all lists whose layers the `to()` of their model did
    not reach, where one of these layers computes in another dtype than it is given.
    """
    unmet, op = failure.unmet, program.trace.ops[failure.op]
    if unmet is None or unmet.code != DTYPE_MISMATCH or "." in op.module:
        return
    edits: dict[Span, Edit] = {}
    messages: list[str] = []
    for path, built in program.built.items():
        fix = find_module_list(program, built.span) if "." not in path else None
        for edit in fix.edits if fix is not None else ():
            if fix is not None and edit.span not in edits:
                edits[edit.span] = edit
                messages.append(_show_assigned(program, edit) or fix.message)
    if op.module in program.built and edits:
        shown = " and ".join(messages)
        yield Fix("fits", f"{shown}, which `to()` reaches", tuple(edits.values()))


def _show_assigned(program: Program, edit: Edit) -> str:
    """Return the assignment of a list as it is after an edit, in quotes."""
    place = program.node(edit.span)
    if place is None:
        return ""
    text, node = place
    statement = text.statement_of(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    shown = f"{text.written(targets[0])} = {edit.text}" if len(targets) == 1 else ""
    return f"`{join_lines(shown)}`" if 0 < len(shown) <= 60 else ""


def suggest_kept_lists(program: Program) -> Iterator[Fix]:
    """Suggest `nn.ModuleList(layers)` where a module keeps the layers that it is given
    in a list: `self.layers = list(layers)`, `self.layers = layers`.
    """
    for text in program.own_texts():
        for _, function in text.functions("__init__"):
            owner = text.around(function, ast.ClassDef)
            if owner is None or not owner.bases:
                continue
            parameters = {argument.arg for argument in function.args.args}
            for target, value in iter_assignments(function):
                if not get_own_attribute(target):
                    continue
                inner = value
                if isinstance(value, ast.Call) and get_called_name(value) in KEEPING:
                    inner = value.args[0] if value.args else value
                if not isinstance(inner, ast.Name) or inner.id not in parameters:
                    continue
                if not _is_looped(text, owner, text.written(target)):
                    continue
                prefix = _get_module_prefix(text, "nn.ModuleList")
                new = f"{prefix}({inner.id})"
                yield Fix("fits", f"`{new}`", (Edit(text.span(value), new),))


KEEPING = frozenset({"list", "tuple"})


def _is_looped(text: SourceText, owner: ast.ClassDef, written: str) -> bool:
    """Return whether a class loops over what one of its attributes holds."""
    loops = [
        node.iter
        for node in ast.walk(owner)
        if isinstance(node, ast.For | ast.comprehension)
    ]
    return any(
        text.written(part) == written
        for loop in loops
        for part in ast.walk(loop)
        if isinstance(part, ast.Attribute)
    )


def find_own_module(program: Program, span: Span) -> Fix | None:
    """Return the fix that builds a module in `__init__`, if `forward` builds it anew in
    each call.
    """
    text_and_call = program.call_at(span)
    function = find_function(*text_and_call) if text_and_call is not None else None
    if text_and_call is None or function is None or function.name == "__init__":
        return None
    text, call = text_and_call
    owner = text.around(function, ast.ClassDef)
    inits = [method for method in owner.body if isinstance(method, ast.FunctionDef)
             and method.name == "__init__"] if owner is not None else []  # fmt: skip
    names = {
        name_node.id for name_node in ast.walk(call) if isinstance(name_node, ast.Name)
    }
    own = {parameter.arg for parameter in function.args.args if parameter.arg != "self"}
    own |= {
        name_node.id
        for name_node in ast.walk(function)
        if isinstance(name_node, ast.Name) and isinstance(name_node.ctx, ast.Store)
    }
    if not inits or names & own:
        return None
    name = get_called_name(call).lower()
    while f"self.{name}" in text.text:
        name += "_"
    new = f"self.{name} = {text.written(call)}"
    last = inits[0].body[-1]
    edits = (write_after(text, last, new), Edit(text.span(call), f"self.{name}"))
    return Fix("fits", f"`{join_lines(new)}` in `__init__`", edits)


def find_function(
    text: SourceText, node: ast.AST
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the function around a node."""
    for around in text.outwards(node):
        if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
            return around
    return None


def find_holder(program: Program, span: Span) -> tuple[SourceText, ast.expr] | None:
    """Return the Python list or dict in which a module is built, or to which it is
    appended, if it stands where the modules of a model are made.
    """
    text_and_node = program.node(span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    for around in text.outwards(node):
        if isinstance(around, tuple(HOLDERS)):
            if isinstance(around, ast.expr) and _is_plain(text, around):
                return text, around
            return None
        if isinstance(around, ast.Call):
            name = around.func.attr if isinstance(around.func, ast.Attribute) else ""
            if name in ("append", "insert", "extend", "update"):
                return _find_empty_holder(text, around)
        if isinstance(around, ast.Assign):
            target = around.targets[0]
            if isinstance(target, ast.Subscript):
                return _find_assigned(text, get_dotted_name(target.value))
            name = get_dotted_name(target)
            return _find_appended(text, name) if name else None
        if isinstance(around, ast.stmt):
            return None
    return None


def _is_plain(text: SourceText, node: ast.expr) -> bool:
    """Return whether a list or dict is not passed to a container of modules."""
    around = text.parent(node)
    if isinstance(around, ast.Starred):
        return False
    return not isinstance(around, ast.Call)


def _find_empty_holder(
    text: SourceText, call: ast.Call
) -> tuple[SourceText, ast.expr] | None:
    """Return the list to which a call appends."""
    func = call.func
    owner = get_dotted_name(func.value) if isinstance(func, ast.Attribute) else ""
    return _find_assigned(text, owner)


def _find_appended(text: SourceText, name: str) -> tuple[SourceText, ast.expr] | None:
    """Return the list to which a name is appended."""
    for node in text.nodes:
        appended = node.args[:1] if isinstance(node, ast.Call) else []
        same = any(get_dotted_name(argument) == name for argument in appended)
        if same and isinstance(node, ast.Call) and get_called_name(node) == "append":
            return _find_empty_holder(text, node)
    return None


def _find_assigned(text: SourceText, owner: str) -> tuple[SourceText, ast.expr] | None:
    """Return the list or dict that is assigned to a dotted name."""
    for node in text.nodes:
        if isinstance(node, ast.Assign) and get_dotted_name(node.targets[0]) == owner:
            plain = isinstance(node.value, tuple(HOLDERS))
            if owner and plain and isinstance(node.value, ast.expr):
                return text, node.value
    return None


def _get_module_prefix(text: SourceText, kind: str) -> str:
    """Return `nn.ModuleList` as the file would write it."""
    name = kind.removeprefix("nn.")
    owners = []
    for node in text.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "torch":
            owners += [a.asname or "nn" for a in node.names if a.name == "nn"]
        for alias in node.names if isinstance(node, ast.Import) else ():
            if alias.name == "torch.nn" and alias.asname:
                owners.insert(0, alias.asname)
            elif alias.name == "torch" and alias.asname:
                owners.append(f"{alias.asname}.nn")
    return f"{(owners or ['torch.nn'])[0]}.{name}"


def _find_nested_list(program: Program, span: Span) -> Fix | None:
    """Return `nn.ModuleList` for lists in a list: `self.rows.append([layer, act])`."""
    text_and_node = program.node(span)
    if text_and_node is None:
        return None
    text, node = text_and_node
    inner = text.around(node, ast.List)
    outer = _find_outer_list(text, inner) if inner is not None else None
    if inner is None or outer is None:
        return None
    prefix = _get_module_prefix(text, "nn.ModuleList")
    edits = [Edit(text.span(inner), f"{prefix}({text.written(inner)})")]
    if inner in outer.elts:
        items = [text.written(item) for item in outer.elts]
        lists = [isinstance(item, ast.List) for item in outer.elts]
        new = ", ".join(
            f"{prefix}({item})" if nested else item
            for item, nested in zip(items, lists, strict=True)
        )
        edits = [Edit(text.span(outer), f"{prefix}([{new}])")]
    else:
        written = text.written(outer) if outer.elts else ""
        edits.append(Edit(text.span(outer), f"{prefix}({written})"))
    return Fix("fits", f"`{prefix}` for the list and the lists in it", tuple(edits))


def _find_outer_list(text: SourceText, inner: ast.List) -> ast.List | None:
    """Return the list in which a list stands, or to which it is appended."""
    around = text.parent(inner)
    if isinstance(around, ast.Call) and inner in around.args:
        holder = _find_empty_holder(text, around)
        appends = get_called_name(around) == "append"
        around = holder[1] if holder is not None and appends else None
    return around if isinstance(around, ast.List) else None
