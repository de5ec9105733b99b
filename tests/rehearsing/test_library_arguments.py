"""What modules and functions of torch refuse of what they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed


def find_error(report: Report) -> Finding:
    return next(f for f in report.findings if f.severity == "error")


GPT = """\
import torch
from torch import nn
{imports}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layer = {layer}(16, 2, dim_feedforward=32, batch_first=True)
        self.blocks = {blocks}

    def forward(self, x, padding=None):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.blocks({arguments})

net = Net()
net(torch.rand(4, 8, 16)).mean().backward()
"""
DECODERS = [
    ("", "nn.TransformerDecoderLayer", "nn.TransformerDecoder(layer, 2)",
     "x, tgt_mask=mask"),
    ("", "nn.TransformerDecoderLayer", "nn.TransformerDecoder(layer, num_layers=2)",
     "x, tgt_mask=mask, tgt_key_padding_mask=padding"),
    ("", "nn.TransformerDecoderLayer", "nn.TransformerDecoder(layer, 2)",
     "tgt=x, tgt_mask=mask, tgt_is_causal=True"),
    ("from torch.nn import TransformerDecoder, TransformerDecoderLayer",
     "TransformerDecoderLayer", "TransformerDecoder(layer, 2)", "x, tgt_mask=mask"),
    ("", "nn.TransformerDecoderLayer", "layer", "x, tgt_mask=mask"),
]  # fmt: skip


@pytest.mark.parametrize(("imports", "layer", "blocks", "arguments"), DECODERS)
def test_a_decoder_alone_is_an_encoder(
    imports: str, layer: str, blocks: str, arguments: str, tmp_path: Path
) -> None:
    text = GPT.format(imports=imports, layer=layer, blocks=blocks, arguments=arguments)
    finding = find_error(rehearsed(tmp_path, text))
    assert "attends to the `memory` of the encoder" in finding.message
    assert finding.fixes[0].message.endswith("with `mask`")
    assert finding.fixes[0].checked
    texts = {edit.text for edit in finding.fixes[0].edits}
    assert "TransformerEncoderLayer" in texts


def test_a_decoder_beside_an_encoder_wants_its_memory(tmp_path: Path) -> None:
    blocks = (
        "nn.TransformerDecoder(layer, 2); self.encoder = nn.TransformerEncoder("
        "nn.TransformerEncoderLayer(16, 2), 2)"
    )
    text = GPT.format(
        imports="", layer="nn.TransformerDecoderLayer", blocks=blocks, arguments="x"
    )
    finding = find_error(rehearsed(tmp_path, text))
    assert "attends to the `memory` of the encoder" in finding.message
    assert not finding.fixes


def test_a_decoder_with_a_memory_is_quiet(tmp_path: Path) -> None:
    text = GPT.format(
        imports="", layer="nn.TransformerDecoderLayer",
        blocks="nn.TransformerDecoder(layer, 2)", arguments="x, x, tgt_mask=mask",
    )  # fmt: skip
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)


SCRIPT = """\
import torch
from torch import nn
from typing import {names}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x, extra{annotation}):
        {line}

net = Net()
net(torch.ones(2, 4), {value}).mean().backward()
scripted = torch.jit.script(net)
scripted(torch.ones(2, 4), {value})
"""


@pytest.mark.parametrize(
    ("names", "value", "line", "new"),
    [
        ("List", "[1, 2]", "return self.fc(x) * extra[0]", "List[int]"),
        ("Any", "[1, 2]", "return self.fc(x) * extra[0]", "list[int]"),
        ("Any", "[0.5, 2.0]", "return self.fc(x) * extra[0]", "list[float]"),
        ("Any", "[x, x]", "return self.fc(x) * extra[0].sum()", "list[torch.Tensor]"),
        ("Any", "2", "return self.fc(x) * extra", "int"),
        ("Any", "0.5", "return self.fc(x) * extra", "float"),
    ],
)
def test_an_argument_of_a_script_is_annotated(
    names: str, value: str, line: str, new: str, tmp_path: Path
) -> None:
    text = SCRIPT.format(names=names, annotation="", value=value, line=line)
    text = text.replace("net = Net()", "net, x = Net(), torch.ones(2, 4)")
    finding = find_error(rehearsed(tmp_path, text))
    assert "without an annotation for a tensor, and `extra`" in finding.message
    assert finding.fixes[0].message == f"`extra: {new}`"
    assert finding.fixes[0].checked


def test_an_annotated_argument_is_quiet(tmp_path: Path) -> None:
    text = SCRIPT.format(
        names="List", annotation=": List[int]", value="[1, 2]",
        line="return self.fc(x) * extra[0]",
    )  # fmt: skip
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)


AVERAGED = """\
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, update_bn
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        return {item}

net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
averaged = AveragedModel(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(Rows(), batch_size=4, shuffle=True)
for {target} in loader:
    optimizer.zero_grad()
    {lines}
    loss.backward()
    optimizer.step()
averaged.update_parameters(net)
update_bn({data}, averaged)
"""
EVALUATED = """
averaged.eval()
with torch.no_grad():
    for _ in range(4):
        right = (averaged(torch.rand(8, 4)).argmax(1) == torch.arange(8) % 3).sum()
"""
DICTS = "dict(x=torch.rand(4), y=index % 3)"
PAIRS = "index % 3, torch.rand(4)"


@pytest.mark.parametrize(
    ("item", "target", "lines", "new"),
    [
        (
            DICTS, "batch",
            "loss = nn.functional.cross_entropy(net(batch['x']), batch['y'])",
            "(batch['x'] for batch in loader)",
        ),
        (
            DICTS, "b",
            "x = b['x'].to('cpu')\n    y = b['y']\n"
            "    loss = nn.functional.cross_entropy(net(x), y)",
            "(b['x'] for b in loader)",
        ),
        (
            PAIRS, "y, x",
            "loss = nn.functional.cross_entropy(net(x.float()), y)",
            "(x for y, x in loader)",
        ),
    ],
)  # fmt: skip
def test_averaged_statistics_are_given_the_inputs(
    item: str, target: str, lines: str, new: str, tmp_path: Path
) -> None:
    text = AVERAGED.format(item=item, target=target, lines=lines, data="loader")
    finding = find_error(rehearsed(tmp_path, text))
    assert "`update_bn` gives the model each batch of `loader`" in finding.message
    assert finding.fixes[0].message == f"`update_bn({new}, ...)`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("item", "target", "lines", "data"),
    [
        (
            "torch.rand(4), index % 3", "x, y",
            "loss = nn.functional.cross_entropy(net(x), y)", "loader",
        ),
        (
            DICTS, "b", "loss = nn.functional.cross_entropy(net(b['x']), b['y'])",
            "(b['x'] for b in loader)",
        ),
    ],
)  # fmt: skip
def test_averaged_statistics_of_inputs_are_quiet(
    item: str, target: str, lines: str, data: str, tmp_path: Path
) -> None:
    text = AVERAGED.format(item=item, target=target, lines=lines, data=data)
    report = rehearsed(tmp_path, text + EVALUATED)
    assert not any(f.severity in ("error", "warning") for f in report.findings)


SPECTRUM = """\
import torch
from torch import nn

gain = nn.Parameter(torch.ones(129, 1))
window = torch.hann_window(256)
wave = torch.rand(2, 4096)
spectrum = torch.stft(wave, 256, 64, 256, window, {forward} return_complex=True)
out = torch.istft(spectrum * gain, 256, 64, 256, window{back})
out.mean().backward()
"""


@pytest.mark.parametrize(
    ("forward", "back", "count"),
    [
        ("center=False,", ", center=False", 2),
        ("False,", ", False", 2),
        ("", ", center=False", 1),
    ],
)
def test_a_window_that_begins_at_0_is_centered(
    forward: str, back: str, count: int, tmp_path: Path
) -> None:
    text = SPECTRUM.format(forward=forward, back=back)
    finding = find_error(rehearsed(tmp_path, text))
    assert "with `center=False` the first and the last samples" in finding.message
    assert len(finding.fixes[0].edits) == count
    assert finding.fixes[0].checked


def test_a_centered_window_is_quiet(tmp_path: Path) -> None:
    text = SPECTRUM.format(forward="", back="")
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)


POLICY = """\
import torch
from torch import distributions as D
from torch import nn

net = nn.Linear(4, 2)

def act(obs):
    mean, scale = net(obs).chunk(2, dim=-1)
    {build}
    {sample}
    return dist.log_prob(action), {entropy}

for _ in range(2):
    log_prob, entropy = act(torch.rand(8, 4))
    (-log_prob.mean() - 0.01 * entropy).backward()
"""
SQUASHED = (
    "dist = D.TransformedDistribution("
    "D.Normal(mean, scale.exp()), [D.TanhTransform(cache_size=1)])"
)


@pytest.mark.parametrize(
    ("sample", "entropy", "new"),
    [
        (
            "action = dist.sample()", "dist.entropy().mean()",
            "-dist.log_prob(dist.rsample())",
        ),
        (
            "action = dist.rsample()", "dist.entropy().sum(-1).mean()",
            "-dist.log_prob(action)",
        ),
        (
            "action = dist.sample()", "dist.entropy().exp().mean()",
            "(-dist.log_prob(dist.rsample()))",
        ),
    ],
)  # fmt: skip
def test_an_entropy_without_a_formula_is_estimated(
    sample: str, entropy: str, new: str, tmp_path: Path
) -> None:
    text = POLICY.format(build=SQUASHED, sample=sample, entropy=entropy)
    finding = find_error(rehearsed(tmp_path, text))
    assert "the entropy of `dist` has no formula" in finding.message
    assert finding.fixes[0].message == f"`{new}`"
    assert finding.fixes[0].checked


def test_an_entropy_with_a_formula_is_quiet(tmp_path: Path) -> None:
    text = POLICY.format(
        build="dist = D.Normal(mean, scale.exp())", sample="action = dist.sample()",
        entropy="dist.entropy().mean()",
    )  # fmt: skip
    assert not any(f.severity == "error" for f in rehearsed(tmp_path, text).findings)
