import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["load", "temperature", "vibration", "age"]


def simulate_pumps(n, seed):
    g = np.random.default_rng(seed)
    df = pd.DataFrame(g.normal(0, 1, (n, 4)), columns=FEATURES)
    scale = np.exp(2.2 - 0.5 * df["load"] - 0.3 * df["temperature"] - 0.4 * df["vibration"])
    life = scale * g.weibull(1.6, n)
    end_of_study = g.uniform(3, 24, n)
    df["months"] = np.minimum(life, end_of_study).clip(0.05)
    df["censored"] = (life > end_of_study).astype(int)
    df["true_median"] = scale * np.log(2) ** (1 / 1.6)
    return df


class WeibullAFT(nn.Module):
    def __init__(self, n_in, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.raw_shape = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        scale = torch.exp(self.net(x).squeeze(1).clamp(-4, 8))
        shape = F.softplus(self.raw_shape) + 0.2
        return scale, shape


def weibull_nll(scale, shape, time, event):
    z = time / scale
    log_hazard = torch.log(shape) - torch.log(scale) + (shape - 1) * torch.log(z)
    cumulative_hazard = z ** shape
    return (cumulative_hazard - event * log_hazard).mean()


def to_tensors(df):
    x = torch.tensor(df[FEATURES].to_numpy(), dtype=torch.float32)
    time = torch.tensor(df["months"].to_numpy(), dtype=torch.float32)
    event = torch.tensor(df["censored"].to_numpy(), dtype=torch.float32)
    return x, time, event


torch.manual_seed(0)
train_df, test_df = simulate_pumps(2000, seed=1), simulate_pumps(500, seed=2)
loader = DataLoader(TensorDataset(*to_tensors(train_df)), batch_size=100, shuffle=True)
x_test, t_test, e_test = to_tensors(test_df)
true_median = torch.tensor(test_df["true_median"].to_numpy(), dtype=torch.float32)
model = WeibullAFT(len(FEATURES))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)

print(f"share censored: {train_df['censored'].mean():.2f}")
for epoch in range(30):
    model.train()
    for x, time, event in loader:
        scale, shape = model(x)
        loss = weibull_nll(scale, shape, time, event)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 6 == 5:
        model.eval()
        with torch.no_grad():
            scale, shape = model(x_test)
            nll = weibull_nll(scale, shape, t_test, e_test)
            median = scale * np.log(2) ** (1 / shape)
        print(f"epoch {epoch + 1}: test NLL {nll:.3f}  shape {shape.item():.2f}  "
              f"predicted median life {median.mean():.2f} months (true {true_median.mean():.2f})")
