"""DeepSurv on simulated clinical data: Cox partial likelihood and Harrell's concordance."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
rng = np.random.default_rng(3)


def simulate(n):
    x = rng.normal(size=(n, 8)).astype(np.float32)
    risk = 0.9 * x[:, 0] - 0.7 * x[:, 1] + 0.6 * x[:, 2] * x[:, 3]
    event_time = rng.exponential(10.0 * np.exp(-risk))
    # patients enter over the years, so follow-up differs; frail patients are followed more closely
    follow_up = rng.uniform(1, 25, n) * np.exp(-0.4 * x[:, 0])
    time = np.minimum(event_time, follow_up)
    event = event_time <= follow_up
    return (torch.from_numpy(x), torch.tensor(time, dtype=torch.float32), torch.tensor(event, dtype=torch.float32))


class DeepSurv(nn.Module):
    def __init__(self, n_in=8, hidden=32, p=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SELU(), nn.AlphaDropout(p),
            nn.Linear(hidden, hidden), nn.SELU(), nn.AlphaDropout(p),
            nn.Linear(hidden, 1, bias=False),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


class CoxPHLoss(nn.Module):
    """Negative log partial likelihood (Breslow) of a batch."""

    def forward(self, log_hazard, time, event):
        order = torch.argsort(time)
        log_hazard, event = log_hazard[order], event[order]
        log_risk = torch.logcumsumexp(log_hazard, dim=0)
        return -((log_hazard - log_risk) * event).sum() / event.sum().clamp(min=1)


def concordance(log_hazard, time, event):
    h, t, e = log_hazard.numpy(), time.numpy(), event.numpy()
    comparable = (t[:, None] < t[None, :]) & (e[:, None] == 1)
    higher = (h[:, None] > h[None, :]) + 0.5 * (h[:, None] == h[None, :])
    return (higher * comparable).sum() / comparable.sum()


def main():
    train, valid, test = simulate(1000), simulate(300), simulate(600)
    loader = DataLoader(TensorDataset(*train), batch_size=128, shuffle=True)
    model = DeepSurv()
    criterion = CoxPHLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)

    for epoch in range(20):
        model.train()
        total = 0.0
        for x, t, e in loader:
            loss = criterion(model(x), t, e)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
        scheduler.step()
        if epoch % 5 == 4:
            model.eval()
            with torch.no_grad():
                c = concordance(model(valid[0]), *valid[1:])
            print(f"epoch {epoch + 1:2d}  loss {total / len(loader):.3f}  valid C-index {c:.3f}")

    model.eval()
    with torch.no_grad():
        h = model(test[0])
    print(f"test C-index {concordance(h, *test[1:]):.3f}, events {test[2].mean().item():.2f}")


if __name__ == "__main__":
    main()
