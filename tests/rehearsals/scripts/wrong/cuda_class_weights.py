"""Find the rare fault among machine parts; the loss weighs classes."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

DEVICE = "cuda:0" if torch.cuda.is_available() else "cpu"


def parts(count, rng):
    fault = (rng.random(count) < 0.15).astype(np.int64)
    signal = rng.normal(0, 1, (count, 6, 50)) + fault[:, None, None] * 0.7
    return signal.astype(np.float32), fault


rng = np.random.default_rng(12)
signals, faults = parts(100, rng)
counts = np.bincount(faults, minlength=2)
class_weights = torch.tensor(counts.sum() / (2 * counts), dtype=torch.float)

train_loader = DataLoader(TensorDataset(torch.from_numpy(signals), torch.from_numpy(faults)),
                          batch_size=20, shuffle=True)

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv1d(6, 16, 5), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(4),
    nn.Flatten(), nn.Linear(16 * 11, 2)).to(DEVICE)
criterion = nn.CrossEntropyLoss(weight=class_weights)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(3):
    model.train()
    total = 0.0
    for signal, fault in train_loader:
        signal = signal.to(DEVICE, non_blocking=True)
        fault = fault.to(DEVICE, non_blocking=True)
        logits = model(signal)
        loss = criterion(logits, fault)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()

    model.eval()
    with torch.no_grad():
        signal, fault = (torch.from_numpy(a).to(DEVICE) for a in parts(30, rng))
        found = model(signal).argmax(1)
        recall = ((found == 1) & (fault == 1)).sum() / fault.sum().clamp(min=1)
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f} recall {recall.item():.3f}")
