"""Find tables of positions and tokens that are plain attributes of a module: made of
zeros or drawn once, and never trained.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.program_run import Program
from shapewright.findings.codes import NOT_A_PARAMETER
from shapewright.findings.finding import Finding, Related
from shapewright.operators.facts import operators_with, values_of
from shapewright.program.source_text import SourceText, get_receiver
from shapewright.program.syntax_nodes import (
    get_called_name,
    get_own_attribute,
    iter_assignments,
)

MAKERS = frozenset(values_of("fills_with")) | (
    operators_with("is_random") & operators_with("is_factory")
)
LEARNED = re.compile(
    r"(^|_)(pos|position|positions|positional|pos_?embed\w*|pos_?emb|position_\w+"
    r"|embeddings?|(cls|class|mask|dist|register)_?tokens?|prompts?|prototypes?)(_|$)"
)
FIXED = re.compile(
    r"fixed|sin|fourier|freq|rope|rotary|idx|ids|index|mask$|cache|count"
)
"""Words in the names of what is not trained."""
JOINS = operators_with("joins_tensors") | operators_with("repeats_whole") | {"expand"}


def find_constant_tokens(program: Program) -> Iterator[Finding]:
    """Find `self.position = torch.zeros(1, n, d)` that is added to the data."""
    for text in program.own_texts():
        for kind in text.nodes:
            if not isinstance(kind, ast.ClassDef) or not _is_module(kind):
                continue
            for target, value in iter_assignments(kind):
                name = get_own_attribute(target)
                if not name or not _is_table(name, value):
                    continue
                read = _find_only_reads(text, kind, target, name)
                if read is None:
                    continue
                written = text.written(target)
                yield Finding(
                    NOT_A_PARAMETER,
                    "warning",
                    f"`{written}` is a plain tensor: it is no parameter of its module,"
                    " so no optimizer gets it, and it stays as it was made",
                    text.span(text.statement_of(value)),
                    related=(Related(text.span(read), "the data meets it here"),),
                )


def _is_module(kind: ast.ClassDef) -> bool:
    """Return whether a class has a base, and a `forward`."""
    names = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
    return bool(kind.bases) and "forward" in names


def _is_table(name: str, value: ast.expr) -> bool:
    """Return whether a tensor of several dims is made for something that is learned."""
    owner = get_receiver(value) if isinstance(value, ast.Call) else None
    if not isinstance(value, ast.Call) or not isinstance(owner, ast.Name):
        return False
    if owner.id != "torch":
        return False
    first = value.args[0] if value.args else None
    sizes = first.elts if isinstance(first, ast.Tuple) else value.args
    is_made = get_called_name(value) in MAKERS and len(sizes) > 1
    is_learned = LEARNED.search(name) is not None and FIXED.search(name) is None
    asks = any(word.arg == "requires_grad" for word in value.keywords)
    return is_made and is_learned and not asks


def _find_only_reads(
    text: SourceText, kind: ast.ClassDef, target: ast.expr, name: str
) -> ast.expr | None:
    """Return where a method adds an attribute to the data, or joins it with them, if
    nothing writes to it after it was made.
    """
    first = None
    for node in ast.walk(kind):
        if node is target or get_own_attribute(node) != name:
            continue
        assert isinstance(node, ast.expr)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return None
        outer: ast.AST | None = node
        while outer is not None and not isinstance(outer, ast.stmt | ast.BinOp):
            outer = text.parent(outer)
            is_written = isinstance(outer, ast.Subscript) and isinstance(
                outer.ctx, ast.Store
            )
            called = get_called_name(outer) if isinstance(outer, ast.Call) else ""
            if is_written or called.endswith("_"):
                return None
            if called in JOINS:
                first = first or node
        is_sum = isinstance(outer, ast.BinOp) and isinstance(outer.op, ast.Add)
        first = first or (node if is_sum else None)
    return first
