import torch
import torch.nn as nn

torch.autograd.set_detect_anomaly(True)
torch.manual_seed(0)


class MixtureHead(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.gate = nn.Linear(d, k)
        self.rate = nn.Linear(d, k)

    def forward(self, x):
        return self.gate(x).softmax(-1), nn.functional.softplus(self.rate(x))


def entropy(p):
    return -(p * torch.log(p)).sum(dim=-1)


def mixture_nll(w, rate, t):
    dens = (w * rate * torch.exp(-rate * t[:, None])).sum(-1)
    return -torch.log(dens + 1e-8)


x = torch.randn(64, 5)
t = torch.distributions.Exponential(torch.exp(0.5 * x[:, 0])).sample()
keep = torch.ones(64, 3)
keep[::4, 2] = 0.0

head = MixtureHead(5, 3)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for step in range(30):
    w, rate = head(x)
    w = w * keep
    w = w / w.sum(-1, keepdim=True)
    loss = mixture_nll(w, rate, t).mean() - 0.01 * entropy(w).nan_to_num().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("nll", loss.item())
