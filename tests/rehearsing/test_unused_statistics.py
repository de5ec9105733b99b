"""Normalizers of test data that take its statistics, while those of the training are
saved to a file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

TEXT = """\
import argparse
import pickle
import tempfile

import numpy as np
import torch
from torch import nn


class Scale:
    def __init__(self, mean=None, std=None):
        self.mean, self.std = mean, std

    def apply(self, x):
        {condition}
            self.mean = x.mean(0)
            self.std = x.std(0)
        return (x - self.mean) / self.std


model = nn.Linear(4, 2)


def run_training(folder):
    x = np.random.randn(40, 4).astype(np.float32)
    scale = Scale()
    x = scale.apply(x)
    {save}
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for rows in torch.from_numpy(x).split(8):
        optimizer.zero_grad()
        model(rows).pow(2).mean().backward()
        optimizer.step()


def {test}(folder, args):
    x = np.random.randn(20, 4).astype(np.float32)
    kept = {{}}
    if args.scale:
        with open(folder + "/" + args.scale, "rb") as f:
            kept = pickle.load(f)
    {use}
    model.eval()
    with torch.no_grad():
        print(model(torch.from_numpy(x)).argmax(1))


parser = argparse.ArgumentParser()
parser.add_argument("--scale", {default}help="a file of the folder")
args = parser.parse_args()
with tempfile.TemporaryDirectory() as folder:
    run_training(folder)
    {test}(folder, args)
"""
SAVE = """with open(folder + "/scale.pkl", "wb") as f:
        pickle.dump({"mean": scale.mean, "std": scale.std}, f)"""
PLAIN = {
    "condition": "if self.mean is None:", "save": SAVE, "test": "run_test",
    "use": "x = Scale(**kept).apply(x)", "default": "default=None, ",
}  # fmt: skip
EDIT = ['`default="scale.pkl"`']
WRONG = {
    "an option that is off": ({}, EDIT),
    "an option without a default": ({"default": ""}, ['default="scale.pkl"']),
    "an object with a name": (
        {"use": "test_scale = Scale(**kept); x = test_scale.apply(x)"},
        EDIT,
    ),
    "nothing is given": ({"use": "x = Scale().apply(x)"}, []),
    "a file of arrays": (
        {
            "save": "np.savez(folder + '/scale.npz', mean=scale.mean, std=scale.std)",
            "use": "x = Scale().apply(x)",
        },
        [],
    ),
}
RIGHT = {
    "a default": {"default": "default='scale.pkl', "},
    "statistics that are passed": {"use": "x = Scale(0.0, np.ones(4)).apply(x)"},
    "statistics that are set": {
        "use": "s = Scale(); s.mean, s.std = 0.0, 1.0; x = s.apply(x)"
    },
    "nothing is saved": {"save": "print(len(x))"},
    "other things are saved": {
        "save": SAVE.replace("scale.mean", "len(x)").replace("scale.std", "1")
    },
    "each sample by itself": {"condition": "if True:"},
    "another training": {"test": "run_second_training"},
}


def _find_refitted(
    folder: Path, changes: dict[str, str], *arguments: str
) -> list[list[str]]:
    """Return the messages of the edits of each finding."""
    report = rehearsed(folder, TEXT.format(**{**PLAIN, **changes}), *arguments)
    assert report.complete
    return [
        [fix.message for fix in finding.fixes if fix.checked]
        for finding in report.findings
        if finding.code == "fitted-anew"
    ]


@pytest.mark.parametrize("name", WRONG)
def test_statistics_of_the_test_are_found(name: str, tmp_path: Path) -> None:
    changes, edits = WRONG[name]
    (fixes,) = _find_refitted(tmp_path, changes)
    assert len(fixes) == len(edits)
    assert all(edit in fix for edit, fix in zip(edits, fixes, strict=True))


@pytest.mark.parametrize("name", RIGHT)
def test_statistics_of_the_training_are_right(name: str, tmp_path: Path) -> None:
    assert _find_refitted(tmp_path, RIGHT[name]) == []


def test_an_option_that_is_given_is_right(tmp_path: Path) -> None:
    assert _find_refitted(tmp_path, {}, "--scale", "scale.pkl") == []
