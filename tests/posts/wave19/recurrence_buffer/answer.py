"""Fit the gain and the leak of a first order recurrence to recorded traces."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

STEPS = 24


def simulate(gain, bias, drive):
    f = np.zeros((len(drive), STEPS), dtype=np.float32)
    f[:, 0] = 0.5
    for n in range(1, STEPS):
        f[:, n] = 1 / (1 + np.exp(-(gain * f[:, n - 1] + drive[:, n] + bias)))
    return f


class Traces(Dataset):
    def __init__(self, count, seed):
        rng = np.random.default_rng(seed)
        self.drive = rng.normal(0, 0.5, (count, STEPS)).astype(np.float32)
        clean = simulate(2.2, -1.1, self.drive)
        self.trace = (clean + rng.normal(0, 0.01, clean.shape)).astype(np.float32)

    def __len__(self):
        return len(self.trace)

    def __getitem__(self, i):
        return torch.from_numpy(self.drive[i]), torch.from_numpy(self.trace[i])


class SigmoidRecurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, drive):
        batch, steps = drive.shape
        state = torch.full((batch,), 0.5)
        f = [state]
        for n in range(1, steps):
            state = state * self.gain + drive[:, n] + self.bias
            state = 1 / (1 + torch.exp(-state))
            f.append(state)
        return torch.stack(f, dim=1)


def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for drive, trace in loader:
            total += criterion(model(drive), trace).item() * len(trace)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Traces(256, seed=0), batch_size=32, shuffle=True)
    test_loader = DataLoader(Traces(64, seed=1), batch_size=64)
    model = SigmoidRecurrence()
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

    for epoch in range(8):
        model.train()
        for drive, trace in train_loader:
            pred = model(drive)
            loss = criterion(pred, trace)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: test mse {evaluate(model, test_loader, criterion):.5f} "
              f"gain {model.gain.item():.3f} bias {model.bias.item():.3f}")


if __name__ == "__main__":
    main()
