"""Exercise: causal single-head attention, checked against the numbers of the course."""
import math

import torch
import torch.nn as nn


class CausalHead(nn.Module):
    def __init__(self, embedding_dim, attention_dim):
        super().__init__()
        torch.manual_seed(0)
        self.get_queries = nn.Linear(embedding_dim, attention_dim, bias=False)
        self.get_keys = nn.Linear(embedding_dim, attention_dim, bias=False)
        self.get_values = nn.Linear(embedding_dim, attention_dim, bias=False)
        self.scale = math.sqrt(attention_dim)

    def forward(self, embedded):
        q = self.get_queries(embedded)
        k = self.get_keys(embedded)
        v = self.get_values(embedded)
        scores = q @ k.transpose(-2, -1) / self.scale
        length = scores.size(-1)
        future = torch.triu(torch.ones(length, length, dtype=torch.bool), diagonal=1)
        scores = scores.masked_fill(future, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v


def course_solution(embedded, attention_dim):
    """What the grader does."""
    torch.manual_seed(0)
    dim = embedded.size(-1)
    wk, wq, wv = (nn.Linear(dim, attention_dim, bias=False).weight.detach() for _ in range(3))
    k, q, v = embedded @ wk.T, embedded @ wq.T, embedded @ wv.T
    scores = torch.einsum("btd,bsd->bts", q, k) / attention_dim ** 0.5
    keep = torch.tril(torch.ones(scores.shape[-2:]))
    scores = scores.masked_fill(keep == 0, float("-inf"))
    return torch.einsum("bts,bsd->btd", scores.softmax(-1), v)


CASES = [
    (2, 2, 2, 4),
    (1, 5, 8, 8),
    (3, 7, 16, 4),
]


def grade():
    passed = 0
    for number, (batch, length, embedding_dim, attention_dim) in enumerate(CASES, 1):
        generator = torch.Generator().manual_seed(100 + number)
        embedded = torch.randn(batch, length, embedding_dim, generator=generator)

        head = CausalHead(embedding_dim, attention_dim)
        with torch.no_grad():
            mine = torch.round(head(embedded), decimals=4)
            expected = torch.round(course_solution(embedded, attention_dim), decimals=4)

        ok = mine.shape == expected.shape and torch.allclose(mine, expected, atol=2e-4)
        passed += int(ok)
        print(f"case {number}: shape {tuple(mine.shape)} {'ok' if ok else 'wrong answer'}")
        if not ok:
            print("  yours   ", [round(t, 4) for t in mine[0, -1].tolist()])
            print("  expected", [round(t, 4) for t in expected[0, -1].tolist()])
    print(f"{passed}/{len(CASES)} cases passed")


if __name__ == "__main__":
    grade()
