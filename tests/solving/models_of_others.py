"""Demands of models that others wrote, against traces at sizes that took no part.

    .venv/bin/python tests/solving/models_of_others.py CHECKOUT [NAME ...] [--real N]

CHECKOUT holds vit-pytorch, x-transformers or denoising-diffusion-pytorch; what they
import must be installed. Each model is built as its README builds it. For each: every
printed demand, and at how many of 50 sizes they say what a plain trace says, half of
the sizes near what is taken, half anywhere. With `--real`, so many are also run on the
CPU with data; and of each demand, as many sizes that violate it alone, all of which
torch must refuse.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import torch  # noqa: E402

import shapewright as sw  # noqa: E402
from shapewright.record.solution import Solution  # noqa: E402

SIZES = 50
WIDEST = 1024

DEEP = {"dim": 1024, "heads": 16, "mlp_dim": 2048, "num_classes": 1000}
STAGES = {"num_classes": 1000, "dim": (64, 128, 256, 512), "depth": (2, 2, 8, 2)}

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "NesT": ("nest", {
        "image_size": 224, "patch_size": 4, "dim": 96, "heads": 3,
        "num_hierarchies": 3, "block_repeats": (2, 2, 8), "num_classes": 1000,
    }),
    "PiT": ("pit", {
        "image_size": 224, "patch_size": 14, "dim": 256, "num_classes": 1000,
        "depth": (3, 3, 3), "heads": 16, "mlp_dim": 2048,
    }),
    "RegionViT": ("regionvit", STAGES | {"window_size": 7}),
    "MaxViT": ("max_vit", {
        "num_classes": 1000, "dim_conv_stem": 64, "dim": 96, "dim_head": 32,
        "depth": (2, 2, 5, 2), "window_size": 7,
    }),
    "CrossFormer": ("crossformer", STAGES | {
        "global_window_size": (8, 4, 2, 1), "local_window_size": 7,
    }),
    "CCT": ("cct", {
        "img_size": (224, 448), "embedding_dim": 384, "n_conv_layers": 2,
        "kernel_size": 7, "stride": 2, "padding": 3, "pooling_kernel_size": 3,
        "pooling_stride": 2, "pooling_padding": 1, "num_layers": 14, "num_heads": 6,
        "mlp_ratio": 3.0, "num_classes": 1000, "positional_embedding": "learnable",
    }),
    "LeViT": ("levit", {
        "image_size": 224, "num_classes": 1000, "stages": 3, "dim": (256, 384, 512),
        "depth": 4, "heads": (4, 6, 8), "mlp_mult": 2,
    }),
    "DeepViT": ("deepvit", DEEP | {"image_size": 256, "patch_size": 32, "depth": 6}),
    "XCiT": ("xcit", DEEP | {
        "image_size": 256, "patch_size": 32, "depth": 12, "cls_depth": 2,
        "local_patch_kernel_size": 3,
    }),
    "TwinsSVT": ("twins_svt", {"num_classes": 1000} | {
        f"s{at}_{name}": value
        for at, depth in enumerate((1, 1, 5, 4), 1)
        for name, value in {
            "emb_dim": 32 << at, "patch_size": 4 if at == 1 else 2,
            "local_patch_size": 7, "global_k": 7, "depth": depth,
        }.items()
    }),
    "CaiT": ("cait", DEEP | {
        "image_size": 256, "patch_size": 32, "depth": 12, "cls_depth": 2,
    }),
}  # fmt: skip

IMAGES = ("f32[B, 3, H, W]",)
TOKENS = ("i64[B, T]",)
LAYERS = {"dim": 512, "depth": 6, "heads": 8}

OF_TOKENS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "GPT": ("Decoder", LAYERS | {"depth": 12}, {"max_seq_len": 1024}),
    "BERT": ("Encoder", LAYERS | {"depth": 12}, {"max_seq_len": 1024}),
    "Memory": ("Encoder", LAYERS | {"attn_num_mem_kv": 16}, {"max_seq_len": 1024}),
    "Rotary": ("Decoder", LAYERS | {"rotary_pos_emb": True}, {"max_seq_len": 1024}),
    "ALiBi": ("Decoder", LAYERS | {"alibi_pos_bias": True}, {
        "max_seq_len": 1024, "use_abs_pos_emb": False,
    }),
}  # fmt: skip
"""Layers and what they are wrapped with, of x-transformers."""


def models_in(checkout: Path) -> dict[str, tuple[str, ...]]:
    """The names of a checkout's models, and what each is fed."""
    if (checkout / "x_transformers").is_dir():
        return dict.fromkeys(OF_TOKENS, TOKENS)
    if (checkout / "denoising_diffusion_pytorch").is_dir():
        return {"Unet": (*IMAGES, "i64[B]")}
    return dict.fromkeys(MODELS, IMAGES)


def built(name: str) -> torch.nn.Module:
    """A model as its README builds it, in evaluation."""
    if name == "Unet":
        found = __import__("denoising_diffusion_pytorch")
        return found.Unet(dim=64, dim_mults=(1, 2, 4, 8), flash_attn=False).eval()  # type: ignore[no-any-return]
    if name in OF_TOKENS:
        kind, layers, around = OF_TOKENS[name]
        found = __import__("x_transformers")
        inner = getattr(found, kind)(**layers)
        whole = found.TransformerWrapper(num_tokens=20000, attn_layers=inner, **around)
        return whole.eval()  # type: ignore[no-any-return]
    module, arguments = MODELS[name]
    found = __import__(f"vit_pytorch.{module}", fromlist=[name])
    made: torch.nn.Module = getattr(found, name)(**arguments)
    return made.eval()


def sizes_of(solution: Solution, draw: random.Random) -> Iterator[dict[str, int]]:
    """Sizes in steps from what is taken, both sides of an image alike or apart."""
    assert solution.works is not None
    base = dict(solution.works.sizes)
    sides = [name for name in base if name != "B"]
    step = 4 * draw.choice((1, 7, 8))
    while True:
        batch = draw.randint(1, 5)
        if draw.random() < 0.5:
            side = max(1, base[sides[0]] + step * draw.randint(-12, 24))
            step = draw.choice((1, 4, 7, 8, 14, 16, 28, 32, 56, 112, 224))
            yield base | dict.fromkeys(sides, side) | {"B": batch}
        else:
            moved = {
                name: max(1, base[name] + step * draw.randint(-6, 12)) for name in sides
            }
            step = draw.choice((1, 4, 7, 8, 14, 16, 28, 32, 56, 112, 224))
            yield {name: min(size, WIDEST) for name, size in moved.items()} | {
                "B": batch
            }


def fed(spec: str, sizes: dict[str, int]) -> str:
    """A spec with sizes for its letters."""
    dtype, dims = spec.rstrip("]").split("[")
    shape = [str(sizes.get(dim, dim)) for dim in dims.split(", ")]
    return f"{dtype}[{', '.join(shape)}]"


def trace_takes(
    model: torch.nn.Module, specs: tuple[str, ...], sizes: dict[str, int]
) -> bool:
    """Whether a plain trace of these sizes comes to its end without an error."""
    made = sw.trace(model, *[fed(spec, sizes) for spec in specs])
    return made.complete and not any(f.severity == "error" for f in made.findings)


def torch_takes(
    model: torch.nn.Module, specs: tuple[str, ...], sizes: dict[str, int]
) -> bool:
    """Whether torch takes real data of these sizes."""
    inputs = []
    for spec in specs:
        dtype, dims = fed(spec, sizes).rstrip("]").split("[")
        shape = [int(dim) for dim in dims.split(", ")]
        kind = torch.int64 if dtype == "i64" else torch.float32
        inputs.append(torch.zeros(shape, dtype=kind))
    with torch.inference_mode():
        try:
            model(*inputs)
        except Exception:  # of the model, for any reason
            return False
    return True


def violating_alone(solution: Solution, at: int, count: int) -> list[dict[str, int]]:
    """The smallest sizes at which one of the demands alone does not hold."""
    shown = [each.demand for each in solution.demands if not each.implied]
    others = [demand for place, demand in enumerate(shown) if place != at]
    assert solution.works is not None
    base = dict(solution.works.sizes)
    sides = [name for name in base if name != "B"]
    found: dict[tuple[int, ...], dict[str, int]] = {}
    for size in range(1, WIDEST + 65):
        moves = [dict.fromkeys(sides, size), *({name: size} for name in sides)]
        for move in moves:
            sizes = base | move
            if not shown[at].holds(sizes) and all(d.holds(sizes) for d in others):
                found[tuple(sizes.values())] = sizes
    draw = random.Random(at)
    near = sorted(found.values(), key=lambda sizes: sum(sizes.values()))
    return (
        near[:1] + draw.sample(near[1:], min(count - 1, len(near) - 1)) if near else []
    )


def told(
    solution: Solution,
    model: torch.nn.Module,
    specs: tuple[str, ...],
    takes: Callable[[torch.nn.Module, tuple[str, ...], dict[str, int]], bool],
    count: int,
    seed: int,
) -> tuple[int, list[str]]:
    """At how many sizes the demands say what is taken, and where they do not."""
    draw = random.Random(seed)
    right, wrong = 0, []
    known: set[tuple[int, ...]] = set()
    for sizes in sizes_of(solution, draw):
        key = tuple(sizes.values())
        if key in known:
            continue
        known.add(key)
        says = all(each.demand.holds(sizes) for each in solution.demands)
        real = takes(model, specs, sizes)
        right += says == real
        if says != real:
            wrong.append(f"{sizes} {'taken' if real else 'refused'}")
        if len(known) == count:
            break
    return right, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--real", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    package = ModuleType("vit_pytorch")  # without its `__init__`: it wants torchvision
    package.__path__ = [str(options.checkout / "vit_pytorch")]
    sys.modules["vit_pytorch"] = package
    sys.path.insert(0, str(options.checkout))
    models = models_in(options.checkout)
    torch.set_num_threads(1)
    bad = 0
    for name in options.names or models:
        model, specs = built(name), models[name]
        start = time.process_time()
        solution = sw.solve(model, *specs)
        spent = time.process_time() - start
        print(f"{name}: {solution.runs} runs, {spent:.1f} s of CPU", flush=True)
        if solution.works is None or solution.tried:
            taken = sum(not one.message for one in solution.tried)
            print(f"  sizes only: {taken} taken of {len(solution.tried)}")
        shown = [each for each in solution.demands if not each.implied]
        for each in shown:
            print(f"  {each.text}")
        if solution.works is None or not shown:
            continue
        for kind, takes, count in (
            ("trace", trace_takes, SIZES),
            ("torch", torch_takes, options.real),
        ):
            if count:
                right, wrong = told(solution, model, specs, takes, count, options.seed)
                bad += len(wrong)
                sure = "" if solution.sure else " (not said to be sure)"
                print(f"  true at {right} of {count}, by {kind}{sure}", flush=True)
                for line in wrong:
                    print(f"    wrong: {line}")
        for at, printed in enumerate(shown if options.real else ()):
            violating = violating_alone(solution, at, options.real)
            taken_all_the_same = [
                sizes for sizes in violating if torch_takes(model, specs, sizes)
            ]
            bad += len(taken_all_the_same)
            print(
                f"  alone, {printed.text}: violated at {len(violating)} sizes", end=""
            )
            print(f", of which torch takes {taken_all_the_same or 'none'}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
