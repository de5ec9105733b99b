"""Terms of a loss without a graph, teachers with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearsing.rehearsed import rehearsed

pytestmark = pytest.mark.long

SCRIPT = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model, teacher = nn.Linear(4, 3), nn.Linear(4, 3)
parameters = [*model.parameters(), *teacher.parameters()]
optimizer = torch.optim.SGD(parameters, lr=0.1)
for step in range(2):
    x, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
    logits, limit = model(x), 0.5
    task = F.cross_entropy(logits, labels)
    teacher_logits = teacher(x)
    teacher_loss = F.cross_entropy(teacher_logits, labels)
    {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WITHOUT_GRAPH = {
    "a mask": "loss = task + 0.01 * (logits > limit).float().mean()",
    "an accuracy": "loss = task + (logits.argmax(1) != labels).float().mean()",
    "a count": (
        "wrong = torch.lt(logits.softmax(1).max(1).values, 0.5); "
        "penalty = wrong.float().sum() / 16; loss = task + 0.1 * penalty"
    ),
    "rounded": "loss = F.mse_loss(torch.round(logits.sigmoid()), x[:, :3])",
    "a rounded term": "loss = task + logits.sign().mean()",
    "a number": "part = logits.square().mean().item(); loss = task + 0.1 * part",
    "a number in place": "loss = task; loss += logits.square().mean().detach().item()",
    "a number at once": "loss = 0.5 * logits.square().mean().item() + task",
    "subtracted": "loss = task; loss = loss - 0.2 * (logits.abs() < 1).float().mean()",
}
QUIET = {
    "straight through": (
        "hard = logits + (logits.round() - logits).detach(); loss = hard.pow(2).mean()"
    ),
    "a function of its own": (
        "Round = type('Round', (torch.autograd.Function,), {"
        "'forward': staticmethod(lambda ctx, x: x.round()), "
        "'backward': staticmethod(lambda ctx, g: g)}); "
        "loss = (Round.apply(logits) - labels[:, None]).square().mean()"
    ),
    "written into": "rows = torch.zeros(16, 3).detach(); rows[:] = logits; "
    "loss = F.cross_entropy(rows, labels)",
    "written into decisions": "rows = logits.round(); rows[:, 0] = logits[:, 1]; "
    "loss = rows.square().mean()",
    "beside itself": "loss = (logits - logits.round()).pow(2).mean()",
    "a floor of the data": "loss = (logits - x[:, :3].floor()).pow(2).mean()",
    "relu": "loss = task + 0.01 * F.relu(logits - limit).mean()",
    "a masked term": "loss = task + (logits * (logits > limit).float()).mean()",
    "detached": "loss = task + (logits.detach() > limit).float().mean()",
    "a number of the data": "loss = task + x.square().mean().item()",
    "a number as a factor": "loss = logits.square().mean() / task.item() + task",
    "a number for the log": "loss = task; total = 0.0; total += task.item()",
    "a number of itself": "loss = logits.square().mean() + task; "
    "loss = loss + task.item()",
    "a number without a graph": "score = task.detach() * 2; "
    "loss = task + 0.0 * score.item()",
    "a constant": "loss = task + 0.1 * torch.tensor(3.0)",
    "of the data": "loss = task + (x > 0).float().mean()",
    "where": "loss = torch.where(logits > 0, logits, -logits).mean() + task",
    "printed": "loss = task; print((logits.argmax(1) == labels).float().mean().item())",
}
TRAINED = {
    "kl": (
        "loss = task + F.kl_div(logits.log_softmax(1), teacher_logits.softmax(1), "
        "reduction='batchmean') + teacher_loss"
    ),
    "by hand": (
        "teacher_probs = teacher_logits.softmax(1); "
        "kd = -(teacher_probs * logits.log_softmax(1)).sum(1).mean(); "
        "loss = task + kd + teacher_loss"
    ),
    "mse": "loss = task + F.mse_loss(logits, teacher_logits) + teacher_loss",
    "soft labels": (
        "loss = F.cross_entropy(logits, teacher_logits.softmax(1)) + teacher_loss"
    ),
}
FIXED = {
    "detached": "loss = task + F.mse_loss(logits, teacher_logits.detach())",
    "no grad": (
        "with torch.no_grad(): teacher_logits = teacher(x)\n"
        "    loss = task + F.mse_loss(logits, teacher_logits) + teacher_loss"
    ),
    "the teacher's own loss": "loss = task + teacher_loss",
    "no teacher by name": (
        "other = teacher_logits * 1; loss = task + F.mse_loss(logits, other)"
    ),
}


def codes(folder: Path, loss: str) -> list[str]:
    report = rehearsed(folder, SCRIPT.replace("{loss}", loss))
    assert report.complete
    return [each.code for each in report.findings if each.severity == "warning"]


@pytest.mark.parametrize("case", WITHOUT_GRAPH)
def test_a_term_without_a_graph_is_told(case: str, tmp_path: Path) -> None:
    assert codes(tmp_path, WITHOUT_GRAPH[case]).count("term-without-graph") == 1


@pytest.mark.parametrize("case", QUIET)
def test_a_term_with_a_graph_is_not_told(case: str, tmp_path: Path) -> None:
    assert "term-without-graph" not in codes(tmp_path, QUIET[case])


@pytest.mark.parametrize("case", TRAINED)
def test_a_teacher_with_a_graph_is_told(case: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, SCRIPT.replace("{loss}", TRAINED[case]))
    (finding,) = report.findings
    assert finding.code == "teacher-with-graph"
    assert finding.fixes[0].checked
    assert ".detach()" in finding.fixes[0].edits[0].text


@pytest.mark.parametrize("case", FIXED)
def test_a_teacher_without_a_graph_is_not_told(case: str, tmp_path: Path) -> None:
    assert "teacher-with-graph" not in codes(tmp_path, FIXED[case])


EINSUM = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.A = nn.Parameter(torch.randn(5, 5))

    def forward(self, x):
        return {call}

model = Net()
model({x}).sum().backward()
"""
DIAGONALS = {
    "batched": ("torch.einsum('dd,bcd->bcd', self.A, x)", "torch.randn(2, 3, 5)"),
    "last": ("torch.einsum('bi,ii->bi', x, self.A)", "torch.randn(2, 5)"),
    "summed": ("torch.einsum('bi,ii->b', x, self.A)", "torch.randn(2, 5)"),
}
PLAIN = {
    "product": ("torch.einsum('dk,bk->bd', self.A, x)", "torch.randn(2, 5)"),
    "diagonal": ("x * torch.einsum('ii->i', self.A)", "torch.randn(2, 5)"),
    "trace": ("x * torch.einsum('ii', self.A)", "torch.randn(2, 5)"),
    "of data": ("torch.einsum('bii,b->bi', x, self.A[0, :2])", "torch.randn(2, 5, 5)"),
}


@pytest.mark.parametrize("case", DIAGONALS)
def test_a_product_with_a_diagonal_is_told(case: str, tmp_path: Path) -> None:
    call, x = DIAGONALS[case]
    report = rehearsed(tmp_path, EINSUM.format(call=call, x=x))
    (finding,) = report.findings
    assert finding.code == "diagonal-only"
    assert "`Net.A` (5, 5)" in finding.message or "`A` (5, 5)" in finding.message


@pytest.mark.parametrize("case", PLAIN)
def test_other_equations_are_not_told(case: str, tmp_path: Path) -> None:
    call, x = PLAIN[case]
    assert rehearsed(tmp_path, EINSUM.format(call=call, x=x)).findings == ()


def test_models_made_on_one_line_share_a_finding(tmp_path: Path) -> None:
    text = """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for client in range(3):
            criterion = nn.CrossEntropyLoss()
            optimizer.zero_grad()
            criterion(net(torch.randn(5, 4)), torch.randint(0, 3, (5,))).backward()
            optimizer.step()
    """
    (finding,) = rehearsed(tmp_path, text).findings
    assert finding.code == "loss-input"
    assert finding.count == 3


NUMBERS = """\
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
model = nn.Linear(4, 3)
allowed = {{0: [0, 1], 1: [1], 2: [0, 2]}}

def penalty(chosen, labels):
    wrong = [chosen[i].item() not in allowed[labels[i].item()] for i in range(16)]
    return {made}

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for step in range(3):
    x, labels = torch.randn(16, 4), torch.randint(0, 3, (16,))
    logits = model(x)
    loss = F.cross_entropy(logits, labels) {term}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item() + (logits.argmax(1) == labels).float().mean().item()
print(total)
"""


@pytest.mark.parametrize("made", ["torch.FloatTensor(wrong)", "torch.tensor(wrong)"])
def test_a_term_of_numbers_that_were_read_is_told(made: str, tmp_path: Path) -> None:
    term = "+ 0.5 * penalty(logits.argmax(1), labels).float().pow(2).mean()"
    report = rehearsed(tmp_path, NUMBERS.format(made=made, term=term))
    assert "term-without-graph" in [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    "term",
    [
        "",
        "+ torch.tensor(0.5)",
        "+ 0.1 * torch.FloatTensor([0.5]).mean()",
        "* torch.tensor(0.5)",
    ],
)
def test_other_numbers_in_a_loss_are_not_told(term: str, tmp_path: Path) -> None:
    report = rehearsed(tmp_path, NUMBERS.format(made="wrong", term=term))
    assert report.findings == ()
