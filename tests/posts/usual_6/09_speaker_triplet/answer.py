"""Speaker embeddings with batch-hard triplet loss (MFCC statistics, simulated)."""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor

N_SPEAKERS = 20
UTT_PER_SPEAKER = 30
N_FEATS = 40


class SpeakerEncoder(nn.Module):
    def __init__(self, n_feats: int = N_FEATS, dim: int = 32) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_feats, 128),
            nn.ReLU(),
            nn.Linear(128, dim),
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.net(x), dim=1)


def pairwise_distance(emb: Tensor) -> Tensor:
    """Euclidean distance between all rows of emb, shape (B, B)."""
    dot = emb @ emb.t()
    sq = dot.diagonal()
    dist2 = sq.unsqueeze(0) - 2.0 * dot + sq.unsqueeze(1)
    dist2 = dist2.clamp(min=1e-12)
    return torch.sqrt(dist2)


class BatchHardTripletLoss(nn.Module):
    def __init__(self, margin: float = 0.3) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, emb: Tensor, speaker: Tensor) -> Tensor:
        dist = pairwise_distance(emb)
        same = speaker.unsqueeze(0) == speaker.unsqueeze(1)
        hardest_pos = (dist * same.float()).max(dim=1).values
        hardest_neg = dist.masked_fill(same, float("inf")).min(dim=1).values
        return F.relu(hardest_pos - hardest_neg + self.margin).mean()


def simulate(seed: int) -> tuple[Tensor, Tensor]:
    g = torch.Generator().manual_seed(seed)
    centre = torch.randn(N_SPEAKERS, N_FEATS, generator=torch.Generator().manual_seed(99))
    labels = torch.arange(N_SPEAKERS).repeat_interleave(UTT_PER_SPEAKER)
    feats = centre[labels] + 1.2 * torch.randn(len(labels), N_FEATS, generator=g)
    return feats, labels


def pk_batches(labels: Tensor, p: int = 8, k: int = 4):
    """Yields index tensors with p speakers and k utterances of each."""
    for _ in range(30):
        speakers = torch.randperm(N_SPEAKERS)[:p]
        idx = []
        for s in speakers:
            own = (labels == s).nonzero().squeeze(1)
            idx.append(own[torch.randperm(len(own))[:k]])
        yield torch.cat(idx)


@torch.no_grad()
def nearest_neighbour_accuracy(model: nn.Module, feats: Tensor, labels: Tensor) -> float:
    model.eval()
    dist = pairwise_distance(model(feats))
    dist.fill_diagonal_(float("inf"))
    return (labels[dist.argmin(dim=1)] == labels).float().mean().item()


def main() -> None:
    torch.manual_seed(0)
    feats, labels = simulate(seed=1)
    test_feats, test_labels = simulate(seed=2)
    model = SpeakerEncoder()
    criterion = BatchHardTripletLoss(margin=0.3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(5):
        model.train()
        losses = []
        for idx in pk_batches(labels):
            optimizer.zero_grad()
            loss = criterion(model(feats[idx]), labels[idx])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        acc = nearest_neighbour_accuracy(model, test_feats, test_labels)
        print(f"epoch {epoch}: triplet loss {sum(losses) / len(losses):.4f}, 1-NN accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
