# heart rate from wrist PPG, 1D CNN (course project, group 4)
import math
import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader, random_split

torch.manual_seed(0)
FS = 32          # Hz
WIN = 8 * FS     # 8 second windows


class PPGWindows(Dataset):
    """Made-up PPG windows until the real recordings have been cleaned."""

    def __init__(self, n):
        g = torch.Generator().manual_seed(3)
        self.bpm = 50 + 100 * torch.rand(n, generator=g)
        t = torch.arange(WIN) / FS
        phase = 2 * math.pi * torch.rand(n, 1, generator=g)
        wave = torch.sin(2 * math.pi * self.bpm[:, None] / 60 * t + phase)
        self.x = (wave + 0.2 * torch.randn(n, WIN, generator=g)).unsqueeze(1)

    def __len__(self):
        return len(self.bpm)

    def __getitem__(self, i):
        return self.x[i], (self.bpm[i] - 100.0) / 30.0


class HRNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 15, padding=7), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 9, padding=4), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4),
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(32 * WIN // 8, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.fc(self.conv(x)).squeeze(1)


data = PPGWindows(800)
train_set, val_set = random_split(data, [640, 160], generator=torch.Generator().manual_seed(0))
train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
val_dl = DataLoader(val_set, batch_size=64)

model = HRNet()
loss_fn = nn.MSELoss()
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

for epoch in range(6):
    model.train()
    train_loss = 0.0
    for xb, yb in train_dl:
        opt.zero_grad
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        train_loss += loss.item() * len(xb)

    model.eval()
    abs_err = 0.0
    with torch.no_grad():
        for xb, yb in val_dl:
            abs_err += (model(xb) - yb).abs().sum().item() * 30.0
    print(f'epoch {epoch + 1}: train mse {train_loss / len(train_set):.3f}   val MAE {abs_err / len(val_set):.1f} bpm')
