"""A script as a target: a file run as `__main__`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from shapewright.inputs import overlay
from shapewright.inputs.loaded import Loaded
from shapewright.inputs.program import Program
from shapewright.inputs.pyfile import program_of, read_source
from shapewright.inputs.target import Target


def load_script(target: Target, arguments: Sequence[str] = ()) -> Loaded:
    """A script made callable: calling it, without inputs, runs it as `__main__`.

    Its exceptions, `SystemExit` too, come out of the call as they are. `sys.argv` and
    `sys.modules["__main__"]` are the script's for that time.
    """
    assert target.kind == "script"
    _, tree = read_source(target.place)
    program = Program(program_of(target.place, tree)[0].folder)
    code = overlay.compiled(tree, os.path.abspath(target.place))

    def run() -> None:
        _run(code, target.place, list(arguments), program)

    run.__name__ = os.path.basename(target.place)  # the root's name in the record
    return Loaded(run, None, target.place, target.place, "__main__", program)


def _run(code: object, file: str, arguments: list[str], program: Program) -> None:
    module = ModuleType("__main__")
    module.__file__ = os.path.abspath(file)
    main = sys.modules["__main__"]
    with program.running(), command_line(file, arguments):
        sys.modules["__main__"] = module
        try:
            exec(code, module.__dict__)  # type: ignore[arg-type]
        finally:
            sys.modules["__main__"] = main


@contextmanager
def command_line(file: str, arguments: Sequence[str]) -> Iterator[None]:
    """`sys.argv` as it is for a file that is run with these arguments."""
    before = sys.argv
    sys.argv = [file, *arguments]
    try:
        yield
    finally:
        sys.argv = before
