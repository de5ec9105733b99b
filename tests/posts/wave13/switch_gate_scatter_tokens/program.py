import torch
import torch.nn as nn
import torch.nn.functional as F


class SwitchGate(nn.Module):
    """sends every token to one expert"""

    def __init__(self, dim, num_experts):
        super().__init__()
        self.num_experts = num_experts
        self.w_gate = nn.Linear(dim, num_experts)

    def forward(self, x):
        gate_scores = F.softmax(self.w_gate(x), dim=-1)
        top_scores, top_indices = gate_scores.topk(1, dim=-1)
        mask = torch.zeros_like(gate_scores).scatter_(1, top_indices, 1)
        weights = gate_scores * mask
        load = gate_scores.mean(dim=(0, 1))
        importance = mask.mean(dim=(0, 1))
        aux_loss = self.num_experts * (load * importance).sum()
        return weights, aux_loss


class FeedForward(nn.Module):
    def __init__(self, dim, mult=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, dim * mult), nn.GELU(), nn.Linear(dim * mult, dim))

    def forward(self, x):
        return self.net(x)


class SwitchMoE(nn.Module):
    def __init__(self, dim, num_experts):
        super().__init__()
        self.gate = SwitchGate(dim, num_experts)
        self.experts = nn.ModuleList([FeedForward(dim) for _ in range(num_experts)])

    def forward(self, x):
        weights, aux_loss = self.gate(x)
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        return (outputs * weights.unsqueeze(-2)).sum(dim=-1), aux_loss


class Block(nn.Module):
    def __init__(self, dim, heads, num_experts):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.moe = SwitchMoE(dim, num_experts)

    def forward(self, x, causal):
        h = self.norm1(x)
        x = x + self.attn(h, h, h, attn_mask=causal, need_weights=False)[0]
        out, aux_loss = self.moe(self.norm2(x))
        return x + out, aux_loss


class SwitchLM(nn.Module):
    def __init__(self, num_tokens, dim=32, heads=4, depth=2, num_experts=4, max_len=32):
        super().__init__()
        self.tokens = nn.Embedding(num_tokens, dim)
        self.positions = nn.Parameter(0.02 * torch.randn(max_len, dim))
        self.blocks = nn.ModuleList([Block(dim, heads, num_experts) for _ in range(depth)])
        self.to_out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, ids):
        t = ids.shape[1]
        causal = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
        x = self.tokens(ids) + self.positions[:t]
        aux = 0.0
        for block in self.blocks:
            x, a = block(x, causal)
            aux = aux + a
        return self.to_out(x), aux


def counting_batch(n=48, length=17, num_tokens=40):
    """runs with a stride that is set by the first token"""
    start = torch.randint(0, num_tokens, (n, 1))
    stride = 1 + start % 4
    return (start + stride * torch.arange(length)) % num_tokens


def main():
    torch.manual_seed(0)
    model = SwitchLM(num_tokens=40)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for step in range(1, 121):
        ids = counting_batch()
        logits, aux = model(ids[:, :-1])
        ce = F.cross_entropy(logits.transpose(1, 2), ids[:, 1:])
        loss = ce + 0.01 * aux
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 30 == 0:
            print(f'step {step} ce {ce.item():.4f} aux {aux.item():.4f}')


if __name__ == '__main__':
    main()
