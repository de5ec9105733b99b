"""Programs that ask for a GPU by a text of their own, on a machine that has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapewright.findings.finding import Finding
from tests.rehearsing.rehearsed import rehearsed

PROGRAM = """\
import argparse
import torch
from torch import nn
{head}
def run({parameter}):
    model = nn.Linear(3, 4).to({device})
    x = torch.randn(2, 3, device={device})
    model(x).sum().backward()
run()
"""
WRITTEN = [
    ('device = "cuda"', "", "device"),
    ('device = torch.device("cuda:0")', "", "device"),
    ("", 'device="cuda"', "device"),
    ('DEVICE = "mps"', "", "DEVICE"),
    ('settings = {"device": "cuda"}', "", 'settings["device"]'),
    (
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cuda")\n'
        "args = parser.parse_args()",
        "",
        "args.device",
    ),
]


def find_missing(folder: Path, head: str, parameter: str, device: str) -> list[Finding]:
    text = PROGRAM.format(head=head, parameter=parameter, device=device)
    findings = rehearsed(folder, text).findings
    return [finding for finding in findings if finding.code == "missing-device"]


@pytest.mark.parametrize(("head", "parameter", "device"), WRITTEN)
def test_the_text_of_a_device_asks_first(
    head: str, parameter: str, device: str, tmp_path: Path
) -> None:
    (finding,) = find_missing(tmp_path, head, parameter, device)
    assert "whatever the machine has" in finding.related[0].message
    (fix,) = finding.fixes
    kind = "torch.backends.mps" if "mps" in head else "torch.cuda"
    assert fix.message.endswith(f'if {kind}.is_available() else "cpu"`')
    assert fix.checked


@pytest.mark.parametrize(
    ("head", "device"),
    [
        ("", '"cuda"'),
        ('device = "cuda"\nkept = torch.zeros(2).cuda()', "device"),
    ],
)
def test_what_asks_in_several_places_gets_no_edit(
    head: str, device: str, tmp_path: Path
) -> None:
    (finding,) = find_missing(tmp_path, head, "", device)
    assert not finding.fixes


def test_a_device_that_is_asked_for_is_quiet(tmp_path: Path) -> None:
    head = 'device = "cuda" if torch.cuda.is_available() else "cpu"'
    assert not find_missing(tmp_path, head, "", "device")


MOVED = """\
import torch
from torch import nn
{flag}
model = nn.Linear(3, 4)
{guarded}
for step in range(2):
    noise = torch.randn(2, 3).cuda()
    model(noise).sum().backward()
"""


@pytest.mark.parametrize(
    ("flag", "guarded", "fix", "words"),
    [
        (
            "use_cuda = torch.cuda.is_available()",
            "if use_cuda:\n    model = model.cuda()",
            '`.to("cuda" if use_cuda else "cpu")` for `.cuda()`',
            "elsewhere `if use_cuda:` asks first",
        ),
        (
            "",
            "if torch.cuda.is_available():\n    model.cuda()",
            '`.to("cuda" if torch.cuda.is_available() else "cpu")` for `.cuda()`',
            "asks first",
        ),
        (
            "", "model = model.cuda()", "`.to(device)` for `.cuda()` and 1 more",
            "`model.cuda()` asks for `cuda` whatever the machine has",
        ),
    ],
)  # fmt: skip
def test_a_call_of_cuda_asks_first(
    flag: str, guarded: str, fix: str, words: str, tmp_path: Path
) -> None:
    text = MOVED.format(flag=flag, guarded=guarded)
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "missing-device"
    assert any(words in related.message for related in finding.related)
    assert [known.message for known in finding.fixes if known.checked] == [fix]
