# line 21: the noise is added in place to the stored spectrogram, so it grows from epoch to epoch
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class BirdCalls(Dataset):
    def __init__(self, n, augment=False, gain=0.5):
        self.species = torch.randint(3, (n,)).tolist()
        self.calls = []
        for s in self.species:
            call = 0.2 * torch.randn(8, 20)
            call[2 * s : 2 * s + 2] += 0.8
            self.calls.append(call)
        self.augment, self.gain = augment, gain

    def __len__(self):
        return len(self.calls)

    def _noise(self, call):
        call += self.gain * torch.randn_like(call)
        return call

    def __getitem__(self, i):
        call = self.calls[i]
        if self.augment:
            call = self._noise(call)
        return call.unsqueeze(0), self.species[i]


def accuracy(net, loader):
    net.eval()
    right = 0
    with torch.no_grad():
        for call, species in loader:
            right += (net(call).argmax(1) == species).sum().item()
    return right / len(loader.dataset)


torch.manual_seed(72)
train = DataLoader(BirdCalls(120, augment=True), 20, shuffle=True)
test = DataLoader(BirdCalls(40), 20)
net = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 18, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    net.train()
    for call, species in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(call), species).backward()
        opt.step()
    print(epoch, accuracy(net, test))
