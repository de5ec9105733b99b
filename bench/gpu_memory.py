"""Predicted memory against a real one: ``python -m bench.gpu_memory``.

    python -m bench.gpu_memory -o rows.json   on a GPU: the peaks that torch counts
    python -m bench.gpu_memory --small        smaller, on the CPU if there is no GPU
    python -m bench.gpu_memory --predict --device H100 -o before.json
    python -m bench.gpu_memory --predicted before.json -o rows.json
    python -m bench.gpu_memory --libraries    models of timm and transformers

Twenty models, three batches, float32 and bfloat16 under autocast, with and without
checkpoints. On a GPU a second step is measured by `torch.cuda.max_memory_allocated` and
`max_memory_reserved`; without one, by the allocations that torch's profiler sees on the
CPU, where nothing is reserved. The prediction allocates nothing and runs first; it can
be made on another machine.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import gzip
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

import shapewright as sw
from bench.gpu_libraries import (
    IMAGE,
    TIMM,
    TRANSFORMERS,
    build_timm,
    build_transformer,
)
from bench.models import GPT2, Llama, ResNet50, ViT

GPU = torch.cuda.is_available()

ERRORS = ("error", "error reserved")
HISTORY = ("history", "second")


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
            module.forward = lambda *args, _own=forward, **kwargs: checkpoint(  # type: ignore[method-assign,misc]
                _own, *args, use_reentrant=False, **kwargs
            )


def compute_loss(output: Tensor) -> Tensor:
    """The loss of both sides: the mean of all elements."""
    return output.float().mean()


class Autocast(nn.Module):
    """A model whose forward pass and loss run under autocast."""

    def __init__(
        self, model: nn.Module, dtype: torch.dtype | None, device: str
    ) -> None:
        super().__init__()
        self.model, self.dtype, self.device = model, dtype, device

    def forward(self, x: Tensor) -> Tensor:
        context: Any = contextlib.nullcontext()
        if self.dtype is not None:
            context = torch.autocast(self.device, dtype=self.dtype)
        with context:
            return compute_loss(self.model(x))


def make_input(case: Case, batch: int) -> Tensor:
    """An input without meaning: pixels, or ids."""
    if case.ids:
        return torch.zeros(batch, *case.shape, dtype=torch.long)
    return torch.zeros(batch, *case.shape)


def measure_gpu(model: nn.Module, x: Tensor) -> dict[str, Any]:
    """What torch counts on a GPU in a second step, and the seconds of a third."""
    torch.cuda.memory._record_memory_history(context=None, max_entries=200_000)
    model, x = model.to("cuda"), x.to("cuda")
    for parameter in model.parameters():
        parameter.data.normal_(0, 0.02)
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()

    step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    first = len(torch.cuda.memory._snapshot()["device_traces"][0])
    step()
    torch.cuda.synchronize()
    history = torch.cuda.memory._snapshot()["device_traces"][0]
    torch.cuda.memory._record_memory_history(enabled=None)
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    row = {
        "allocated": torch.cuda.max_memory_allocated(),
        "reserved": torch.cuda.max_memory_reserved(),
        "outside": total - free - reserved,
        "history": [(e["action"], e["addr"], e["size"]) for e in history],
        "second": first,
    }
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    return {**row, "seconds": time.perf_counter() - begin}


def measure_cpu(model: nn.Module, x: Tensor) -> dict[str, Any]:
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
    return {"allocated": most, "reserved": 0}


def predict(model: nn.Module, x: Tensor, device: str) -> dict[str, Any]:
    """What a second step takes, without a step."""
    with contextlib.redirect_stdout(sys.stderr):
        memory = sw.memory(model, x, device=device, optimizer="adamw")
    return {
        "predicted": memory.allocated or memory.peak.bytes,
        "predicted reserved": memory.reserved or 0,
        "predicted seconds": sum(memory.estimate.seconds.values())
        if memory.estimate
        else None,
        "complete": memory.complete,
    }


def iter_cases(options: argparse.Namespace) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Yield each case with a row that names it."""
    for case in list_cases(options):
        if options.only and options.only not in case.name:
            continue
        batches = dict.fromkeys(case.batches[:1] if options.small else case.batches)
        for batch in batches:
            for dtype in ("float32", "bfloat16"):
                for is_checkpointed in (False, True) if case.block else (False,):
                    yield case, {
                        "model": case.name, "batch": batch, "dtype": dtype,
                        "checkpoints": is_checkpointed,
                    }  # fmt: skip


def build(
    case: Case, row: dict[str, Any], scale: int, device: str
) -> tuple[nn.Module, Tensor]:
    """Return the model and the input of a row; they will run on a device."""
    torch.manual_seed(0)
    dtype = None if row["dtype"] == "float32" else torch.bfloat16
    model = Autocast(case.build(scale), dtype, device)
    if row["checkpoints"]:
        apply_checkpoints(model, case.block)
    return model, make_input(case, row["batch"])


@contextlib.contextmanager
def skip_initialisation() -> Iterator[None]:
    """Leave out what initialises parameters, which takes longest of a large model."""
    names = [name for name in vars(nn.init) if name.endswith("_")]
    names = [name for name in names if not name.startswith("_")]
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(patch.object(nn.init, name, lambda x, *_, **__: x))
        yield


def list_rows(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return all rows with their predictions, which are made before any is measured."""
    scale = 4 if options.small else 1
    name = find_device(options)
    device = "cpu" if name == "cpu" else "cuda"
    known: dict[str, Any] = {}
    if options.predicted:
        with open(options.predicted, encoding="utf-8") as file:
            known = {name_row(row): row for row in json.load(file)["rows"]}
    rows = []
    for case, row in iter_cases(options):
        rows.append(row)
        if name_row(row) in known:
            row.update(known[name_row(row)])
        elif not options.row:
            with torch.device("meta"):
                model, x = build(case, row, scale, device)
            row.update(predict(model, x, name))
            if options.predict:
                print_row(row)
    return rows


def measure_rows(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Measure each row: on a GPU in a process of its own, several at once."""
    scale = 4 if options.small else 1

    def measure(row: dict[str, Any]) -> None:
        if GPU:
            row.update(measure_alone(row, options))
        else:
            case = next(
                case for case in list_cases(options) if case.name == row["model"]
            )
            with skip_initialisation():
                model, x = build(case, row, scale, "cpu")
            row.update(measure_cpu(model, x))
        if "allocated" in row:
            row["error"] = row["predicted"] / row["allocated"] - 1
        if row.get("reserved"):
            row["error reserved"] = row["predicted reserved"] / row["reserved"] - 1
        print_row(row)

    pool = ThreadPoolExecutor(options.jobs if GPU else 1)
    try:
        for _ in pool.map(measure, rows):
            pass
    finally:
        pool.shutdown(cancel_futures=True)


def measure_alone(row: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return what a process of its own measures for a row, or why it fails."""
    command = [sys.executable, "-m", "bench.gpu_memory", "--row", name_row(row)]
    command += ["--libraries"] * options.libraries + ["--small"] * options.small
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failure": done.stderr.strip().splitlines()[-1:]}
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def measure_one(options: argparse.Namespace) -> int:
    """Measure the row that a process is for, and print it as JSON."""
    for case, row in iter_cases(options):
        if name_row(row) == options.row:
            with skip_initialisation():
                model, x = build(case, row, 4 if options.small else 1, "cuda")
            print(json.dumps(measure_gpu(model, x)))
            return 0
    return 2


def list_cases(options: argparse.Namespace) -> list[Case]:
    """Return the twenty models, or those of libraries."""
    if not options.libraries:
        return CASES
    images = [Case(n, build_timm(n), IMAGE, (4, 16, 16)) for n in TIMM]
    others = [
        Case(name, build_transformer(name, **settings), shape, (2, 8, 8), is_ids)
        for name, (shape, is_ids, settings) in TRANSFORMERS.items()
    ]
    return images + others


def name_row(row: dict[str, Any]) -> str:
    """Return the name of a row: `GPT-2 small 4 bfloat16 checkpoints`."""
    checkpoints = "checkpoints" if row["checkpoints"] else ""
    return f"{row['model']:20} {row['batch']:5} {row['dtype']:9} {checkpoints:12}"


def print_row(row: dict[str, Any]) -> None:
    """Print a row: its bytes, and the errors of its prediction."""
    if "failure" in row:
        print(name_row(row), *row["failure"], flush=True)
        return
    size = row.get("allocated", row["predicted"])
    print(
        f"{name_row(row)}{size / 2**20:10.1f} MiB",
        *(f"{row[key]:+8.2%}" for key in ERRORS if key in row),
        "" if row["complete"] else "incomplete",
        flush=True,
    )


def print_errors(rows: list[dict[str, Any]]) -> None:
    """Print the median and the worst of the errors."""
    for key in ERRORS:
        if errors := sorted(abs(row[key]) for row in rows if key in row):
            middle = statistics.median(errors)
            print(f"{key}: median {middle:.2%}, worst {errors[-1]:.2%}")


def find_device(options: argparse.Namespace) -> str:
    """Return the name of the device that is measured, or predicted."""
    return options.device or (torch.cuda.get_device_name() if GPU else "cpu")


def write_rows(options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Write the rows, and what the allocator did in each beside them."""
    histories = {
        name_row(row): {"second": row["second"], "events": row["history"]}
        for row in rows
        if "history" in row
    }
    kept = [{k: v for k, v in row.items() if k not in HISTORY} for row in rows]
    with open(options.output, "w", encoding="utf-8") as file:
        whole = {
            "device": find_device(options),
            "torch": torch.__version__,
            "rows": kept,
        }
        json.dump(whole, file, indent=1)
    if options.history:
        with gzip.open(options.history, "wt", encoding="utf-8") as zipped:
            json.dump(histories, zipped)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_memory")
    parser.add_argument("--small", action="store_true", help="a quarter of the width")
    parser.add_argument("--device", help="the GPU, if it is not torch's")
    parser.add_argument("--only", help="models with this in their name")
    parser.add_argument("--predict", action="store_true", help="measure nothing")
    parser.add_argument("--predicted", help="rows that `--predict -o` wrote elsewhere")
    parser.add_argument("--history", help="write what the allocator did, as .json.gz")
    parser.add_argument("--libraries", action="store_true", help="timm, transformers")
    parser.add_argument("--jobs", type=int, default=4, help="processes at once")
    parser.add_argument("--row", help="measure this row only, in this process")
    parser.add_argument("-o", dest="output", help="write all rows as JSON")
    options = parser.parse_args(arguments)
    if options.row:
        return measure_one(options)
    rows = list_rows(options)
    try:
        if not options.predict:
            measure_rows(options, rows)
    finally:
        print_errors(rows)
        if options.output:
            write_rows(options, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
