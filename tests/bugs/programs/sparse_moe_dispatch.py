import torch
import torch.nn as nn
import torch.nn.functional as F


class Expert(nn.Sequential):
    def __init__(self, dim):
        super().__init__(nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim))


class Model(nn.Module):
    def __init__(self, dim=16, n_experts=4, top_k=2):
        super().__init__()
        self.top_k = top_k
        self.gate = nn.Linear(dim, n_experts, bias=False)
        self.experts = nn.ModuleList(Expert(dim) for _ in range(n_experts))

    def forward(self, hidden):
        b, t, d = hidden.shape
        x = hidden.view(-1, d)
        logits = self.gate(x)
        probs = logits.softmax(dim=-1)
        weight, chosen = probs.topk(self.top_k, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        hot = F.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        for e, expert in enumerate(self.experts):
            slot, token = torch.where(hot[e])
            if token.numel() == 0:
                continue
            y = expert(x[token]) * weight[token, slot, None]
            out.index_add_(0, token, y)
        load = hot.float().sum(dim=1).mean(dim=-1)
        balance = (load * probs.mean(dim=0)).sum() * len(self.experts)
        return out.view(b, t, d), balance


def example_inputs():
    return (torch.randn(3, 10, 16),)
