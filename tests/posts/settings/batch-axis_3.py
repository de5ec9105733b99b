# line 15: the hazards (N, intervals) are summed up along the patients instead of along the intervals of each patient
import torch
from torch import nn


class DiscreteSurvival(nn.Module):
    """Negative log likelihood of survival times in intervals, with censoring."""

    def __init__(self, covariates, intervals):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(covariates, 24), nn.ReLU(), nn.Linear(24, intervals))

    def log_survival(self, x):
        hazard = nn.functional.softplus(self.net(x))
        return -torch.cumsum(hazard, dim=0)

    def nll(self, x, interval, event):
        log_s = self.log_survival(x)
        after = log_s.gather(1, interval[:, None]).squeeze(1)
        before = nn.functional.pad(log_s, (1, 0))[:, :-1].gather(1, interval[:, None]).squeeze(1)
        p_event = (before.exp() - after.exp()).clamp(min=1e-7)
        return -(event * p_event.log() + (1 - event) * after).mean()


def cohort(n, intervals):
    x = torch.randn(n, 6)
    rate = torch.exp(0.7 * x[:, 0] - 0.4 * x[:, 1]) * 0.25
    death = -torch.log(torch.rand(n)) / rate
    censor = 10 * torch.rand(n)
    event = (death <= censor).float()
    interval = torch.minimum(death, censor).long().clamp(max=intervals - 1)
    return x, interval, event


torch.manual_seed(21)
data = torch.utils.data.TensorDataset(*cohort(480, 8))
model = DiscreteSurvival(6, 8)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    total = 0.0
    for x, interval, event in torch.utils.data.DataLoader(data, batch_size=48, shuffle=True):
        loss = model.nll(x, interval, event)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
    print(f"epoch {epoch}: nll {total / len(data):.4f}")
