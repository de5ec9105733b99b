"""What a whole run does at every 500th step is done once in a short one."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from shapewright.record.report import Report
from tests.rehearsing.rehearsed import rehearsed

LIBRARY = """\
class Trainer:
    def __init__(self, epochs, eval_steps, accumulate_steps=1):
        self.epochs, self.eval_steps, self.global_step = epochs, eval_steps, 0
        self.accumulate_steps = accumulate_steps

    def fit(self, module, optimizer, loader, val_loader):
        max_batches = len(loader)
        if self.eval_steps > max_batches:
            raise ValueError(f"{self.eval_steps} is more than {max_batches}")
        for epoch in range(self.epochs):
            for index, batch in enumerate(loader):
                if index % self.accumulate_steps == 0:
                    optimizer.zero_grad()
                module(batch[0]).mean().backward()
                if (index + 1) % self.accumulate_steps == 0 or index + 1 == max_batches:
                    optimizer.step()
                    self.global_step += 1
                if self.global_step % self.eval_steps == 0:
                    for batch in val_loader:
                        module.check(batch[0])
"""

SCRIPT = """\
    import sys
    sys.path.insert(0, "{folder}/site-packages")
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from minitrain import Trainer


    class Net(nn.Linear):
        def check(self, x):
            print("checked")
            return self(x{lost})


    net = Net(8, 4)
    loader = DataLoader(TensorDataset(torch.randn(4000, 8)), 8)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    Trainer(9, {every}, {accumulate}).fit(net, optimizer, loader, loader)
    """

LOOP = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    net = nn.Sequential(nn.Linear(8, 4), nn.Dropout())
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    loader = DataLoader(TensorDataset(torch.randn(4000, 8)), 8)
    step = {start}
    for epoch in range(40):
        for (x,) in loader:
            {begun}
            net(x).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            {condition}
                print("saved at", step)
                torch.save(net.state_dict(), f"{{step}}.pt")
    """


def of_library(
    folder: Path, every: int = 400, accumulate: int = 1, lost: str = ""
) -> Report:
    """What is found in a script whose library evaluates at every so many steps."""
    library = folder / "site-packages" / "minitrain"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(LIBRARY)
    sys.modules.pop("minitrain", None)
    text = SCRIPT.format(folder=folder, every=every, accumulate=accumulate, lost=lost)
    return rehearsed(folder, text)


def test_a_library_evaluates_though_its_loop_is_short(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = of_library(tmp_path)
    assert report.findings == ()
    assert report.complete
    assert "checked" in capfd.readouterr().err
    said = "`self.global_step % self.eval_steps` with 400 taken as 0 at 2"
    assert said in [each.message for each in report.assumptions]


def test_a_mistake_of_that_evaluation_is_found(tmp_path: Path) -> None:
    report = of_library(tmp_path, lost="[:, :7]")
    assert [each.code for each in report.findings] == ["inner-dim-mismatch"]


def test_a_setting_beyond_the_real_length_of_a_loader_is_told(tmp_path: Path) -> None:
    report = of_library(tmp_path, every=600)
    (found,) = report.findings
    assert "600 is more than" in found.message


def test_accumulated_gradients_are_stepped_when_the_library_says(
    tmp_path: Path,
) -> None:
    report = of_library(tmp_path, accumulate=64)
    assert report.findings == ()
    assert report.complete


def counted(
    folder: Path, condition: str, start: str = "0", begun: str = "pass"
) -> Report:
    """What is found in a loop with such a condition."""
    text = dedent(LOOP).format(condition=condition, start=start, begun=begun)
    return rehearsed(folder, text)


@pytest.mark.parametrize(
    "condition",
    ["if step % 500 == 0:", "if not step % 500:", "if epoch >= 0 and step % 500 == 0:"],
)
def test_a_programs_own_counter_comes_to_its_condition(
    condition: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = counted(tmp_path, condition)
    assert report.findings == ()
    assert report.complete
    assert capfd.readouterr().err.count("saved at 500\n") == 1


def test_a_counter_goes_on_from_a_checkpoint(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    counted(tmp_path, "if step % 500 == 0:", start="730")
    assert "saved at 1000\n" in capfd.readouterr().err


def test_a_part_of_a_training_step_is_left_alone(tmp_path: Path) -> None:
    """Here it is cleared at the first step, and used at the 64th."""
    begun = "if step % 64 == 0: optimizer.zero_grad()"
    text = dedent(LOOP).format(
        condition="if step % 64 == 0:\n            optimizer.step()\n        if False:",
        start="0", begun=begun,
    )  # fmt: skip
    text = text.replace(
        "        optimizer.step()\n        optimizer.zero_grad()\n", "", 1
    )
    report = rehearsed(tmp_path, text)
    assert report.findings == ()


def test_sizes_are_no_counters(tmp_path: Path) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch
        from torch import nn

        def made(number):
            if (number + 1) % 20 == 0:
                raise ValueError("the twentieth")
            return nn.Linear(4, 4)

        def padded(x):
            if x.shape[1] % 32 == 0:
                return x
            return nn.functional.pad(x, (0, 32 - x.shape[1] % 32))

        net = nn.Sequential(*[made(each) for each in range(5)])
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for length in (4, 4, 4):
            net(torch.randn(2, length)).mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        assert padded(torch.randn(2, 8)).shape[1] == 32
        assert padded(torch.randn(2, 9)).shape[1] == 32
        """,
    )
    assert report.findings == ()
    assert report.complete


def test_a_step_that_a_function_makes_at_times_is_made(tmp_path: Path) -> None:
    text = dedent(LOOP).format(condition="if False:", start="0", begun="pass")
    text = text.replace(
        "        optimizer.step()\n        optimizer.zero_grad()\n", "", 1
    )
    text = text.replace(
        "        step += 1\n", "        done(step)\n        step += 1\n"
    )
    text = text.replace(
        "step = 0\n",
        "def done(index):\n    if (index + 1) % 16 == 0:\n        optimizer.step()\n"
        "        optimizer.zero_grad()\n\n\nstep = 0\n",
    )
    report = rehearsed(tmp_path, text)
    assert report.findings == ()
    assert report.rehearsal is not None
    assert report.rehearsal.steps == 2  # the second step, and the last: 20,000
