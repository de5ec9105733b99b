"""Targets to objects: import the file, look up the name, build the model."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from shapewright.inputs import expression
from shapewright.inputs.builders import is_builder, returns_module
from shapewright.inputs.errors import InputError, ProgramError, did_you_mean
from shapewright.inputs.example import Candidate
from shapewright.inputs.loaded import Loaded, declared_by, loaded_object, owner_of
from shapewright.inputs.lookup import Lookup, is_module, required
from shapewright.inputs.program import Program
from shapewright.inputs.pyfile import guarded, import_file, program_of, read_source
from shapewright.inputs.script import command_line, load_script
from shapewright.inputs.target import LIBRARIES, Target

if TYPE_CHECKING:
    pass


def load(target: Target, building: AbstractContextManager[Any] | None = None) -> Loaded:
    """Import a target's code and build it inside the context `building`.

    Raises `InputError` for a target that cannot be used and `ProgramError` for what
    the user's own code raises.
    """
    context = building if building is not None else nullcontext()
    if target.kind == "script":
        return load_script(target, target.arguments)
    if target.kind in ("file", "module"):
        return _load_python(target, context)
    library = importlib.import_module(f"shapewright.inputs.library_{target.kind}")
    loaded: Loaded = library.load(target, context)
    return loaded


def _load_python(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    bring, program = _python_code(target)
    with program.running(), command_line(target.place, target.arguments), building:
        module = bring()
        lookup = Lookup(module, target.place, target.text, program)
        return _from_module(target, lookup)


def _python_code(target: Target) -> tuple[Callable[[], ModuleType], Program]:
    """How to import the target's module, and the program that it belongs to."""
    if target.kind == "module":
        program = Program(Path(os.getcwd()))
        return partial(_import_module, target, program), program
    _, tree = read_source(target.place)
    program, name = program_of(target.place, tree)
    return partial(import_file, target.place, tree, program, name), program


def _import_module(target: Target, program: Program) -> ModuleType:
    name = target.place
    try:
        with guarded(program, f"importing `{name}`"):
            return importlib.import_module(name)
    except ProgramError as error:
        missing = error.cause
        absent = isinstance(missing, ModuleNotFoundError) and missing.name
        if absent and f"{name}.".startswith(f"{absent}."):
            raise InputError(_no_module(name), target.text, 0) from None
        raise


def _no_module(name: str) -> str:
    file = f"{name.replace('.', '/')}.py"
    if Path(file).is_file():
        return f"there is no module `{name}`; write `{file}:NAME` for a file"
    names = [entry.stem for entry in Path(os.getcwd()).glob("*.py")] + [*LIBRARIES]
    return f"there is no module `{name}` here or installed{did_you_mean(name, names)}"


def _from_module(target: Target, lookup: Lookup) -> Loaded:
    """The object that the target names, made callable."""
    assert target.expression is not None
    found = lookup.value(target.expression)
    notes: tuple[str, ...] = ()
    if isinstance(found, type):
        found = lookup.built(found, target.expression)
    elif isinstance(found, FunctionType) and required(found) and returns_module(found):
        raise _unbuilt(target, found)
    elif is_builder(found):
        said = expression.text(target.expression)
        with guarded(lookup.program, f"building `{said}()`"):
            returned = found()
        if is_module(returned):
            found = returned
            notes = (f"`{said}` was called, the target is the module it returned",)
    name = expression.text(target.expression)
    if not callable(found):
        raise InputError(_not_callable(name, found), target.text, _start(target))
    examples = [*_beside(lookup), *declared_by(owner_of(found))]
    file = getattr(lookup.module, "__file__", None)
    return loaded_object(
        found, name, lookup.program, file, tuple(examples), notes=notes
    )


def _start(target: Target) -> int:
    return target.text.index(":", len(target.place)) + 1


def _not_callable(name: str, found: Any) -> str:
    methods = [
        method
        for method, value in vars(type(found)).items()
        if isinstance(value, FunctionType) and not method.startswith("_")
    ]
    hint = f"; name a method, as in `{name}.{methods[0]}`" if methods else ""
    return f"`{name}` is of type {type(found).__name__} and cannot be called{hint}"


def _unbuilt(target: Target, found: Callable[..., Any]) -> InputError:
    """A builder that needs arguments: nothing can be fed before it was called."""
    names = required(found)
    said = expression.text(target.expression) if target.expression else ""
    start = target.text[: target.text.index(":") + 1]
    values = ", ".join(f"{name}=..." for name in names)
    needs = ", ".join(f"`{name}`" for name in names)
    return InputError(
        f"`{said}` builds a module and needs {needs}; write `{start}{said}({values})`"
    )


def _beside(lookup: Lookup) -> list[Candidate]:
    """`example_inputs` of the file that defines the model."""
    found = getattr(lookup.module, "example_inputs", None)
    if found is None:
        return []
    making = found if callable(found) else lambda: found
    said = "example_inputs()" if callable(found) else "example_inputs"
    return [Candidate(f"`{said}` of {lookup.place}", making)]
