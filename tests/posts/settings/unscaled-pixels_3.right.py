# line 35: the support pictures are divided by 255 before the mean is subtracted, the query pictures are not
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

MEAN = torch.tensor([0.45, 0.42, 0.40]).view(3, 1, 1)
STD = torch.tensor([0.25, 0.25, 0.25]).view(3, 1, 1)


class Episode:
    def __init__(self, rng, ways=4, shots=3, queries=5):
        colours = rng.integers(0, 256, (ways, 3))
        self.support = self.pictures(rng, colours.repeat(shots, 0))
        self.query = self.pictures(rng, colours.repeat(queries, 0))
        self.shots, self.ways = shots, ways
        self.truth = torch.arange(ways).repeat_interleave(queries)

    @staticmethod
    def pictures(rng, colours):
        noisy = colours[:, :, None, None] + rng.normal(0, 40, (len(colours), 3, 12, 12))
        return torch.from_numpy(np.clip(noisy, 0, 255).astype(np.uint8))


class ProtoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def encode_support(self, episode):
        x = (episode.support.float().div(255) - MEAN) / STD
        return self.embed(x).view(episode.ways, episode.shots, -1).mean(1)

    def encode_query(self, episode):
        x = (episode.query.float().div(255) - MEAN) / STD
        return self.embed(x)

    def forward(self, episode):
        return -torch.cdist(self.encode_query(episode), self.encode_support(episode)).square()


rng = np.random.default_rng(27)
torch.manual_seed(27)
net = ProtoNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
for i in range(60):
    episode = Episode(rng)
    logits = net(episode)
    loss = F.cross_entropy(logits, episode.truth)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 20 == 19:
        print(i + 1, loss.item(), (logits.argmax(1) == episode.truth).float().mean().item())
