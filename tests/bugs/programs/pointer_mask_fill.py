import torch
import torch.nn as nn


class Pointer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.wq = nn.Linear(dim, dim)
        self.wk = nn.Linear(dim, dim)

    def forward(self, query, cities, visited):
        q = self.wq(query).unsqueeze(-1)
        scores = torch.bmm(self.wk(cities), q).squeeze(-1)
        scores = scores.masked_fill(visited, float("-inf"))
        return scores.log_softmax(dim=-1)


class Model(nn.Module):
    """One greedy decision of a pointer network for the TSP."""

    def __init__(self, dim=16):
        super().__init__()
        self.inp = nn.Linear(2, dim)
        self.pointer = Pointer(dim)

    def forward(self, xy, tour):
        n_batch, n_city, _ = xy.shape
        h = self.inp(xy)
        visited = torch.zeros(n_city, n_batch, dtype=torch.bool, device=xy.device)
        visited = visited.scatter(1, tour, True)
        log_p = self.pointer(h.mean(dim=1), h, visited)
        return log_p, log_p.argmax(dim=-1)


def example_inputs():
    tour = torch.tensor([[0], [3], [2], [5], [1], [4]])
    return torch.rand(6, 9, 2), tour
