"""Load models of timm and torchvision; also the helpers shared with transformers
models.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from shapewright.inputs import target as expression
from shapewright.inputs.callables import Loaded, make_loaded
from shapewright.inputs.errors import InputError, ProgramError, suggest_name
from shapewright.inputs.python_files import ProgramFolder
from shapewright.inputs.spec import Candidate, parse_spec
from shapewright.inputs.target import Call, Target
from shapewright.inputs.target_names import Lookup


def import_library(name: str, target: Target) -> ModuleType:
    """Import a library that a target needs, or raise `InputError`."""
    if importlib.util.find_spec(name) is None:
        raise InputError(
            f"`{target}` needs the package {name}, which is not installed here;"
            f" `pip install {name}`"
        )
    with explain_import_errors(name, target, Exception):
        module = importlib.import_module(name)
    return module


@contextmanager
def explain_import_errors(
    name: str, target: Target, kind: type[Exception] = ImportError
) -> Iterator[None]:
    """Convert a failed import of a library in the block into an `InputError`."""
    try:
        yield
    except kind as error:
        cause: BaseException = error
        while cause.__cause__ is not None:  # transformers wraps what a part of it says
            cause = cause.__cause__
        reason = str(cause).strip().split("\n")[0]
        raise InputError(
            f"`{target}` needs the package {name}, which does not import here:"
            f" {type(cause).__name__}: {reason}"
        ) from error


def make_empty_program() -> ProgramFolder:
    """Return a program folder for a library's model, without files of the user."""
    return ProgramFolder(Path(os.getcwd()))


def _read_arguments(target: Target) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments in a library target, like ``(num_classes=10)``.

    Values are literals; `torch` is the one name known.
    """
    call = target.expression
    if not isinstance(call, Call):
        return [], {}
    lookup = Lookup(
        ModuleType(target.kind), target.kind, target.text, make_empty_program()
    )
    return (
        [lookup.value(arg) for arg in call.args],
        {name: lookup.value(value) for name, value in call.kwargs},
    )


def read_keywords(target: Target) -> dict[str, Any]:
    """Return the keyword arguments in a library target, and refuse positional ones."""
    args, kwargs = _read_arguments(target)
    if args:
        assert isinstance(target.expression, Call)
        raise InputError(
            "arguments are given by name here, as in `(num_classes=10)`",
            target.text,
            target.expression.position,
        )
    return kwargs


@contextmanager
def explain_constructor_errors(name: str) -> Iterator[None]:
    """Convert an error of a library's constructor to a `ProgramError`."""
    try:
        yield
    except (InputError, ProgramError):
        raise
    except Exception as error:  # the library's constructor
        message = f"{type(error).__name__}: {str(error).strip()}".removesuffix(": ")
        raise ProgramError(error, None, None, message, f"building `{name}`") from error


def format_name(target: Target, name: str) -> str:
    """Return the model's name with its arguments, like `resnet50(num_classes=10)`."""
    if not isinstance(target.expression, Call):
        return name
    return name + expression.format_expression(target.expression).removeprefix("_")


def _check_arguments(
    called: Callable[..., Any], target: Target, kwargs: dict[str, Any]
) -> None:
    """Raise `InputError` if a builder does not accept one of the arguments."""
    from shapewright.inputs.target_names import describe_call, find_signature

    signature = find_signature(called)
    if signature is None:
        return
    try:
        signature.bind_partial(**kwargs)
    except TypeError as error:
        assert isinstance(target.expression, Call)
        accepts = describe_call(called.__name__, called)
        raise InputError(
            f"{accepts}: {error}", target.text, target.expression.position
        ) from None


def load_timm(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    """Build a timm model without pretrained weights."""
    timm = import_library("timm", target)
    name, kwargs = target.place, read_keywords(target)
    if not timm.is_model(name.partition(".")[0]):
        hint = suggest_name(name, timm.list_models())
        raise InputError(f"timm has no model `{name}`{hint}", target.text, len("timm:"))
    with building, explain_constructor_errors(name):
        model = timm.create_model(name, **({"pretrained": False} | kwargs))
    return make_loaded(
        model,
        format_name(target, name),
        make_empty_program(),
        examples=_make_examples(model, kwargs),
    )


def _make_examples(model: Any, kwargs: dict[str, Any]) -> tuple[Candidate, ...]:
    """Return the input size in timm's `default_cfg`, as changed by the arguments."""
    config = getattr(model, "pretrained_cfg", None) or {}
    size = config.get("input_size") or getattr(model, "default_cfg", {}).get(
        "input_size"
    )
    if not size:
        return ()
    channels, height, width = size
    side = kwargs.get("img_size")
    if side is not None:
        height, width = (side, side) if isinstance(side, int) else side
    channels = kwargs.get("in_chans", channels)
    spec = parse_spec(f"f32[1, {channels}, {height}, {width}]")
    return (Candidate("timm's `default_cfg`", spec),)


_FAMILIES = {
    "detection": "[f32[3, 480, 640]]",
    "segmentation": "f32[1, 3, 520, 520]",
    "video": "f32[1, 3, 16, 112, 112]",
    "optical_flow": "f32[1, 3, 256, 256], f32[1, 3, 256, 256]",
}
"""What torchvision's reference scripts feed the models of each of its packages."""

_SIDES = {"inception_v3": 299, "mvit": 224, "swin3d": 224}


def load_torchvision(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    """Build a torchvision model without pretrained weights."""
    models = import_library("torchvision", target).models
    name, kwargs = target.place, read_keywords(target)
    if name not in models.list_models():
        hint = suggest_name(name, models.list_models())
        raise InputError(
            f"torchvision has no model `{name}`{hint}", target.text, len("torchvision:")
        )
    builder = models.get_model_builder(name)
    _check_arguments(builder, target, kwargs)
    with building, explain_constructor_errors(name):
        model = builder(**(_make_weightless_arguments(builder) | kwargs))
    if "detection" in builder.__module__ and "targets" not in kwargs:
        model.eval()  # in training its forward needs targets
    examples = (
        Candidate(
            "torchvision's usual size", parse_spec(_find_usual_input(name, builder))
        ),
    )
    return make_loaded(
        model, format_name(target, name), make_empty_program(), examples=examples
    )


def _make_weightless_arguments(builder: Callable[..., Any]) -> dict[str, Any]:
    """Return arguments that prevent the download of weights, also of a backbone."""
    taken = inspect.signature(builder).parameters
    return {name: None for name in ("weights", "weights_backbone") if name in taken}


def _find_usual_input(name: str, builder: Callable[..., Any]) -> str:
    side = next((side for key, side in _SIDES.items() if name.startswith(key)), 224)
    for family, spec in _FAMILIES.items():
        if family in builder.__module__:
            if family == "video" and side != _SIDES.get("inception_v3"):
                small = not name.startswith(("mvit", "swin3d"))
                return spec if small else spec.replace("112", "224")
            return spec
    return f"f32[1, 3, {side}, {side}]"
