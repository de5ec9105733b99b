import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from dataclasses import dataclass


@dataclass
class Config:
    micro_batch: int = 4
    accum_steps: int = 8
    epochs: int = 3
    lr: float = 3e-3


class ConvNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.GroupNorm(3, 12), nn.SiLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.GroupNorm(4, 24), nn.SiLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.head = nn.Linear(24 * 4, classes)

    def forward(self, x):
        return self.head(self.body(x))


cfg = Config()
torch.manual_seed(42)
labels = torch.randint(0, 4, (256,))
images = torch.randn(256, 1, 20, 20) * 0.5
for i, lab in enumerate(labels.tolist()):
    r, c = divmod(lab, 2)
    images[i, 0, 10 * r:10 * r + 10, 10 * c:10 * c + 10] += 1.0
loader = DataLoader(TensorDataset(images, labels), batch_size=cfg.micro_batch, shuffle=True)

model = ConvNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)

for epoch in range(cfg.epochs):
    running = 0.0
    optimizer.zero_grad()
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / cfg.accum_steps
        loss.backward()
        running += loss.item() * cfg.accum_steps
        if (step + 1) % cfg.accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: {running / len(loader):.4f}")
