import json
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Args:
    teacher_epochs: int = 3
    student_epochs: int = 4
    batch: int = 32
    T: float = 2.0
    beta: float = 0.1
    log: str = 'history.json'


def chirps(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    t = torch.linspace(0, 1, 64)
    f = (4 + 3 * y.float())[:, None]
    x = torch.sin(6.283 * (f * t + 4 * t ** 2) + torch.rand(n, 1, generator=g) * 6.283)
    return TensorDataset((x + 0.7 * torch.randn(n, 64, generator=g)).unsqueeze(1), y)


class ConvNet(nn.Module):
    def __init__(self, width, dropout=0.0):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, width, 9, stride=2, padding=4), nn.BatchNorm1d(width), nn.ReLU())
        self.body = nn.Sequential(nn.Conv1d(width, width, 5, stride=2, padding=2), nn.BatchNorm1d(width), nn.ReLU())
        self.head = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(width, 4))

    def forward(self, x):
        return self.head(self.body(self.stem(x)))


class FeatureTap:
    def __init__(self, module):
        self.value = None
        self.handle = module.register_forward_hook(self._keep)

    def _keep(self, module, inputs, output):
        self.value = output

    def close(self):
        self.handle.remove()
        self.value = None


def run_epoch(model, loader, step):
    model.train()
    total, n, start = 0.0, 0, time.perf_counter()
    for x, y in loader:
        total += step(x, y) * len(y)
        n += len(y)
    return total / n, time.perf_counter() - start


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def main(args=Args()):
    torch.manual_seed(0)
    train, test = DataLoader(chirps(300, 0), args.batch, shuffle=True), DataLoader(chirps(80, 1), args.batch)
    history = {'teacher': [], 'student': []}
    teacher, student = ConvNet(24, 0.2), ConvNet(8)

    opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)

    def teach(x, y):
        opt.zero_grad()
        loss = F.cross_entropy(teacher(x), y)
        loss.backward()
        opt.step()
        return loss.item()

    for epoch in range(args.teacher_epochs):
        loss, seconds = run_epoch(teacher, train, teach)
        history['teacher'].append({'loss': loss, 'acc': accuracy(teacher, test), 's': round(seconds, 3)})
        print('teacher', epoch, history['teacher'][-1])

    teacher.eval().requires_grad_(False)
    adapter = nn.Conv1d(8, 24, 1)
    taps = FeatureTap(teacher.body), FeatureTap(student.body)
    opt = torch.optim.Adam([*student.parameters(), *adapter.parameters()], lr=5e-3)

    def distill(x, y):
        with torch.no_grad():
            t_logits = teacher(x)
        s_logits = student(x)
        soft = F.kl_div(F.log_softmax(s_logits / args.T, 1), F.log_softmax(t_logits / args.T, 1),
                        log_target=True, reduction='batchmean') * args.T ** 2
        hint = F.mse_loss(adapter(taps[1].value), taps[0].value)
        loss = soft + args.beta * hint + 0.3 * F.cross_entropy(s_logits, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        return loss.item()

    for epoch in range(args.student_epochs):
        loss, seconds = run_epoch(student, train, distill)
        history['student'].append({'loss': loss, 'acc': accuracy(student, test), 's': round(seconds, 3)})
        print('student', epoch, history['student'][-1])
    for tap in taps:
        tap.close()
    with open(args.log, 'w') as f:
        json.dump(history, f)


if __name__ == '__main__':
    main()
