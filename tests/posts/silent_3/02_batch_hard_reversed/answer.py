import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

N_IDS, PER_ID, DIM = 60, 12, 48


class Descriptors(Dataset):
    """Noisy appearance descriptors of a set of identities."""

    def __init__(self, ids, seed):
        g = np.random.default_rng(seed)
        centres = np.random.default_rng(17).normal(0, 1, (2 * N_IDS, 8))
        lift = np.random.default_rng(18).normal(0, 1, (8, DIM))
        self.y = np.repeat(ids, PER_ID)
        nuisance = g.normal(0, 2.0, (len(self.y), 6)) @ np.random.default_rng(19).normal(0, 1, (6, DIM))
        self.x = centres[self.y] @ lift + nuisance + g.normal(0, 0.5, (len(self.y), DIM))

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return torch.tensor(self.x[i], dtype=torch.float32), int(self.y[i])


class PKSampler(Sampler):
    def __init__(self, labels, p, k, steps):
        self.labels, self.p, self.k, self.steps = labels, p, k, steps

    def __len__(self):
        return self.steps

    def __iter__(self):
        for _ in range(self.steps):
            ids = np.random.choice(np.unique(self.labels), self.p, replace=False)
            yield [i for c in ids for i in np.random.choice(np.where(self.labels == c)[0], self.k, replace=False)]


def batch_hard_triplet(emb, labels, margin=0.3):
    dist = torch.cdist(emb, emb)
    same = labels[:, None] == labels[None, :]
    eye = torch.eye(len(labels), dtype=torch.bool)
    hardest_pos = dist.masked_fill(~same | eye, float("-inf")).max(dim=1).values
    hardest_neg = dist.masked_fill(same, float("inf")).min(dim=1).values
    return F.relu(hardest_pos - hardest_neg + margin).mean()


@torch.no_grad()
def recall_at_1(net, data):
    net.eval()
    emb = F.normalize(net(torch.tensor(data.x, dtype=torch.float32)), dim=1)
    y = torch.tensor(data.y)
    sim = emb @ emb.T
    sim.fill_diagonal_(-2)
    return (y[sim.argmax(1)] == y).float().mean().item()


np.random.seed(0)
torch.manual_seed(0)
train = Descriptors(np.arange(N_IDS), seed=1)
test = Descriptors(np.arange(N_IDS, 2 * N_IDS), seed=2)
loader = DataLoader(train, batch_sampler=PKSampler(train.y, p=8, k=4, steps=40))
net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)

print(f"before training: R@1 {recall_at_1(net, test):.3f}")
for epoch in range(12):
    net.train()
    losses = []
    for x, y in loader:
        loss = batch_hard_triplet(F.normalize(net(x), dim=1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    print(f"epoch {epoch}: triplet loss {np.mean(losses):.4f}  unseen identities R@1 {recall_at_1(net, test):.3f}")
