"""Every model of timm at its own input size: traced outputs against bare meta's."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import Any

import torch

from zoo import torchvision_stub
from zoo.observe import Observation, differences, observe, time_limit

torchvision_stub.install()

import timm  # noqa: E402

SECONDS = 120.0


def names() -> list[str]:
    """All 1,371 models of timm 1.0.31, in timm's order."""
    return list(timm.list_models())


def without_initialisation() -> None:
    """`torch.nn.init` draws nothing any more, for this process; shapes stay."""
    for name in dir(torch.nn.init):
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)


def build(name: str) -> Any:
    """A model of timm in evaluation mode, on meta."""
    without_initialisation()
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        return timm.create_model(name).eval()


def check(name: str) -> dict[str, Any]:
    """Trace one model; `verdict` is equal, or what differs."""
    from zoo.ours import observe_trace, traced

    with time_limit(SECONDS), torch.no_grad():
        model = build(name)
        image = torch.empty(1, *model.default_cfg["input_size"], device="meta")
        bare = observe(model, (image,), {})
        began = time.perf_counter()
        trace = traced(model, (image,), {})
        took = time.perf_counter() - began
    ours = replace(observe_trace(trace), container=bare.container)
    verdict = ", ".join(differences(ours, bare)) or "equal"
    return {
        "verdict": verdict,
        "cause": cause(verdict, ours),
        "traced_seconds": round(took, 4),
        "ops": len(trace.ops),
    }


def cause(verdict: str, ours: Observation) -> str:
    """Why it is not equal, in the words of the error or of what came out."""
    if verdict == "equal":
        return ""
    if ours.error:
        return f"{ours.error}: {ours.message[:160]}"
    return " ".join(f"{out.dtype}{list(out.shape)}" for out in ours.outputs[:3])
