"""Names under which a module registers a tensor or a layer and that it has already."""

from __future__ import annotations

import ast
import re

from shapewright.analysis.fixes.statements import cut_lines
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix, Related
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    get_own_attribute,
)

EXISTS = re.compile(r"attribute '(\w+)' already exists")
REGISTERING = ("register_buffer", "register_parameter", "register_module", "add_module")


def find_registered_name(program: Program, finding: Finding) -> Explanation | None:
    """Return that a plain attribute already has the name of a buffer, or None."""
    exists, place = EXISTS.search(finding.words), program.node(finding.span)
    if exists is None or place is None:
        return None
    text, node = place
    call = node if isinstance(node, ast.Call) else text.around(node, ast.Call)
    function = text.around(node, *FUNCTIONS)
    if call is None or get_called_name(call) not in REGISTERING or function is None:
        return None
    name = exists[1]
    sets = [
        part
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and part.lineno < call.lineno
        if any(get_own_attribute(target) == name for target in part.targets)
    ]
    if not sets:
        return None
    method = get_called_name(call)
    message = (
        f"`self.{name}` is set before `{method}` takes the name: `{method}` sets the"
        " attribute itself"
    )
    related = (Related(text.span(sets[0]), f"`self.{name}` is set here"),)
    fix = _suggest_local(text, call, function, name, sets)
    return Explanation(message, related, (fix,) if fix is not None else ())


def _suggest_local(
    text: SourceText,
    call: ast.Call,
    function: ast.AST,
    name: str,
    sets: list[ast.Assign],
) -> Fix | None:
    """Return the fix that builds the tensor under a local name, or that leaves out the
    attribute where nothing reads it.
    """
    above = [
        part
        for part in ast.walk(function)
        if isinstance(part, ast.Attribute) and get_own_attribute(part) == name
        if part.lineno <= call.lineno or part in ast.walk(call)
    ]
    targets = [target for statement in sets for target in statement.targets]
    if all(part in targets for part in above):
        if len(sets) > 1 or len(sets[0].targets) > 1:
            return None
        shown = f"without `{text.line_of(sets[0])}`"
        return Fix("fits", shown, (cut_lines(text, sets[0]),))
    arguments = getattr(function, "args", None)
    used = collect_names(function)
    used |= {part.arg for part in ast.walk(arguments or function)
             if isinstance(part, ast.arg)}  # fmt: skip
    local = name if name not in used else f"{name}_"
    if local in used:
        return None
    edits = tuple(Edit(text.span(part), local) for part in above)
    return Fix("fits", f"`{local}` for `self.{name}` until it is registered", edits)
