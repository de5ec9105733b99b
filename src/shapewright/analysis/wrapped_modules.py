"""Attributes of a module that are read from its wrapper: `model.embed(x)` of a model in
`nn.DataParallel`, which forwards calls only.
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
    get_dotted_name,
    get_own_attribute,
)

NO_ATTRIBUTE = re.compile(
    r"'(DataParallel|DistributedDataParallel|AveragedModel)' object has no attribute"
    r" '(\w+)'"
)
"""Wrappers without the attributes of what they wrap; that of a compiled module and that
of sharded parameters have them.
"""
MODULE = "module"


def find_wrapped_module(program: Program, finding: Finding) -> Explanation | None:
    """Return which wrapper was read in place of the module inside it, or None."""
    missing = NO_ATTRIBUTE.search(finding.words)
    place = program.node(finding.span)
    if missing is None or place is None:
        return None
    text, node = place
    class_name, attribute = missing.groups()
    read = _find_read(node, attribute)
    if read is None or not isinstance(read.value, ast.Name | ast.Attribute):
        return None
    wraps = list(_iter_wraps(program, class_name))
    if any(_is_without_attribute(where, call, attribute) for where, call in wraps):
        return None
    name = text.written(read.value)
    message = (
        f"`{name}` is a `{class_name}`, which only forwards calls: `{attribute}`"
        f" belongs to the module inside it, `{name}.{MODULE}`"
    )
    related = tuple(
        Related(where.span(call), "the module is wrapped here") for where, call in wraps
    )
    reads = _list_reads(text, read, wraps)
    plain = tuple(Edit(text.span(part.value).end, f".{MODULE}") for part in reads)
    both = f'getattr({name}, "{MODULE}", {name})'
    either = tuple(Edit(text.span(part.value), both) for part in reads)
    fixes = [
        Fix("fits", f"`{name}.{MODULE}.{attribute}`", plain),
        Fix("fits", f"`{both}.{attribute}`", either),
    ]
    if any(_is_conditional(where, call) for where, call in wraps):
        fixes.reverse()  # the model may run without its wrapper, too
    return Explanation(message, related, tuple(fixes))


def _find_read(node: ast.AST, attribute: str) -> ast.Attribute | None:
    """Return the outermost expression of a node that reads the attribute."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr == attribute:
            return part
    return None


def _iter_wraps(
    program: Program, class_name: str
) -> Iterator[tuple[SourceText, ast.Call]]:
    """Yield the calls of the wrapper's class, which may have another name in a file."""
    for text in program.own_texts():
        names = {class_name} | {
            alias.asname
            for node in text.nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name == class_name and alias.asname
        }
        for node in text.nodes:
            if isinstance(node, ast.Call) and get_called_name(node) in names:
                yield text, node


def _is_without_attribute(text: SourceText, call: ast.Call, attribute: str) -> bool:
    """Return whether what is wrapped is of a class of the file that says all of its
    attributes, and this is none of them.
    """
    value: ast.expr | None = call.args[0] if call.args else None
    if isinstance(value, ast.Name):
        values = [v for v in find_defining(text, value.id) if v is not call]
        value = values[-1] if values else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value  # `Net().to(device)`
    name = get_called_name(value) if value is not None else ""
    owners = [node for _, node in text.definitions(name) if name]
    if len(owners) != 1 or not isinstance(owners[0], ast.ClassDef):
        return False
    bases = [get_dotted_name(base) for base in owners[0].bases]
    if bases not in (["nn.Module"], ["torch.nn.Module"], ["Module"]):
        return False
    nodes = list(ast.walk(owners[0]))
    own = {get_own_attribute(node) for node in nodes if isinstance(node, ast.Attribute)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    own |= collect_names(owners[0], ast.Store)
    calls = {get_called_name(node) for node in nodes}
    is_open = calls & {"setattr", "add_module", "register_buffer", "register_parameter"}
    return attribute not in own and not is_open


def _list_reads(
    text: SourceText, read: ast.Attribute, wraps: list[tuple[SourceText, ast.Call]]
) -> list[ast.Attribute]:
    """Return where the attribute is read from the same name, below the wrapper."""
    name, scope = text.written(read.value), _find_scope(text, read)
    begins = [
        call.lineno
        for where, call in wraps
        if where.file == text.file and _find_scope(text, call) is scope
    ]
    first = min([line for line in begins if line < read.lineno], default=0)
    return [
        node
        for node in text.nodes
        if isinstance(node, ast.Attribute)
        and node.attr == read.attr
        and text.written(node.value) == name
        and _find_scope(text, node) is scope
        and node.lineno > first
    ]


def _find_scope(text: SourceText, node: ast.AST) -> ast.AST | None:
    """Return the function around a node, or the class of a method's attributes."""
    if isinstance(node, ast.Attribute) and get_own_attribute(node.value):
        return text.around(node, ast.ClassDef)
    return text.around(node, *FUNCTIONS)


def _is_conditional(text: SourceText, call: ast.Call) -> bool:
    """Return whether a module is wrapped only under a condition, such as several GPUs,
    in the function around.
    """
    for outer in text.outwards(call):
        if isinstance(outer, FUNCTIONS):
            return False
        if isinstance(outer, ast.If | ast.IfExp):
            return "__name__" not in collect_names(outer.test)
    return False
