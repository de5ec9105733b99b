"""Re-implementation in PyTorch of my old Keras model for wearable gestures."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
N_CLASSES, CHANNELS, STEPS = 5, 6, 64


def make_recordings(n_per_subject, subjects):
    xs, ys = [], []
    t = torch.linspace(0, 1, STEPS)
    for s in subjects:
        gen = torch.Generator().manual_seed(s)
        offset = 0.3 * torch.randn(CHANNELS, 1, generator=gen)
        for _ in range(n_per_subject):
            gain = torch.exp(0.9 * torch.randn(1, generator=gen))
            y = int(torch.randint(N_CLASSES, (1,), generator=gen))
            phase = torch.rand(CHANNELS, 1, generator=gen)
            wave = torch.sin(2 * torch.pi * ((y + 2) * t + phase))
            noise = 0.4 * torch.randn(CHANNELS, STEPS, generator=gen)
            xs.append(gain * (wave + noise) + offset)
            ys.append(y)
    return torch.stack(xs), torch.tensor(ys)


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 5, padding=2, bias=False)
        self.bn = nn.BatchNorm1d(c_out, momentum=0.99, eps=1e-3)
        self.act = nn.ReLU()
        self.pool = nn.MaxPool1d(2)

    def forward(self, x):
        return self.pool(self.act(self.bn(self.conv(x))))


class GestureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(ConvBlock(CHANNELS, 16), ConvBlock(16, 32), ConvBlock(32, 32))
        self.head = nn.Linear(32, N_CLASSES)

    def forward(self, x):
        return self.head(self.blocks(x).mean(dim=-1))


X_train, y_train = make_recordings(40, subjects=range(0, 20))
X_test, y_test = make_recordings(40, subjects=range(100, 112))
train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=8, shuffle=True)
test_loader = DataLoader(TensorDataset(X_test, y_test), batch_size=80)

model = GestureNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(1, 11):
    model.train()
    loss_sum, right = 0.0, 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
        right += (out.argmax(1) == y).sum().item()

    model.eval()
    test_loss, test_right = 0.0, 0
    with torch.no_grad():
        for x, y in test_loader:
            out = model(x)
            test_loss += criterion(out, y).item() * len(y)
            test_right += (out.argmax(1) == y).sum().item()
    print(
        f"epoch {epoch:2d} | loss {loss_sum / len(y_train):.3f} acc {right / len(y_train):.3f}"
        f" | test loss {test_loss / len(y_test):.3f} acc {test_right / len(y_test):.3f}"
    )
