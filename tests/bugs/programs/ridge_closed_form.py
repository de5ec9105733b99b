import torch


def fit_ridge(X, Y, lam=1e-2):
    """Closed-form multi-output ridge regression."""
    d = X.shape[1]
    gram = X.t() @ X + lam * torch.eye(d, device=X.device)
    return torch.linalg.solve(gram, X.t() @ Y)


def predict(X, W, bias):
    return torch.addmm(bias, X, W)


def main(X, Y):
    X_mean = X.mean(dim=0, keepdim=True)
    bias = Y.mean(dim=1)
    W = fit_ridge(X - X_mean, Y)
    pred = predict(X - X_mean, W, bias)
    rmse = (pred - Y).pow(2).mean().sqrt()
    return pred, rmse


def example_inputs():
    g = torch.Generator().manual_seed(1)
    X = torch.randn(40, 7, generator=g)
    Y = X @ torch.randn(7, 3, generator=g) + 0.5
    return X, Y
