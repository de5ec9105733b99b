"""NDCG@k and hits for a recommender."""
import torch

K = 5


def dcg(gains):
    ranks = torch.arange(1, gains.numel() + 1, device=gains.device)
    return (gains / torch.log2(ranks + 1.0)).sum()


def rank_items(scores):
    order = scores.sort(dim=1, descending=True).indices
    return order[:K]


def main(scores, relevance):
    top = rank_items(scores)
    picked = top.unsqueeze(0)
    gains = torch.take_along_dim(relevance, picked, dim=0)
    ideal = relevance.sort(descending=True).values[:K]
    ndcg = dcg(gains) / dcg(ideal).clamp_min(1e-9)
    return ndcg, gains


def example_inputs():
    scores = torch.randn(40)
    relevance = torch.randint(0, 4, (40,)).float()
    return scores, relevance
