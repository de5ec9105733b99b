"""Options and entries of settings that nothing reads, beside calls that are given
others of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--top-k", type=int, default=2)
parser.add_argument("--length", type=int, default=4)
parser.add_argument("--temperature", type=float, default=0.5)
args = parser.parse_args()
config = {"top_k": 2, "length": 4, "smoothing": 0.5}


class Sampler:
    def __init__(self, net, top_k=3, length=9, temperature=1.0, smoothing=0.0):
        self.net, self.top_k, self.length = net, top_k, length
        self.temperature, self.smoothing = temperature, smoothing

    def draw(self, x):
        scores = self.net(x) / self.temperature + self.smoothing
        return scores.topk(self.top_k)[0].softmax(-1)


net = nn.Linear(6, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(8, 6)).square().mean().backward()
optimizer.step()
CALL
print(sampler.draw(torch.randn(2, 6)).shape)
"""
OPTIONS = "sampler = Sampler(net, top_k=args.top_k, length=args.length)"
ENTRIES = 'sampler = Sampler(net, top_k=config["top_k"], length=config["length"])'
DEFAULT = ("type=float, default=0.5", "type=float, default=1.0")
WRONG = {
    "an option": (
        OPTIONS, "`Sampler(net, top_k=args.top_k, length=args.length,"
        " temperature=args.temperature)`"
    ),
    "an entry": (
        ENTRIES, '`Sampler(net, top_k=config["top_k"], length=config["length"],'
        ' smoothing=config["smoothing"])`'
    ),
}  # fmt: skip
RIGHT = {
    "it is handed on": OPTIONS[:-1] + ", temperature=args.temperature)",
    "it is handed on by its place":
        "sampler = Sampler(net, args.top_k, args.length, args.temperature)",
    "it is set later":
        f"{OPTIONS}\nsampler.temperature = args.temperature",
    "all are handed on": "sampler = Sampler(net, **vars(args))",
    "all are read": f"{OPTIONS}\nsampler.__dict__.update(vars(args))",
    "they are handed to another library":
        f"{OPTIONS}\ntorch.save(args, '/dev/null')",
    "another value is given": OPTIONS[:-1] + ", temperature=0.7)",
    "the call is given no options": "sampler = Sampler(net, top_k=2)",
    "an entry that is read": f'{ENTRIES}\nprint(config["smoothing"])',
    "entries that are unpacked": "sampler = Sampler(net, **config)",
    "entries that a loop reads":
        f"{ENTRIES}\nfor key in config:\n    setattr(sampler, key, config[key])",
}  # fmt: skip


def find(folder: Path, text: str) -> list[str]:
    """Checked edits of the settings without effect."""
    report = rehearsed(folder, text)
    assert report.complete, report
    return [
        f.fixes[0].message if f.fixes else ""
        for f in report.findings
        if f.code == "flag-without-effect"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_a_setting_that_is_not_handed_on(name: str, tmp_path: Path) -> None:
    call, edit = WRONG[name]
    (message,) = find(tmp_path, PROGRAM.replace("CALL", call))
    assert message == edit


@pytest.mark.parametrize("name", RIGHT)
def test_settings_that_are_read_or_not_meant_for_a_call(
    name: str, tmp_path: Path
) -> None:
    assert find(tmp_path, PROGRAM.replace("CALL", RIGHT[name])) == []


def test_an_option_with_the_default_of_the_parameter(tmp_path: Path) -> None:
    assert find(tmp_path, PROGRAM.replace("CALL", OPTIONS).replace(*DEFAULT)) == []
