import math

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, n_in, n_out, n_mix):
        super().__init__()
        self.n_out, self.n_mix = n_out, n_mix
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.Tanh())
        self.pi = nn.Linear(32, n_mix)
        self.mu = nn.Linear(32, n_mix * n_out)
        self.log_sigma = nn.Linear(32, n_mix)

    def forward(self, x):
        h = self.body(x)
        mu = self.mu(h).view(-1, self.n_mix, self.n_out)
        return self.pi(h).log_softmax(-1), mu, self.log_sigma(h).unsqueeze(-1)

    def nll(self, x, y):
        log_pi, mu, log_sigma = self(x)
        z = (y.unsqueeze(1) - mu) * torch.exp(-log_sigma)
        log_prob = -0.5 * z.pow(2) - log_sigma - 0.5 * math.log(2 * math.pi)
        return -(log_pi + log_prob.sum(-1)).logsumexp(dim=-1)

    def sample(self, x):
        log_pi, mu, log_sigma = self(x)
        k = torch.multinomial(log_pi.exp(), 1)
        mu_k = mu.take_along_dim(k.unsqueeze(-1), dim=1).squeeze(1)
        sigma_k = log_sigma.exp().take_along_dim(k.unsqueeze(-1), dim=1).squeeze(1)
        return mu_k + sigma_k * torch.randn_like(mu_k)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.mdn = MDN(n_in=3, n_out=2, n_mix=5)

    def forward(self, x, y):
        return self.mdn.nll(x, y).mean(), self.mdn.sample(x)


def example_inputs():
    return torch.randn(12, 3), torch.randn(12, 2)
