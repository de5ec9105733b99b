"""The corpus of training scripts does what its labels say."""

import subprocess
import sys
from pathlib import Path

import pytest

from rehearsals import verify

A_FEW = (
    "sensor_batchnorm",
    "fuel_no_zero_grad",
    "scheduler_first",
    "checkpoint_resume",
)


def test_every_script_has_its_label() -> None:
    labels = sorted(path.stem for path in verify.LABELS.glob("*.json"))
    assert labels == verify.names()


@pytest.mark.parametrize("name", verify.names())
def test_label_is_well_formed(name: str) -> None:
    assert list(verify.malformed(name)) == []


def test_a_few_labels_are_true() -> None:
    file = Path(verify.__file__)
    ran = subprocess.run(
        [sys.executable, str(file), *A_FEW], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
