import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PreActBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.relu = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        identity = x
        out = self.relu(x)
        out = self.conv1(out)
        out = self.bn(out)
        out = self.relu(out)
        out = self.conv2(out)
        return out + identity


class DenoiseNet(nn.Module):
    """Predicts the noise of a noisy patch (DnCNN style)."""

    def __init__(self, channels=16, n_blocks=3):
        super().__init__()
        self.head = nn.Conv2d(1, channels, 3, padding=1)
        self.body = nn.Sequential(*[PreActBlock(channels) for _ in range(n_blocks)])
        self.tail = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, x):
        return self.tail(self.body(self.head(x)))


torch.manual_seed(0)
yy, xx = torch.meshgrid(torch.linspace(0, 3, 24), torch.linspace(0, 3, 24), indexing="ij")
phase = torch.rand(128, 1, 1, 1) * 6
clean = torch.sin(xx + phase) * torch.cos(yy - phase)
noise = 0.2 * torch.randn_like(clean)
loader = DataLoader(TensorDataset(clean + noise, noise), batch_size=16, shuffle=True)

model = DenoiseNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    model.train()
    total = 0.0
    for noisy, target in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(noisy), target)
        loss.backward()
        optimizer.step()
        total += loss.item() * noisy.size(0)
    print(f"epoch {epoch}: {total / len(loader.dataset):.5f}")
