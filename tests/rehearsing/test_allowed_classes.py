"""What `torch.load` refuses of what a script has saved, as in a real run."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch.serialization import clear_safe_globals

from tests.rehearsing.rehearsed import rehearsed


@pytest.fixture(autouse=True)
def _forget_allowed_classes() -> Iterator[None]:
    """Take back what a script has allowed torch to load, which torch keeps."""
    yield
    clear_safe_globals()


SCRIPT = """\
import argparse
import random
from collections import Counter, OrderedDict, defaultdict
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Config:
    width: int = 8


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(4, width)

    def forward(self, x):
        return self.body(x)


config = Config()
model = Net(config.width)
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 20)
model(torch.rand(2, 4)).sum().backward()
optimizer.step()
saved = {saved}
torch.save(saved, "last.pt")
{before}
read = torch.load("last.pt"{named})
"""

STATE = (
    '{"model": model.state_dict(), "optimizer": optimizer.state_dict(), '
    '"schedule": schedule.state_dict(), "rng": torch.get_rng_state(), "step": 3}'
)

SAVED = {
    "states": STATE,
    "config": '{"model": model.state_dict(), "config": config}',
    "plain-config": '{"model": model.state_dict(), "config": asdict(config)}',
    "model": "model",
    "layer": "nn.Linear(4, 3)",
    "arguments": "argparse.Namespace(lr=0.1)",
    "number": "[np.float64(0.5)]",
    "array": "np.zeros(3)",
    "python": "[random.getstate(), {1, 2}, (b'x', None, 1j)]",
    "kinds": "[torch.float16, torch.device('cpu'), torch.Size([2, 3])]",
    "counts": "[Counter('ab'), OrderedDict(a=1), defaultdict(list)]",
}


def raised(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    """The first line of what a real run raises."""
    (folder / "train.py").write_text(text)
    monkeypatch.chdir(folder)
    try:
        runpy.run_path("train.py", run_name="__main__")
    except Exception as error:
        return f"`{type(error).__name__}`: {error}".splitlines()[0]
    finally:
        (folder / "last.pt").unlink(missing_ok=True)
    return ""


@pytest.mark.parametrize("name", SAVED)
def test_what_was_saved_is_refused_as_torch_refuses_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SCRIPT.replace("{saved}", SAVED[name])
    text = text.replace("{before}", "").replace("{named}", "")
    findings = rehearsed(tmp_path, text).findings
    told = [each.torch_message for each in findings]
    if name in ("config", "model"):  # whose classes have to lie in `__main__`
        (message,) = told
        assert "Weights only load failed" in message
        return
    real = raised(tmp_path, monkeypatch, text)
    own = real.replace("`", "")
    assert [each.splitlines()[0] for each in told] == [own] * bool(real)
    assert all("`weights_only=True`" in each.message for each in findings)
    if name in ("states", "plain-config", "python", "kinds"):
        assert not real


@pytest.mark.parametrize(
    ("before", "named"),
    [
        ("", ", weights_only=False"),
        ("torch.serialization.add_safe_globals([Config])", ""),
    ],
)
def test_a_class_that_is_allowed_is_loaded(
    tmp_path: Path, before: str, named: str
) -> None:
    text = SCRIPT.replace("{saved}", SAVED["config"])
    text = text.replace("{before}", before).replace("{named}", named)
    report = rehearsed(tmp_path, text + 'print(read["config"].width)\n')
    assert report.findings == ()
    assert report.complete


def test_all_objects_are_made_of_a_file_that_is_trusted(tmp_path: Path) -> None:
    text = SCRIPT.replace("{saved}", SAVED["config"])
    text = text.replace("{before}", "").replace("{named}", "")
    (found,) = rehearsed(tmp_path, text).findings
    assert found.fixes[0].message.endswith(", if you trust the file")
    assert found.fixes[0].checked
