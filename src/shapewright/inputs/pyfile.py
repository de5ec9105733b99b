"""A user's Python file, read and run as a module."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from shapewright.inputs import overlay
from shapewright.inputs.errors import InputError, ProgramError, did_you_mean
from shapewright.inputs.program import Program, shown

_TAKEN = frozenset(sys.stdlib_module_names) | {"torch", "shapewright", "__main__"}


def read_source(file: str) -> tuple[str, ast.Module]:
    """The text and tree of a Python file; `InputError` where it is none."""
    path = Path(file)
    if not path.exists():
        raise InputError(_no_such_file(path))
    try:
        changed = overlay.text_of(file)
        source = changed or importlib.util.decode_source(path.read_bytes())
        return source, ast.parse(source, shown(file))
    except SyntaxError as error:
        raise syntax_error(error, file) from None
    except OSError as error:
        raise InputError(f"cannot read `{file}`: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"`{file}` is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise InputError(f"`{file}` is not Python text: {error}") from None


def _no_such_file(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"no such file: `{path}` (there is no folder `{folder}`)"
    names = sorted(entry.name for entry in folder.glob("*.py"))
    hint = did_you_mean(path.name, names)
    if not hint and names:
        several = ", ".join(f"`{name}`" for name in names[:8])
        hint = f"; the folder has {several}" + (", ..." if len(names) > 8 else "")
    return f"no such file: `{path}`{hint}"


def syntax_error(error: SyntaxError, file: str) -> InputError:
    """A syntax error of a user's file, as one sentence and the line with a caret."""
    where = shown(error.filename if error.filename else file)
    if error.lineno is None:
        return InputError(f"{where}: {error.msg}")
    column = max(error.offset or 1, 1)
    place = f"{where}:{error.lineno}:{column}"
    line = (error.text or _line(where, error.lineno)).rstrip("\n")
    return InputError(f"{place}: {error.msg}", line, min(column - 1, len(line)))


def _line(file: str, number: int) -> str:
    try:
        return Path(file).read_text(errors="replace").splitlines()[number - 1]
    except (OSError, IndexError):
        return ""


def program_of(file: str, tree: ast.Module) -> tuple[Program, str]:
    """The program that a file belongs to, and the file's module name in it.

    A file with relative imports is a member of its package, as under ``python -m``;
    another one is a module by its own stem. A stem that the standard library has too
    gets an underscore, so that the file does not replace it.
    """
    path = Path(os.path.abspath(file))
    package_file = path.name == "__init__.py"
    levels = [n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    depth = max(levels, default=0) or int(package_file)
    packages = _packages(path.parent, depth)
    parent = packages[0].parent if packages else None
    if not depth:
        stem = path.stem + "_" if path.stem in _TAKEN else path.stem
        return Program(path.parent, parent), stem
    names = [folder.name for folder in packages]
    return Program(path.parent, parent), ".".join(
        names if package_file else [*names, path.stem]
    )


def _packages(folder: Path, depth: int) -> list[Path]:
    """The folders that are packages around a file, outermost first.

    A folder with `__init__.py` is one; so are the `depth` nearest ones of a file whose
    relative imports reach that far.
    """
    found: list[Path] = []
    while folder != folder.parent:
        if len(found) >= depth and not (folder / "__init__.py").is_file():
            break
        found.insert(0, folder)
        folder = folder.parent
    return found


def import_file(file: str, tree: ast.Module, program: Program, name: str) -> ModuleType:
    """Run a file as the module `name`; its ``__name__ == "__main__"`` part is not run.

    Raises `ProgramError` for what its code raises.
    """
    path = os.path.abspath(file)
    with program.running(), guarded(program, f"importing `{shown(file)}`"):
        if os.path.basename(path) == "__init__.py":
            return importlib.import_module(name)
        package = name.rpartition(".")[0]
        if package:
            importlib.import_module(package)
            if name in sys.modules:  # its package imports it
                return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = program.modules[name] = module
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
        return module


@contextmanager
def guarded(program: Program, doing: str) -> Iterator[None]:
    """Turn what the user's code raises into `ProgramError` with its file and line."""
    try:
        yield
    except (InputError, ProgramError):
        raise
    except SyntaxError as error:
        if error.filename and program.holds(error.filename):
            raise syntax_error(error, error.filename) from None
        raise _program_error(error, program, doing) from error
    except (Exception, SystemExit) as error:
        raise _program_error(error, program, doing) from error


def _program_error(error: BaseException, program: Program, doing: str) -> ProgramError:
    file, line = program.place(error.__traceback__)
    return ProgramError(error, file, line, _said(error), doing)


def _said(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the program exited with status {error.code or 0}"
    said = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    if isinstance(error, ModuleNotFoundError) and error.name:
        said += f" (is `{error.name.partition('.')[0]}` installed in this environment?)"
    return said
