import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

N_CHANNELS = 6
WINDOW = 64
POSTURES = ["standing", "lying_back", "lying_side"]


def synth_sensors(n, seed):
    """Accelerometer and gyroscope windows of shape (n, WINDOW, N_CHANNELS)."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, len(POSTURES), (n,), generator=g)
    t = torch.arange(WINDOW) / 50.0
    freq = 0.2 + 0.6 * torch.rand(n, N_CHANNELS, generator=g)
    phase = torch.rand(n, N_CHANNELS, generator=g) * 6.28
    x = 0.5 * torch.sin(6.28 * freq[:, None, :] * t[None, :, None] + phase[:, None, :])
    x[torch.arange(n), :, y] += 1.0
    return x + 0.5 * torch.randn(n, WINDOW, N_CHANNELS, generator=g), y


class PostureCNN(nn.Module):
    def __init__(self, n_channels, n_classes):
        super().__init__()
        self.conv1 = nn.Conv1d(n_channels, 16, kernel_size=7, padding=3)
        self.conv2 = nn.Conv1d(16, 32, kernel_size=5, padding=2)
        self.bn1 = nn.BatchNorm1d(16)
        self.bn2 = nn.BatchNorm1d(32)
        self.fc = nn.Linear(32, n_classes)

    def forward(self, x):
        x = x.permute(0, 2, 1)
        x = F.max_pool1d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean(dim=2))


def train(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def test(model, loader):
    model.eval()
    correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


torch.manual_seed(0)
train_loader = DataLoader(TensorDataset(*synth_sensors(600, 0)), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(*synth_sensors(300, 1)), batch_size=100)
model = PostureCNN(N_CHANNELS, len(POSTURES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    loss = train(model, train_loader, optimizer)
    print(f"epoch {epoch}: loss {loss:.3f}, test acc {test(model, test_loader):.3f}")
