# line 12: the meter adds the mean loss of each batch but counts samples, so the average is too small by the batch size
import torch
from torch import nn


class LossMeter:
    def __init__(self):
        self.sum = torch.zeros(())
        self.count = 0

    def add(self, loss, batch):
        self.sum.add_(loss.detach() * len(batch))
        self.count += len(batch)

    @property
    def average(self):
        return (self.sum / self.count).item()


class DepthNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 1, 1))

    def forward(self, rgb):
        return nn.functional.softplus(self.layers(rgb))


def rooms(n):
    depth = 1 + torch.linspace(0, 2, 12).view(1, 1, 12, 1) * torch.rand(n, 1, 1, 12)
    rgb = torch.exp(-depth) * torch.tensor([1.0, 0.8, 0.6]).view(1, 3, 1, 1) + 0.02 * torch.randn(n, 3, 12, 12)
    return torch.utils.data.TensorDataset(rgb, depth)


torch.manual_seed(14)
train, valid = rooms(200), rooms(70)
net = DepthNet()
criterion = nn.SmoothL1Loss(beta=0.5)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(4):
    net.train()
    for rgb, depth in torch.utils.data.DataLoader(train, 20, shuffle=True):
        opt.zero_grad()
        criterion(net(rgb), depth).backward()
        opt.step()
    net.eval()
    meter = LossMeter()
    with torch.no_grad():
        for rgb, depth in torch.utils.data.DataLoader(valid, 20):
            meter.add(criterion(net(rgb), depth), rgb)
    print(f"epoch {epoch} validation loss {meter.average:.5f}")
