"""Training loops that a library owns: few epochs, few batches, the last among them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shapewright.program.spans import Span
from tests.rehearsing.rehearsed import moments, rehearsed

LIBRARY = """\
class Trainer:
    def __init__(self, epochs, every):
        self.epochs, self.every, self.epoch = epochs, every, 0

    @property
    def done(self):
        return self.epoch >= self.epochs

    def fit(self, module, train_loader, val_loader):
        optimizer = module.configure_optimizers()
        while not self.done:
            self.fit_epoch(module, train_loader, optimizer)
            for index, batch in enumerate(val_loader):
                module.validation_step(batch)
            self.epoch += 1

    def fit_epoch(self, module, train_loader, optimizer):
        for index, batch in enumerate(train_loader):
            loss = module.training_step(batch)
            loss.backward()
            if (index + 1) % self.every == 0 or index + 1 == len(train_loader):
                optimizer.step()
                optimizer.zero_grad()


class Ranged(Trainer):
    def fit(self, module, train_loader, val_loader):
        optimizer = module.configure_optimizers()
        for epoch in range(self.epochs):
            self.fit_epoch(module, train_loader, optimizer)
            module.epoch_ended(epoch)
"""

SCRIPT = """\
    import sys
    sys.path.insert(0, "{folder}/site-packages")
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from minitrain import {trainer}


    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Linear(4, {classes})
            )
            self.losses = []

        def training_step(self, batch):
            x, y = batch
            loss = nn.functional.cross_entropy(self.net(x), y)
            {more}
            return loss

        def validation_step(self, batch):
            x, y = batch
            self.right = (self.net(x).argmax(1) == y{lost}).sum()

        def epoch_ended(self, epoch):
            print("epoch", epoch)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)


    data = TensorDataset(torch.randn({count}, 8), torch.randint(0, 5, ({count},)))
    loader = DataLoader(data, 32, shuffle=True)
    val = TensorDataset(torch.randn(500, 8), torch.randint(0, 5, (500,)))
    print(len(loader), "batches")
    {trainer}(100, 4).fit(Module(), loader, DataLoader(val, 64))
    print("end")
    """


def at(span: Span | None) -> str:
    """The text of a span of one line."""
    assert span is not None
    line = Path(span.file).read_text().split("\n")[span.line - 1]
    return line[span.column - 1 : span.end_column - 1]


def script(folder: Path, **changed: object) -> str:
    """The script, beside an installed library of that name."""
    library = folder / "site-packages" / "minitrain"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(LIBRARY)
    sys.modules.pop("minitrain", None)
    named: dict[str, object] = {
        "folder": folder, "trainer": "Trainer", "classes": 5, "more": "pass",
        "lost": "", "count": 1002,
    }  # fmt: skip
    return SCRIPT.format(**named | changed)


def test_few_epochs_of_three_batches_each(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, script(tmp_path))
    assert report.findings == ()
    assert report.complete
    assert report.rehearsal is not None
    train, val = moments(report.rehearsal.story, "batches")
    assert (train.turns, train.total) == ((1, 2, 32), 32)
    assert (val.turns, val.total) == ((1, 2, 8), 8)
    assert 2 <= report.rehearsal.steps <= 6  # one for each epoch, at the last batch
    (skipped,) = report.rehearsal.skipped
    assert "train.py:38: the library's epochs ended after" in skipped


def test_the_program_is_told_the_real_length(tmp_path: Path, capfd: object) -> None:
    report = rehearsed(tmp_path, script(tmp_path))
    assert report.complete
    assert "32 batches" in capfd.readouterr().err  # type: ignore[attr-defined]


def test_the_last_epoch_comes_where_epochs_are_counted(
    tmp_path: Path, capfd: object
) -> None:
    report = rehearsed(tmp_path, script(tmp_path, trainer="Ranged"))
    assert report.findings == ()
    said = capfd.readouterr().err  # type: ignore[attr-defined]
    assert "epoch 0\nepoch 1\nepoch 2\nepoch 99\nend" in said


@pytest.mark.long
def test_the_last_batch_breaks_at_the_line_of_the_module(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, script(tmp_path, count=993))
    (found,) = report.findings
    assert found.code == "one-value-per-channel"
    assert found.span is not None
    assert (found.span.file.rpartition("/")[2], found.span.line) == ("train.py", 19)


@pytest.mark.long
def test_a_mistake_of_validation_is_found_at_its_line(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, script(tmp_path, lost="[:, None, :]"))
    assert {each.span.line for each in report.findings if each.span} == {25}


def test_losses_that_are_kept_over_epochs_are_told(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, script(tmp_path, more="self.losses.append(loss)"))
    assert [each.code for each in report.findings] == ["graph-kept"]


def test_a_hook_with_an_argument_too_many_is_told_where_it_is_defined(
    tmp_path: Path,
) -> None:
    text = script(tmp_path, trainer="Ranged")
    text = text.replace(
        "def epoch_ended(self, epoch)", "def epoch_ended(self, epoch, outputs)"
    )
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert found.code == "program-error"
    assert "missing 1 required positional argument: 'outputs'" in found.message
    assert at(found.span) == "def epoch_ended(self, epoch, outputs)"
    assert "Ranged(100, 4).fit(" in at(found.related[0].span)


def test_a_forward_hook_with_an_argument_too_few_is_told_there(tmp_path: Path) -> None:
    hook = "self.net[0].register_forward_hook(lambda module, inputs: None)"
    text = script(tmp_path).replace("self.losses = []", hook)
    report = rehearsed(tmp_path, text)
    assert [at(each.span) for each in report.findings] == [
        "lambda module, inputs: None"
    ]


def test_a_call_of_the_programs_own_is_told_where_it_stands(tmp_path: Path) -> None:
    text = script(tmp_path, more="self.epoch_ended()")
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert at(found.span) == "self.epoch_ended()"
    assert at(found.related[0].span) == "def epoch_ended(self, epoch)"


def test_what_a_library_complains_of_is_shown_where_it_is_defined(
    tmp_path: Path,
) -> None:
    text = script(tmp_path, trainer="Ranged", lost="")
    text = text.replace("def epoch_ended(", "def epoch_end(")
    library = tmp_path / "site-packages" / "minitrain" / "__init__.py"
    library.write_text(
        library.read_text().replace(
            "module.epoch_ended(epoch)",
            'raise NotImplementedError("`epoch_end` was removed: use `epoch_ended`")',
        )
    )
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert "fit(Module()" in at(found.span)
    assert ("def epoch_end(self, epoch)", "`epoch_end` is defined here") in [
        (at(each.span), each.message) for each in found.related
    ]


LAUNCHER = """\
class Job:
    error = None

    @property
    def result(self):
        if self.error is not None:
            raise self.error
        return self.value


def launch(function):
    job = Job()
    try:
        job.value = function()
    except Exception as error:
        job.error = error
    return job.result
"""


def test_what_a_launcher_keeps_is_passed_as_if_it_were_not_there(
    tmp_path: Path,
) -> None:
    library = tmp_path / "site-packages" / "launcher"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(LAUNCHER)
    text = f"""\
        import sys
        sys.path.insert(0, "{tmp_path}/site-packages")
        import torch
        from launcher import launch


        def main():
            weights = torch.randn(4, 6)
            weights @ torch.randn(5, 2)
            weights @ torch.randn(7, 3)
            return "end"


        assert launch(main) == "end"
        """
    report = rehearsed(tmp_path, text)
    assert report.complete
    assert [each.span.line for each in report.findings if each.span] == [9, 10]
    assert {each.code for each in report.findings} == {"inner-dim-mismatch"}


def test_a_loss_that_is_no_number_is_told_where_it_is_made(tmp_path: Path) -> None:
    """The library divides it before its backward pass."""
    text = script(tmp_path, more="loss = loss.expand(x.shape[0])")
    library = tmp_path / "site-packages" / "minitrain" / "__init__.py"
    divided = LIBRARY.replace("loss.backward()", "(loss / self.every).backward()")
    library.write_text(divided)
    report = rehearsed(tmp_path, text)
    (found,) = report.findings
    assert "fit(Module()" in at(found.span)
    assert "loss.expand(x.shape[0])" in [at(each.span) for each in found.related]
