"""Small programs on disk for the tests of loading."""

from __future__ import annotations

import textwrap
from pathlib import Path

from shapewright.inputs.callables import Loaded
from shapewright.inputs.target import parse_target
from shapewright.inputs.target_objects import load_target

MODEL = """
    import torch
    from torch import nn
    from sizes import WIDTH

    class Net(nn.Module):
        def __init__(self, hidden: int = 4, *, bias=True):
            super().__init__()
            self.fc = nn.Linear(WIDTH, hidden, bias)

        def forward(self, x):
            return self.fc(x)

        def encode(self, x, scale=1):
            import late
            return self.fc(x) * late.FACTOR * scale

        @staticmethod
        def shared(x):
            return x

    class Needs(nn.Module):
        def __init__(self, hidden: int, *, depth):
            super().__init__()

    class Config:
        def __init__(self, width=3):
            self.width = width

    class FromConfig(nn.Module):
        def __init__(self, config, dtype=None):
            super().__init__()
            self.fc = nn.Linear(config.width, 2, dtype=dtype)

        def forward(self, x):
            return self.fc(x)

    class Tool:
        def run(self, x):
            return x

    net = Net(7)
    count = 3

    def build():
        return Net(5)

    def loss(prediction, truth):
        return prediction - truth

    def made() -> nn.Module:
        return Net(6)

    def network_report():
        raise RuntimeError("never called to see what it is")

    if __name__ == "__main__":
        raise SystemExit("the main part ran")
"""


def write(folder: Path, *files: tuple[str, str], **more: str) -> None:
    """Write Python files, each by its path without `.py` and its text."""
    for name, text in (*files, *more.items()):
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))


def loaded(target: str) -> Loaded:
    """The target as the command line would load it, on real tensors."""
    return load_target(parse_target(target))
