# line 34: the frozen stem of the sound net is put in training mode with the rest, so its BatchNorm1d statistics drift
import torch
from torch import nn


class SoundNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv1d(1, 8, 9, stride=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 16, 9, stride=2), nn.BatchNorm1d(16), nn.ReLU())
        self.classify = nn.Linear(16, classes)

    def forward(self, wave):
        return self.classify(self.stem(wave).mean(dim=2))


def tones(n, pitches, loud):
    label = torch.randint(len(pitches), (n,))
    t = torch.arange(160) / 160
    wave = loud * torch.sin(6.283 * torch.tensor(pitches)[label][:, None] * t)
    return (wave + 0.3 * torch.randn(n, 160)).unsqueeze(1), label


def epochs_of(net, params, wave, label, epochs, prepare):
    opt = torch.optim.Adam(params, lr=5e-3)
    for _ in range(epochs):
        prepare(net)
        for rows in torch.randperm(len(wave)).split(32):
            opt.zero_grad()
            nn.functional.cross_entropy(net(wave[rows]), label[rows]).backward()
            opt.step()


def finetune_mode(net):
    net.train()


torch.manual_seed(25)
net = SoundNet(3)
epochs_of(net, net.parameters(), *tones(320, [5.0, 12.0, 25.0], 1.0), 3, lambda m: m.train())
for param in net.stem.parameters():
    param.requires_grad_(False)
net.classify = nn.Linear(16, 2)
epochs_of(net, net.classify.parameters(), *tones(96, [8.0, 18.0], 3.0), 4, finetune_mode)
net.eval()
wave, label = tones(80, [8.0, 18.0], 3.0)
with torch.no_grad():
    print("accuracy", (net(wave).argmax(1) == label).float().mean().item())
