"""States kept with their graph as an attribute; the order of two optimizers' steps."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

KEPT = """\
import torch
from torch import nn
class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out, self.kept = nn.{cell}(4, 8), nn.Linear(8, 1), None
    def forward(self, x):
        {start}
        for step in x.unbind(1):
            {update}
        self.kept = {last}
        return self.out({read})
net = Memory()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    loss = net(torch.randn(3, 5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
STATES = {
    "a tensor": (
        {
            "cell": "GRUCell", "update": "h = self.cell(step, h)", "last": "h",
            "start": "h = torch.zeros(3, 8) if self.kept is None else self.kept",
            "read": "h",
        },
        "`self.kept = h.detach()`",
    ),
    "a pair": (
        {
            "cell": "LSTMCell", "update": "h = self.cell(step, h)", "last": "h",
            "start": "h = self.kept", "read": "h[0]",
        },
        "`self.kept = tuple(each.detach() for each in h)`",
    ),
}  # fmt: skip

LOSSES = """\
import torch
from torch import nn
actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
a_opt = torch.optim.Adam(actor.parameters())
c_opt = torch.optim.Adam(critic.parameters())
for _ in range(3):
    s = torch.randn(8, 4)
    act = torch.tanh(actor(s))
    actor_loss = -critic(torch.cat([s, act], 1)).mean()
    value = critic(torch.cat([s, torch.rand(8, 2)], 1))
    critic_loss = (value - torch.randn(8, 1)).pow(2).mean()
"""
ORDERS = {
    "the critic first": (
        "c_opt.zero_grad()\ncritic_loss.backward()\nc_opt.step()\n"
        "a_opt.zero_grad()\nactor_loss.backward()\na_opt.step()\n",
        "`actor_loss.backward()` and `a_opt.step()` before `c_opt.zero_grad()`",
    ),
    "gradients that would be mixed": (
        "critic_loss.backward()\nc_opt.step()\n"
        "actor_loss.backward()\na_opt.step()\nc_opt.zero_grad()\na_opt.zero_grad()\n",
        None,
    ),
}


def get_fixes(folder: Path, text: str) -> list[str]:
    """The fixes that were checked of the only error of a script."""
    report = rehearsed(folder, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    return [fix.message for fix in finding.fixes if fix.checked]


@pytest.mark.parametrize("case", STATES)
def test_the_state_is_kept_without_its_graph(case: str, tmp_path: Path) -> None:
    words, wanted = STATES[case]
    assert get_fixes(tmp_path, KEPT.format(**words))[0] == wanted


@pytest.mark.parametrize("case", ORDERS)
def test_a_loss_goes_backward_before_its_weights_change(
    case: str, tmp_path: Path
) -> None:
    steps, wanted = ORDERS[case]
    fixes = get_fixes(tmp_path, LOSSES + indent(steps, "    "))
    if wanted is not None:
        assert fixes == [wanted]
    assert wanted is not None or all("before" not in message for message in fixes)


TWICE = """\
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
def climb():
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.01 * p.grad)
for _ in range(3):
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    out = net(x)
    loss = criterion(out, y)
    loss.backward()
"""
SECOND_PASSES = {
    "in one statement": (
        "climb()\nopt.zero_grad()\ncriterion(out, y).backward()\nopt.step()\n",
        "`criterion(net(x), y).backward()`",
    ),
    "a loss of its own": (
        "climb()\nopt.zero_grad()\nsecond = criterion(out, y)\nsecond.backward()\n"
        "opt.step()\n",
        "`criterion(net(x), y)`",
    ),
    "after a step": (
        "opt.step()\nopt.zero_grad()\n(0.5 * criterion(out, y)).backward()\n",
        "`(0.5 * criterion(net(x), y)).backward()`",
    ),
    "of other data": (
        "climb()\nx = x + 1\ncriterion(out, y).backward()\nopt.step()\n",
        None,
    ),
}


@pytest.mark.parametrize("case", SECOND_PASSES)
def test_a_second_pass_at_other_weights_is_a_new_one(case: str, tmp_path: Path) -> None:
    lines, fix = SECOND_PASSES[case]
    fixes = get_fixes(tmp_path, TWICE + indent(lines, "    "))
    assert fixes[0] == fix if fix else not any("net(x)" in other for other in fixes)


CARRIED = """\
import torch
from torch import nn
body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
head = nn.Linear(8, 2)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(1, 4)
state = body(x)
for _ in range(4):
    logits = head(state)
    {before}
    loss = logits.logsumexp(1).mean() + body(x).pow(2).mean()
    {above}
    opt.zero_grad()
    loss.backward()
    opt.step()
    {below}
"""
MAKER = "state = body(x)"


@pytest.mark.parametrize("after", ["pass", "x = torch.randn(1, 4)"])
def test_what_the_next_turn_reads_is_made_behind_the_step(
    after: str, tmp_path: Path
) -> None:
    text = CARRIED.format(before="pass", above=MAKER, below=after)
    report = rehearsed(tmp_path, text)
    (finding,) = (f for f in report.findings if f.severity == "error")
    assert any("for the next turn" in place.message for place in finding.related)
    assert finding.fixes[0].message == f"`{MAKER}` after `opt.step()`"
    assert finding.fixes[0].checked


@pytest.mark.parametrize(
    ("before", "above"),
    [("pass", f"{MAKER}; opt.param_groups[0]['lr'] = 0.1 * state.shape[0]"),
     ("x = x + 1", f"{MAKER}; x = torch.randn(1, 4)")],
)  # fmt: skip
def test_what_is_read_before_the_step_stays(
    before: str, above: str, tmp_path: Path
) -> None:
    text = CARRIED.format(before=before, above=above, below="pass")
    assert not any("after" in fix for fix in get_fixes(tmp_path, text))


def test_what_is_made_behind_the_step_is_right(tmp_path: Path) -> None:
    text = CARRIED.format(before="pass", above="pass", below=MAKER)
    report = rehearsed(tmp_path, text)
    assert [f for f in report.findings if f.severity == "error"] == []
