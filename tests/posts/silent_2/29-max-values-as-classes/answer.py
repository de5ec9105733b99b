import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Waveforms(Dataset):
    CLASSES = ("sine", "square", "saw")

    def __init__(self, count):
        self.count = count
        t = torch.linspace(0, 4, 100)
        self.y = torch.randint(0, 3, (count,))
        phase = torch.rand(count, 1) * 6.28
        s = torch.sin(6.28 * t + phase)
        saw = ((t + phase) % 1.0) * 2 - 1
        bank = torch.stack([s, s.sign(), saw], dim=1)
        self.x = bank[torch.arange(count), self.y].unsqueeze(1) + 0.1 * torch.randn(count, 1, 100)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class WaveNetlet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2), nn.ReLU(),
            nn.AdaptiveMaxPool1d(1), nn.Flatten(),
            nn.Linear(32, 3),
        )

    def forward(self, x):
        return self.net(x)


def evaluate(model, loader, criterion, device):
    model.eval()
    loss_total, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            outputs = model(x)
            loss_total += criterion(outputs, y).item() * len(y)
            _, predicted = torch.max(outputs, 1)
            correct += (predicted == y).sum().item()
    return loss_total / len(loader.dataset), correct / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(Waveforms(480), batch_size=32, shuffle=True)
    val_loader = DataLoader(Waveforms(120), batch_size=32)
    model = WaveNetlet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = -1.0
    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            optimizer.step()
        val_loss, val_acc = evaluate(model, val_loader, criterion, device)
        best = max(best, val_acc)
        print(f"epoch {epoch}: val loss {val_loss:.4f}, val acc {val_acc:.4f}, best {best:.4f}")
