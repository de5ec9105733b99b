import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

MELS, FRAMES = 24, 32


def spectrograms(n, classes, seed, gain=1.0, offset=0.0):
    g = torch.Generator().manual_seed(seed)
    bank = torch.randn(12, 3, generator=torch.Generator().manual_seed(10)).sigmoid()
    picks = torch.tensor(classes)
    y = torch.randint(0, len(classes), (n,), generator=g)
    freq = torch.linspace(0, 1, MELS)
    x = torch.randn(n, 1, MELS, FRAMES, generator=g) * 0.6
    for i, k in enumerate(picks[y].tolist()):
        for band in bank[k]:
            x[i, 0] += torch.exp(-((freq - band) ** 2) / 0.004)[:, None]
    return gain * x + offset, y


class Backbone(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
        )

    def forward(self, x):
        return self.layers(x).mean(dim=-1).flatten(1)


class TwoTaskNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.backbone = Backbone(width)
        self.speech_head = nn.Linear(width * MELS // 2, 8)
        self.alarm_head = nn.Linear(width * MELS // 2, 4)

    def forward(self, x, task):
        features = self.backbone(x)
        return self.speech_head(features) if task == "speech" else self.alarm_head(features)


def train(net, task, data, epochs, lr):
    trainable = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=lr)
    loader = DataLoader(TensorDataset(*data), batch_size=32, shuffle=True)
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            loss = F.cross_entropy(net(x, task), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@torch.no_grad()
def accuracy(net, task, data):
    net.eval()
    return (net(data[0], task).argmax(1) == data[1]).float().mean().item()


torch.manual_seed(0)
speech_train = spectrograms(800, list(range(8)), seed=0)
speech_test = spectrograms(400, list(range(8)), seed=1)
alarm_train = spectrograms(300, list(range(8, 12)), seed=2, gain=3.0, offset=2.0)
alarm_test = spectrograms(300, list(range(8, 12)), seed=3, gain=3.0, offset=2.0)

net = TwoTaskNet()
train(net, "speech", speech_train, epochs=4, lr=2e-3)
print(f"speech accuracy after pretraining   {accuracy(net, 'speech', speech_test):.3f}")

# keep the shared features and the speech head as they are, learn only the alarm head
for module in (net.backbone, net.speech_head):
    module.requires_grad_(False)
train(net, "alarm", alarm_train, epochs=6, lr=2e-3)

print(f"alarm accuracy                      {accuracy(net, 'alarm', alarm_test):.3f}")
print(f"speech accuracy with the same weights {accuracy(net, 'speech', speech_test):.3f}")
