# line 30: the noise of the graph autoencoder is multiplied by exp(log variance)
import torch
from torch import nn

torch.manual_seed(26)
N, K = 60, 3


def block_graph():
    group = torch.arange(N) % K
    p = torch.where(group[:, None] == group[None, :], 0.5, 0.03)
    upper = torch.bernoulli(p).triu(1)
    return upper + upper.t()


class GraphEncoder(nn.Module):
    def __init__(self, features, hidden, code):
        super().__init__()
        self.w = nn.Linear(features, hidden, bias=False)
        self.heads = nn.ModuleDict({"m": nn.Linear(hidden, code), "s": nn.Linear(hidden, code)})

    def forward(self, a_hat, x):
        h = torch.relu(a_hat @ self.w(x))
        return a_hat @ self.heads["m"](h), a_hat @ self.heads["s"](h)


def draw(stats):
    m, s = stats
    noise = torch.empty_like(m).normal_()
    return noise.mul(torch.exp(s)).add(m)


def divergence(stats):
    m, s = stats
    return -0.5 / N * torch.sum(1 + s - m * m - torch.exp(s), dim=1).mean()


adjacency = block_graph()
with_self = adjacency + torch.eye(N)
norm = with_self.sum(1).rsqrt()
a_hat = norm[:, None] * with_self * norm[None, :]
balance = (N * N - adjacency.sum()) / adjacency.sum()
model = GraphEncoder(N, 24, 8)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for it in range(60):
    stats = model(a_hat, torch.eye(N))
    z = draw(stats)
    rebuilt = nn.functional.binary_cross_entropy_with_logits(z @ z.t(), adjacency, pos_weight=balance)
    loss = rebuilt + divergence(stats)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 20 == 0:
        print(it, loss.item())
