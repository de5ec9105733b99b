import torch


def rbf(a, b, lengthscale=0.7):
    d2 = (a[:, None, :] - b[None, :, :]).pow(2).sum(-1)
    return torch.exp(-0.5 * d2 / lengthscale**2)


def posterior(x_train, y_train, x_test, noise=0.1):
    n = x_train.size(0)
    K = rbf(x_train, x_train) + noise**2 * torch.eye(n, device=x_train.device)
    K_s = rbf(x_test, x_train)
    K_ss = rbf(x_test, x_test)
    L = torch.linalg.cholesky(K)
    v = torch.linalg.solve_triangular(L, K_s, upper=False)
    alpha = torch.cholesky_solve(y_train, L).flatten()
    mean = torch.mv(K_s, alpha)
    var = K_ss.diagonal() - v.pow(2).sum(dim=0)
    return mean, var


def main(x_train, y_train, x_test):
    y_mean = y_train.mean()
    mean, var = posterior(x_train, y_train - y_mean, x_test)
    return mean + y_mean, var.clamp_min(0)


def example_inputs():
    x = torch.linspace(0, 3, 14)[:, None]
    return x, torch.sin(2 * x[:, 0]), torch.linspace(-0.5, 3.5, 9)[:, None]
