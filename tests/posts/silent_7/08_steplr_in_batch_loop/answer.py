import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

RHYTHMS = ["sinus", "flutter", "ectopic", "pause"]


def simulate_ecg(n, length=120, seed=0):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 4, length)
    y = torch.randint(0, len(RHYTHMS), (n,), generator=g)
    x = torch.empty(n, 1, length)
    for i, k in enumerate(y.tolist()):
        phase = torch.rand(1, generator=g) * 2 * math.pi
        wave = torch.sin(2 * math.pi * 2 * t + phase)
        if k == 1:
            wave = wave + 0.4 * torch.sin(2 * math.pi * 6 * t)
        elif k == 2:
            beat = int(torch.randint(10, length - 10, (1,), generator=g))
            wave[beat:beat + 5] += 1.0
        elif k == 3:
            gap = int(torch.randint(0, length - 25, (1,), generator=g))
            wave[gap:gap + 20] *= 0.3
        x[i, 0] = wave
    return x + 0.15 * torch.randn(x.shape, generator=g), y


class RhythmNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()

        def block(c_in, c_out):
            return nn.Sequential(nn.Conv1d(c_in, c_out, 7, padding=3), nn.BatchNorm1d(c_out), nn.ReLU(), nn.MaxPool1d(2))

        self.body = nn.Sequential(block(1, width), block(width, width), block(width, width))
        self.head = nn.Linear(2 * width, len(RHYTHMS))

    def forward(self, x):
        z = self.body(x)
        return self.head(torch.cat([z.mean(-1), z.amax(-1)], dim=1))


def run_epoch(model, loader, criterion, optimizer, scheduler):
    model.train()
    running, correct = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
        correct += (logits.argmax(1) == y).sum().item()
    scheduler.step()
    n = len(loader.dataset)
    return running / n, correct / n


@torch.no_grad()
def test(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(*simulate_ecg(1200, seed=0)), batch_size=32, shuffle=True)
test_x, test_y = simulate_ecg(500, seed=1)

model = RhythmNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)

for epoch in range(15):
    loss, acc = run_epoch(model, train_loader, criterion, optimizer, scheduler)
    print(f"epoch {epoch + 1:2d}  loss {loss:.4f}  train {acc:.3f}  test {test(model, test_x, test_y):.3f}")
