"""Targets that are the model's own input, or noise that nothing else reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TOKENS = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Recurrent(nn.Module):
    def __init__(self, both=False):
        super().__init__()
        self.emb, self.head = nn.Embedding(20, 8), nn.Linear(16 if both else 8, 20)
        self.rnn = nn.GRU(8, 8, batch_first=True, bidirectional=both)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


class Attention(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.emb, self.head, self.causal = nn.Embedding(20, 8), nn.Linear(8, 20), causal
        self.pos = nn.Embedding(9, 8)

    def forward(self, ids):
        x = self.emb(ids) + self.pos(torch.arange(ids.shape[1]))
        x = x + F.scaled_dot_product_attention(x, x, x, is_causal=self.causal)
        return self.head(F.layer_norm(x, (8,)))


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)

    def forward(self, ids):
        size = ids.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size)
        return self.head(self.layer(self.emb(ids) * 8**0.5, src_mask=mask))


class Code(nn.Module):  # a sentence becomes one vector, and a sentence again
    def __init__(self):
        super().__init__()
        self.emb, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.out = nn.GRU(8, 8, batch_first=True)

    def forward(self, ids):
        state = self.rnn(self.emb(ids))[1][0]
        return self.head(self.out(state[:, None].expand(-1, ids.shape[1], -1))[0])


class Shifting(Recurrent):  # begins with a vector of its own
    def forward(self, ids):
        x = self.emb(ids)
        x = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)
        return self.head(self.rnn(x)[0])


class TinyForCausalLM(Attention):  # hides later tokens in a way of its own
    def forward(self, ids):
        return super().forward(ids)[:, 0:]


data = TensorDataset(torch.randint(0, 20, (64, 9)), torch.randint(0, 20, (64, 9)))
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for ids, labels in DataLoader(data, batch_size=16):
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WHOLE = "loss = F.cross_entropy(model(ids).view(-1, 20), ids.view(-1))"
TURNED = "loss = F.cross_entropy(model(ids).transpose(1, 2), ids)"
SHIFTED = (
    "loss = F.cross_entropy(model(ids)[:, :-1].reshape(-1, 20), ids[:, 1:].reshape(-1))"
)
UNSHIFTED = {
    "attention": ("Attention()", WHOLE),
    "a recurrent layer": ("Recurrent()", TURNED),
    "layers of torch": ("Layers()", WHOLE),
    "a copy": (
        "Attention()",
        "loss = F.cross_entropy(model(ids).flatten(0, 1), ids.clone().flatten())",
    ),
    "the same slice": (
        "Attention()",
        "loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, :-1])",
    ),
    "the same slice of the scores": (
        "Recurrent()",
        "loss = F.cross_entropy(model(ids)[:, 1:].transpose(1, 2), ids[:, 1:])",
    ),
    "log-probabilities": (
        "Attention()",
        "loss = F.nll_loss(model(ids).log_softmax(-1).transpose(1, 2), ids)",
    ),
    "a model for next tokens": ("TinyForCausalLM(causal=False)", WHOLE),
    "padding that is ignored": (
        "Attention()",
        "labels = ids.clone(); labels[labels == 0] = -100; "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "a batch that is filled up": (
        "Recurrent()",
        "ids = torch.full((4, 9), 1); ids[0, :5] = torch.arange(5); "
        "labels = ids.masked_fill(ids == 1, -100); "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
}
LEGAL_TARGETS = {
    "shifted": ("Attention()", SHIFTED),
    "shifted in the data": (
        "Attention()",
        "loss = F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])",
    ),
    "labels of tokens": (
        "Recurrent()",
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "shifted in the model": ("Shifting()", TURNED),
    "an autoencoder": ("Code()", TURNED),
    "masked tokens": (
        "Attention(causal=False)",
        "loss = F.cross_entropy(model(ids.masked_fill(torch.rand(ids.shape) < 0.2, 0))"
        ".transpose(1, 2), ids)",
    ),
    "masked in place": (
        "Recurrent()",
        "labels = ids.clone(); ids[:, 3] = 0; "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "shifted in place": (
        "Attention()",
        "labels = ids.clone(); labels[:, :-1] = ids[:, 1:]; "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "shifted before padding is ignored": (
        "Attention()",
        "labels = ids.roll(-1, 1); labels[:, -1] = -100; "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "shifted into a batch that is filled up": (
        "Attention()",
        "labels = torch.full_like(ids, -100); labels[:, :-1] = ids[:, 1:]; "
        "loss = F.cross_entropy(model(ids).transpose(1, 2), labels)",
    ),
    "rolled": (
        "Attention()",
        "loss = F.cross_entropy(model(ids).transpose(1, 2), ids.roll(-1, 1))",
    ),
    "both directions, as a denoiser": ("Attention(causal=False)", TURNED),
}


def codes(folder: Path, text: str) -> list[str]:
    report = rehearsed(folder, text)
    assert report.complete, report.findings
    return [each.code for each in report.findings]


def write_tokens(model: str, loss: str) -> str:
    return TOKENS.replace("{model}", model).replace("{loss}", loss)


@pytest.mark.parametrize("name", UNSHIFTED)
def test_targets_that_are_not_shifted_are_found(name: str, tmp_path: Path) -> None:
    assert codes(tmp_path, write_tokens(*UNSHIFTED[name])) == ["unshifted-target"]


SHIFTS = {
    "loss = F.cross_entropy(model(ids).view(-1, 20), ids.view(-1))": (
        "`F.cross_entropy(model(ids)[:, :-1].reshape(-1, 20), ids[:, 1:].reshape(-1))`"
    ),
    "loss = F.cross_entropy(model(ids).transpose(1, 2), ids)": (
        "`F.cross_entropy(model(ids)[:, :-1].transpose(1, 2), ids[:, 1:])`"
    ),
    "loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten(), ignore_index=0)": (
        "`F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten(),"
        " ignore_index=0)`"
    ),
}


@pytest.mark.parametrize("loss", SHIFTS)
def test_scores_and_targets_are_shifted_by_an_edit(loss: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, write_tokens("Attention()", loss))
    (finding,) = report.findings
    assert SHIFTS[loss] in [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("name", LEGAL_TARGETS)
def test_targets_of_other_kinds_are_quiet(name: str, tmp_path: Path) -> None:
    found = codes(tmp_path, write_tokens(*LEGAL_TARGETS[name]))
    assert "unshifted-target" not in found


NOISE = """\
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.rand(64, 6))
model = nn.Sequential(nn.Linear(6, 16), nn.SiLU(), nn.Linear(16, 6))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for (x,) in DataLoader(data, batch_size=16):
    t = torch.rand(len(x), 1)
    noise = torch.randn_like(x)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
UNRELATED = {
    "mse": "loss = F.mse_loss(model(x * (1 - t) + noise * t), torch.randn_like(x))",
    "the other order": (
        "loss = F.mse_loss(torch.randn_like(x), model(x + 0.3 * noise))"
    ),
    "l1": "loss = F.l1_loss(model(t * x + (1 - t) * noise), torch.randn_like(x))",
    "by hand": (
        "target = torch.randn_like(x); "
        "loss = ((model(x + t * noise) - target) ** 2).mean()"
    ),
    "by hand, the other order": (
        "other = torch.randn(x.shape); target = torch.randn(x.shape); "
        "loss = (target - model(x + t * other)).square().mean()"
    ),
    "a layer": ("loss = criterion(model(x.mul(t).add(noise)), torch.randn_like(x))"),
}
LEGAL_NOISE = {
    "the same noise": "loss = F.mse_loss(model(x + t * noise), noise)",
    "the data": "loss = F.mse_loss(model(x + t * noise), x)",
    "noisy targets": (
        "loss = F.mse_loss(model(x + t * noise), x + 0.1 * torch.randn_like(x))"
    ),
    "a velocity": "loss = F.mse_loss(model(x * t + noise * (1 - t)), x - noise)",
    "made-up data": "loss = F.mse_loss(model(torch.randn(8, 6)), torch.randn(8, 6))",
    "made-up targets": "loss = F.mse_loss(model(x), torch.randn_like(x))",
    "a prior": (
        "z = model(x) + torch.randn_like(x); prior = torch.randn_like(x); "
        "loss = (z - prior).pow(2).mean()"
    ),
    "read twice": (
        "other = torch.randn_like(x); "
        "loss = F.mse_loss(model(x + t * noise + other), other)"
    ),
}


@pytest.mark.parametrize("name", UNRELATED)
def test_noise_that_nothing_else_reads_is_found(name: str, tmp_path: Path) -> None:
    text = NOISE.replace("{loss}", UNRELATED[name])
    assert codes(tmp_path, text) == ["unrelated-noise"]


@pytest.mark.parametrize("name", LEGAL_NOISE)
def test_targets_with_noise_are_quiet(name: str, tmp_path: Path) -> None:
    text = NOISE.replace("{loss}", LEGAL_NOISE[name])
    assert "unrelated-noise" not in codes(tmp_path, text)
