"""A notebook as the text of a Python file: its code cells, one below the other.

Lines of IPython that are no Python (`%matplotlib inline`, `!pip install timm`) become
`pass` with the line as a comment, so that every other line stays as it was written.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable
from typing import Any

from shapewright.program.syntax_nodes import collect_names, parse

SUFFIX = ".ipynb"

_DISPLAY = "display = print  # as a notebook has it"

_MAGIC = re.compile(
    r"(?P<indent>\s*)(?P<left>[\w.,\s]*=\s*)?[%!?].*|\s*[\w.]+\?{1,2}\s*"
)
_PYTHON_MAGICS = ("time", "timeit", "capture", "prun", "python", "python3")


def is_notebook(file: str) -> bool:
    """Return whether a file is a notebook by its name."""
    return file.endswith(SUFFIX)


def read_cells(text: str) -> str:
    """Return the code of a notebook, from the text of its file.

    Example: a notebook of two cells, ``x = 1`` and ``%time f(x)``, reads

        # cell 1
        x = 1
        # cell 2
        pass  # %time f(x)

    Raises `ValueError` for a file that is not a notebook of Python.
    """
    try:
        notebook = json.loads(text)
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        codes = ["".join(cell["source"]) for cell in cells]
        metadata = notebook.get("metadata", {})
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            "it has no cells as notebooks of version 4 have them"
        ) from None
    language = _find_language(metadata)
    if language != "python":
        raise ValueError(f"it is a notebook of {language}, not of Python")
    parts = [_DISPLAY] if any("display(" in code for code in codes) else []
    for number, code in enumerate(codes, 1):
        parts += [f"# cell {number}", *_replace_magics(code)]
    return "\n".join([*parts, ""])


def _find_language(metadata: Any) -> str:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        table = metadata.get(key, {}) if isinstance(metadata, dict) else {}
        if isinstance(table, dict) and isinstance(table.get(name), str):
            return str(table[name]).lower()
    return "python"


def _replace_magics(code: str) -> list[str]:
    """Return the lines of a cell with all that is IPython's own replaced."""
    lines = code.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        words = first[2:].split()
        if not words or words[0] not in _PYTHON_MAGICS:
            return [f"# {line}" for line in lines]
        at = lines.index(first)
        return [*lines[:at], f"# {first}", *_replace_magics("\n".join(lines[at + 1 :]))]
    if _is_python(code):
        return lines
    return [_replace_line(line) for line in lines]


def _is_python(code: str) -> bool:
    try:
        parse(code)
    except (SyntaxError, ValueError):
        return False
    return True


def _replace_line(line: str) -> str:
    match = _MAGIC.fullmatch(line)
    if match is None:
        return line
    indent = match["indent"] or ""
    left = match["left"]
    return f"{indent}{f'{left}None' if left else 'pass'}  # {line.strip()}"


_DEFINITIONS = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)


def select_definitions(tree: ast.Module, name: str) -> ast.Module:
    """Return the module with only what the definition of a name needs to be used.

    These are imports, functions, classes, and the assignments whose names occur in
    them. What a notebook tries out, loads or trains between them is left out.
    """
    kept = {node for node in tree.body if _is_definition(node)}
    needed = {name, "example_inputs"} | _list_names(kept)
    grown = True
    while grown:
        grown = False
        for node in reversed(tree.body):
            if node not in kept and _list_assigned(node) & needed:
                kept.add(node)
                needed |= _list_names([node])
                grown = True
    return ast.Module([node for node in tree.body if node in kept], tree.type_ignores)


def _is_definition(node: ast.stmt) -> bool:
    if isinstance(node, ast.Try | ast.If):  # `try: import apex`
        body = [*node.body, *node.orelse]
        return bool(body) and all(map(_is_definition, body))
    return isinstance(node, _DEFINITIONS)


def _list_assigned(node: ast.stmt) -> set[str]:
    """Return the names that an assignment sets, none for other statements."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    else:
        return set()
    return {
        part.id
        for target in targets
        for part in ast.walk(target)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _list_names(nodes: Iterable[ast.stmt]) -> set[str]:
    return {name for node in nodes for name in collect_names(node)}
