import argparse

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument('--num-layers', type=int, default=4)
parser.add_argument('--hidden', type=int, default=16)
parser.add_argument('--epochs', type=int, default=3)
opt = parser.parse_args()

torch.manual_seed(10)


class Net(nn.Module):
    """Denoises the magnitude of a spectrum; the depth is an argument."""

    def __init__(self, bins, hidden, num_layers):
        super(Net, self).__init__()
        self.first = nn.Linear(bins, hidden)
        self.list_of_layers = nn.ModuleList([nn.Linear(hidden, hidden) for i in range(num_layers)])
        self.last = nn.Linear(hidden, bins)

    def forward(self, x):
        h = torch.relu(self.first(x))
        for layer in self.list_of_layers:
            h = torch.relu(layer(h))
        return self.last(h)


def make_spectra(n, bins=64):
    f = torch.arange(bins).float()
    peaks = torch.rand(n, 3, 1) * bins
    widths = torch.rand(n, 3, 1) * 4 + 1
    clean = torch.exp(-(f - peaks) ** 2 / widths ** 2).sum(1)
    return TensorDataset(clean + 0.2 * torch.rand(n, bins), clean)


train_loader = DataLoader(make_spectra(500), batch_size=64, shuffle=True)
test_x, test_y = make_spectra(100).tensors

n = Net(64, opt.hidden, opt.num_layers)
print(n)
print('trained parameters:', sum(p.numel() for p in n.parameters()))

optimizer = optim.Adam(n.parameters(), lr=1e-2)
criterion = nn.MSELoss()
for epoch in range(opt.epochs):
    for noisy, clean in train_loader:
        optimizer.zero_grad()
        loss = criterion(n(noisy), clean)
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print('epoch %d: train %.4f, test %.4f' % (epoch, loss.item(), criterion(n(test_x), test_y).item()))
