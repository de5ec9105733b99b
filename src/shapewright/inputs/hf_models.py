"""`hf:config.json`, `hf:GPT2Config(n_layer=2)`, `hf:gpt2`: models of transformers
without weights, and their inputs.

Nothing is read from the network.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from shapewright.inputs.callables import Loaded, get_declared_inputs, make_loaded
from shapewright.inputs.errors import InputError, suggest_name
from shapewright.inputs.libraries import (
    explain_constructor_errors,
    explain_import_errors,
    format_name,
    import_library,
    make_empty_program,
    read_keywords,
)
from shapewright.inputs.spec import Candidate, parse_spec
from shapewright.inputs.target import Target

_TOKENS = "i64[2, 16]=ones"
_PARTS = ("vision_config", "image_config", "backbone_config", "encoder", "audio_config")


def _make_candidates(model: Any, config: Any) -> tuple[Candidate, ...]:
    """Return likely inputs of a transformers model, the likeliest first.

    A model with a decoder is given both sides first.

    Example: for GPT-2 ``input_ids=i64[2, 16]=ones``, for ViT
    ``pixel_values=f32[2, 3, 224, 224]``, for T5 both `input_ids` and
    `decoder_input_ids`.
    """
    main = getattr(model, "main_input_name", "input_ids")
    taken = inspect.signature(model.forward).parameters
    main_input = {main: _make_input(main, config)}
    input_sets = [main_input]
    if "decoder_input_ids" in taken:
        input_sets.insert(0, main_input | {"decoder_input_ids": _TOKENS})
    needed = [name for name in _OTHERS if name in taken and name != main]
    if "pixel_values" in needed and _is_contrastive(model, config):
        input_sets.insert(
            0, main_input | {"pixel_values": _make_input("pixel_values", config)}
        )
    required = [n for n in needed if taken[n].default is inspect.Parameter.empty]
    if required:
        input_sets.insert(
            0, main_input | {name: _make_input(name, config) for name in required}
        )
    input_sets += [main_input | {name: _make_input(name, config)} for name in needed]
    reason = f"the main input of {type(model).__name__}, sizes by its config"
    specs = dict.fromkeys(
        ", ".join(f"{name}={spec}" for name, spec in inputs.items())
        for inputs in input_sets
    )
    return tuple(Candidate(reason, parse_spec(spec)) for spec in specs)


def _make_input(name: str, config: Any) -> str:
    if name in ("input_ids", "decoder_input_ids", "attention_mask", "token_type_ids"):
        return _TOKENS
    if name == "pixel_values_videos" or (
        name == "pixel_values" and _format_video(config)
    ):
        return (
            f"f32[2, {_get_setting(config, 'num_frames', 16)}, {_format_image(config)}]"
        )
    if name in ("pixel_values", "pixel_mask"):
        return f"f32[2, {_format_image(config)}]"
    if name == "input_features":
        return _format_features(config)
    if name == "bbox":
        return "i64[2, 16, 4]=zeros"
    if name == "inputs_embeds":
        return f"f32[2, 16, {_get_setting(config, 'hidden_size', 64)}]"
    return "f32[2, 16000]"  # input_values: a second of sound


_OTHERS = ("input_ids", "pixel_values", "input_features", "input_values", "bbox")


def _is_contrastive(model: Any, config: Any) -> bool:
    """Return whether a model embeds text and images separately, like CLIP.

    A model that puts the image between the tokens runs on text alone.
    """
    both = hasattr(config, "text_config") and hasattr(config, "vision_config")
    return both and not hasattr(model, "get_placeholder_mask")


def _format_video(config: Any) -> bool:
    return getattr(config, "num_frames", None) is not None and hasattr(
        config, "tubelet_size"
    )


def _format_image(config: Any) -> str:
    """Return `C, H, W` from the config's `num_channels` and `image_size`."""
    size = _get_setting(config, "image_size", 224)
    if isinstance(size, dict):
        size = (size.get("height", 224), size.get("width", 224))
    height, width = (size, size) if isinstance(size, int) else tuple(size)[:2]
    return f"{_get_setting(config, 'num_channels', 3)}, {height}, {width}"


def _format_features(config: Any) -> str:
    """Return the spec of log-mel features; for Whisper, bins come before frames."""
    bins = _get_setting(config, "num_mel_bins", None)
    positions = _get_setting(config, "max_source_positions", None)
    if bins and positions and hasattr(config, "decoder_start_token_id"):
        return f"f32[2, {bins}, {2 * positions}]"
    width = _get_setting(config, "feature_projection_input_dim", None)
    width = width or _get_setting(config, "input_feat_per_channel", None)
    return f"f32[2, 64, {width or bins or 80}]"


def _get_setting(config: Any, name: str, default: Any) -> Any:
    """Return a setting of the config or of a nested config, or the default."""
    setting = getattr(config, name, None)
    for part in _PARTS:
        if setting is None and hasattr(getattr(config, part, None), name):
            setting = getattr(getattr(config, part), name)
    return default if setting is None else setting


_START = len("hf:")


def load_transformers(target: Target, building: AbstractContextManager[Any]) -> Loaded:
    """Build a transformers model from a config: the base model unless a class is named.

    `hf:PLACE:CLASS` names the class for a config that is given by file or name.
    """
    transformers = import_library("transformers", target)
    place, _, head = target.place.partition(":")
    settings = read_keywords(target)
    with _block_network():
        with explain_import_errors("transformers", target):  # it imports its parts late
            config, model_class = _find_config(transformers, place, settings, target)
            if head:
                model_class = _find_class(transformers, head, target)
            base = transformers.PreTrainedModel
        with (
            _skip_initialisation(base),
            building,
            explain_constructor_errors(target.place),
        ):
            model = _build_model(transformers, config, model_class, target)
    examples = _make_candidates(model, config)
    if model.main_input_name == "input_ids":  # the others inherit the same dummies
        examples += tuple(get_declared_inputs(model))
    name = format_name(target, type(model).__name__)
    return make_loaded(
        model, name, make_empty_program(), examples=examples, config=config
    )


@contextmanager
def _block_network() -> Iterator[None]:
    """Set the client of the Hugging Face Hub to offline mode in the block."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _skip_initialisation(base: Any) -> Iterator[None]:
    """Skip weight initialization in the block, as transformers does on the meta device.

    `init_weights` still ties them; `no_init_weights` of transformers would not.
    """
    before = vars(base).get("initialize_weights")
    if before is not None:
        base.initialize_weights = lambda self: None
    try:
        yield
    finally:
        if before is not None:
            base.initialize_weights = before


def _find_config(
    transformers: ModuleType, place: str, settings: dict[str, Any], target: Target
) -> tuple[Any, Any]:
    """Return the config that `place` refers to, and the model class if it names one."""
    known = transformers.CONFIG_MAPPING
    if _is_path(place):
        data = _read_file(Path(place)) | settings
        return _build_config(
            _find_class_of_type(known, data, place), data, settings, target
        ), None
    if place in known:
        return _build_config(known[place], settings, settings, target), None
    named_class = _find_class(transformers, place, target)
    if issubclass(named_class, transformers.PreTrainedModel):
        return _build_config(
            named_class.config_class, settings, settings, target
        ), named_class
    return _build_config(named_class, settings, settings, target), None


def _is_path(place: str) -> bool:
    return place.endswith((".json", "/")) or Path(place).exists()


def _read_file(path: Path) -> dict[str, Any]:
    file = path / "config.json" if path.is_dir() else path
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no such file: `{file}`") from None
    except json.JSONDecodeError as error:
        lines = error.doc.splitlines() or [""]
        line = lines[min(error.lineno, len(lines)) - 1]
        raise InputError(
            f"{file}:{error.lineno}:{error.colno}: no JSON: {error.msg}",
            line,
            error.colno - 1,
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read `{file}`: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"`{file}` holds no JSON object")
    return data


def _find_class_of_type(known: Any, data: dict[str, Any], place: str) -> Any:
    kind = data.get("model_type")
    if kind is None:
        raise InputError(
            f"`{place}` has no `model_type`, so it is not the config of a model"
        )
    if kind not in known:
        hint = suggest_name(str(kind), list(known))
        raise InputError(
            f"`{place}` has the model type `{kind}`, which this version of transformers"
            f" does not support{hint}"
        )
    return known[kind]


def _find_class(transformers: ModuleType, name: str, target: Target) -> Any:
    """Return a config or model class of transformers by name."""
    at = target.text.index(name, _START)
    if "/" in name:
        raise InputError(
            f"`{name}` would be read from the network; save its config.json and write"
            " `hf:PATH/config.json`",
            target.text,
            at,
        )
    named_class = getattr(transformers, name, None) if name.isidentifier() else None
    accepted = (transformers.PreTrainedModel, transformers.PretrainedConfig)
    if isinstance(named_class, type) and issubclass(named_class, accepted):
        return named_class
    names = [*transformers.CONFIG_MAPPING, *_list_classes(transformers)]
    hint = suggest_name(name, names)
    raise InputError(
        f"transformers has no config or model `{name}`{hint}", target.text, at
    )


def _list_classes(transformers: ModuleType) -> list[str]:
    endings = ("Config", "Model", "LMHeadModel")
    return [n for n in dir(transformers) if n.endswith(endings) or "For" in n]


def _build_config(
    config_class: Any, data: dict[str, Any], settings: dict[str, Any], target: Target
) -> Any:
    """Build a config, or raise `InputError` for an unknown setting."""
    try:
        default = config_class()
    except Exception:  # some configs have no defaults
        default = None
    for name in settings if default is not None else ():
        if not hasattr(default, name):
            fields = [field for field in default.to_dict() if field[0] != "_"]
            raise InputError(
                f"{config_class.__name__} has no `{name}`{suggest_name(name, fields)}",
                target.text,
                target.text.index(name, target.text.index("(")),
            )
    try:
        return config_class.from_dict(data)
    except Exception as error:  # the library's constructor
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{config_class.__name__} refuses these settings: {reason}"
        ) from error


def _build_model(
    transformers: ModuleType, config: Any, model_class: Any, target: Target
) -> Any:
    if model_class is not None:
        if not isinstance(config, model_class.config_class):
            raise InputError(
                f"{model_class.__name__} needs a {model_class.config_class.__name__},"
                f" this is a {type(config).__name__}",
                target.text,
                target.text.index(model_class.__name__),
            )
        return model_class._from_config(config)
    if type(config) not in transformers.MODEL_MAPPING:
        raise InputError(
            f"transformers has no base model for {type(config).__name__};"
            f" name a class, as in `{target.text.partition('(')[0]}:CLASS`"
        )
    return transformers.AutoModel.from_config(config)
