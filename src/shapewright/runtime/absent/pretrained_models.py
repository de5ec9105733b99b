"""Models of transformers by name: their documented configuration, without weights."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any

from shapewright.engine.absence import NotHere
from shapewright.engine.replacement import copy_attributes
from shapewright.runtime.absent.late_imports import change_when_imported
from shapewright.runtime.absent.tellers import Tell
from shapewright.runtime.absent.unknown_values import AbsentValue

_LARGE = {
    "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096,
}  # fmt: skip
_ROBERTA = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}
_LLAMA_3 = {
    "vocab_size": 128256, "intermediate_size": 14336, "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
}  # fmt: skip
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2Config", {}),
    "gpt2-medium": ("GPT2Config", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "gpt2-large": ("GPT2Config", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "gpt2-xl": ("GPT2Config", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "distilgpt2": ("GPT2Config", {"n_layer": 6}),
    "bert-base-uncased": ("BertConfig", {}),
    "bert-base-cased": ("BertConfig", {"vocab_size": 28996}),
    "bert-base-chinese": ("BertConfig", {"vocab_size": 21128}),
    "bert-base-multilingual-cased": ("BertConfig", {"vocab_size": 119547}),
    "bert-large-uncased": ("BertConfig", _LARGE),
    "bert-large-cased": ("BertConfig", {**_LARGE, "vocab_size": 28996}),
    "distilbert-base-uncased": ("DistilBertConfig", {}),
    "distilbert-base-cased": ("DistilBertConfig", {"vocab_size": 28996}),
    "roberta-base": ("RobertaConfig", _ROBERTA),
    "roberta-large": ("RobertaConfig", {**_ROBERTA, **_LARGE}),
    "xlm-roberta-base": ("XLMRobertaConfig", {**_ROBERTA, "vocab_size": 250002}),
    "t5-small": ("T5Config", {}),
    "t5-base": (
        "T5Config", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12},
    ),
    "t5-large": (
        "T5Config", {"d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16},
    ),
    "bart-large": ("BartConfig", {}),
    "bart-base": ("BartConfig", {
        "d_model": 768, "encoder_layers": 6, "decoder_layers": 6,
        "encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072,
        "encoder_attention_heads": 12, "decoder_attention_heads": 12,
    }),
    "opt-125m": ("OPTConfig", {}),
    "vit-base-patch16-224": ("ViTConfig", {}),
    "vit-base-patch16-224-in21k": ("ViTConfig", {}),
    "vit-large-patch16-224": ("ViTConfig", _LARGE),
    "clip-vit-base-patch32": ("CLIPConfig", {}),
    "wav2vec2-base": ("Wav2Vec2Config", {}),
    "wav2vec2-base-960h": ("Wav2Vec2Config", {}),
    "whisper-tiny": ("WhisperConfig", {}),
    "Llama-2-7b-hf": ("LlamaConfig", {}),
    "Meta-Llama-3-8B": ("LlamaConfig", _LLAMA_3),
    "Llama-3.1-8B": ("LlamaConfig", {**_LLAMA_3, "max_position_embeddings": 131072}),
    "Mistral-7B-v0.1": ("MistralConfig", {}),
}  # fmt: skip
"""The configuration of a name, without its organization: a class of transformers, whose
defaults are documented as those of its first model, and what the model's own
``config.json`` at https://huggingface.co/NAME has beside them."""

LOADING = frozenset({
    "dtype", "torch_dtype", "device_map", "low_cpu_mem_usage", "cache_dir", "token",
    "local_files_only", "revision", "trust_remote_code", "use_safetensors", "variant",
    "force_download", "output_loading_info", "ignore_mismatched_sizes", "config",
    "state_dict", "subfolder", "use_auth_token", "quantization_config",
    "offload_folder",
})  # fmt: skip
"""Arguments of `from_pretrained` that are not values of the configuration."""
AUTO = "transformers.models.auto"


TOKENIZERS = {
    f"{AUTO}.tokenization_auto": "AutoTokenizer",
    "transformers.tokenization_utils_base": "PreTrainedTokenizerBase",
}
"""Classes that load tokenizers, by their modules."""
FEWEST_TOKENS = 200
"""Fewer tokens than any vocabulary has: those of a tokenizer whose files are absent."""


@contextmanager
def replace_pretrained_models(tell: Tell) -> Iterator[None]:
    """Build models that a program loads by name, without their weights."""

    def change_configurations(module: ModuleType, stack: ExitStack) -> None:
        _wrap_loader(vars(module)["AutoConfig"], _make_config_loader(tell), stack)

    def change_models(module: ModuleType, stack: ExitStack) -> None:
        _wrap_loader(vars(module)["PreTrainedModel"], _make_model_loader(tell), stack)

    def change_auto_models(module: ModuleType, stack: ExitStack) -> None:
        for kind in vars(module).values():
            if isinstance(kind, type) and "from_pretrained" in vars(kind):
                _wrap_loader(kind, _make_auto_loader(tell), stack)

    def change_tokenizers(module: ModuleType, stack: ExitStack) -> None:
        kind = vars(module)[TOKENIZERS[module.__name__]]
        _wrap_loader(kind, _load_tokenizer, stack)

    with ExitStack() as stack:
        for name, change in (
            *((name, change_tokenizers) for name in TOKENIZERS),
            (f"{AUTO}.configuration_auto", change_configurations),
            ("transformers.modeling_utils", change_models),
            (f"{AUTO}.modeling_auto", change_auto_models),
        ):
            stack.enter_context(change_when_imported(name, change))
        yield


def _wrap_loader(kind: Any, load: Callable[..., Any], stack: ExitStack) -> None:
    """Replace `kind.from_pretrained`; `load` is called with the original in front."""
    original = vars(kind)["from_pretrained"]
    inner = original.__func__

    def from_pretrained(cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        return load(original.__get__(None, cls), cls, name, *args, **kwargs)

    kind.from_pretrained = classmethod(copy_attributes(from_pretrained, inner))
    stack.callback(setattr, kind, "from_pretrained", original)


def _make_config_loader(tell: Tell) -> Callable[..., Any]:
    def load(original: Any, cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(name, *args, **kwargs)
        except OSError:
            config = _find_config(name, kwargs)
            if config is None:
                raise
            tell(
                f"the configuration `{name}`",
                f"`{type(config).__name__}`",
                "documented",
            )
            return config

    return load


def _load_tokenizer(
    original: Any, cls: Any, name: Any, *args: Any, **kwargs: Any
) -> Any:
    """Load a tokenizer; without its files, its tokens are not known."""
    try:
        tokenizer = original(name, *args, **kwargs)
        if isinstance(tokenizer, AbsentValue):
            return tokenizer
        if os.path.isdir(name) or len(tokenizer) >= FEWEST_TOKENS:
            return tokenizer
    except (OSError, ValueError):
        if os.path.isdir(name):
            raise
    path = f"{cls.__name__}.from_pretrained({name!r})"
    return AbsentValue(path, f"put its tokenizer files into the folder `{name}`")


def _make_model_loader(tell: Tell) -> Callable[..., Any]:
    def load(original: Any, cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        config = kwargs.get("config")
        if not hasattr(config, "to_dict"):
            config = _find_config(name, kwargs) if _is_absent(name) else None
        if config is None or not _is_absent(name):
            return _try_original(original, name, args, kwargs)
        return _build_model(tell, cls, name, config, kwargs)

    return load


def _make_auto_loader(tell: Tell) -> Callable[..., Any]:
    def load(original: Any, cls: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        config = kwargs.get("config")
        if not hasattr(config, "to_dict") and _is_absent(name):
            config = _find_config(name, kwargs)
        if config is None or not _is_absent(name):
            return _try_original(original, name, args, kwargs)
        kind = cls._model_mapping[type(config)]
        if isinstance(kind, list | tuple):
            kind = kind[0]
        return _build_model(tell, kind, name, config, kwargs)

    return load


def _try_original(original: Any, name: Any, args: Any, kwargs: Any) -> Any:
    """Load a model that may be on this machine, or ask for its configuration."""
    try:
        return original(name, *args, **kwargs)
    except OSError as error:
        if not _is_absent(name):
            raise
        raise NotHere(
            f"the model `{name}` is not on this machine, and no configuration of that"
            f" name is known: put its `config.json` into the folder `{name}`"
        ) from error


def _is_absent(name: Any) -> bool:
    """Return whether a model's weights are in no folder of that name."""
    return not (
        isinstance(name, str | os.PathLike)
        and os.path.isdir(name)
        and any(file.endswith((".safetensors", ".bin")) for file in os.listdir(name))
    )


def _find_config(name: Any, kwargs: dict[str, Any]) -> Any:
    """Return the configuration of a folder or of a known name, or None."""
    transformers = sys.modules["transformers"]
    if not isinstance(name, str | os.PathLike):
        return None
    if os.path.isfile(os.path.join(name, "config.json")):
        config = transformers.AutoConfig.from_pretrained(name)
    else:
        known = CONFIGURATIONS.get(os.fspath(name).rpartition("/")[2])
        if known is None:
            return None
        config = getattr(transformers, known[0])(**known[1])
    values = {key: value for key, value in kwargs.items() if key not in LOADING}
    return type(config).from_dict({**config.to_dict(), **values})


def _build_model(
    tell: Tell, kind: Any, name: Any, config: Any, kwargs: dict[str, Any]
) -> Any:
    """Return a model in evaluation, whose weights are taken to fit."""
    words = f"`{kind.__name__}` of its documented configuration; its weights fit"
    tell(f"the model `{name}`", words, "documented")
    model = kind(config)
    dtype = kwargs.get("dtype", kwargs.get("torch_dtype"))
    if isinstance(dtype, str):
        dtype = getattr(sys.modules["torch"], dtype, None)  # "auto" is that of the file
    if dtype is not None:
        model = model.to(dtype)
    model.eval()
    if kwargs.get("output_loading_info"):
        return model, {"missing_keys": [], "unexpected_keys": [], "error_msgs": []}
    return model
