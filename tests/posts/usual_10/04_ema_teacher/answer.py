import copy

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class ConvEncoder(nn.Module):
    def __init__(self, n_classes=10):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 7, stride=2, padding=3)
        self.conv2 = nn.Conv1d(16, 32, 5, stride=2, padding=2)
        self.head = nn.Linear(32, n_classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.head(x.mean(-1))


class MeanTeacher:
    """Student / EMA-teacher pair for semi-supervised training."""

    def __init__(self, student, decay=0.99):
        self.student = student
        self.teacher = copy.deepcopy(student)
        self.teacher.eval()
        self.decay = decay

    @torch.no_grad()
    def update(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.mul_(self.decay).add_(s.detach(), alpha=1 - self.decay)

    def consistency(self, x_student, x_teacher):
        with torch.no_grad():
            target = F.softmax(self.teacher(x_teacher), dim=1)
        return F.mse_loss(F.softmax(self.student(x_student), dim=1), target)


def jitter(x, sigma=0.05):
    return x + sigma * torch.randn_like(x)


def make_signals(n, rng):
    t = np.linspace(0, 1, 128)
    y = rng.integers(0, 10, n)
    phase = rng.uniform(0, 2 * np.pi, (n, 1))
    x = np.sin(2 * np.pi * (y[:, None] + 1) * t[None] + phase) + 0.2 * rng.normal(size=(n, 128))
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y)


def main():
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    xl, yl = make_signals(100, rng)
    xu, _ = make_signals(600, rng)
    xv, yv = make_signals(200, rng)

    student = ConvEncoder()
    mt = MeanTeacher(student)
    opt = torch.optim.Adam(student.parameters(), lr=2e-3)

    for step in range(200):
        bl = torch.randint(0, len(xl), (32,))
        bu = torch.randint(0, len(xu), (64,))
        sup = F.cross_entropy(student(jitter(xl[bl])), yl[bl])
        w = min(1.0, step / 100)
        cons = mt.consistency(jitter(xu[bu]), jitter(xu[bu]))
        loss = sup + 5.0 * w * cons
        opt.zero_grad()
        loss.backward()
        opt.step()
        mt.update()
        if step % 50 == 0:
            with torch.no_grad():
                acc = (mt.teacher(xv).argmax(1) == yv).float().mean()
            print(f"{step:4d} sup {sup.item():.3f} cons {cons.item():.4f} teacher acc {acc:.3f}")


main()
