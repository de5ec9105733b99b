import torch
import torch.nn.functional as F

K = 5


def step(x, centres):
    dist = torch.cdist(x[None], centres[None])[0]
    near = dist.argmin(-1)
    hot = F.one_hot(near, K).to(x.dtype)
    counts = hot.sum(0)
    sums = torch.zeros_like(centres).index_add_(0, near, x)
    assert torch.allclose(sums, hot.T @ x, atol=1e-4)
    moved = sums / counts.clamp(min=1)[:, None]
    return torch.where(counts[:, None] > 0, moved, centres), near, counts


def silhouette(x, near, counts):
    gaps = (x[:, None] - x).norm(dim=-1)
    hot = F.one_hot(near, K).float()
    total = gaps @ hot
    own = total.gather(1, near[:, None]) / (counts[near][:, None] - 1).clamp(min=1)
    other = (total / counts.clamp(min=1)).masked_fill(hot.bool(), torch.inf)
    other = other.masked_fill(counts == 0, torch.inf).amin(1, keepdim=True)
    return ((other - own) / torch.max(own, other)).squeeze(-1)


def main(x, iterations=6):
    centres = x[torch.randperm(len(x))[:K]].clone()
    for _ in range(iterations):
        centres, near, counts = step(x, centres)
    order = near.argsort(stable=True)
    groups = x[order].split(counts.long().tolist())
    spread = torch.stack([g.var(0, unbiased=False).sum() for g in groups])
    soft = (-(x.unsqueeze(1) - centres).square().sum(-1)).softmax(1)
    return centres, near, silhouette(x, near, counts), spread, soft.T @ x


def example_inputs():
    torch.manual_seed(2)
    blobs = torch.randn(4, 1, 3) * 4 + torch.randn(4, 10, 3)
    return (blobs.view(-1, 3),)
