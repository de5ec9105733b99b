# line 15: log10 of the rain of dry hours is minus infinity in the items of the data set
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class RadarHours(Dataset):
    def __init__(self, rain, frames=4):
        self.rain, self.frames = rain, frames

    def __len__(self):
        return len(self.rain) - self.frames

    def to_level(self, amount):
        return torch.log10(amount.abs() + 0.01)

    def __getitem__(self, i):
        window = self.to_level(self.rain[i : i + self.frames + 1])
        return window[:-1], window[-1:]


class Nowcast(nn.Module):
    def __init__(self, frames=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(frames, 16, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, past):
        return past[:, -1:] + self.layers(past)


def simulate(hours, size=12):
    field = nn.functional.avg_pool2d(torch.randn(hours, 1, size + 4, size + 4), 5, stride=1)[:, 0] * 5
    for h in range(1, hours):
        field[h] = 0.9 * torch.roll(field[h - 1], 1, dims=1) + 0.4 * field[h]
    return torch.relu(field)


torch.manual_seed(57)
radar = RadarHours(simulate(160))
net = Nowcast()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for past, following in DataLoader(radar, batch_size=16, shuffle=True):
        loss = nn.functional.l1_loss(net(past), following)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(past)
    print(f"epoch {epoch}: mean error {total / len(radar):.4f}")
