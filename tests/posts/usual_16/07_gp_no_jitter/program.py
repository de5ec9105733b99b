import math

import torch

torch.manual_seed(3)


def objective(x):
    """validation error of a (simulated) training run as a function of log10(lr), dropout"""
    lr, p = x[..., 0], x[..., 1]
    return (lr + 2.8) ** 2 * 0.3 + (p - 0.25) ** 2 * 2 + 0.1 * torch.sin(5 * lr)


LOW = torch.tensor([-5.0, 0.0])
HIGH = torch.tensor([-1.0, 0.6])


class GP:
    def __init__(self, lengthscale=0.3, outputscale=1.0):
        self.log_l = torch.tensor(math.log(lengthscale), requires_grad=True)
        self.log_s = torch.tensor(math.log(outputscale), requires_grad=True)

    def kernel(self, A, B):
        d2 = torch.cdist(A, B) ** 2
        return self.log_s.exp() * torch.exp(-0.5 * d2 / self.log_l.exp() ** 2)

    def set_data(self, X, y):
        self.X = (X - LOW) / (HIGH - LOW)
        self.y_mean, self.y_std = y.mean(), y.std()
        self.y = (y - self.y_mean) / self.y_std

    def factor(self):
        K = self.kernel(self.X, self.X)
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(self.y[:, None], L)
        return L, alpha

    def nll(self):
        L, alpha = self.factor()
        fit = 0.5 * (self.y[:, None] * alpha).sum()
        return fit + L.diagonal().log().sum() + 0.5 * len(self.y) * math.log(2 * math.pi)

    def fit(self, steps=30, lr=0.05):
        opt = torch.optim.Adam([self.log_l, self.log_s], lr=lr)
        for _ in range(steps):
            opt.zero_grad()
            loss = self.nll()
            loss.backward()
            opt.step()
            with torch.no_grad():
                self.log_l.clamp_(math.log(0.05), math.log(2.0))
        return loss.item()

    @torch.no_grad()
    def predict(self, X):
        Xs = (X - LOW) / (HIGH - LOW)
        L, alpha = self.factor()
        Ks = self.kernel(Xs, self.X)
        mean = (Ks @ alpha).squeeze(1)
        v = torch.linalg.solve_triangular(L, Ks.T, upper=False)
        var = (self.log_s.exp() - (v ** 2).sum(0)).clamp_min(1e-9)
        return mean * self.y_std + self.y_mean, var.sqrt() * self.y_std


def expected_improvement(mean, std, best):
    n = torch.distributions.Normal(0.0, 1.0)
    u = (best - mean) / std
    return std * (u * n.cdf(u) + n.log_prob(u).exp())


def optimise(n_init=5, n_iter=25):
    X = LOW + (HIGH - LOW) * torch.rand(n_init, 2)
    y = objective(X)
    gp = GP()
    for it in range(n_iter):
        gp.set_data(X, y)
        nll = gp.fit()
        cand = LOW + (HIGH - LOW) * torch.rand(2000, 2)
        local = X[y.argmin()] + 0.02 * torch.randn(500, 2) * (HIGH - LOW)
        cand = torch.cat([cand, local.clamp(LOW, HIGH)])
        mean, std = gp.predict(cand)
        x_new = cand[expected_improvement(mean, std, y.min()).argmax()]
        X = torch.cat([X, x_new[None]])
        y = torch.cat([y, objective(x_new)[None]])
        if it % 5 == 4:
            print(f"iter {it + 1:2d}: nll {nll:7.2f}, best {y.min():.4f}")
    return X[y.argmin()], y.min()


x_best, y_best = optimise()
print(f"best log10(lr) {x_best[0]:.2f}, dropout {x_best[1]:.2f}, error {y_best:.4f}")
