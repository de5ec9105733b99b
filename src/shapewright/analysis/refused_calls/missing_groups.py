"""What needs a process group before one is set up."""

from __future__ import annotations

import ast

from shapewright.analysis.fixes.statements import write_after, write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.source_text import SourceText
from shapewright.program.syntax_nodes import (
    FUNCTIONS,
    collect_names,
    get_called_name,
    iter_own_nodes,
)

REFUSED = "Default process group has not been initialized"
SETUP = "init_process_group"
RANKS = ("rank", "world_size")


def find_missing_group(program: Program, finding: Finding) -> Explanation | None:
    """Return that no process group is set up where one is needed, or None."""
    place = program.node(finding.span)
    if REFUSED not in finding.words or place is None:
        return None
    text, node = place
    call = next((n for n in ast.walk(node) if isinstance(n, ast.Call)), None)
    needs = f"`{text.written(call.func)}`" if call is not None else "it"
    message = (
        f"{needs} needs a process group, and none is set up: `{SETUP}` comes first"
    )
    fix = _suggest_setup(text, node)
    return Explanation(message, (), (fix,) if fix is not None else ())


def _suggest_setup(text: SourceText, node: ast.expr | ast.stmt) -> Fix | None:
    """Return the call of `init_process_group`, or of the function that calls it."""
    statement = text.statement_of(node) if isinstance(node, ast.expr) else node
    scope = text.around(statement, *FUNCTIONS)
    names = _collect_set_names(text, scope, statement)
    setups = [n for n in text.nodes if get_called_name(n) == SETUP]
    for setup in setups:
        function = text.around(setup, ast.FunctionDef)
        if function is None or function is scope:
            return None  # it stands below, or in a branch that does not run
        needed = [argument.arg for argument in function.args.args]
        needed = needed[: len(needed) - len(function.args.defaults)]
        called = any(get_called_name(n) == function.name for n in text.nodes)
        if called or not names.issuperset(needed) or "self" in needed:
            return None
        new = f"{function.name}({', '.join(needed)})"
        return Fix("fits", f"`{new}`", (write_before(text, statement, new),))
    prefix, edits = _find_prefix(text)
    if edits is None:
        return None
    backend = "nccl" if "cuda" in text.text else "gloo"
    words = [f'"{backend}"']
    if names.issuperset(RANKS):
        words += [f"{name}={name}" for name in RANKS]
    new = f"{prefix}.{SETUP}({', '.join(words)})"
    edits = [*edits, write_before(text, statement, new)]
    body = scope.body if isinstance(scope, ast.FunctionDef) else []
    if body and not isinstance(body[-1], ast.Return) and statement in body:
        end = f"{prefix}.destroy_process_group()"
        edits.append(write_after(text, body[-1], end))
    return Fix("fits", f"`{new}`", tuple(edits))


def _collect_set_names(
    text: SourceText, scope: ast.AST | None, statement: ast.stmt
) -> set[str]:
    """Return the names that are set above a statement, or are parameters."""
    arguments = getattr(scope, "args", None)
    parts = ast.walk(arguments) if arguments is not None else ()
    names = {part.arg for part in parts if isinstance(part, ast.arg)}
    own = list(iter_own_nodes(scope)) if scope is not None else []
    outer = [n for n in text.nodes if text.around(n, *FUNCTIONS) is None]
    for part in (*own, *(n for n in outer if isinstance(n, ast.Assign))):
        if isinstance(part, ast.Assign) and part.lineno < statement.lineno:
            for target in part.targets:
                names |= collect_names(target, ast.Store)
    return names


def _find_prefix(text: SourceText) -> tuple[str, list[Edit] | None]:
    """Return the name of `torch.distributed` in a file, with its import if it has
    none; None if the file does not import torch.
    """
    plain = None
    for node in text.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "torch.distributed":
                    return alias.asname or alias.name, []
                if alias.name == "torch" and alias.asname is None:
                    plain = node
        elif isinstance(node, ast.ImportFrom) and node.module == "torch":
            for alias in node.names:
                if alias.name == "distributed":
                    return alias.asname or alias.name, []
    if plain is None:
        return "", None
    new = "import torch.distributed as dist"
    return "dist", [write_after(text, plain, new)]
