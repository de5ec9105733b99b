# line 22: the model stays in evaluation while the entropy of repeated passes is taken, so its dropout draws nothing
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)


def make_net(classes=3):
    return nn.Sequential(
        nn.Embedding(50, 16),
        nn.Flatten(),
        nn.Linear(16 * 10, 48),
        nn.GELU(),
        nn.Dropout(0.3),
        nn.Linear(48, classes),
    )


def bald_scores(net, pool, n_draws):
    """Mutual information between the answer and the weights, for active learning."""
    net.eval()
    with torch.no_grad():
        votes = [F.softmax(net(pool), dim=-1).unsqueeze(0) for _ in range(n_draws)]
    votes = torch.cat(votes, dim=0)
    average = votes.mean(0)
    total = -(average * average.clamp_min(1e-12).log()).sum(-1)
    inner = -(votes * votes.clamp_min(1e-12).log()).sum(-1).mean(0)
    return total - inner, votes.std(0).amax(-1)


def fit(net, ids, labels, rounds=15):
    net.train()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(rounds):
        opt.zero_grad()
        F.cross_entropy(net(ids), labels).backward()
        opt.step()


ids, labels = torch.randint(50, (200, 10)), torch.randint(3, (200,))
known, pool = torch.arange(40), torch.arange(40, 200)
for cycle in range(3):
    net = make_net()
    fit(net, ids[known], labels[known])
    gain, disagreement = bald_scores(net, ids[pool], n_draws=12)
    chosen = gain.topk(20).indices
    known = torch.cat([known, pool[chosen]])
    keep = torch.ones(len(pool), dtype=torch.bool)
    keep[chosen] = False
    pool = pool[keep]
    print(cycle, len(known), disagreement.max().item())
