"""Layers in a loop that all get the first input: what the one before it returned."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

PROGRAM = """\
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = {sizes}
            self.layers = nn.ModuleList([{layer} for n, m in zip(sizes, sizes[1:])])
        def forward(self, x):
            h = torch.zeros(5, 16)
            states = [h, h]
            {body}
    net = Net()
    for _ in range(2):
        out = net(torch.randn(5, 8))
        out.pow(2).mean().backward()
    """
INDENT = "\n            "
NOTE = "is not passed on"
LINEAR = "nn.Linear(n, m)"


@pytest.mark.parametrize(
    ("layer", "body", "first"),
    [
        (LINEAR, ["out = x", "for layer in self.layers:",
                  "    out = torch.relu(layer(x))", "return out"],
         "`torch.relu(layer(out))`"),
        (LINEAR, ["out = x", "for layer in self.layers:", "    out = layer(x)",
                  "    out = torch.relu(out)", "return out"], "`layer(out)`"),
        (LINEAR, ["for i, layer in enumerate(self.layers):", "    y = layer(x)",
                  "return y"], "`layer(y)`, with `y = x` before the loop"),
        ("nn.GRUCell(n, m)",
         ["out = x", "for i, cell in enumerate(self.layers):",
          "    out = cell(x, h)", "return out"], "`cell(out, h)`"),
        ("nn.GRUCell(n, m)",
         ["for i in range(len(self.layers)):",
          "    states[i] = self.layers[i](x, states[i])", "return states[-1]"],
         "`x = states[i]` behind the call"),
    ],
    ids=["in another call", "a name set before", "a name", "a cell", "a list"],
)  # fmt: skip
def test_the_layer_before_is_read(
    layer: str, body: list[str], first: str, tmp_path: Path
) -> None:
    text = PROGRAM.format(sizes="[8, 16, 16]", layer=layer, body=INDENT.join(body))
    report = rehearsed(tmp_path, text)
    (finding, *_) = (f for f in report.findings if f.severity == "error")
    notes = [place.message for place in finding.related if NOTE in place.message]
    assert notes
    assert [fix.message for fix in finding.fixes if fix.checked] == [first]


def test_heads_all_read_the_same(tmp_path: Path) -> None:
    body = ["outs = []", "for head in self.layers:", "    y = head(x)",
            "    outs.append(y)", "return outs[0]"]  # fmt: skip
    text = PROGRAM.format(
        sizes="[8, 16, 16]", layer="nn.Linear(8 if n == 8 else 9, m)",
        body=INDENT.join(body),
    )  # fmt: skip
    report = rehearsed(tmp_path, text)
    (finding, *_) = (f for f in report.findings if f.severity == "error")
    assert all(NOTE not in place.message for place in finding.related)


def test_a_chain_is_right(tmp_path: Path) -> None:
    body = ["out = x", "for layer in self.layers:", "    out = layer(out)",
            "return out"]  # fmt: skip
    text = PROGRAM.format(sizes="[8, 16, 12]", layer=LINEAR, body=INDENT.join(body))
    report = rehearsed(tmp_path, text)
    assert [f for f in report.findings if f.severity == "error"] == []
