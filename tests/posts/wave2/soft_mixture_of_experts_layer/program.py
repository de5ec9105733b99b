import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiExpertLinear(nn.Module):
    """one linear layer per expert; x is (b, n, p, d)"""

    def __init__(self, num_experts, in_features, out_features):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(num_experts, in_features, out_features) * in_features ** -0.5)
        self.bias = nn.Parameter(torch.zeros(num_experts, 1, out_features))

    def forward(self, x):
        return torch.einsum('b n p d, n d e -> b n p e', x, self.weight) + self.bias


class SoftMoE(nn.Module):
    """every slot of every expert is a convex combination of the tokens of a sequence"""

    def __init__(self, embed_dim=64, num_experts=4, slots_per_expert=2):
        super().__init__()
        self.phi = nn.Parameter(torch.randn(embed_dim, num_experts, slots_per_expert) * embed_dim ** -0.5)
        self.up = MultiExpertLinear(num_experts, embed_dim, embed_dim * 2)
        self.down = MultiExpertLinear(num_experts, embed_dim * 2, embed_dim)

    def forward(self, x):
        # (b, m, d) x (d, n, p) -> (b, m, n, p)
        logits = torch.einsum('b m d, d n p -> b m n p', x, self.phi)
        dispatch_weights = F.softmax(logits, dim=0)
        combine_weights = F.softmax(logits.flatten(2), dim=-1).view_as(logits)

        slots = torch.einsum('b m d, b m n p -> b n p d', x, dispatch_weights)
        slots = self.down(F.gelu(self.up(slots)))
        return torch.einsum('b n p d, b m n p -> b m d', slots, combine_weights)


class SoftMoEEncoder(nn.Module):
    def __init__(self, embed_dim=64, num_heads=4, depth=2):
        super().__init__()
        self.norm1 = nn.ModuleList([nn.LayerNorm(embed_dim) for _ in range(depth)])
        self.norm2 = nn.ModuleList([nn.LayerNorm(embed_dim) for _ in range(depth)])
        self.attn = nn.ModuleList([nn.MultiheadAttention(embed_dim, num_heads, batch_first=True) for _ in range(depth)])
        self.moe = nn.ModuleList([SoftMoE(embed_dim) for _ in range(depth)])

    def forward(self, x):
        for norm1, attn, norm2, moe in zip(self.norm1, self.attn, self.norm2, self.moe):
            h = norm1(x)
            x = x + attn(h, h, h, need_weights=False)[0]
            x = x + moe(norm2(x))
        return x
