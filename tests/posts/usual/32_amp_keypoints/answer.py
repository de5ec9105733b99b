import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
N_POINTS = 5
device = "cuda" if torch.cuda.is_available() else "cpu"
amp_dtype = torch.float16 if device == "cuda" else torch.bfloat16


class KeypointNet(nn.Module):
    def __init__(self, n_points):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(64 * 16, 64), nn.ReLU(), nn.Linear(64, n_points * 2))

    def forward(self, x):
        return self.head(self.features(x))


def to_numpy(t):
    return t.detach().float().cpu().numpy()


def mean_distance(pred, true):
    pred = pred.reshape(-1, N_POINTS, 2)
    true = true.reshape(-1, N_POINTS, 2)
    return np.linalg.norm(pred - true, axis=-1).mean()


faces = torch.rand(160, 1, 64, 64)
points = torch.rand(160, N_POINTS * 2)
train_loader = DataLoader(TensorDataset(faces[:128], points[:128]), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(faces[128:], points[128:]), batch_size=32)

model = KeypointNet(N_POINTS).to(device)
criterion = nn.SmoothL1Loss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler(device, enabled=device == "cuda")

for epoch in range(2):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        with torch.autocast(device_type=device, dtype=amp_dtype):
            out = model(x)
            loss = criterion(out, y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()

    model.eval()
    preds, trues = [], []
    with torch.no_grad(), torch.autocast(device_type=device, dtype=amp_dtype):
        for x, y in val_loader:
            out = model(x.to(device))
            preds.append(to_numpy(out))
            trues.append(to_numpy(y))
    dist = mean_distance(np.concatenate(preds), np.concatenate(trues))
    print(f"epoch {epoch} loss {loss.item():.4f} mean distance {dist:.4f}")
