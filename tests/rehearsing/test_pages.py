"""The pages of what a rehearsal finds: wrong examples are found, right ones quiet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from torch import distributed as dist

from shapewright.findings.codes import find_page
from tests.rehearsing.rehearsed import rehearsed

CODES = (
    "gradients-not-cleared", "gradients-cleared-unused", "graph-kept",
    "not-in-optimizer", "no-gradient", "trained-in-eval-mode",
    "evaluated-in-training-mode", "sum-after-loop", "mean-over-samples",
    "scheduler-order", "scheduler-too-long", "items-do-not-stack",
    "collective-mismatch", "gradient-without-graph", "state-not-copied",
    "never-stepped", "count-over-batches", "mean-of-means", "evaluated-with-graph",
    "count-not-read", "collated-list", "sampler-weights", "unused-split",
    "model-not-copied", "clipped-after-step", "clipped-scaled", "scheduler-unit",
    "statistics-not-frozen", "statistics-not-copied", "item-written",
    "separate-draws", "state-not-resumed", "scheduler-of-replaced",
    "metric-direction", "scaled-step", "count-not-reset", "state-of-other-samples",
    "separate-permutations", "decay-swapped", "shared-transform",
    "augmented-evaluation", "undivided-loss", "fitted-before-split",
    "repeated-by-workers", "shuffled-order", "seed-repeated",
    "arrays-broadcast", "state-dropped", "rate-as-factor",
    "model-kept-over-folds", "own-statistics", "unused-parameters", "epoch-not-set",
    "fitted-anew", "unequal-transforms", "terminal-ignored",
    "same-branches", "size-attribute-set", "sorted-labels", "classes-by-text",
    "split-by-class", "copies-before-split", "label-among-features",
    "padding-as-token",
    "patience-not-reset", "reversed-guidance",
    "class-weights-inverted", "changed-draw", "schedule-restarted", "restarted-loader",
    "first-group-only", "equal-policies",
    "return-in-loop", "loss-overwritten", "late-binding", "misplaced-argument",
    "floored-factor",
    "filtered-index",
    "order-as-rank", "deviation-shifted", "return-order",
    "reversed-update", "rebound-parameter", "metric-arguments",
    "metric-formula",
)  # fmt: skip

RAISES = {
    "scheduler-too-long": "Tried to step",
    "items-do-not-stack": "equal size",
    "collated-list": "cannot be multiplied",
    "collective-mismatch": "invalid tensor size",
    "unused-parameters": "finished reduction",
}
"""What torch itself says of the wrong ones that end a real run."""

WARNS = {"scheduler-order": r"before `optimizer.step\(\)`"}

BEFORE = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

data = TensorDataset(torch.randn(70, 6), torch.randint(3, (70,)))
loader, test_loader = DataLoader(data, 16, shuffle=True), DataLoader(data, 32)
model = nn.Sequential(
    nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(), nn.Linear(8, 3)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

TRAINING = """
for inputs, labels in loader:
    optimizer.zero_grad()
    criterion(model(inputs), labels).backward()
    optimizer.step()
"""

GROUP = """
store = torch.distributed.HashStore()
torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
"""


OF_GROUPS = ("collective-mismatch", "unused-parameters")


@pytest.fixture(autouse=True)
def _no_group_stays() -> Iterator[None]:
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def examples(code: str) -> tuple[str, str]:
    """The wrong example of a page, and the right one, as programs."""
    found = re.findall(r"```python\n(.*?)```", find_page(code) or "", re.DOTALL)
    trained = TRAINING if code == "evaluated-in-training-mode" else ""
    trained += GROUP if code in OF_GROUPS else ""
    wrong, right = (BEFORE + trained + text for text in found)
    return wrong, right


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_example_of_a_page_is_found(code: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, examples(code)[0])
    assert [each.code for each in report.findings] == [code]
    assert report.complete


@pytest.mark.parametrize("code", CODES)
def test_nothing_is_found_in_the_right_example(code: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, examples(code)[1])
    assert [each.message for each in report.findings] == []
    assert report.complete


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("code", CODES)
def test_torch_runs_both_or_says_so_itself(code: str) -> None:
    wrong, right = examples(code)
    exec(compile(right, "right.py", "exec"), {"__name__": "right"})
    if dist.is_initialized():
        dist.destroy_process_group()
    program = compile(wrong, "wrong.py", "exec")
    if code in RAISES:
        with pytest.raises((RuntimeError, ValueError), match=RAISES[code]):
            exec(program, {"__name__": "wrong"})
    elif code in WARNS:
        with pytest.warns(UserWarning, match=WARNS[code]):
            exec(program, {"__name__": "wrong"})
    else:
        exec(program, {"__name__": "wrong"})
