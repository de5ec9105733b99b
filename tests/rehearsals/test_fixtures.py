"""Fake data is read through the stand-ins with the shapes of the real libraries."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsals import fake_data, fixtures

READ = """
import torch
from torchvision import datasets, models, transforms as T, utils
tensor = T.Compose([T.ToTensor(), T.Normalize((0.5,), (0.5,))])
image, label = datasets.MNIST("data", transform=tensor)[3]
print(tuple(image.shape), image.dtype, label)
image, label = datasets.CIFAR10("data", train=False, transform=T.ToTensor())[0]
print(tuple(image.shape), image.dtype, type(label).__name__)
flip = T.RandomHorizontalFlip()
crop = T.Compose([T.Resize(64), T.CenterCrop(48), flip, T.ToTensor()])
folder = datasets.ImageFolder("photographs", crop)
print(len(folder), tuple(folder[5][0].shape), folder[5][1])
grid = utils.make_grid(torch.rand(10, 1, 8, 8), nrow=4)
utils.save_image(grid, "grid.png")
print(tuple(grid.shape), tuple(models.resnet18()(torch.rand(2, 3, 64, 64)).shape))
import gymnasium
env = gymnasium.make("CartPole-v1")
state, _ = env.reset(seed=1)
print(state.shape, state.dtype, env.step(1)[1:], env.action_space.n)
"""
SHAPES = """\
(1, 28, 28) torch.float32 3
(3, 32, 32) torch.float32 int
6 (3, 48, 48) 1
(3, 32, 42) (2, 1000)
(4,) float32 (1.0, False, False, {}) 2
"""


def test_data_is_read_through_stand_ins(tmp_path: Path) -> None:
    fake_data.mnist(tmp_path / "data")
    fake_data.cifar10(tmp_path / "data")
    fake_data.image_folder(tmp_path / "photographs", 2, 3, 70, 90)
    ran = subprocess.run(
        [sys.executable, "-c", READ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(fixtures.STUBS)},
        capture_output=True,
        text=True,
    )
    assert ran.stdout == SHAPES, ran.stderr


@pytest.mark.parametrize("name", fixtures.EXAMPLES)
def test_example_is_prepared(name: str, tmp_path: Path) -> None:
    example = fixtures.EXAMPLES[name]
    script = tmp_path / "checkout" / "examples" / example.script
    script.parent.mkdir(parents=True)
    (tmp_path / "checkout" / "examples").mkdir(exist_ok=True)
    script.touch()
    prepared = fixtures.prepare(name, tmp_path / "checkout", tmp_path / "run" / "here")
    assert prepared.script.is_file()
    assert prepared.environment["PYTHONPATH"].startswith(str(fixtures.STUBS))
