import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, Dataset


class SineWindows(Dataset):
    """Predict the next value of a noisy sine from the last `window` values."""

    def __init__(self, length=600, window=24):
        t = torch.arange(length, dtype=torch.float32)
        self.series = torch.sin(t * 0.2) + 0.05 * torch.randn(length)
        self.window = window

    def __len__(self):
        return len(self.series) - self.window

    def __getitem__(self, i):
        x = self.series[i:i + self.window].unsqueeze(-1)
        y = self.series[i + self.window].unsqueeze(-1)
        return x, y


class GRUForecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.head(h[-1])


def main():
    torch.manual_seed(0)
    loader = DataLoader(SineWindows(), batch_size=48, shuffle=True)
    model = GRUForecaster()
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
    max_norm = 0.25

    for epoch in range(5):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: mse {total / len(loader):.5f}")


if __name__ == "__main__":
    main()
