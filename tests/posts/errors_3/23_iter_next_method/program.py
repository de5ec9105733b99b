import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Waveforms(Dataset):
    def __init__(self, n, length=128):
        t = torch.linspace(0, 1, length)
        self.freq = torch.randint(1, 5, (n,))
        phase = torch.rand(n, 1) * 6.28
        self.x = torch.sin(2 * torch.pi * self.freq[:, None] * t + phase)
        self.x += 0.1 * torch.randn_like(self.x)

    def __len__(self):
        return self.x.shape[0]

    def __getitem__(self, i):
        return self.x[i].unsqueeze(0), self.freq[i] - 1


train_loader = DataLoader(Waveforms(400), batch_size=40, shuffle=True)

dataiter = iter(train_loader)
waves, classes = dataiter.next()
print("batch:", tuple(waves.shape), "classes:", classes[:8].tolist())

net = nn.Sequential(
    nn.Conv1d(waves.shape[1], 8, 9, stride=2), nn.ReLU(),
    nn.Conv1d(8, 16, 9, stride=2), nn.ReLU(),
    nn.AdaptiveAvgPool1d(4), nn.Flatten(),
    nn.Linear(64, 4),
)
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    correct = 0
    for x, y in train_loader:
        out = net(x)
        loss = nn.functional.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        correct += (out.argmax(1) == y).sum().item()
    print(epoch, correct / 400)
