# line 17: a per-channel gain is multiplied without keepdims and, as there are as many channels as frames, lines up with the frames
import torch
import torch.nn as nn


class SqueezeGate(nn.Module):
    """Channel gate for sequences (N, C, L)."""

    def __init__(self, ch):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(ch, ch // 2), nn.ReLU(), nn.Linear(ch // 2, ch))
        self.gain = nn.Parameter(torch.ones(ch))

    def forward(self, seq):
        gate = torch.sigmoid(self.mlp(seq.mean(2))).unsqueeze(2)
        gated = seq * gate
        return torch.mul(gated, self.gain)


class Net(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.stem = nn.Conv1d(4, ch, 3, padding=1)
        self.gate = SqueezeGate(ch)
        self.head = nn.Linear(ch, 1)

    def forward(self, x):
        h = torch.relu(self.stem(x))
        return self.head(self.gate(h).mean(2)).squeeze(1)


def batch(n, g):
    x = torch.randn(n, 4, 16, generator=g)
    return x, x[:, 0].mean(1) - x[:, 2].std(1)


torch.manual_seed(0)
g = torch.Generator().manual_seed(8)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for i in range(80):
    x, y = batch(32, g)
    loss = (net(x) - y).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
net.eval()
with torch.no_grad():
    x, y = batch(200, g)
    print("mse", (net(x) - y).pow(2).mean().item())
