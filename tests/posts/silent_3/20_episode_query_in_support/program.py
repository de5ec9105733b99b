import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

N_WAY, K_SHOT, N_QUERY = 5, 3, 5
DIM, PER_CLASS = 60, 12


class ClassPool:
    def __init__(self, n_classes, seed):
        g = np.random.default_rng(seed)
        basis = np.random.default_rng(123).normal(0, 1, (10, DIM))
        centres = g.normal(0, 0.75, (n_classes, 10)) @ basis
        noise = g.normal(0, 1, (n_classes, PER_CLASS, 10)) @ basis
        x = centres[:, None] + noise + g.normal(0, 2.0, (n_classes, PER_CLASS, DIM))
        self.x = torch.tensor(x, dtype=torch.float32)
        self.rng = g

    def episode(self):
        classes = self.rng.choice(len(self.x), N_WAY, replace=False)
        support, query = [], []
        for c in classes:
            support_idx = self.rng.choice(PER_CLASS, K_SHOT, replace=False)
            query_idx = self.rng.choice(PER_CLASS, N_QUERY, replace=False)
            support.append(self.x[c, support_idx])
            query.append(self.x[c, query_idx])
        labels = torch.arange(N_WAY).repeat_interleave(N_QUERY)
        return torch.stack(support), torch.cat(query), labels


class Embedder(nn.Module):
    def __init__(self, out=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 96), nn.ReLU(), nn.Linear(96, out))

    def forward(self, x):
        return self.net(x)


def proto_logits(net, support, query):
    prototypes = net(support).mean(dim=1)
    return -torch.cdist(net(query), prototypes).pow(2) / 10


def evaluate(net, pool, episodes=200):
    net.eval()
    accs = []
    with torch.no_grad():
        for _ in range(episodes):
            support, query, labels = pool.episode()
            accs.append((proto_logits(net, support, query).argmax(1) == labels).float().mean().item())
    half_width = 1.96 * np.std(accs) / np.sqrt(episodes)
    return np.mean(accs), half_width


torch.manual_seed(0)
meta_train, meta_test = ClassPool(80, seed=1), ClassPool(40, seed=2)
net = Embedder()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)

for it in range(1, 1201):
    net.train()
    support, query, labels = meta_train.episode()
    loss = F.cross_entropy(proto_logits(net, support, query), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 300 == 0:
        acc, ci = evaluate(net, meta_test)
        print(f"episode {it}: loss {loss.item():.3f}  {N_WAY}-way {K_SHOT}-shot accuracy {acc:.3f} +- {ci:.3f}")
