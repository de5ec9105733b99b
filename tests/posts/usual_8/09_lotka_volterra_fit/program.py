# Estimate the four Lotka-Volterra rates from noisy hare/lynx counts by differentiating through RK4.
import numpy as np
import pandas as pd
import torch

torch.manual_seed(0)


def simulate_csv(path):
    rng = np.random.default_rng(7)
    a, b, c, d = 1.0, 0.4, 0.3, 1.1
    y = np.array([4.0, 2.0])
    dt, rows = 0.05, []
    for k in range(161):
        if k % 4 == 0:
            rows.append((k * dt, *(y * np.exp(0.02 * rng.normal(size=2)))))
        f = lambda s: np.array([a * s[0] - b * s[0] * s[1], c * s[0] * s[1] - d * s[1]])
        k1 = f(y); k2 = f(y + dt / 2 * k1); k3 = f(y + dt / 2 * k2); k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    pd.DataFrame(rows, columns=["t", "hare", "lynx"]).to_csv(path, index=False)


class LotkaVolterra(torch.nn.Module):
    def __init__(self):
        super().__init__()
        # logs, so the rates stay positive
        self.log_rates = torch.nn.Parameter(torch.log(torch.tensor([0.8, 0.5, 0.4, 0.9])))

    def rates(self):
        return self.log_rates.exp()

    def forward(self, state):
        alpha, beta, delta, gamma = self.rates()
        hare, lynx = state
        dhare = alpha * hare - beta * hare * lynx
        dlynx = delta * hare * lynx - gamma * lynx
        return torch.tensor([dhare, dlynx])


def rk4_step(f, y, h):
    k1 = f(y)
    k2 = f(y + 0.5 * h * k1)
    k3 = f(y + 0.5 * h * k2)
    k4 = f(y + h * k3)
    return y + h / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, ts, substeps=2):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        y, h = ys[-1], (t1 - t0) / substeps
        for _ in range(substeps):
            y = rk4_step(f, y, h)
        ys.append(y)
    return torch.stack(ys)


def fit(model, ts, obs, iters=60, lr=0.03):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for it in range(iters):
        # growing horizon makes the early iterations well behaved
        n = min(len(ts), 10 + it)
        pred = odeint(model, obs[0], ts[:n])
        loss = torch.mean((torch.log(pred) - torch.log(obs[:n])) ** 2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 20 == 0 or it == iters - 1:
            print(f"{it:3d}  loss {loss.item():.5f}  rates {[round(r, 3) for r in model.rates().tolist()]}")
    return model


if __name__ == "__main__":
    simulate_csv("hare_lynx.csv")
    df = pd.read_csv("hare_lynx.csv")
    ts = torch.tensor(df["t"].to_numpy(), dtype=torch.float32)
    obs = torch.tensor(df[["hare", "lynx"]].to_numpy(), dtype=torch.float32)
    model = fit(LotkaVolterra(), ts, obs)
    with torch.no_grad():
        alpha, beta, delta, gamma = model.rates().tolist()
    print("equilibrium: hare %.2f, lynx %.2f" % (gamma / delta, alpha / beta))
