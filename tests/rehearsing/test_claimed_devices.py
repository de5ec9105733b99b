"""Common training code on claimed devices: what a real run takes gives no error."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.rehearsing.rehearsed import rehearsed

NO_GPU = "Attempting to deserialize object on a CUDA device"


def codes(folder: Path, text: str, device: str) -> list[tuple[str, int]]:
    """The codes of what is found, with how often it is told."""
    report = rehearsed(folder, text, device=device)
    return [(each.code, each.count) for each in report.findings]


@pytest.mark.parametrize("settings", ["fused=True", "foreach=True"])
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_optimizers_step_through_bfloat16(
    tmp_path: Path, device: str, settings: str
) -> None:
    text = f"""\
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(8, 4).to(torch.bfloat16), nn.Linear(4, 2))
        model.to("{device}")
        optimizer = torch.optim.AdamW(model.parameters(), {settings})
        for _ in range(2):
            x = torch.randn(2, 8, dtype=torch.bfloat16, device="{device}")
            model[1](model[0](x).float()).sum().backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        """
    assert codes(tmp_path, text, device) == []


def test_a_generator_claims_its_device(tmp_path: Path) -> None:
    text = """\
        import torch
        generator = torch.Generator(device="cuda").manual_seed(3)
        assert generator.device.type == "cuda" and generator.initial_seed() == 3
        assert isinstance(generator, torch.Generator)
        assert isinstance(torch.default_generator, torch.Generator)
        assert torch.Generator().device.type == "cpu"
        assert torch.randn(3, generator=generator, device="cuda").is_cuda
        torch.randn(3, generator=generator)
        """
    report = rehearsed(tmp_path, text, device="cuda")
    (found,) = report.findings
    assert "Expected a 'cpu' device type for generator" in found.message
    assert found.span is not None
    assert found.span.line == 8


def test_a_device_that_is_not_there_is_told_of_once_a_call(tmp_path: Path) -> None:
    text = """\
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4))
        for _ in range(4):
            x = torch.randn(2, 8).cuda()
            model(x).sum().backward()
        """
    assert codes(tmp_path, text, "cpu") == [("missing-device", 1)]
    assert codes(tmp_path, text, "cuda") == [("mixed-devices", 6)]
    assert codes(tmp_path, text.replace("4))", "4)).cuda()"), "cuda") == []


def test_loaded_tensors_are_where_the_map_says(tmp_path: Path) -> None:
    torch.save({"a": torch.randn(3)}, tmp_path / "a.pt")
    text = f"""\
        import torch

        def device(file, *map_location):
            loaded = torch.load(file, *map_location)
            return loaded["a"].device.type, (loaded["a"] + 1).device.type

        for file in ({str(tmp_path / "a.pt")!r}, "b.pt"):
            assert device(file) == ("cpu", "cpu")
            assert device(file, "cuda") == ("cuda", "cuda")
            assert device(file, {{"cpu": "cuda:0"}}) == ("cuda", "cuda")
            assert device(file, lambda storage, place: storage) == ("cpu", "cpu")
            torch.save({{"a": torch.ones(3)}}, "b.pt")
        torch.save({{"a": torch.ones(3).cuda()}}, "c.pt")
        assert device("c.pt") == ("cuda", "cuda")
        assert device("c.pt", "cpu") == ("cpu", "cpu")
        """
    assert codes(tmp_path, text, "cuda") == []


def test_a_file_from_a_gpu_is_refused_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save({"a": torch.randn(3)}, tmp_path / "gpu.pt")
    text = f"""\
        import torch
        print(torch.load({str(tmp_path / "gpu.pt")!r}, weights_only=True)["a"].device)
        """
    (found,) = rehearsed(tmp_path, text).findings
    assert NO_GPU in found.message
    assert codes(tmp_path, text, "cuda") == []
    on_cpu = text.replace("weights_only", "map_location='cpu', weights_only")
    assert codes(tmp_path, on_cpu, "cpu") == []


def test_a_number_names_the_accelerator(tmp_path: Path) -> None:
    text = """\
        import torch
        assert torch.device(1) == torch.device("cuda", 1)
        assert torch.zeros(3).to(torch.device(0)).device == torch.device("cuda:0")
        """
    assert codes(tmp_path, text, "2x H100 80GB") == []
    (found,) = rehearsed(tmp_path, text, device="cpu").findings
    assert "Cannot access accelerator device" in found.message


FLEX = """\
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    table = torch.nn.Parameter(torch.randn(4, 300, device="{device}"))
    q = torch.randn(2, 128, 4, 16, device="{device}").transpose(1, 2)
    k = torch.randn(2, 128, 2, 16, device="{device}").transpose(1, 2)

    def causal(batch, head, i, j):
        return i >= j

    def biased(score, batch, head, i, j):
        return score + table[head, i - j + 128]

    mask = create_block_mask(causal, None, None, 128, 128, device="{device}")
    out = flex_attention(q, k, k, biased, mask, enable_gqa=True)
    assert out.shape == q.shape and out.stride() == q.stride()
    out.sum().backward()
    assert table.grad.shape == table.shape
    {more}
    """


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_flex_attention(tmp_path: Path, device: str) -> None:
    assert codes(tmp_path, FLEX.format(device=device, more=""), device) == []


def test_flex_attention_refuses_a_score_of_many_numbers(tmp_path: Path) -> None:
    more = "flex_attention(q, k, k, lambda s, *at: s + table[0], enable_gqa=True)"
    text = FLEX.format(device="cpu", more=more)
    (found,) = rehearsed(tmp_path, text).findings
    assert "one number for one score" in found.message


PACKED = """\
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

layer = nn.LSTM(8, 4, batch_first=True).cuda()
x = torch.randn(3, 7, 8).cuda()
lengths = torch.tensor([7, 5, 3])
packed = pack_padded_sequence(x, lengths, batch_first=True)
hidden = torch.zeros(1, 3, 4)STATE
out, _ = layer(packed, (hidden, hidden))
out, _ = pad_packed_sequence(out, batch_first=True)
out.sum().backward()
"""


def test_batch_sizes_of_packed_steps_stay_on_the_cpu(tmp_path: Path) -> None:
    assert codes(tmp_path, PACKED.replace("STATE", ".cuda()"), "cuda") == []
    assert codes(tmp_path, PACKED.replace("STATE", ""), "cuda") == [
        ("mixed-devices", 1)
    ]


INDEXED = """\
import torch

x = torch.full((2, 100), 91, dtype=torch.int64, device="cuda")
rows, columns = torch.tensor([0, 1]), torch.tensor([3, 4])
x[rows, columns] = torch.tensor([5, 6]).to("WHERE")
x[rows] = 1
x[0] = torch.zeros(100, dtype=torch.int64)
torch.zeros(2, 100, device="cuda")[1:] = torch.rand(100)
torch.zeros(2, 100, device="cuda")[rows, columns] = torch.rand(2).to("WHERE")
"""


def test_indices_of_what_is_written_may_be_on_the_cpu(tmp_path: Path) -> None:
    assert codes(tmp_path, INDEXED.replace("WHERE", "cuda"), "cuda") == []
    there = codes(tmp_path, INDEXED.replace("WHERE", "cpu"), "cuda")
    assert there == [("mixed-devices", 1), ("mixed-devices", 1)]


SPARSE = """\
import torch

places, values = torch.tensor([[0, 1], [1, 0]]), torch.ones(2)
graph = torch.sparse_coo_tensor(places, values, (2, 2)).WHERE
weight = torch.randn(2, 3, device="cuda", requires_grad=True)
torch.sparse.mm(graph, weight).sum().backward()
torch.spmm(graph.to(torch.float32), weight)
"""


def test_a_sparse_tensor_is_moved(tmp_path: Path) -> None:
    assert codes(tmp_path, SPARSE.replace("WHERE", "cuda()"), "cuda") == []
    assert codes(tmp_path, SPARSE.replace("WHERE", "to('cuda')"), "cuda") == []
    there = codes(tmp_path, SPARSE.replace("WHERE", "coalesce()"), "cuda")
    assert {code for code, _ in there} == {"mixed-devices"}


REPLACED = """\
    import torch
    from torch import nn
    model = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
    {moved}
    model[2] = nn.Linear(4, 3)
    {after}
    model(torch.randn(2, 8, device="cuda")).sum().backward()
    """


@pytest.mark.parametrize("moved", ["model = model.to('cuda')", "model.cuda()"])
def test_a_layer_that_is_replaced_after_the_move_is_told(
    tmp_path: Path, moved: str
) -> None:
    text = REPLACED.format(moved=moved, after="")
    (finding,) = rehearsed(tmp_path, text, device="cuda").findings
    assert finding.code == "mixed-devices"
    assert "`model[2]` is replaced at line 5, after the model was" in finding.message
    assert "moved at line 4" in finding.message
    assert "model[2] = nn.Linear(4, 3)." in finding.fixes[0].message
    assert finding.fixes[0].checked


def test_a_layer_that_is_replaced_before_the_move_is_fine(tmp_path: Path) -> None:
    text = REPLACED.format(moved="model.train()", after="model.to('cuda')")
    assert codes(tmp_path, text, "cuda") == []


CTC = """\
    import torch
    import torch.nn.functional as F
    scores = torch.randn(160, 24, 40, device="cuda", requires_grad=True)
    targets = torch.randint(1, 40, (24, 20), device="{device}")
    steps, lengths = torch.full((24,), 160), torch.full((24,), 7)
    F.ctc_loss(scores.log_softmax(-1), targets, steps, lengths).backward()
    """


def test_the_lengths_of_a_ctc_loss_may_stay_on_the_cpu(tmp_path: Path) -> None:
    assert codes(tmp_path, CTC.format(device="cuda"), "cuda") == []


def test_the_targets_of_a_ctc_loss_may_not(tmp_path: Path) -> None:
    found = codes(tmp_path, CTC.format(device="cpu"), "cuda")
    assert found == [("mixed-devices", 1)]


FUNCTION = """\
import torch
from torch import nn


class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        RESULT

    @staticmethod
    def backward(ctx, *gradients):
        (x,) = ctx.saved_tensors
        assert all(gradient.is_cuda for gradient in gradients)
        return sum(gradients) / (1 + x.abs()) + OTHER


layer = nn.Linear(3, 3).cuda()
out = Step.apply(layer(torch.randn(2, 3, device="cuda")))
results = out if isinstance(out, tuple) else (out,)
sum(result.sum() for result in results).backward()
"""


@pytest.mark.parametrize(
    "result", ["return (x / 2).floor() * x", "return x * 2, x.relu()"]
)
def test_the_gradients_of_a_function_are_on_the_device_of_its_results(
    tmp_path: Path, result: str
) -> None:
    text = FUNCTION.replace("RESULT", result)
    assert codes(tmp_path, text.replace("OTHER", "1"), "cuda") == []
    found = codes(tmp_path, text.replace("OTHER", "torch.ones(2, 3)"), "cuda")
    assert found == [("mixed-devices", 1)]
