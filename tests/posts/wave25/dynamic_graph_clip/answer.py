import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(123)


class GCNConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj_norm):
        return adj_norm @ (x @ self.weight)


class VGRNN(nn.Module):
    """Variational recurrent model of a sequence of graphs."""

    def __init__(self, x_dim, h_dim=32, z_dim=16):
        super().__init__()
        self.h_dim = h_dim
        self.phi_x = nn.Sequential(nn.Linear(x_dim, h_dim), nn.ReLU())
        self.phi_z = nn.Sequential(nn.Linear(z_dim, h_dim), nn.ReLU())
        self.enc = GCNConv(2 * h_dim, h_dim)
        self.enc_mean = GCNConv(h_dim, z_dim)
        self.enc_std = GCNConv(h_dim, z_dim)
        self.prior = nn.Sequential(nn.Linear(h_dim, h_dim), nn.ReLU())
        self.prior_mean = nn.Linear(h_dim, z_dim)
        self.prior_std = nn.Linear(h_dim, z_dim)
        self.rnn = nn.GRUCell(2 * h_dim, h_dim)

    def forward(self, xs, adjs):
        n = xs.size(1)
        h = torch.zeros(n, self.h_dim)
        kld, nll = 0.0, 0.0
        for x, adj in zip(xs, adjs):
            adj_norm = normalize(adj)
            phi_x = self.phi_x(x)
            enc = F.relu(self.enc(torch.cat([phi_x, h], dim=1), adj_norm))
            mean, std = self.enc_mean(enc, adj_norm), F.softplus(self.enc_std(enc, adj_norm)) + 1e-4
            prior = self.prior(h)
            p_mean, p_std = self.prior_mean(prior), F.softplus(self.prior_std(prior)) + 1e-4
            z = mean + std * torch.randn_like(std)
            logits = z @ z.t()
            pos = (adj.numel() - adj.sum()) / adj.sum()
            nll = nll + F.binary_cross_entropy_with_logits(logits, adj, pos_weight=pos, reduction="sum") / n
            kld = kld + (torch.log(p_std / std) + (std ** 2 + (mean - p_mean) ** 2) / (2 * p_std ** 2) - 0.5).sum() / n
            h = self.rnn(torch.cat([phi_x, self.phi_z(z)], dim=1), h)
        return kld, nll


def normalize(adj):
    adj = adj + torch.eye(adj.size(0))
    d = adj.sum(1).rsqrt()
    return d[:, None] * adj * d[None, :]


def graph_sequence(n=40, steps=6, communities=4):
    member = torch.arange(n) % communities
    adjs = []
    for t in range(steps):
        prob = torch.where(member[:, None] == member[None, :], 0.4, 0.03)
        upper = torch.triu(torch.bernoulli(prob), diagonal=1)
        adjs.append(upper + upper.t())
    xs = torch.eye(n).expand(steps, n, n)
    return xs, torch.stack(adjs)


if __name__ == "__main__":
    clip = 10
    xs, adjs = graph_sequence()
    model = VGRNN(xs.size(2))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    for k in range(60):
        optimizer.zero_grad()
        kld_loss, nll_loss = model(xs, adjs)
        loss = kld_loss + nll_loss
        loss.backward()
        total_norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        if k % 10 == 0 or k == 59:
            print("epoch: %d kld_loss = %.3f nll_loss = %.3f loss = %.3f grad norm = %.1f" % (
                k, kld_loss.item(), nll_loss.item(), loss.item(), total_norm.item()))
