"""Predicted memory against a real one: ``python -m bench.gpu_memory``.

    python -m bench.gpu_memory -o rows.json   on a GPU: the peaks that torch counts
    python -m bench.gpu_memory --small        smaller, on the CPU if there is no GPU

Twenty models, three batches, float32 and bfloat16 under autocast, with and without
checkpoints. On a GPU a second step is measured by `torch.cuda.max_memory_allocated` and
`max_memory_reserved`; without one, by the allocations that torch's profiler sees on the
CPU, where nothing is reserved. The prediction allocates nothing and runs first.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

import shapewright as sw
from bench.models import GPT2, Llama, ResNet50, ViT

GPU = torch.cuda.is_available()


class Stack(nn.Sequential):
    """A model as a sequence of blocks, each of which may be a checkpoint."""


class Perceptron(nn.Module):
    """A residual block of two linear layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Convolutions(nn.Module):
    """Two convolutions with norms; `make` is the convolution, `norm` its norm."""

    def __init__(self, make: Any, norm: Any, inputs: int, width: int) -> None:
        super().__init__()
        self.first = nn.Sequential(make(inputs, width, 3, padding=1), norm(width))
        self.second = nn.Sequential(make(width, width, 3, padding=1), norm(width))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.second(F.relu(self.first(x))))


class UNet(nn.Module):
    """Two levels down and up, with a skip connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.down = Convolutions(nn.Conv2d, nn.BatchNorm2d, 3, width)
        self.middle = Convolutions(nn.Conv2d, nn.BatchNorm2d, width, 2 * width)
        self.widen = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.up = Convolutions(nn.Conv2d, nn.BatchNorm2d, 2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = self.down(x)
        x = self.widen(self.middle(F.max_pool2d(skip, 2)))
        return self.head(self.up(torch.cat((x, skip), dim=1)))


class Recurrent(nn.Module):
    """An embedding, recurrent layers, and a head over the vocabulary."""

    def __init__(self, kind: Any, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(10000, width)
        self.layers = kind(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, 10000)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.embed(tokens))[0])


class Depthwise(nn.Module):
    """An inverted residual block."""

    def __init__(self, width: int) -> None:
        super().__init__()
        wide = 4 * width
        self.layers = nn.Sequential(
            nn.Conv2d(width, wide, 1), nn.BatchNorm2d(wide), nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide), nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True), nn.Conv2d(wide, width, 1), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class Points(nn.Module):
    """Features of points, and of the whole cloud."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.points = nn.Sequential(
            nn.Conv1d(3, width, 1), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, 8 * width, 1), nn.BatchNorm1d(8 * width), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Linear(8 * width, 40)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.points(x).max(dim=2).values)


class Graph(nn.Module):
    """Two layers over a dense adjacency."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, width), nn.Linear(width, 16)

    def forward(self, nodes: Tensor) -> Tensor:
        near = torch.softmax(nodes @ nodes.transpose(1, 2), dim=-1)
        return near @ self.second(F.relu(near @ self.first(nodes)))


class Recommender(nn.Module):
    """Embeddings of 26 fields, their products, and a perceptron."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(200_000, width)
        self.top = nn.Sequential(nn.Linear(26 * 26, 512), nn.ReLU(), nn.Linear(512, 1))

    def forward(self, ids: Tensor) -> Tensor:
        fields = self.embed(ids)
        return self.top((fields @ fields.transpose(1, 2)).flatten(1))


class Encoder(nn.Module):
    """torch's own transformer encoder over embeddings."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(10000, width)
        layer = nn.TransformerEncoderLayer(width, width // 32, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
        self.head = nn.Linear(width, 10000)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.head(self.layers(self.embed(tokens)))


@dataclass(frozen=True, slots=True)
class Case:
    """A model with the shape of its input behind the batch, and its batches.

    `block` is the class whose modules become checkpoints, "" where none are tried.
    """

    name: str
    build: Callable[[int], nn.Module]
    shape: tuple[int, ...]
    batches: tuple[int, int, int]
    ids: bool = False
    block: str = ""


def build_stack(
    block: Callable[[], nn.Module], *ends: nn.Module, count: int = 4
) -> Stack:
    return Stack(*ends[:1], *(block() for _ in range(count)), *ends[1:])


CASES = [
    Case(
        "GPT-2 small",
        lambda s: GPT2(768 // s, 12, 12 // s),
        (512,),
        (1, 4, 8),
        True,
        "GPTBlock",
    ),
    Case(
        "GPT-2 medium",
        lambda s: GPT2(1024 // s, 16, 24 // s),
        (512,),
        (1, 2, 4),
        True,
        "GPTBlock",
    ),
    Case(
        "Llama 150M",
        lambda s: Llama(768 // s, 12 // s, 12, 4, 2048 // s, 32000 // s),
        (512,),
        (1, 4, 8),
        True,
        "LlamaBlock",
    ),
    Case(
        "Llama 1B",
        lambda s: Llama(2048 // s, 16 // s, 16, 8, 5632 // s, 32000 // s),
        (512,),
        (1, 2, 4),
        True,
        "LlamaBlock",
    ),
    Case(
        "ViT-B/16",
        lambda s: ViT(768 // s, 12, 12 // s),
        (3, 224, 224),
        (2, 8, 32),
        block="ViTBlock",
    ),
    Case(
        "ViT-L/16",
        lambda s: ViT(1024 // s, 16, 24 // s),
        (3, 224, 224),
        (2, 4, 16),
        block="ViTBlock",
    ),
    Case(
        "ResNet-50", lambda s: ResNet50(), (3, 224, 224), (2, 8, 32), block="Bottleneck"
    ),
    Case(
        "ResNet-50 at 160",
        lambda s: ResNet50(),
        (3, 160, 160),
        (2, 16, 64),
        block="Bottleneck",
    ),
    Case(
        "perceptrons",
        lambda s: build_stack(
            lambda: Perceptron(2048 // s),
            nn.Linear(256, 2048 // s),
            nn.Linear(2048 // s, 10),
        ),
        (256,),
        (64, 1024, 8192),
        block="Perceptron",
    ),
    Case(
        "VGG-like",
        lambda s: Stack(
            Convolutions(nn.Conv2d, nn.BatchNorm2d, 3, 64 // s),
            nn.MaxPool2d(2),
            Convolutions(nn.Conv2d, nn.BatchNorm2d, 64 // s, 128 // s),
        ),
        (3, 96, 96),
        (2, 8, 32),
        block="Convolutions",
    ),
    Case(
        "group norms",
        lambda s: Stack(
            Convolutions(nn.Conv2d, lambda w: nn.GroupNorm(4, w), 3, 64 // s),
            Convolutions(nn.Conv2d, lambda w: nn.GroupNorm(4, w), 64 // s, 64 // s),
        ),
        (3, 96, 96),
        (2, 8, 32),
        block="Convolutions",
    ),
    Case(
        "volumes",
        lambda s: Stack(
            Convolutions(nn.Conv3d, nn.BatchNorm3d, 1, 16 // s),
            Convolutions(nn.Conv3d, nn.BatchNorm3d, 16 // s, 32 // s),
        ),
        (1, 32, 48, 48),
        (1, 2, 8),
        block="Convolutions",
    ),
    Case(
        "U-Net",
        lambda s: UNet(64 // s),
        (3, 128, 128),
        (1, 4, 16),
        block="Convolutions",
    ),
    Case(
        "inverted residuals",
        lambda s: build_stack(
            lambda: Depthwise(32 // s), nn.Conv2d(3, 32 // s, 3, 2, 1)
        ),
        (3, 128, 128),
        (2, 8, 32),
        block="Depthwise",
    ),
    Case("LSTM", lambda s: Recurrent(nn.LSTM, 512 // s), (64,), (2, 16, 64), True),
    Case("GRU", lambda s: Recurrent(nn.GRU, 512 // s), (64,), (2, 16, 64), True),
    Case(
        "torch's encoder",
        lambda s: Encoder(512 // s),
        (256,),
        (1, 4, 16),
        True,
        "TransformerEncoderLayer",
    ),
    Case("points", lambda s: Points(64 // s), (3, 2048), (2, 16, 64)),
    Case("dense graphs", lambda s: Graph(256 // s), (512, 64), (1, 4, 16)),
    Case("recommender", lambda s: Recommender(64 // s), (26,), (64, 1024, 8192), True),
]


def apply_checkpoints(model: nn.Module, block: str) -> None:
    """Let every module of a class compute its forward pass again in backward."""
    for module in model.modules():
        if type(module).__name__ == block:
            forward = module.forward
            module.forward = lambda *args, _own=forward: checkpoint(  # type: ignore[method-assign,misc]
                _own, *args, use_reentrant=False
            )


def compute_loss(output: Tensor) -> Tensor:
    """The loss of both sides: the mean of all elements."""
    return output.float().mean()


class Autocast(nn.Module):
    """A model whose forward pass and loss run under autocast."""

    def __init__(self, model: nn.Module, dtype: torch.dtype | None) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    def forward(self, x: Tensor) -> Tensor:
        kind = "cuda" if GPU else "cpu"
        context: Any = contextlib.nullcontext()
        if self.dtype is not None:
            context = torch.autocast(kind, dtype=self.dtype)
        with context:
            return compute_loss(self.model(x))


def make_input(case: Case, batch: int, device: str) -> Tensor:
    """An input without meaning: pixels, or ids."""
    if case.ids:
        return torch.zeros(batch, *case.shape, dtype=torch.long, device=device)
    return torch.zeros(batch, *case.shape, device=device)


def measure_gpu(model: nn.Module, x: Tensor) -> tuple[int, int]:
    """The bytes that a second step allocates and reserves at most on a GPU."""
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(2):
        if step == 1:
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def measure_cpu(model: nn.Module, x: Tensor) -> tuple[int, int]:
    """The bytes that live at most in a second step, as torch's profiler counts them."""
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        model(x).backward()
        optimizer.step()

    step()
    optimizer.zero_grad()
    kept = [v for s in optimizer.state.values() for v in s.values()]
    kept = [*model.parameters(), *model.buffers(), x, *kept]
    storages = {t.untyped_storage()._cdata: t.untyped_storage() for t in kept}
    live = sum(storage.nbytes() for storage in storages.values())
    gc.collect()
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        step()
    most = live
    events = profiled.profiler.kineto_results.events()  # type: ignore[union-attr]
    for _, size in sorted(
        (e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"
    ):
        live += size
        most = max(most, live)
    return most, 0


def iter_rows(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield each measurement with its prediction."""
    scale = 4 if options.small else 1
    device = "cuda" if GPU else "cpu"
    name = options.device or (torch.cuda.get_device_name() if GPU else "cpu")
    for case in CASES:
        if options.only and options.only not in case.name:
            continue
        batches = case.batches[:1] if options.small else case.batches
        for batch in batches:
            for dtype in (None, torch.bfloat16):
                for block in ("", case.block) if case.block else ("",):
                    torch.manual_seed(0)
                    model = Autocast(case.build(scale), dtype)
                    apply_checkpoints(model, block)
                    x = make_input(case, batch, "cpu")
                    with contextlib.redirect_stdout(sys.stderr):
                        predicted = sw.memory(model, x, device=name, optimizer="adamw")
                    model, x = model.to(device), x.to(device)
                    real = (measure_gpu if GPU else measure_cpu)(model, x)
                    yield {
                        "model": case.name, "batch": batch,
                        "dtype": "float32" if dtype is None else "bfloat16",
                        "checkpoints": bool(block), "allocated": real[0],
                        "reserved": real[1], "predicted": predicted.peak.bytes,
                        "predicted reserved": predicted.reserved or 0,
                        "error": predicted.peak.bytes / real[0] - 1,
                        "error reserved": (predicted.reserved or 0) / real[1] - 1
                        if real[1] else None,
                        "complete": predicted.complete,
                    }  # fmt: skip
                    del model, x
                    gc.collect()
                    if GPU:
                        torch.cuda.empty_cache()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_memory")
    parser.add_argument("--small", action="store_true", help="a quarter of the width")
    parser.add_argument("--device", help="the name of the GPU, if torch's is not known")
    parser.add_argument("--only", help="models with this in their name")
    parser.add_argument("-o", dest="output", help="write all rows as JSON")
    options = parser.parse_args(arguments)
    rows = []
    for row in iter_rows(options):
        rows.append(row)
        checkpoints = "checkpoints" if row["checkpoints"] else ""
        print(
            f"{row['model']:20} {row['batch']:5} {row['dtype']:9} {checkpoints:12}"
            f"{row['allocated'] / 2**20:10.1f} MiB {row['error']:+8.2%}",
            "" if row["error reserved"] is None else f"{row['error reserved']:+8.2%}",
            "" if row["complete"] else "incomplete",
            flush=True,
        )
    for key in ("error", "error reserved"):
        errors = sorted(abs(row[key]) for row in rows if row[key] is not None)
        if errors:
            middle = statistics.median(errors)
            print(f"{key}: median {middle:.2%}, worst {errors[-1]:.2%}")
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"device": options.device or "", "rows": rows}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
