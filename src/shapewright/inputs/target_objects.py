"""The object that a target names: import the file, look up the name and build the
model.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from shapewright.inputs import target as expression
from shapewright.inputs.callables import (
    Loaded,
    find_owner,
    get_declared_inputs,
    load_script,
    make_loaded,
    set_command_line,
)
from shapewright.inputs.errors import InputError, ProgramError, suggest_name
from shapewright.inputs.python_files import (
    ProgramFolder,
    find_program,
    guard_program,
    import_file,
    read_source,
)
from shapewright.inputs.spec import Candidate
from shapewright.inputs.target import LIBRARIES, Target
from shapewright.inputs.target_names import Lookup, find_required, is_module
from shapewright.program.notebooks import is_notebook, select_definitions
from shapewright.program.source_text import get_function_text
from shapewright.program.syntax_nodes import is_generator, iter_own_nodes

_BUILDER = re.compile(r"_*(build|make|create)|\w*(model|net|network)", re.I)
_SELF = frozenset(
    "to cuda cpu eval train half float double bfloat16 requires_grad_".split()
)
"""Methods of a module that return the module itself."""
_DEEP = 3
"""Maximum depth of nested function calls before a module is returned."""


def _is_builder(builder: Any) -> bool:
    """Return whether a function needs no arguments and builds the model.

    Its annotation or its text shows that it returns a module, or it is named like a
    builder (`build`, `make_model`, `get_net`) and has no annotation.
    """
    if not isinstance(builder, FunctionType) or find_required(builder):
        return False
    if _is_module_returned(builder):
        return True
    named = _BUILDER.fullmatch(builder.__name__) is not None
    return builder.__annotations__.get("return") is None and named


def _is_module_returned(builder: Any, deep: int = _DEEP) -> bool:
    """Return whether a function returns a module, by its annotation or its source."""
    if not isinstance(builder, FunctionType) or not deep:
        return False
    returned = builder.__annotations__.get("return")
    if returned is not None:
        named = isinstance(returned, str) and returned.endswith("Module")
        return named or _is_module_class(_resolve_name(builder, returned))
    text = get_function_text(builder)
    function = text.function if text is not None else None
    if function is None or is_generator(function):
        return False
    nodes = list(iter_own_nodes(function))
    module_names = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_module_built(builder, node.value, deep)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    values = [_unwrap_module(n.value) for n in nodes if isinstance(n, ast.Return)]
    return any(
        (isinstance(value, ast.Name) and value.id in module_names)
        or (value is not None and _is_module_built(builder, value, deep))
        for value in values
    )


def _unwrap_module(value: ast.expr | None) -> ast.expr | None:
    """Return the module's expression in a chain like ``module.to(device).eval()``."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr not in _SELF:
            break
        value = value.func.value
    return value


def _is_module_built(builder: FunctionType, value: ast.expr, deep: int) -> bool:
    """Return whether an expression builds a module, like ``Net(3).eval()``."""
    call = _unwrap_module(value)
    if not isinstance(call, ast.Call):
        return False
    called = _resolve_name(builder, ast.unparse(call.func))
    return _is_module_class(called) or _is_module_returned(called, deep - 1)


def _resolve_name(function: FunctionType, name: Any) -> Any:
    """Return the global that a dotted name refers to in a function, or None."""
    if not isinstance(name, str):
        return name
    first, *rest = name.split(".")
    value = function.__globals__.get(first)
    for part in rest:
        value = inspect.getattr_static(value, part, None)
    return value


def _is_module_class(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return (
        torch is not None
        and isinstance(value, type)
        and issubclass(value, torch.nn.Module)
    )


def load_target(
    target: Target, building: AbstractContextManager[Any] | None = None
) -> Loaded:
    """Import a target's code, and build the target inside the context `building`.

    Raises `InputError` for a target that cannot be used and `ProgramError` for what
    the user's own code raises.
    """
    context = building if building is not None else nullcontext()
    if target.kind == "script":
        return load_script(target, target.arguments)
    if target.kind in ("file", "module"):
        return _load_python(target, context)
    if target.kind == "folder":
        raise InputError(f"`{target}` is a folder; name a model, as in `FILE.py:NAME`")
    loaded: Loaded = LIBRARIES[target.kind].load(target, context)
    return loaded


def _load_python(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    bring, program = _find_python_code(target)
    with program.running(), set_command_line(target.place, target.arguments), building:
        module = bring()
        lookup = Lookup(module, target.place, target.text, program)
        return _load_from_module(target, lookup)


def _find_python_code(target: Target) -> tuple[Callable[[], ModuleType], ProgramFolder]:
    """Return the importer of the target's module, and the program it belongs to."""
    if target.kind == "module":
        program = ProgramFolder(Path(os.getcwd()))
        return partial(_import_module, target, program), program
    _, tree = read_source(target.place)
    if is_notebook(target.place) and target.expression is not None:
        tree = select_definitions(tree, expression.find_first_name(target.expression))
    program, name = find_program(target.place, tree)
    return partial(import_file, target.place, tree, program, name), program


def _import_module(target: Target, program: ProgramFolder) -> ModuleType:
    name = target.place
    try:
        with guard_program(program, f"importing `{name}`"):
            return importlib.import_module(name)
    except ProgramError as error:
        missing = error.cause
        absent = isinstance(missing, ModuleNotFoundError) and missing.name
        if absent and f"{name}.".startswith(f"{absent}."):
            raise InputError(_make_missing_error(name), target.text, 0) from None
        raise


def _make_missing_error(name: str) -> str:
    file = f"{name.replace('.', '/')}.py"
    if Path(file).is_file():
        return f"there is no module `{name}`; write `{file}:NAME` for a file"
    names = [entry.stem for entry in Path(os.getcwd()).glob("*.py")] + [*LIBRARIES]
    return f"there is no module `{name}` here or installed{suggest_name(name, names)}"


def _load_from_module(target: Target, lookup: Lookup) -> Loaded:
    """Return the object that the target names, built so that it can be called."""
    assert target.expression is not None
    target_object = lookup.value(target.expression)
    notes: tuple[str, ...] = ()
    if isinstance(target_object, type):
        target_object = lookup.built(target_object, target.expression)
    elif (
        isinstance(target_object, FunctionType)
        and find_required(target_object)
        and _is_module_returned(target_object)
    ):
        raise _make_unbuilt_error(target, target_object)
    elif _is_builder(target_object):
        builder_text = expression.format_expression(target.expression)
        with guard_program(lookup.program, f"building `{builder_text}()`"):
            returned = target_object()
        if is_module(returned):
            target_object = returned
            notes = (
                f"`{builder_text}` was called, the target is the module it returned",
            )
    name = expression.format_expression(target.expression)
    if not callable(target_object):
        raise InputError(
            _make_not_callable_error(name, target_object),
            target.text,
            _find_start(target),
        )
    examples = [
        *_find_examples(lookup),
        *get_declared_inputs(find_owner(target_object)),
    ]
    file = getattr(lookup.module, "__file__", None)
    return make_loaded(
        target_object, name, lookup.program, file, tuple(examples), notes=notes
    )


def _find_start(target: Target) -> int:
    return target.text.index(":", len(target.place)) + 1


def _make_not_callable_error(name: str, target_object: Any) -> str:
    methods = [
        method
        for method, value in vars(type(target_object)).items()
        if isinstance(value, FunctionType) and not method.startswith("_")
    ]
    hint = f"; name a method, as in `{name}.{methods[0]}`" if methods else ""
    return (
        f"`{name}` is of type {type(target_object).__name__} and cannot be called{hint}"
    )


def _make_unbuilt_error(target: Target, builder: Callable[..., Any]) -> InputError:
    """Return the error for a builder that must first be called with arguments."""
    names = find_required(builder)
    target_text = (
        expression.format_expression(target.expression) if target.expression else ""
    )
    start = target.text[: target.text.index(":") + 1]
    values = ", ".join(f"{name}=..." for name in names)
    needs = ", ".join(f"`{name}`" for name in names)
    return InputError(
        f"`{target_text}` builds a module and needs {needs}; write"
        f" `{start}{target_text}({values})`"
    )


def _find_examples(lookup: Lookup) -> list[Candidate]:
    """Return the `example_inputs` of the file that defines the model."""
    examples = getattr(lookup.module, "example_inputs", None)
    if examples is None:
        return []
    making = examples if callable(examples) else lambda: examples
    source = "example_inputs()" if callable(examples) else "example_inputs"
    return [Candidate(f"`{source}` of {lookup.place}", making)]
