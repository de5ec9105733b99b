"""Files that cannot be written: into a folder that nothing has made, and images of a
kind that their format does not hold.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from shapewright.analysis.fixes.statements import write_before
from shapewright.analysis.program_run import Program
from shapewright.findings.finding import Edit, Explanation, Finding, Fix
from shapewright.program.assigned_values import find_known_value
from shapewright.program.source_text import SourceText, find_defining, join_lines
from shapewright.program.spans import Span
from shapewright.program.syntax_nodes import get_called_name, get_dotted_name

NO_FOLDER = re.compile(
    r"No such file or directory: '([^']+)'|Parent directory (\S+) does not exist"
)
NO_MODE = re.compile(r"cannot write mode (\w+) as (\w+)")
OF_COLOURS = ("RGBA", "P", "LA", "PA", "RGBX", "CMYK", "HSV", "YCbCr", "LAB")
"""Modes of an image of PIL whose colours RGB holds."""
PATH_AT = {
    "save": 0, "savez": 0, "savez_compressed": 0, "savetxt": 0, "savefig": 0,
    "to_csv": 0, "to_json": 0, "to_pickle": 0, "to_parquet": 0, "to_excel": 0,
    "imwrite": 0, "imsave": 0, "save_model": 1, "save_file": 1, "save_image": 1,
    "dump": 1, "write_video": 0, "write_png": 1, "write_jpeg": 1, "tofile": 0,
    "export": 2, "open": 0,
}  # fmt: skip
"""Functions that write a file, each with the place of its path."""
PATH_WORDS = ("f", "file", "fname", "filename", "path", "path_or_buf", "fp")
OF_PATHS = ("write_text", "write_bytes", "touch")
"""Methods of a path that write a file."""
WRITING = re.compile(r"[wax]")


def find_unwritten_file(program: Program, finding: Finding) -> Explanation | None:
    """Return why a file cannot be written, or None."""
    folder = NO_FOLDER.search(finding.words)
    if folder is not None:
        return _explain_folder(program, finding, folder[1] or f"{folder[2]}/")
    mode = NO_MODE.search(finding.words)
    if mode is not None:
        return _explain_mode(program, finding, mode[1], mode[2])
    return None


def _explain_mode(
    program: Program, finding: Finding, mode: str, kind: str
) -> Explanation | None:
    """Return that a format of images holds no such colours: `.convert("RGB")`."""
    for text, call in program.iter_calls(finding):
        if get_called_name(call) != "save" or not isinstance(call.func, ast.Attribute):
            continue
        image = call.func.value
        name = text.line_of(image)
        why = " (an alpha channel)" if mode in ("RGBA", "LA", "PA") else ""
        message = f"`{name}` is of mode {mode}{why}, which {kind} cannot hold"
        if mode not in OF_COLOURS:
            return Explanation(message, (), ())
        written = text.written(image)
        new = f'{written}.convert("RGB")'
        fix = Fix("fits", f"`{join_lines(new)}`", (Edit(text.span(image), new),))
        return Explanation(message, (), (fix,))
    return None


# -- folders ---------------------------------------------------------------------------


def _explain_folder(
    program: Program, finding: Finding, file: str
) -> Explanation | None:
    """Return which folder is not there, and the line that makes it."""
    folder = file.rpartition("/")[0]
    for text, call in program.iter_calls(finding):
        path = _find_written_path(text, call)
        if path is None or not folder:
            continue
        function = text.written(call.func)
        message = f"the folder `{folder}` is not there, and `{function}` makes none"
        new = _write_folder(text, path, call)
        statement = text.statement_of(call)
        edits = [write_before(text, statement, new)]
        if new.startswith("os."):
            edits += _iter_imports(text)
        return Explanation(message, (), (Fix("fits", f"`{new}`", tuple(edits)),))
    return None


def _find_written_path(text: SourceText, call: ast.Call) -> ast.expr | None:
    """Return the path of the file that a call writes, or None if it writes none."""
    name = get_called_name(call)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name in OF_PATHS and owner is not None:
        return owner
    words = [word.value for word in call.keywords if word.arg in PATH_WORDS]
    if name == "open":
        modes = [word.value for word in call.keywords if word.arg == "mode"]
        is_method = owner is not None and get_dotted_name(owner) not in MODULES
        modes += call.args[:1] if is_method else call.args[1:2]
        mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else ""
        if not isinstance(mode, str) or not WRITING.search(mode):
            return None
        return owner if is_method else next(iter([*words, *call.args]), None)
    if name not in PATH_AT:
        return None
    at = PATH_AT[name]
    if name == "save" and owner is not None and get_dotted_name(owner) == "torch":
        at = 1
    return next(iter([*words, *call.args[at : at + 1]]), None)


MODULES = ("gzip", "bz2", "lzma", "codecs", "io", "os", "h5py", "wave", "tarfile")
"""Modules with a function `open`."""


def _write_folder(text: SourceText, path: ast.expr, call: ast.Call) -> str:
    """Return the statement that makes the folder of a path."""
    written = join_lines(text.written(path))
    if _is_path(text, path) or get_called_name(call) in OF_PATHS:
        if isinstance(path, ast.BinOp) and _is_plain_name(path.right):
            folder = join_lines(text.written(path.left))
            is_one = isinstance(path.left, ast.Name | ast.Attribute | ast.Call)
            folder = folder if is_one else f"({folder})"
        else:
            is_one = isinstance(path, ast.Name | ast.Attribute | ast.Call)
            folder = f"{written}.parent" if is_one else f"({written}).parent"
        return f"{folder}.mkdir(parents=True, exist_ok=True)"
    if isinstance(path, ast.Constant) and isinstance(path.value, str):
        above = path.value.rpartition("/")[0]
        return f'os.makedirs("{above}", exist_ok=True)'
    parts = path.args if isinstance(path, ast.Call) else []
    is_joined = get_called_name(path) == "join" and len(parts) == 2
    if is_joined and _is_plain_name(parts[1]):
        folder = join_lines(text.written(parts[0]))
        return f"os.makedirs({folder}, exist_ok=True)"
    return f"os.makedirs(os.path.dirname({written}), exist_ok=True)"


def _is_plain_name(node: ast.expr) -> bool:
    """Return whether a part of a path is the name of a file, without folders."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value for part in node.values if isinstance(part, ast.Constant)]
        return not any("/" in str(part) for part in parts)
    return isinstance(node, ast.Constant) and "/" not in str(node.value)


def _is_path(text: SourceText, node: ast.expr) -> bool:
    """Return whether an expression is a `Path` and no text."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return True
    if isinstance(node, ast.Call):
        name = get_called_name(node)
        return name in ("Path", "PosixPath", "with_suffix", "with_name", "joinpath")
    if isinstance(node, ast.Attribute) and node.attr == "parent":
        return True
    value = find_known_value(text, node)
    if value is node and isinstance(node, ast.Attribute):
        values = find_defining(text, node.attr)
        value = values[-1] if values else node
    return value is not node and _is_path(text, value)


def _iter_imports(text: SourceText) -> Iterator[Edit]:
    """Yield the edit that imports `os` where a file does not."""
    imports = [
        node for node in text.nodes if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    for node in imports:
        if isinstance(node, ast.Import) and any(
            alias.name in ("os", "os.path") and alias.asname is None
            for alias in node.names
        ):
            return
    first = [
        node
        for node in imports
        if not (isinstance(node, ast.ImportFrom) and node.module == "__future__")
    ]
    line = min((node.lineno for node in first), default=1)
    yield Edit(Span(text.file, line, 1, line, 1), "import os\n")
