import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

SEQ_LEN, N_SENSORS, N_CLASSES = 40, 6, 3


def make_recordings(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, N_CLASSES, (n,), generator=g)
    t = torch.arange(SEQ_LEN).float().view(1, -1, 1)
    freq = (0.15 + 0.2 * y.float()).view(-1, 1, 1)
    phase = 6.28 * torch.rand(n, 1, N_SENSORS, generator=g)
    x = torch.sin(freq * t + phase) + 0.3 * torch.randn(n, SEQ_LEN, N_SENSORS, generator=g)
    return TensorDataset(x, y)


class ActivityLSTM(nn.Module):
    def __init__(self, input_size, hidden_size, num_layers, num_classes):
        super().__init__()
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(input_size, hidden_size, num_layers, dropout=0.1)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        out, (h_n, c_n) = self.lstm(x)
        last = out[:, -1, :]
        return self.fc(last)


class Trainer:
    def __init__(self, model, train_set, test_set, batch_size=32, lr=3e-3):
        self.model = model
        self.train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.test_loader = DataLoader(test_set, batch_size=batch_size)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def test(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.test_loader)
        return hits / len(self.test_loader.dataset)

    def run(self, epochs):
        for epoch in range(1, epochs + 1):
            loss = self.train_epoch()
            print(f"epoch {epoch:02d} loss {loss:.4f} test acc {self.test():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    model = ActivityLSTM(N_SENSORS, 48, 2, N_CLASSES)
    Trainer(model, make_recordings(640, 1), make_recordings(160, 2)).run(epochs=8)
