"""Read a user's Python files and run them as modules, with replaced text while an edit
is tried.

A function that is there already is changed by compiling its code anew from the changed
text of its file, and only where the unchanged text compiles to that very code.
"""

from __future__ import annotations

import ast
import gc
import importlib
import importlib.machinery
import importlib.util
import linecache
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any

from shapewright.inputs.errors import InputError, ProgramError, suggest_name
from shapewright.program.notebooks import is_notebook, read_cells
from shapewright.program.spans import STAND_INS
from shapewright.program.syntax_nodes import parse
from shapewright.record.ops import Assumption, Basis

Change = Callable[[ast.Module, str], ast.Module]
"""What is done to the tree of a file before it is compiled."""

_EDITED: set[str] = set()
"""Files whose text is replaced while an edit is tried; a notebook's always is."""

CHANGES: list[tuple[Callable[[str], bool], Change]] = []
"""Which files are changed, and how."""


def _get_text(file: str) -> str | None:
    """Return the text that replaces that of a file, or None if it is not replaced."""
    path = os.path.abspath(file)
    return STAND_INS.get(path) if path in _EDITED else None


def _read_notebook(path: Path) -> str:
    """Return the code of a notebook, under which the whole run knows its file."""
    text = read_cells(path.read_text("utf-8"))
    file = os.path.abspath(path)
    STAND_INS[file] = text
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = (len(text), None, lines, file)
    return text


def install_texts(texts: Mapping[str, str]) -> None:
    """Replace the text of these files, and of no others, from now on.

    TorchScript reads the text of a function by `inspect`, from Python's `linecache`.
    """
    for file in _EDITED:
        linecache.cache.pop(file, None)
    for file, text in texts.items():
        lines = text.splitlines(keepends=True)
        linecache.cache[file] = (len(text), None, lines, file)
    STAND_INS.clear()
    STAND_INS.update(texts)
    _EDITED.clear()
    _EDITED.update(texts)
    _install_hook()


@contextmanager
def change_files(holds: Callable[[str], bool], change: Change) -> Iterator[None]:
    """Change the files imported in the block for which `holds` returns true."""
    _install_hook()
    CHANGES.append((holds, change))
    try:
        yield
    finally:
        CHANGES.pop()


def compile_file(tree: ast.Module, file: str) -> CodeType:
    """Compile a file, with its change applied if it has one."""
    for holds, change in CHANGES:
        if holds(file):
            tree = change(tree, file)
    return compile(tree, file, "exec", dont_inherit=True)


def _install_hook() -> None:
    loader = importlib.machinery.SourceFileLoader
    if loader.get_code.__module__ == __name__:
        return
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        path = os.path.abspath(self.get_filename(fullname))
        if path in STAND_INS or any(holds(path) for holds, _ in CHANGES):
            text = STAND_INS.get(path)
            data = self.get_data(path) if text is None else text.encode()
            return compile_file(parse(data, path), path)
        return original(self, fullname)

    loader.get_code = get_code  # type: ignore[method-assign]


_NEVER_HIDDEN = frozenset(sys.stdlib_module_names) | {"torch", "shapewright"}
_LIBRARY_FOLDERS = {"site-packages", "dist-packages"}


@dataclass(slots=True)
class ProgramFolder:
    """A folder of user code and the modules that were imported from it.

    Inside `running()` the folder is first on `sys.path`, as with ``python model.py``,
    and the program's modules are in `sys.modules`; outside, both are as before, and so
    are modules of the same names that somebody else had imported. What the program
    did to `sys.path` itself is kept for its next run. `parent` is the folder that
    holds the outermost package, where the file belongs to one. `stand_ins` says what
    stands for packages that are not installed.
    """

    folder: Path
    parent: Path | None = None
    modules: dict[str, ModuleType] = field(default_factory=dict)
    path: list[str] | None = None
    depth: int = 0
    stand_ins: list[Assumption] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Set `sys.path` and `sys.modules` for the program; may be nested."""
        self.depth += 1
        if self.depth > 1:
            try:
                yield
            finally:
                self.depth -= 1
            return
        from shapewright.runtime.absent.packages import replace_packages

        path, caches = list(sys.path), set(sys.path_importer_cache)
        hidden, before = self._enter()
        try:
            with replace_packages(self._note_stand_in, self.holds):
                yield
        finally:
            self.depth = 0
            self._leave(hidden, before)
            self.path, sys.path[:] = list(sys.path), path
            for entry in set(sys.path_importer_cache) - caches:
                if self.holds(entry):
                    sys.path_importer_cache.pop(entry, None)

    def _note_stand_in(self, what: str, by: str, basis: Basis) -> None:
        self.stand_ins.append(Assumption(by, stands_for=what, basis=basis))

    def _enter(self) -> tuple[dict[str, ModuleType], set[str]]:
        hidden = {name: sys.modules.pop(name) for name in self._shadowing()}
        before = set(sys.modules)
        for name, module in self.modules.items():
            if name in sys.modules:
                hidden[name] = sys.modules[name]
            sys.modules[name] = module
        sys.path[:] = self._path() if self.path is None else self.path
        importlib.invalidate_caches()
        return hidden, before

    def _path(self) -> list[str]:
        first = [str(self.folder)] + ([str(self.parent)] if self.parent else [])
        rest = [entry for entry in sys.path if entry not in first]
        here = os.getcwd()
        return [*first, *rest, *([] if here in (*first, *rest) else [here])]

    def _shadowing(self) -> list[str]:
        """Return the names of imported modules that the program's own files share."""
        names = set(self._provided()) - _NEVER_HIDDEN
        return [name for name in sys.modules if name.partition(".")[0] in names]

    def _provided(self) -> Iterator[str]:
        if not self.folder.is_dir():
            return
        for entry in os.scandir(self.folder):
            if entry.name.endswith(".py"):
                yield entry.name.removesuffix(".py")
            elif os.path.isfile(os.path.join(entry.path, "__init__.py")):
                yield entry.name
        if self.parent:
            yield self.folder.relative_to(self.parent).parts[0]

    def _leave(self, hidden: dict[str, ModuleType], before: set[str]) -> None:
        # A namespace package looks up its parent: name all before removing any.
        owned = {
            name: module
            for name, module in list(sys.modules.items())
            if (name not in before or name in self.modules) and self._owns(name, module)
        }
        self.modules.update(owned)
        for name in owned:
            del sys.modules[name]
        sys.modules.update(hidden)

    def _owns(self, name: str, module: ModuleType) -> bool:
        if name in self.modules:
            return True
        if name.partition(".")[0] in ("shapewright", "__main__"):
            return False
        file = getattr(module, "__file__", None)
        if file is None:
            file = next(iter(getattr(module, "__path__", None) or ()), None)
        return isinstance(file, str) and self.holds(file)

    def holds(self, file: str) -> bool:
        """Return whether a file is the user's: below the folder, not in a library."""
        path = Path(os.path.abspath(file))
        root = self.parent or self.folder
        inside = path == root or root in path.parents
        return inside and not _LIBRARY_FOLDERS.intersection(
            path.relative_to(root).parts
        )

    def place(self, traceback: TracebackType | None) -> tuple[str | None, int | None]:
        """Return the file and line of the innermost frame in the user's own files."""
        place: tuple[str | None, int | None] = (None, None)
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if self.holds(file):
                place = (format_file(file), traceback.tb_lineno)
            traceback = traceback.tb_next
        return place


def format_file(file: str | Path) -> str:
    """Return the path of a file, relative to the working directory if below it."""
    path, here = Path(os.path.abspath(file)), Path(os.getcwd())
    return str(path.relative_to(here)) if here in path.parents else str(path)


_TAKEN = frozenset(sys.stdlib_module_names) | {"torch", "shapewright", "__main__"}


def read_source(file: str) -> tuple[str, ast.Module]:
    """Return the text and the syntax tree of a Python file, or raise `InputError`."""
    path = Path(file)
    if not path.exists():
        raise InputError(_make_missing_error(path))
    try:
        changed = _get_text(file)
        if changed is not None:
            source = changed
        elif is_notebook(file):
            source = _read_notebook(path)
        else:
            source = importlib.util.decode_source(path.read_bytes())
        return source, parse(source, format_file(file))
    except SyntaxError as error:
        raise _make_syntax_error(error, file) from None
    except OSError as error:
        raise InputError(f"cannot read `{file}`: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"`{file}` is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        what = "read as a notebook" if is_notebook(file) else "Python text"
        raise InputError(f"`{file}` is not {what}: {error}") from None


def _make_missing_error(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f"no such file: `{path}` (there is no folder `{folder}`)"
    names = sorted(entry.name for entry in folder.glob(f"*{path.suffix}"))
    hint = suggest_name(path.name, names)
    if not hint and names:
        several = ", ".join(f"`{name}`" for name in names[:8])
        hint = f"; the folder has {several}" + (", ..." if len(names) > 8 else "")
    return f"no such file: `{path}`{hint}"


def _make_syntax_error(error: SyntaxError, file: str) -> InputError:
    """Return an `InputError` for a syntax error, which shows the line with a caret."""
    where = format_file(error.filename if error.filename else file)
    if error.lineno is None:
        return InputError(f"{where}: {error.msg}")
    column = max(error.offset or 1, 1)
    place = f"{where}:{error.lineno}:{column}"
    line = (error.text or _get_line(where, error.lineno)).rstrip("\n")
    return InputError(f"{place}: {error.msg}", line, min(column - 1, len(line)))


def _get_line(file: str, number: int) -> str:
    try:
        return Path(file).read_text(errors="replace").splitlines()[number - 1]
    except (OSError, IndexError):
        return ""


def find_program(file: str, tree: ast.Module) -> tuple[ProgramFolder, str]:
    """Return the program folder of a file, and the name of the file's module in it.

    A file with relative imports is a member of its package, as under ``python -m``;
    another one is a module by its own stem. A stem that the standard library has too
    gets an underscore, so that the file does not replace it.
    """
    path = Path(os.path.abspath(file))
    package_file = path.name == "__init__.py"
    levels = [n.level for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    depth = max(levels, default=0) or int(package_file)
    packages = _find_packages(path.parent, depth)
    parent = packages[0].parent if packages else None
    if not depth:
        stem = path.stem + "_" if path.stem in _TAKEN else path.stem
        return ProgramFolder(path.parent, parent), stem
    names = [folder.name for folder in packages]
    return ProgramFolder(path.parent, parent), ".".join(
        names if package_file else [*names, path.stem]
    )


def _find_packages(folder: Path, depth: int) -> list[Path]:
    """Return the package folders around a file, the outermost first.

    A folder with `__init__.py` is one; so are the `depth` nearest ones of a file whose
    relative imports reach that far.
    """
    packages: list[Path] = []
    while folder != folder.parent:
        if len(packages) >= depth and not (folder / "__init__.py").is_file():
            break
        packages.insert(0, folder)
        folder = folder.parent
    return packages


def import_file(
    file: str, tree: ast.Module, program: ProgramFolder, name: str
) -> ModuleType:
    """Import a file as the module `name`, without its ``__name__ == "__main__"`` part.

    Raises `ProgramError` for what its code raises.
    """
    path = os.path.abspath(file)
    with program.running(), guard_program(program, f"importing `{format_file(file)}`"):
        if os.path.basename(path) == "__init__.py":
            return importlib.import_module(name)
        package = name.rpartition(".")[0]
        if package:
            importlib.import_module(package)
            if name in sys.modules:  # its package imports it
                return sys.modules[name]
        loader = importlib.machinery.SourceFileLoader(name, path)
        spec = importlib.util.spec_from_file_location(name, path, loader=loader)
        assert spec is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = program.modules[name] = module
        exec(compile(tree, path, "exec", dont_inherit=True), module.__dict__)
        return module


@contextmanager
def guard_program(program: ProgramFolder, doing: str) -> Iterator[None]:
    """Convert errors of the user's code to a `ProgramError` with its file and line."""
    try:
        yield
    except (InputError, ProgramError):
        raise
    except SyntaxError as error:
        if error.filename and program.holds(error.filename):
            raise _make_syntax_error(error, error.filename) from None
        raise _make_program_error(error, program, doing) from error
    except (Exception, SystemExit) as error:
        raise _make_program_error(error, program, doing) from error


def _make_program_error(
    error: BaseException, program: ProgramFolder, doing: str
) -> ProgramError:
    file, line = program.place(error.__traceback__)
    return ProgramError(error, file, line, _get_message(error), doing)


def _get_message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the program exited with status {error.code or 0}"
    message = f"{type(error).__name__}: {error}".strip().removesuffix(":")
    if isinstance(error, ModuleNotFoundError) and error.name:
        message += (
            f" (is `{error.name.partition('.')[0]}` installed in this environment?)"
        )
    return message


Key = tuple[str, int]
"""The name and the first line of a function."""


@contextmanager
def change_functions(holds: Callable[[str], bool], change: Change) -> Iterator[None]:
    """Change the functions of a program's files for which `holds` returns true."""
    before: list[tuple[FunctionType, CodeType]] = []
    files: dict[str, dict[Key, tuple[CodeType, CodeType]]] = {}
    for function in _find_functions():
        code = function.__code__
        file = code.co_filename
        if file not in files:
            files[file] = _map_codes(file, change) if holds(file) else {}
        old, new = files[file].get(_get_key(code), (None, None))
        if old is None or new is None or old != code:
            continue
        if new.co_freevars == code.co_freevars and new != code:
            before.append((function, code))
            function.__code__ = new
    try:
        yield
    finally:
        for function, code in before:
            function.__code__ = code


def _find_functions() -> list[FunctionType]:
    """Return all functions that exist in the process."""
    return [function for function in gc.get_objects() if type(function) is FunctionType]


def _map_codes(file: str, change: Change) -> dict[Key, tuple[CodeType, CodeType]]:
    """Return the code of every function of a file, as written and as changed."""
    text = "".join(linecache.getlines(file))
    try:
        plain = compile(text, file, "exec", dont_inherit=True)
        changed = compile(change(parse(text, file), file), file, "exec")
    except (SyntaxError, ValueError, RecursionError):
        return {}
    old, new = dict(_iter_inner(plain)), dict(_iter_inner(changed))
    return {key: (code, new[key]) for key, code in old.items() if key in new}


def _iter_inner(code: CodeType) -> Iterator[tuple[Key, CodeType]]:
    """Yield all code objects nested in a code object."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield _get_key(constant), constant
            yield from _iter_inner(constant)


def _get_key(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno
