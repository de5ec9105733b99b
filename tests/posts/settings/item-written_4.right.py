# line 15: the collate function multiplies the stored waves in place by a random gain, so the gains of all epochs add up
import torch
from torch import nn
from torch.utils.data import DataLoader


class GainCollate:
    def __init__(self, low=0.5, high=1.2):
        self.low, self.high = low, high

    def __call__(self, samples):
        waves, labels = [], []
        for wave, label in samples:
            gain = torch.empty(1).uniform_(self.low, self.high)
            waves.append(wave.mul(gain))
            labels.append(label)
        return torch.stack(waves), torch.tensor(labels)


def keyword_clips(n, length=200):
    clips = []
    t = torch.arange(length) / length
    for _ in range(n):
        label = int(torch.randint(3, ()))
        start = 6.28 * float(torch.rand(()))
        wave = torch.sin(6.28 * (10 + 15 * label) * t + start) + 0.5 * torch.randn(length)
        clips.append((wave, label))
    return clips


class KeywordNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, 16, 20, stride=4)
        self.fc = nn.Linear(16, 3)

    def forward(self, wave):
        energy = torch.square(self.filters(wave[:, None])).mean(dim=2)
        return self.fc(torch.log1p(energy))


torch.manual_seed(58)
train, test = keyword_clips(240), keyword_clips(60)
loader = DataLoader(train, batch_size=24, shuffle=True, collate_fn=GainCollate())
net = KeywordNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(6):
    net.train()
    for wave, label in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(wave), label).backward()
        opt.step()
net.eval()
with torch.no_grad():
    waves, labels = torch.stack([w for w, _ in test]), torch.tensor([k for _, k in test])
    print("accuracy", (net(waves).argmax(1) == labels).float().mean().item())
