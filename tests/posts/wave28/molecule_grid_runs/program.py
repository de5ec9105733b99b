import itertools
import math
import resource

import torch
import torch.nn as nn

torch.manual_seed(11)


# ---------------------------------------------------------------- data
def random_molecules(n, atoms=12, feats=8):
    x = torch.randn(n, atoms, feats)
    adj = (torch.rand(n, atoms, atoms) < 0.25).float()
    adj = ((adj + adj.transpose(1, 2)) > 0).float()
    adj = adj / adj.sum(dim=-1, keepdim=True).clamp(min=1)
    y = (adj @ x)[..., 0].sum(dim=1) + 0.3 * torch.randn(n)
    return x, adj, y


def batches(data, size):
    return list(zip(*(t.split(size) for t in data)))


# ---------------------------------------------------------------- model
class GraphNet(nn.Module):
    def __init__(self, feats, units, depth, heteroscedastic):
        super().__init__()
        dims = [feats] + [units] * depth
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(dims, dims[1:])])
        self.mu = nn.Linear(units, 1)
        self.log_sigma = nn.Linear(units, 1) if heteroscedastic else None

    def condition(self, x, adj):
        h = x
        for layer in self.layers:
            h = torch.tanh(layer(adj @ h))
        h = h.sum(dim=1)
        mu = self.mu(h).squeeze(-1)
        sigma = torch.ones_like(mu) if self.log_sigma is None else self.log_sigma(h).squeeze(-1).clamp(-4, 4).exp()
        return torch.distributions.Normal(mu, sigma)

    def loss(self, x, adj, y):
        return -self.condition(x, adj).log_prob(y).mean()


# ---------------------------------------------------------------- metrics
def rmse(net, x, adj, y):
    return ((net.condition(x, adj).mean - y) ** 2).mean().sqrt()


def r2(net, x, adj, y):
    return 1 - ((net.condition(x, adj).mean - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def avg_nll(net, x, adj, y):
    return net.loss(x, adj, y)


METRICS = (rmse, r2, avg_nll)


# ---------------------------------------------------------------- experiments
class Train:
    def __init__(self, net, data, n_epochs, lr):
        self.net, self.data, self.n_epochs = net, data, n_epochs
        self.optimizer = torch.optim.Adam(net.parameters(), lr)
        self.states = {}

    def run(self):
        for epoch in range(self.n_epochs):
            for x, adj, y in self.data:
                self.optimizer.zero_grad()
                loss = self.net.loss(x, adj, y)
                loss.backward()
                self.optimizer.step()
            self.states[epoch] = {k: v.clone() for k, v in self.net.state_dict().items()}
        return self.states


class Test:
    def __init__(self, net, data, states, metrics=METRICS):
        self.net, self.data, self.states, self.metrics = net, data, states, metrics

    def run(self):
        x, adj, y = self.data
        results = {metric.__name__: {} for metric in self.metrics}
        for epoch, state in self.states.items():
            self.net.load_state_dict(state)
            for metric in self.metrics:
                results[metric.__name__][epoch] = metric(self.net, x, adj, y)
        return results


class TrainAndTestGrid:
    def __init__(self, train_data, test_data, grid, n_epochs=6):
        self.train_data, self.test_data, self.n_epochs = train_data, test_data, n_epochs
        self.param_dicts = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]

    def run(self):
        results = []
        for params in self.param_dicts:
            lr = params["lr"]
            net = GraphNet(8, params["units"], params["depth"], params["heteroscedastic"])
            states = Train(net, batches(self.train_data, 64), self.n_epochs, lr).run()
            results.append((params, Test(net, self.test_data, states).run()))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{len(results):2d}/{len(self.param_dicts)} {params} peak memory {peak:.0f} MB")
        return results


grid = {"lr": [1e-2, 1e-3], "units": [32, 64], "depth": [2, 3], "heteroscedastic": [True, False]}
results = TrainAndTestGrid(random_molecules(384), random_molecules(256), grid).run()

best = min(results, key=lambda pair: min(pair[1]["rmse"].values()))
print("best:", best[0])
for name, curve in best[1].items():
    print(f"{name:>8}:", " ".join(f"{v.item():.3f}" for v in curve.values()))
