# line 32: two lists, recordings and their labels, are each shuffled by random.shuffle in an order of their own
import random

import torch
from torch import nn


def record_birds(n, rate=400):
    recordings, species = [], []
    t = torch.arange(rate) / rate
    for _ in range(n):
        k = random.randrange(4)
        pitch = 8 + 9 * k + random.random()
        recordings.append(torch.sin(6.283 * pitch * t) + 0.4 * torch.randn(rate))
        species.append(k)
    return recordings, species


class BirdNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(1, 16, 32, stride=4)
        self.head = nn.Linear(16, 4)

    def forward(self, wave):
        return self.head(torch.relu(self.front(wave.unsqueeze(1))).amax(dim=2))


def epoch_batches(recordings, species, size):
    together = list(zip(recordings, species))
    random.shuffle(together)
    recordings, species = zip(*together)
    for i in range(0, len(recordings), size):
        yield torch.stack(recordings[i : i + size]), torch.tensor(species[i : i + size])


random.seed(1)
torch.manual_seed(1)
train_wave, train_species = record_birds(240)
test_wave, test_species = record_birds(60)
net = BirdNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    for wave, label in epoch_batches(train_wave, train_species, 24):
        loss = nn.functional.cross_entropy(net(wave), label)
        opt.zero_grad()
        loss.backward()
        opt.step()
net.eval()
with torch.no_grad():
    guess = net(torch.stack(test_wave)).argmax(1)
print("accuracy", (guess == torch.tensor(test_species)).float().mean().item())
