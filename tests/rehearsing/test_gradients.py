"""Gradients that pile up, and programs in which they only seem to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

GAN = """\
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(TensorDataset(torch.randn(70, 6)), 16)
    maker = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 6))
    judge = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    of_maker = torch.optim.Adam(maker.parameters())
    of_judge = torch.optim.Adam(judge.parameters())
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(3):
        for (x,) in loader:
            {clear}
            criterion(judge(x), torch.ones(len(x), 1)).backward()
            made = maker(torch.randn(len(x), 4))
            criterion(judge(made.detach()), torch.zeros(len(x), 1)).backward()
            of_judge.step()
            of_maker.zero_grad()
            criterion(judge(made), torch.ones(len(x), 1)).backward()
            of_maker.step()
"""


@pytest.mark.parametrize(
    "clear",
    [
        "of_judge.zero_grad()",
        "judge.zero_grad(set_to_none=False)",
        "[p.grad.zero_() for p in judge.parameters() if p.grad is not None]",
        "[setattr(p, 'grad', None) for p in judge.parameters()]",
    ],
)
def test_gradients_that_another_loss_leaves_are_cleared_in_time(
    tmp_path: Path, clear: str
) -> None:
    report = rehearsed(tmp_path, GAN.replace("{clear}", clear))
    assert [each.message for each in report.findings] == []


def test_a_judge_whose_gradients_pile_up_is_found(tmp_path: Path) -> None:
    report = rehearsed(tmp_path, GAN.replace("{clear}", "judge.train()"))
    (found,) = report.findings
    assert found.code == "gradients-not-cleared"
    assert found.span is not None
    assert found.span.line == 16


TWICE = """\
    import torch
    from torch import nn

    x, y = torch.randn(12, 6), torch.randn(12, 1)


    def fit(model, optimizer):
        for step in range(5):
            {before}
            nn.functional.mse_loss(model(x), y).backward()
            {after}
            optimizer.step()


    for _ in range(2):
        model = nn.Linear(6, 1)
        fit(model, torch.optim.Adam(model.parameters()))
"""


def test_an_optimizer_of_the_past_needs_no_clearing(tmp_path: Path) -> None:
    text = TWICE.format(before="optimizer.zero_grad()", after="pass")
    assert rehearsed(tmp_path, text).findings == ()


def test_clipping_clears_nothing(tmp_path: Path) -> None:
    clip = "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    report = rehearsed(tmp_path, TWICE.format(before="pass", after=clip))
    codes = {(each.code, each.span.line) for each in report.findings if each.span}
    assert codes == {("gradients-not-cleared", 10)}


LEAF = """\
    import torch

    x, y = torch.randn(12, 6), torch.randn(12, 1)
    w = torch.{make}(6, 1, requires_grad=True)
    optimizer = torch.optim.SGD([w], 0.1)
    for step in range(40):
        ((x @ w - y) ** 2).mean().backward()
        optimizer.step()
        {after}
        print("none" if w.grad is None else "some")
"""


@pytest.mark.parametrize("make", ["zeros", "randn"])
def test_a_leaf_of_known_values_has_gradients_that_pile_up(
    tmp_path: Path, make: str
) -> None:
    text = LEAF.format(make=make, after="pass")
    (found,) = rehearsed(tmp_path, text).findings
    assert found.code == "gradients-not-cleared"


@pytest.mark.parametrize("after", ["optimizer.zero_grad()", "w.grad = None"])
@pytest.mark.parametrize("make", ["zeros", "randn"])
def test_a_leaf_of_known_values_is_cleared(
    tmp_path: Path, make: str, after: str, capfd: pytest.CaptureFixture[str]
) -> None:
    text = LEAF.format(make=make, after=after)
    assert rehearsed(tmp_path, text).findings == ()
    assert set(capfd.readouterr().err.split()) == {"none"}


def test_a_block_that_is_computed_again_may_end_early(tmp_path: Path) -> None:
    """Recomputing ends with an exception of torch's, at the last tensor it needs."""
    report = rehearsed(
        tmp_path,
        """\
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        block = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 8))
        optimizer = torch.optim.SGD(block.parameters(), 0.1)
        for step in range(6):
            x = torch.randn(4, 8)
            with torch.autocast("cpu", torch.bfloat16):
                loss = checkpoint(block, x, use_reentrant=False).float().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    )
    assert report.findings == ()
    assert report.complete


def test_an_error_in_a_block_that_is_computed_again_is_told_once(
    tmp_path: Path,
) -> None:
    report = rehearsed(
        tmp_path,
        """\
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint

        block = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(16, 8))
        optimizer = torch.optim.SGD(block.parameters(), 0.1)
        for step in range(6):
            loss = checkpoint(block, torch.randn(4, 8), use_reentrant=False).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """,
    )
    assert [each.code for each in report.findings] == ["inner-dim-mismatch"]


TWO = """\
    import torch
    from torch import nn

    generator, critic = nn.Linear(4, 8), nn.Linear(8, 1)
    first = torch.optim.Adam(generator.parameters())
    second = torch.optim.Adam(critic.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(first, 2)
    for step in range(20):
        fake = generator(torch.randn(3, 4))
        second.zero_grad()
        critic(fake.detach()).mean().backward()
        second.step()
        {first}.zero_grad()
        critic(fake).mean().backward()
        {then}
        schedule.step()
    """


@pytest.mark.parametrize("first", ["first", "generator"])
def test_one_of_two_optimizers_never_steps(first: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, TWO.format(first=first, then="pass"))
    (found,) = report.findings
    assert found.code == "gradients-cleared-unused"
    assert "this `Adam` never steps" in found.message
    assert found.span is not None
    assert found.span.line == 13


@pytest.mark.parametrize("then", ["first.step()", "if step > 25: first.step()"])
def test_an_optimizer_whose_step_is_written_is_left_alone(
    then: str, tmp_path: Path
) -> None:
    text = TWO.format(first="first", then=then)
    text = "\n".join(line for line in text.split("\n") if "schedule" not in line)
    assert rehearsed(tmp_path, text).findings == ()


def test_the_mode_counts_in_which_a_model_was_called(tmp_path: Path) -> None:
    """`evaluate` puts the model back into training before the turn ends."""
    text = """\
        import torch
        from torch import nn
        from torch.utils.data import DataLoader, TensorDataset

        model = nn.Sequential(nn.Linear(8, 4), nn.Dropout())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        loaders = {
            name: DataLoader(TensorDataset(torch.randn(40, 8)), 8)
            for name in ("train", "valid", "test")
        }

        def evaluate(loader):
            model.eval()
            with torch.no_grad():
                for (x,) in loader:
                    model(x)
            model.train()

        for epoch in range(4):
            for (x,) in loaders["train"]:
                optimizer.zero_grad()
                model(x).mean().backward()
                optimizer.step()
            for name, loader in loaders.items():
                evaluate(loader)
        """
    assert rehearsed(tmp_path, text).findings == ()
    wrong = text.replace("            model.eval()\n", "")
    codes = [each.code for each in rehearsed(tmp_path, wrong).findings]
    assert codes == ["evaluated-in-training-mode"]


CURVED = """\
    import torch
    from torch import nn

    def estimate(parameters):
        return sum((p{read} ** 2).sum() for p in parameters)

    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(6):
        net(torch.randn(5, 4)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 2:
            net(torch.randn(5, 4)).abs().mean().backward()
            print(estimate(net.parameters()))
            optimizer.zero_grad()
    """


@pytest.mark.parametrize(("read", "is_told"), [(".grad", False), ("", True)])
def test_gradients_that_a_function_reads_are_used(
    read: str, is_told: bool, tmp_path: Path
) -> None:
    report = rehearsed(tmp_path, CURVED.format(read=read))
    codes = {found.code for found in report.findings if found.severity != "note"}
    assert codes == ({"gradients-cleared-unused"} if is_told else set())
