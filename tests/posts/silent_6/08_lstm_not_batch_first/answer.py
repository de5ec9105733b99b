import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SensorGenerator:
    """Three-channel recordings with an early burst on one of the channels."""

    def __init__(self, steps=20, channels=3, noise=0.4):
        self.steps = steps
        self.channels = channels
        self.noise = noise

    def make(self, n):
        x = self.noise * torch.randn(n, self.steps, self.channels)
        y = torch.randint(0, self.channels, (n,))
        start = torch.randint(3, 9, (n,))
        for i in range(n):
            s = start[i].item()
            x[i, s:s + 5, y[i]] += 1.8
        return x, y


class BurstClassifier(nn.Module):
    def __init__(self, channels, hidden, classes):
        super().__init__()
        self.rnn = nn.LSTM(channels, hidden, num_layers=1, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


class Experiment:
    def __init__(self, hidden=32, lr=1e-2, batch_size=40):
        source = SensorGenerator()
        x, y = source.make(1200)
        self.test_x, self.test_y = source.make(300)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=True)
        self.model = BurstClassifier(source.channels, hidden, source.channels)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)

    def step(self, x, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        return loss.item()

    def test(self):
        self.model.eval()
        with torch.no_grad():
            pred = self.model(self.test_x).argmax(dim=1)
        self.model.train()
        return (pred == self.test_y).float().mean().item()

    def fit(self, epochs):
        for epoch in range(epochs):
            losses = [self.step(x, y) for x, y in self.loader]
            mean = sum(losses) / len(losses)
            print(f"epoch {epoch + 1:2d} | loss {mean:.4f} | test acc {self.test():.3f}")


torch.manual_seed(2)
Experiment().fit(epochs=12)
