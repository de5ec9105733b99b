"""Models of timm, torchvision and transformers by name.

The unit tests use small packages of our own with the same functions, so that they run
where the real ones are not installed; the tests marked zoo use the real ones.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from inputs.programs import loaded, write
from shapewright.inputs.errors import InputError, ProgramError
from shapewright.inputs.target import parse_target
from shapewright.inputs.target_objects import load_target

TIMM = """
    from torch import nn

    KNOWN = ["resnet50", "vit_base_patch16_224"]

    class Model(nn.Module):
        def __init__(self, num_classes=1000, in_chans=3, img_size=224):
            super().__init__()
            if num_classes < 0:
                raise ValueError("num_classes is negative")
            self.fc = nn.Linear(in_chans, num_classes)
            self.pretrained_cfg = {"input_size": (3, 224, 224)}

        def forward(self, x):
            return self.fc(x.mean((2, 3)))

    def is_model(name):
        return name in KNOWN

    def list_models():
        return KNOWN

    def create_model(name, pretrained=True, **arguments):
        assert not pretrained
        return Model(**arguments)
"""

TORCHVISION = """
    from torchvision.models import detection
    from torch import nn

    class ResNet(nn.Module):
        def __init__(self, num_classes):
            super().__init__()
            self.fc = nn.Linear(3, num_classes)

        def forward(self, x):
            return self.fc(x.mean((2, 3)))

    def resnet18(*, weights="DEFAULT", num_classes=1000):
        assert weights is None
        return ResNet(num_classes)

    def list_models():
        return ["resnet18", "fasterrcnn"]

    def get_model_builder(name):
        return {"resnet18": resnet18, "fasterrcnn": detection.fasterrcnn}[name]
"""

DETECTION = """
    from torch import nn

    class Detector(nn.Module):
        def forward(self, images, targets=None):
            assert not self.training
            return [image.shape for image in images]

    def fasterrcnn(*, weights="DEFAULT", weights_backbone="DEFAULT"):
        assert weights is None and weights_backbone is None
        return Detector()
"""


@contextmanager
def installed(folder: Path, name: str) -> Iterator[None]:
    """A package of our own under the name of a library, for the time of a test."""
    real = {n: m for n, m in sys.modules.items() if n.partition(".")[0] == name}
    for module in real:
        del sys.modules[module]
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for module in [n for n in sys.modules if n.partition(".")[0] == name]:
            del sys.modules[module]
        sys.modules.update(real)


@pytest.fixture
def timm(tmp_path: Path) -> Iterator[None]:
    write(tmp_path, ("timm/__init__", TIMM))
    with installed(tmp_path, "timm"):
        yield


@pytest.fixture
def torchvision(tmp_path: Path) -> Iterator[None]:
    write(
        tmp_path,
        ("torchvision/__init__", "from torchvision import models"),
        ("torchvision/models/__init__", TORCHVISION),
        ("torchvision/models/detection", DETECTION),
    )
    with installed(tmp_path, "torchvision"):
        yield


def said(target: str) -> str:
    with pytest.raises(InputError) as error:
        loaded(target)
    return str(error.value)


@pytest.mark.usefixtures("timm")
def test_a_timm_model() -> None:
    found = load_target(
        parse_target("timm:resnet50(num_classes=10)"), torch.device("meta")
    )
    assert (found.name, found.said) == ("resnet50(num_classes=10)", "Model.forward")
    (example,) = found.examples
    assert example.reason == "timm's `default_cfg`"
    args, kwargs = example.arguments()
    assert found.callable(*args, **kwargs).shape == (1, 10)


@pytest.mark.usefixtures("timm")
def test_arguments_change_the_input_of_a_timm_model() -> None:
    found = loaded("timm:vit_base_patch16_224(img_size=384, in_chans=1)")
    assert str(found.examples[0].inputs) == "f32[1, 1, 384, 384]"
    found = loaded("timm:vit_base_patch16_224(img_size=(64, 96))")
    assert str(found.examples[0].inputs) == "f32[1, 3, 64, 96]"


@pytest.mark.usefixtures("timm")
def test_mistakes_about_timm() -> None:
    assert said("timm:resnet5") == (
        "timm has no model `resnet5`; did you mean `resnet50`?"
        "\n  timm:resnet5\n       ^"
    )
    assert said("timm:resnet50(10)") == (
        "arguments are given by name here, as in `(num_classes=10)`"
        "\n  timm:resnet50(10)\n               ^"
    )
    with pytest.raises(ProgramError) as error:
        loaded("timm:resnet50(num_classes=-1)")
    assert str(error.value) == (
        "ValueError: num_classes is negative (while building `resnet50`)"
    )


@pytest.mark.usefixtures("torchvision")
def test_torchvision_models() -> None:
    found = load_target(parse_target("torchvision:resnet18"), torch.device("meta"))
    args, kwargs = found.examples[0].arguments()
    assert [tuple(each.shape) for each in args] == [(1, 3, 224, 224)]
    assert found.callable(*args, **kwargs).shape == (1, 1000)
    found = loaded("torchvision:fasterrcnn")
    args, kwargs = found.examples[0].arguments()
    assert found.callable(*args, **kwargs) == [(3, 480, 640)]


@pytest.mark.usefixtures("torchvision")
def test_mistakes_about_torchvision() -> None:
    assert said("torchvision:resnet81") == (
        "torchvision has no model `resnet81`; did you mean `resnet18`?"
        "\n  torchvision:resnet81\n              ^"
    )
    assert said("torchvision:resnet18(classes=10)") == (
        "`resnet18(*, weights='DEFAULT', num_classes=1000)`: got an unexpected keyword"
        " argument 'classes'\n  torchvision:resnet18(classes=10)"
        "\n                      ^"
    )


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    for name in [n for n in sys.modules if n.partition(".")[0] == "timm"]:
        monkeypatch.delitem(sys.modules, name)
    assert said("timm:resnet50") == (
        "`timm:resnet50` needs the package timm, which is not installed here;"
        " `pip install timm`"
    )


def test_a_library_that_does_not_import(tmp_path: Path) -> None:
    write(tmp_path, ("timm/__init__", "raise RuntimeError('operator nms is gone')"))
    with installed(tmp_path, "timm"):
        assert said("timm:resnet50") == (
            "`timm:resnet50` needs the package timm, which does not import here:"
            " RuntimeError: operator nms is gone"
        )


def test_a_library_that_imports_a_part_late_and_fails(tmp_path: Path) -> None:
    late = """
        CONFIG_MAPPING = {}
        def __getattr__(name):
            try:
                raise RuntimeError("operator nms is gone")
            except RuntimeError as error:
                raise ModuleNotFoundError(f"Could not import {name}") from error
        """
    write(
        tmp_path,
        ("transformers/__init__", late),
        ("huggingface_hub/__init__", ""),
        ("huggingface_hub/constants", "HF_HUB_OFFLINE = False"),
    )
    with installed(tmp_path, "transformers"), installed(tmp_path, "huggingface_hub"):
        assert said("hf:BertConfig") == (
            "`hf:BertConfig` needs the package transformers, which does not import"
            " here: RuntimeError: operator nms is gone"
        )


def test_a_library_whose_models_alone_do_not_import(tmp_path: Path) -> None:
    late = """
        class BertConfig:
            from_dict = classmethod(lambda cls, data: cls())
        CONFIG_MAPPING = {"bert": BertConfig}
        def __getattr__(name):
            if name == "PreTrainedModel":
                raise ModuleNotFoundError("Could not import module 'PreTrainedModel'")
            return BertConfig
        """
    write(
        tmp_path,
        ("transformers/__init__", late),
        ("huggingface_hub/__init__", ""),
        ("huggingface_hub/constants", "HF_HUB_OFFLINE = False"),
    )
    with installed(tmp_path, "transformers"), installed(tmp_path, "huggingface_hub"):
        assert said("hf:bert").startswith(
            "`hf:bert` needs the package transformers, which does not import here:"
            " ModuleNotFoundError: "
        )


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("target", "name", "spec"),
    [
        ("hf:config.json", "LlamaModel", "input_ids=i64[2, 16]=ones"),
        ("hf:.", "LlamaModel", "input_ids=i64[2, 16]=ones"),
        ("hf:config.json:LlamaForCausalLM", "LlamaForCausalLM", None),
        ("hf:GPT2Config(n_layer=2)", "GPT2Model(n_layer=2)", None),
        ("hf:gpt2(n_layer=1)", "GPT2Model(n_layer=1)", "input_ids=i64[2, 16]=ones"),
        ("hf:GPT2LMHeadModel", "GPT2LMHeadModel", None),
        ("hf:vit", "ViTModel", "pixel_values=f32[2, 3, 224, 224]"),
        (
            "hf:whisper",
            "WhisperModel",
            "input_features=f32[2, 80, 3000], decoder_input_ids=i64[2, 16]=ones",
        ),
        (
            "hf:clip",
            "CLIPModel",
            "input_ids=i64[2, 16]=ones, pixel_values=f32[2, 3, 224, 224]",
        ),
        ("hf:wav2vec2", "Wav2Vec2Model", "input_values=f32[2, 16000]"),
    ],
)
def test_transformers_by_config(
    target: str,
    name: str,
    spec: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    found = load_target(parse_target(target), torch.device("meta"))
    assert found.name == name
    assert found.module is not None
    assert str(found.examples[0].inputs) == (spec or "input_ids=i64[2, 16]=ones")


@pytest.mark.zoo
def test_mistakes_about_transformers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    (tmp_path / "old.json").write_text('{"model_type": "lama"}')
    (tmp_path / "none.json").write_text("{}")
    (tmp_path / "bad.json").write_text('{"a": 1,\n "b" 2}')
    assert said("hf:GPT2Config(n_layers=2)") == (
        "GPT2Config has no `n_layers`; did you mean `n_layer`?"
        "\n  hf:GPT2Config(n_layers=2)\n                ^"
    )
    assert said("hf:gpt3").startswith("transformers has no config or model `gpt3`;")
    assert said("hf:meta-llama/Llama-3") == (
        "`meta-llama/Llama-3` would be read from the network; save its config.json and"
        " write `hf:PATH/config.json`\n  hf:meta-llama/Llama-3\n     ^"
    )
    assert said("hf:absent.json") == "no such file: `absent.json`"
    assert said("hf:old.json") == (
        "`old.json` has the model type `lama`, which this version of transformers does"
        " not support; did you mean `llama`?"
    )
    assert said("hf:none.json") == (
        "`none.json` has no `model_type`, so it is not the config of a model"
    )
    assert said("hf:bad.json") == (
        "bad.json:2:6: no JSON: Expecting ':' delimiter\n   \"b\" 2}\n       ^"
    )
    assert said("hf:config.json:GPT2LMHeadModel") == (
        "GPT2LMHeadModel needs a GPT2Config, this is a LlamaConfig"
        "\n  hf:config.json:GPT2LMHeadModel\n                 ^"
    )


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("target", "parameters"),
    [("hf:GPT2LMHeadModel", 124_439_808), ("hf:t5", 60_506_624)],
)
def test_tied_weights_stay_tied(target: str, parameters: int) -> None:
    pytest.importorskip("transformers")
    found = load_target(parse_target(target), torch.device("meta"))
    assert found.module is not None
    assert sum(each.numel() for each in found.module.parameters()) == parameters
