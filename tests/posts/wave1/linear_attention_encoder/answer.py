import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def get_EF(seq_len, dim_k, method='learnable'):
    """Projection of the sequence axis, (seq_len -> dim_k)."""
    if method == 'learnable':
        return nn.Linear(seq_len, dim_k, bias=False)
    mat = torch.zeros((seq_len, dim_k), requires_grad=False)
    torch.nn.init.normal_(mat, mean=0.0, std=1 / dim_k)
    return mat


class LowRankHead(nn.Module):
    def __init__(self, dim, head_dim, E_proj, F_proj):
        super().__init__()
        self.E = E_proj
        self.F = F_proj
        self.to_q = nn.Linear(dim, head_dim, bias=False)
        self.to_k = nn.Linear(dim, head_dim, bias=False)
        self.to_v = nn.Linear(dim, head_dim, bias=False)
        self.scale = head_dim ** -0.5

    def forward(self, x):
        Q, K, V = self.to_q(x), self.to_k(x), self.to_v(x)
        if isinstance(self.E, nn.Linear):
            K, V = self.E(K.transpose(1, 2)), self.F(V.transpose(1, 2)).transpose(1, 2)
        else:
            self.E, self.F = self.E.to(K.device), self.F.to(V.device)
            K = torch.matmul(K.transpose(1, 2), self.E)
            V = torch.matmul(V.transpose(1, 2), self.F).transpose(1, 2)
        P = torch.softmax(torch.matmul(Q, K) * self.scale, dim=-1)
        return torch.matmul(P, V)


class LinearEncoder(nn.Module):
    def __init__(self, vocab, seq_len, dim=64, n_heads=4, dim_k=32, classes=2, method='no_params'):
        super().__init__()
        E_proj = get_EF(seq_len, dim_k, method)
        self.embed = nn.Embedding(vocab, dim)
        self.heads = nn.ModuleList([LowRankHead(dim, dim // n_heads, E_proj, E_proj) for _ in range(n_heads)])
        self.mix = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = self.norm(x + self.mix(torch.cat([h(x) for h in self.heads], dim=-1)))
        return self.cls(x.mean(dim=1))


if __name__ == '__main__':
    torch.manual_seed(0)
    data = TensorDataset(torch.randint(0, 1000, (40, 256)), torch.randint(0, 2, (40,)))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model = LinearEncoder(vocab=1000, seq_len=256).cuda()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for tokens, y in loader:
        tokens, y = tokens.cuda(), y.cuda()
        loss = nn.functional.cross_entropy(model(tokens), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(f'loss {loss.item():.4f}')
