"""Autocast acts on tensors without data as it does on a device's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import shapewright as sw
from memory.families import (
    FAMILIES,
    Checkpointed,
    Family,
    LanguageModel,
    Reentrant,
    ResidualMlp,
)
from memory.test_real_allocations import (
    CONVOLUTIONS,
    check_equal,
    find_phase_peaks,
    measure_training,
)
from shapewright.engine.autocast import FULL, LOWER, REFUSED, WIDEST
from shapewright.engine.autocast_kernels import use_autocast
from shapewright.engine.dispatch_keys import list_kernels
from shapewright.inputs.errors import InputError

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::mean", *CONVOLUTIONS)
"""Kernels with scratch in bfloat16 that depends on the CPU."""

SCRATCH = {
    "torch-encoder": (1024, "layer norm's backward: sums"),
    "autoencoder": (10_000, "the sum of one loss in bfloat16"),
}


class Autocast(nn.Module):
    """Calls a model under autocast for the CPU."""

    def __init__(self, inner: nn.Module, dtype: torch.dtype = torch.bfloat16) -> None:
        super().__init__()
        self.inner, self.dtype = inner, dtype

    def forward(self, *inputs: Tensor) -> Any:
        with torch.autocast("cpu", dtype=self.dtype):
            return self.inner(*inputs)


def relax(name: str) -> Family:
    family = FAMILIES[name]
    scratch, cause = SCRATCH.get(name, (family.scratch, family.cause))
    return Family(family.build, family.inputs, scratch, cause)


def has_bfloat16_instructions() -> bool:
    """Whether the CPU computes in bfloat16; without, torch's kernels are others."""
    known = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return known is None or bool(known())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_training_step_under_autocast(name: str) -> None:
    if name == "unet" and not has_bfloat16_instructions():
        pytest.skip("this CPU's transposed convolution in bfloat16 has other scratch")
    family = relax(name)
    model = Autocast(family.build())
    memory = sw.memory(model, *family.inputs)
    assert memory.complete
    real = measure_training(model, family.inputs, torch.optim.AdamW, PRODUCTS)
    check_equal(family, find_phase_peaks(memory), real)


def test_autocast_around_the_step() -> None:
    """`autocast=` is the same as autocast in the model, but for the loss."""
    model = LanguageModel()
    inputs = FAMILIES["language-model"].inputs
    inside = sw.memory(Autocast(model), *inputs)
    around = sw.memory(model, *inputs, autocast="bf16")
    assert find_phase_peaks(around) == find_phase_peaks(inside)
    assert around.autocast == "bf16"
    assert find_phase_peaks(around) != find_phase_peaks(sw.memory(model, *inputs))


@pytest.mark.parametrize("kind", [Checkpointed, Reentrant])
def test_a_checkpoint_under_autocast(kind: type[nn.Module]) -> None:
    inputs = (torch.randn(256, 64),)
    model = Autocast(kind())
    memory = sw.memory(model, *inputs)
    assert memory.complete
    real = measure_training(model, inputs, torch.optim.AdamW, PRODUCTS)
    states = 4 * torch.get_rng_state().nbytes
    cause = "the states of the random generator, which checkpoints keep on the CPU"
    family = Family(kind, inputs, states + 12, cause)
    check_equal(family, find_phase_peaks(memory), real)


@pytest.mark.parametrize("kind", [Checkpointed, Reentrant])
def test_a_checkpoint_computes_again_under_autocast_of_a_gpu(
    kind: type[nn.Module],
) -> None:
    """What backward computes again has the dtype of forward."""

    class Seen(kind):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__()
            self.layers[0][1].register_forward_hook(self.note)

        def note(self, module: nn.Module, args: Any, output: Tensor) -> None:
            dtypes.append(output.dtype)

    dtypes: list[torch.dtype] = []
    memory = sw.memory(Seen(), "f32[8, 64]", device="A100 40GB", autocast="bf16")
    assert memory.complete
    assert dtypes == [torch.bfloat16] * 4  # twice in each of two steps


def test_the_cast_of_a_weight_is_made_once() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(512, 512, bias=False)

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(self.layer(x))

    memory = sw.memory(Twice(), "f32[1, 512]", device="A100 40GB", autocast="fp16")
    numbers = [
        number
        for number, storage in enumerate(memory.events.storages)
        if storage.op == "_to_copy"
    ]
    half = 512 * 512 * 2
    casts = [
        event
        for event in memory.events.events
        if event.storage in numbers and event.bytes == half
    ]
    assert [event.step for event in casts] == [1, 2]


def run_with_dtypes() -> dict[str, torch.dtype]:
    """Return the dtypes of what a few functions give for meta tensors."""
    x = torch.empty(4, 8, device="meta")
    half = torch.empty(4, 8, device="meta", dtype=torch.float16)
    image = torch.empty(1, 2, 4, 4, device="meta", dtype=torch.float16)
    return {
        "linear": F.linear(x, x).dtype,
        "matmul": (x @ x.t()).dtype,
        "einsum": torch.einsum("ab,cb->ac", x, x).dtype,
        "softmax": half.softmax(-1).dtype,
        "softmax of a dtype": half.softmax(-1, dtype=torch.float16).dtype,
        "sum": half.sum().dtype,
        "norm": half.norm().dtype,
        "norm of a dim": half.norm(2, dim=1).dtype,
        "exp": half.exp().dtype,
        "relu": half.relu().dtype,
        "layer_norm": F.layer_norm(half, (8,)).dtype,
        "interpolate": F.interpolate(image, scale_factor=2).dtype,
        "mse_loss": F.mse_loss(half, half).dtype,
        "addcmul": torch.addcmul(x, half, half).dtype,
        "addcmul of halves": torch.addcmul(half, half, half).dtype,
        "double": F.linear(x.double(), x.double()).dtype,
        "integers": (x.long() * 2).sum().dtype,
    }


CAST_UP = (
    "softmax, sum, norm, norm of a dim, exp, layer_norm, interpolate, mse_loss, addcmul"
).split(", ")


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_every_kernel_of_autocast_has_a_cast(kind: str) -> None:
    """None of this torch's kernels is left out, whatever lists it has."""
    known = (LOWER[kind], FULL[kind], WIDEST[kind], REFUSED[kind])
    for operator in list_kernels(f"Autocast{kind.upper()}"):
        name = operator._schema.name.removeprefix("aten::")
        assert any(name in names for names in known), name


def test_the_lists_of_cuda() -> None:
    with use_autocast("cuda"), torch.autocast("cuda"):
        dtypes = run_with_dtypes()
    for name, dtype in dtypes.items():
        expected = torch.float32 if name in CAST_UP else torch.float16
        expected = {"double": torch.float64, "integers": torch.int64}.get(
            name, expected
        )
        assert dtype == expected, name
    with use_autocast("cuda"), torch.autocast("cuda"):
        sigmoid = torch.empty(3, device="meta")
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(sigmoid, sigmoid)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
def test_nothing_is_left(kind: str) -> None:
    before = run_with_dtypes()
    functions = torch.set_autocast_enabled, torch.clear_autocast_cache
    with use_autocast(kind), torch.autocast(kind):
        assert run_with_dtypes() != before
        with torch.autocast(kind, enabled=False):
            assert run_with_dtypes() == before
    assert run_with_dtypes() == before
    assert functions == (torch.set_autocast_enabled, torch.clear_autocast_cache)
    with pytest.raises(ZeroDivisionError), use_autocast(kind), torch.autocast(kind):
        raise ZeroDivisionError
    with torch.autocast("cpu"):
        assert run_with_dtypes() == before


def test_autocast_of_another_kind_of_device_is_told() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            with torch.autocast("cuda", dtype=torch.bfloat16):
                return self.layer(x)

    (note,) = sw.memory(Net(), "f32[2, 8]").notes
    assert note.startswith('`torch.autocast("cuda")` does nothing here')
    notes = sw.memory(Net(), "f32[2, 8]", device="T4").notes
    assert not any("autocast" in note for note in notes)


def test_a_dtype_that_autocast_does_not_take() -> None:
    with pytest.raises(InputError, match="`fp8`"):
        sw.memory(ResidualMlp(), "f32[2, 64]", autocast="fp8")
