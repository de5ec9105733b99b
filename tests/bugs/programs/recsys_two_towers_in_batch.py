import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n, dim, extra):
        super().__init__()
        self.emb = nn.Embedding(n, dim)
        self.proj = nn.Linear(dim + extra, dim)

    def forward(self, ids, feats):
        return F.normalize(self.proj(torch.cat((self.emb(ids), feats), -1)), dim=-1)


def main(users, user_feats, items, item_feats, counts):
    user_tower = Tower(50, 16, user_feats.shape[-1])
    item_tower = Tower(80, 16, item_feats.shape[-1])
    u = user_tower(users, user_feats)
    v = item_tower(items, item_feats)
    logits = u @ v.T / 0.05
    # the popularity of an item is taken off its column
    logits = logits - torch.log(counts.float() / counts.sum())
    same = items == items[:, None]
    same.fill_diagonal_(False)
    logits = logits.masked_fill(same, float("-inf"))
    labels = torch.arange(len(users))
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    rank = (logits > logits.diag()[:, None]).sum(1)
    return loss, rank, logits.topk(3).indices


def example_inputs():
    return (
        torch.randint(0, 50, (10,)),
        torch.randn(10, 4),
        torch.randint(0, 80, (10,)),
        torch.randn(10, 7),
        torch.randint(1, 30, (10,)),
    )
