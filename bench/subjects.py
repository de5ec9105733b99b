"""Who is measured on a model: bare meta, Shapewright, and each peer.

Every subject gets a model of its own, built outside the clock: some peers change the
model that they are given (hooks that stay, a move to another device).
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import shapewright as sw
from bench.models import GPT2, Llama, ResNet50, ViT, uninitialised
from bench.timing import AFTERWARDS, Prepare
from shapewright.engine.memo import Memo
from shapewright.runtime.restore.snapshot import take_snapshot
from shapewright.runtime.run import record_run
from shapewright.runtime.run_record import RunRequest

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from zoo import torchvision_stub

torchvision_stub.install()

Made = tuple[Any, torch.Tensor]
Make = Callable[[], Made]


def on_meta(build: Callable[[], Any], *shape: int, ids: bool = False) -> Make:
    """A maker of a meta model in evaluation mode and its meta input."""

    def make() -> Made:
        with torch.device("meta"), uninitialised():
            model = build().eval()
        dtype = torch.int64 if ids else torch.float32
        return model, torch.empty(shape, dtype=dtype, device="meta")

    return make


MODELS: dict[str, Make] = {
    "GPT-2 small, 8 x 1024": on_meta(GPT2, 8, 1024, ids=True),
    "ViT-B/16, 8 x 3 x 224 x 224": on_meta(ViT, 8, 3, 224, 224),
    "ResNet-50, 8 x 3 x 224 x 224": on_meta(ResNet50, 8, 3, 224, 224),
    "Llama-8B, 1 x 2048": on_meta(Llama, 1, 2048, ids=True),
}


def installed() -> dict[str, Make]:
    """The same four from transformers and timm, where those are installed."""
    found: dict[str, Make] = {}
    try:
        from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig
        from transformers import LlamaForCausalLM as HFLlama
        from transformers.initialization import no_init_weights
    except ImportError:
        return found

    def quiet(build: Callable[[], Any]) -> Callable[[], Any]:
        def made() -> Any:
            with no_init_weights():
                return build()

        return made

    def llama() -> Any:
        config = LlamaConfig(
            hidden_size=4096, intermediate_size=14336, num_hidden_layers=32,
            num_attention_heads=32, num_key_value_heads=8, vocab_size=128256,
        )  # fmt: skip
        return HFLlama(config)

    gpt = quiet(lambda: GPT2LMHeadModel(GPT2Config()))
    found["transformers GPT-2, 8 x 1024"] = on_meta(gpt, 8, 1024, ids=True)
    found["transformers Llama-8B, 1 x 2048"] = on_meta(quiet(llama), 1, 2048, ids=True)
    return found | from_timm()


def from_timm() -> dict[str, Make]:
    """ViT-B/16 and ResNet-50 of timm, where it is installed."""
    try:
        import timm
    except ImportError:
        return {}
    shape = (8, 3, 224, 224)
    names = {"ViT-B/16": "vit_base_patch16_224", "ResNet-50": "resnet50"}
    return {
        f"timm {short}, 8 x 3 x 224 x 224": on_meta(
            lambda full=full: timm.create_model(full), *shape
        )
        for short, full in names.items()
    }


# -- bare meta and ours ------------------------------------------------------------


def bare(make: Make) -> Prepare:
    """The model's forward on meta tensors, nothing recorded."""

    def prepare() -> Callable[[], object]:
        model, given = make()
        return lambda: model(given)

    return prepare


def ours(make: Make) -> Prepare:
    """One public call: the full record, from an empty memo."""

    def prepare() -> Callable[[], object]:
        model, given = make()
        return lambda: checked(sw.trace(model, given))

    return prepare


def ours_again(make: Make) -> Prepare:
    """The second of two runs in a row: one memo, and the model looked at once."""

    def prepare() -> Callable[[], object]:
        model, given = make()
        request = RunRequest(memo=Memo(), taken=take_snapshot(model, (given,), {}))
        record_run(model, (given,), {}, request)
        return lambda: checked(record_run(model, (given,), {}, request).trace)

    return prepare


def ours_apart(make: Make) -> Prepare:
    """The second of two public calls that share a memo."""

    def prepare() -> Callable[[], object]:
        model, given = make()
        options = sw.options(memo=Memo())
        options.trace(model, given)
        return lambda: checked(options.trace(model, given))

    return prepare


def checked(trace: sw.Trace) -> sw.Trace:
    """A trace that counts: complete, and nothing lost on the way."""
    assert trace.complete, trace.findings
    lost = [note for note in trace.notes if note.startswith("not recorded")]
    assert not lost, lost
    return trace


# -- peers -------------------------------------------------------------------------


def torchinfo(model: Any, given: torch.Tensor) -> object:
    from torchinfo import summary

    return summary(model, input_data=given, verbose=0, device="meta")


def torchview(model: Any, given: torch.Tensor) -> object:
    from torchview import draw_graph

    return draw_graph(model, input_data=given, device="meta")


def torchlens(model: Any, given: torch.Tensor) -> object:
    """It replaces torch's functions for good; they are put back for the others."""
    from torchlens import trace
    from torchlens.backends.torch.wrappers import unwrap_torch
    from torchlens.options import CaptureOptions

    if unwrap_torch not in AFTERWARDS:
        AFTERWARDS.append(unwrap_torch)
    return trace(model, given, capture=CaptureOptions(structure_only=True))


def fvcore(model: Any, given: torch.Tensor) -> object:
    from fvcore.nn import FlopCountAnalysis

    logging.disable(logging.WARNING)
    try:
        analysis = FlopCountAnalysis(model, given)
        analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        return analysis.total()
    finally:
        logging.disable(logging.NOTSET)


def calflops(model: Any, given: torch.Tensor) -> object:
    from calflops import calculate_flops

    return calculate_flops(
        model, args=[given], print_results=False, print_detailed=False
    )


def torchtyc(model: Any, given: torch.Tensor) -> object:
    """`torchtyc run` in this process; `torchtyc trace` needs jaxtyping annotations."""
    from torchtyc import metaruntime

    with metaruntime.install():
        return model(given)


PEERS: dict[str, Callable[[Any, torch.Tensor], object]] = {
    "torchinfo": torchinfo,
    "torchview": torchview,
    "torchlens (structure only)": torchlens,
    "fvcore": fvcore,
    "calflops": calflops,
    "torchtyc (run)": torchtyc,
}


def peer(run: Callable[[Any, torch.Tensor], object], make: Make) -> Prepare:
    """A peer's one call on a meta model."""

    def prepare() -> Callable[[], object]:
        model, given = make()
        return lambda: run(model, given)

    return prepare
