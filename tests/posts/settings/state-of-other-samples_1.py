# line 19: the module keeps the LSTM state from one shuffled batch to the next one of other machines
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class VibrationNet(nn.Module):
    def __init__(self, sensors=4, hidden=20):
        super().__init__()
        self.lstm = nn.LSTM(sensors, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, 1)
        self.memory = None

    def reset(self):
        self.memory = None

    def forward(self, x):
        out, memory = self.lstm(x, self.memory)
        self.memory = tuple(m.detach() for m in memory)
        return self.head(out.mean(1)).squeeze(-1)


def machines(n, steps=15):
    wear = torch.rand(n)
    noise = torch.randn(n, steps, 4)
    return noise * (0.5 + wear.view(-1, 1, 1)), wear


torch.manual_seed(66)
signal, wear = machines(240)
train = DataLoader(TensorDataset(signal[:200], wear[:200]), batch_size=20, shuffle=True)
net = VibrationNet()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(4):
    net.train()
    net.reset()
    total = 0.0
    for x, y in train:
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    net.eval()
    net.reset()
    with torch.no_grad():
        error = (net(signal[200:]) - wear[200:]).abs().mean().item()
    print(epoch, total / 200, error)
