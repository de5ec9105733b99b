"""Prototypical networks (Snell et al. 2017) on an Omniglot-like set: 20 drawings per character."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 11
torch.manual_seed(SEED)
rng = np.random.default_rng(SEED)

N_CHARS, PER_CHAR, SIZE = 60, 20, 28
N_WAY, K_SHOT, N_QUERY = 5, 5, 15
EPISODES = 40


def draw_characters():
    protos = rng.random((N_CHARS, 1, 7, 7)) > 0.6
    big = np.kron(protos, np.ones((1, 1, 4, 4)))
    data = np.repeat(big[:, None], PER_CHAR, axis=1).astype(np.float32)
    for c in range(N_CHARS):
        for i in range(PER_CHAR):
            dx, dy = rng.integers(-2, 3, 2)
            data[c, i] = np.roll(data[c, i], (dx, dy), axis=(1, 2))
    data += rng.normal(0, 0.2, data.shape).astype(np.float32)
    return torch.from_numpy(data)          # (chars, drawings, 1, 28, 28)


class EpisodeSampler:
    def __init__(self, data, classes, n_way, k_shot, n_query):
        self.data = data
        self.classes = classes
        self.n_way, self.k_shot, self.n_query = n_way, k_shot, n_query

    def episode(self):
        support, query = [], []
        for c in rng.choice(self.classes, self.n_way, replace=False):
            images = self.data[c]
            picked = rng.choice(len(images), self.k_shot + self.n_query, replace=False)
            picked = torch.from_numpy(picked)
            support.append(images[picked[: self.k_shot]])
            query.append(images[picked[self.k_shot:]])
        labels = torch.arange(self.n_way).repeat_interleave(self.n_query)
        return torch.stack(support), torch.cat(query), labels


def conv_block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2))


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            conv_block(1, width), conv_block(width, width), conv_block(width, width), nn.Flatten()
        )

    def forward(self, x):
        return self.net(x)


def episode_loss(encoder, support, query, labels):
    n_way, k_shot = support.shape[:2]
    z = encoder(torch.cat([support.flatten(0, 1), query]))
    z_support, z_query = z[: n_way * k_shot], z[n_way * k_shot:]
    prototypes = z_support.view(n_way, k_shot, -1).mean(dim=1)
    logits = -torch.cdist(z_query, prototypes) ** 2
    return F.cross_entropy(logits, labels), (logits.argmax(1) == labels).float().mean()


data = draw_characters()
train_sampler = EpisodeSampler(data, np.arange(0, 45), N_WAY, K_SHOT, N_QUERY)
test_sampler = EpisodeSampler(data, np.arange(45, 60), N_WAY, K_SHOT, N_QUERY)

encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)

for ep in range(1, EPISODES + 1):
    encoder.train()
    loss, acc = episode_loss(encoder, *train_sampler.episode())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if ep % 10 == 0:
        print(f"episode {ep}: loss {loss.item():.3f} acc {acc.item():.3f}")

encoder.eval()
with torch.no_grad():
    accs = torch.stack([episode_loss(encoder, *test_sampler.episode())[1] for _ in range(20)])
print(f"{N_WAY}-way {K_SHOT}-shot: {accs.mean():.3f} +- {1.96 * accs.std() / len(accs) ** 0.5:.3f}")
