"""Make a target callable, find the inputs that its author declares, and check whether a
spec fits its signature.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from shapewright.inputs import python_files
from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.python_files import ProgramFolder, find_program, read_source
from shapewright.inputs.spec import Candidate, Spec
from shapewright.inputs.target import Target
from shapewright.inputs.target_names import find_signature, is_module

if TYPE_CHECKING:
    from typing import TypeAlias

    from torch import nn

    from shapewright.inputs.launchers import Launch

    Module: TypeAlias = nn.Module


@dataclass(frozen=True, slots=True)
class Loaded:
    """A target that is ready to be called.

    `callable` is what the inputs are given to: a module, a method, a function, an
    object with `__call__`. `module` is the `nn.Module` that it belongs to, if any;
    `method` is "forward" or the method's name. `examples` are the inputs that the
    model's author or library declares, best first. `program` must be entered
    (``with loaded.program.running()``) while the target runs.
    """

    callable: Callable[..., Any]
    module: Module | None
    name: str
    file: str | None
    method: str
    program: ProgramFolder
    examples: tuple[Candidate, ...] = ()
    config: Any = None
    notes: tuple[str, ...] = field(default=())

    @property
    def said(self) -> str:
        """Return the name of the called object for messages, like `Net.forward`."""
        if self.module is not None:
            return f"{type(self.module).__name__}.{self.method}"
        return self.name


def make_loaded(
    target: Callable[..., Any],
    name: str,
    program: ProgramFolder,
    file: str | None = None,
    examples: tuple[Candidate, ...] = (),
    config: Any = None,
    notes: tuple[str, ...] = (),
) -> Loaded:
    """Return a `Loaded` target for a callable object."""
    owner = find_owner(target)
    module = owner if is_module(owner) else None
    method = "forward"
    if module is not target:
        method = getattr(target, "__name__", "__call__")
    return Loaded(target, module, name, file, method, program, examples, config, notes)


def set_mode(loaded: Loaded, training: bool | None) -> None:
    """Put a target's model into training or evaluation mode, with None into neither.

    Raises `InputError` for a function, which has no mode; a script's models are its
    own.
    """
    if training is None or loaded.method == "__main__":
        return
    if loaded.module is None:
        option = "--train" if training else "--eval"
        raise InputError(
            f"`{loaded.name}` is not a module, so it has no mode; leave out `{option}`"
        )
    loaded.module.train(training)


def find_owner(target: Any) -> Any:
    """Return the module that an object is, or that a bound method belongs to."""
    return target if is_module(target) else getattr(target, "__self__", None)


def get_declared_inputs(model: Any) -> list[Candidate]:
    """Return the example inputs that the model's author declares on the model itself.

    `example_input_array` is Lightning's name for it, `dummy_inputs` transformers'.
    """
    candidates = []
    if getattr(model, "example_input_array", None) is not None:
        candidates.append(
            Candidate("its `example_input_array`", lambda: model.example_input_array)
        )
    if inspect.getattr_static(model, "dummy_inputs", None) is not None:
        candidates.append(
            Candidate("its `dummy_inputs`", lambda: _get_called(model.dummy_inputs))
        )
    return candidates


def _get_called(value: Any) -> Any:
    return value() if callable(value) else value


def load_script(
    target: Target, arguments: Sequence[str] = (), launch: Launch | None = None
) -> Loaded:
    """Return a script as a target whose call, without inputs, runs it as `__main__`.

    Its exceptions, `SystemExit` too, come out of the call as they are. `sys.argv` and
    `sys.modules["__main__"]` are the script's for that time. `launch` is how it is
    started: as a module, its imports begin elsewhere.
    """
    assert target.kind == "script"
    _, tree = read_source(target.place)
    module = launch.module if launch is not None else ""
    if launch is not None and module:
        program = ProgramFolder(Path(os.path.abspath(launch.folder)))
    else:
        program = ProgramFolder(find_program(target.place, tree)[0].folder)
    code = python_files.compile_file(tree, os.path.abspath(target.place))

    def run() -> None:
        _run_script(code, target.place, list(arguments), program, module)

    run.__name__ = os.path.basename(target.place)  # the root's name in the record
    return Loaded(run, None, target.place, target.place, "__main__", program)


def _run_script(
    code: object, file: str, arguments: list[str], program: ProgramFolder, name: str
) -> None:
    module = ModuleType("__main__")
    module.__file__ = os.path.abspath(file)
    if name:  # as `python -m` does
        inside = os.path.basename(file) == "__main__.py"
        module.__package__ = name if inside else name.rpartition(".")[0]
        full = f"{name}.__main__" if inside else name
        module.__spec__ = ModuleSpec(full, None, origin=module.__file__)
    main = sys.modules["__main__"]
    with program.running(), set_command_line(file, arguments):
        sys.modules["__main__"] = module
        try:
            exec(code, module.__dict__)  # type: ignore[arg-type]
        finally:
            sys.modules["__main__"] = main


@contextmanager
def set_command_line(file: str, arguments: Sequence[str]) -> Iterator[None]:
    """Set `sys.argv` in the block as for a file that is run with these arguments."""
    before = sys.argv
    sys.argv = [file, *arguments]
    try:
        yield
    finally:
        sys.argv = before


_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)
_BY_NAME = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


def find_parameters(loaded: Loaded) -> dict[str, inspect.Parameter] | None:
    """Return the parameters for the inputs, without `self`, or None if unknown."""
    called = loaded.callable
    if loaded.module is loaded.callable:
        called = loaded.module.forward
        if getattr(called, "__func__", None) is _get_unimplemented():
            return None
    signature = find_signature(called)
    return None if signature is None else dict(signature.parameters)


def bind_inputs(loaded: Loaded, spec: Spec) -> None:
    """Raise `InputError`, pointing into the spec, if the spec does not fit the target.

    Example: ``f32[1, 3], f32[1, 3]`` for a ``forward(self, x)`` is refused with
    "`Net.forward` takes 1 input (x), the spec gives 2".
    """
    parameters = find_parameters(loaded)
    if parameters is None:
        return
    _make_too_many_error(loaded, spec, parameters)
    _bind_by_name(loaded, spec, parameters)
    passed = set(list(_list_positional(parameters))[: len(spec.args)]) | set(
        spec.kwargs
    )
    missing = [
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (*_BY_POSITION, inspect.Parameter.KEYWORD_ONLY)
        and name not in passed
    ]
    if missing:
        also = "also needs" if passed else "needs"
        names = ", ".join(f"`{name}`" for name in missing)
        raise InputError(
            f"`{loaded.said}` {also} {names}; it takes {format_parameters(parameters)}",
            spec.text,
            len(spec.text),
        )


def _make_too_many_error(
    loaded: Loaded, spec: Spec, parameters: dict[str, inspect.Parameter]
) -> None:
    kinds = {parameter.kind for parameter in parameters.values()}
    most = len(_list_positional(parameters))
    if inspect.Parameter.VAR_POSITIONAL in kinds or len(spec.args) <= most:
        return
    inputs = "no input" if most == 0 else f"{most} input{'s' if most > 1 else ''}"
    unnamed = (
        "" if len(_list_positional(parameters)) == len(parameters) else " by position"
    )
    sizes = all(type(value) is int for value in spec.args)
    tensor = f"; a tensor of these sizes is `f32[{spec.text.strip()}]`" if sizes else ""
    raise InputError(
        f"`{loaded.said}` takes {inputs}{unnamed} {format_parameters(parameters)},"
        f" the spec gives {len(spec.args)}{tensor}",
        spec.text,
        spec.positions[most],
    )


def _bind_by_name(
    loaded: Loaded, spec: Spec, parameters: dict[str, inspect.Parameter]
) -> None:
    positional = list(_list_positional(parameters))
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in spec.kwargs:
        if name in positional[: len(spec.args)]:
            message = f"`{name}` is already given by position"
            raise InputError(message, spec.text, spec.positions[name])
        known = [key for key, value in parameters.items() if value.kind in _BY_NAME]
        if name not in known and not open_ended:
            _make_unknown_error(loaded, spec, name, known, parameters)


def _make_unknown_error(
    loaded: Loaded,
    spec: Spec,
    name: str,
    known: list[str],
    parameters: dict[str, inspect.Parameter],
) -> NoReturn:
    hint = suggest_name(name, known)
    raise InputError(
        f"`{loaded.said}` has no input `{name}`{hint}"
        f"{'' if hint else ';'} it takes {format_parameters(parameters)}",
        spec.text,
        spec.positions[name],
    )


def _list_positional(
    parameters: dict[str, inspect.Parameter],
) -> dict[str, inspect.Parameter]:
    return {n: p for n, p in parameters.items() if p.kind in _BY_POSITION}


def format_parameters(parameters: dict[str, inspect.Parameter]) -> str:
    """Format parameters without annotations, like ``(x, mask=None, *, scale=1.0)``."""
    bare = [p.replace(annotation=p.empty) for p in parameters.values()]
    text = str(inspect.Signature(bare))
    return text if len(text) <= 160 else text[:160].rpartition(",")[0] + ", ...)"


def _get_unimplemented() -> object:
    import torch

    return torch.nn.Module.forward
