# line 20: the residual in torch.where is the forecast minus the demand, so each output learns the opposite quantile
import torch
import torch.nn as nn

LEVELS = (0.1, 0.5, 0.9)


class IntervalForecaster(nn.Module):
    def __init__(self, history=12, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(history, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.heads = nn.ModuleDict({f"q{int(100 * q)}": nn.Linear(width, 1) for q in LEVELS})

    def forward(self, past):
        h = self.body(past)
        return {name: head(h).squeeze(-1) for name, head in self.heads.items()}


def tilted(forecast, demand, q):
    residual = demand - forecast
    return torch.where(residual >= 0, q * residual, (q - 1) * residual).mean()


def total_loss(forecasts, demand):
    return sum(tilted(forecasts[f"q{int(100 * q)}"], demand, q) for q in LEVELS) / len(LEVELS)


def demand_windows(n, history=12):
    t = torch.arange(n + history + 1.0)
    noise = torch.randn(n + history + 1) * (0.3 + 0.2 * torch.sin(t / 12 * 6.2832))
    series = torch.sin(t / 12 * 6.2832) + noise
    pieces = series.unfold(0, history + 1, 1)
    return pieces[:, :-1], pieces[:, -1]


class Session:
    def __init__(self):
        self.model = IntervalForecaster()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def fit(self, past, demand, epochs=10):
        self.model.train()
        for _ in range(epochs):
            for rows in torch.randperm(len(past)).split(40):
                self.optimizer.zero_grad()
                total_loss(self.model(past[rows]), demand[rows]).backward()
                self.optimizer.step()

    @torch.no_grad()
    def below(self, past, demand):
        self.model.eval()
        return {name: (demand < f).float().mean().item() for name, f in self.model(past).items()}


torch.manual_seed(0)
session = Session()
session.fit(*demand_windows(800))
print("share of demand below each forecast", session.below(*demand_windows(300)))
