"""Models of timm and transformers for `bench.gpu_memory --libraries`.

They are built from their configurations, without weights. Nobody looked at them before
their memory was predicted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn


class FirstOutput(nn.Module):
    """A model of transformers, whose first output is returned."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.model(x)[0]
        return output


def build_timm(name: str) -> Callable[[int], nn.Module]:
    def build(scale: int) -> nn.Module:
        import timm

        model: nn.Module = timm.create_model(name)
        return model

    return build


def build_transformer(name: str, **settings: Any) -> Callable[[int], nn.Module]:
    """Return what builds `BertModel` from `BertConfig(**settings)`."""

    def build(scale: int) -> nn.Module:
        import transformers

        kind = getattr(transformers, name)
        config = kind.config_class(**settings)
        if name == "CLIPVisionModel":
            config = transformers.CLIPVisionConfig(**settings)
        return FirstOutput(kind(config))

    return build


IMAGE = (3, 224, 224)

TIMM = [
    "resnet18", "resnetrs50", "mobilenetv3_large_100", "efficientnet_b0",
    "convnext_tiny", "swin_tiny_patch4_window7_224", "vit_small_patch16_224",
    "densenet121", "regnety_016", "mixer_b16_224", "coat_lite_small", "xception41",
    "maxvit_tiny_tf_224", "vgg16_bn", "inception_v4",
]  # fmt: skip

SMALL = {"num_hidden_layers": 8, "hidden_size": 768}
HEADS = {"num_attention_heads": 12, "intermediate_size": 2048, "num_key_value_heads": 4}

TRANSFORMERS: dict[str, tuple[tuple[int, ...], bool, dict[str, Any]]] = {
    "BertForMaskedLM": ((256,), True, {}),
    "DistilBertModel": ((512,), True, {}),
    "GPT2LMHeadModel": ((512,), True, {"use_cache": False}),
    "LlamaForCausalLM": ((512,), True, {**SMALL, **HEADS, "use_cache": False}),
    "Qwen2ForCausalLM": (
        (512,), True, {**SMALL, **HEADS, "vocab_size": 32000, "use_cache": False}
    ),
    "OPTForCausalLM": ((512,), True, {"use_cache": False}),
    "T5EncoderModel": ((512,), True, {}),
    "GPTNeoXForCausalLM": (
        (512,), True, {"num_hidden_layers": 8, "hidden_size": 768,
        "num_attention_heads": 12, "intermediate_size": 3072, "use_cache": False},
    ),
    "Wav2Vec2Model": ((32000,), False, {"mask_time_prob": 0.0, "layerdrop": 0.0}),
    "ViTModel": (IMAGE, False, {}),
    "CLIPVisionModel": (IMAGE, False, {}),
    "SegformerModel": (IMAGE, False, {}),
}  # fmt: skip
