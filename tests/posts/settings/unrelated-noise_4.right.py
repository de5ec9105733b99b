# line 45: the noise that was added to the returns is made by one call of the lambda, the target of the regression by a second one
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Schedule:
    def __init__(self, steps):
        betas = np.linspace(1e-3, 0.1, steps)
        self.steps = steps
        self.keep = torch.tensor(np.cumprod(1 - betas), dtype=torch.float32)

    def mix(self, clean, eps, t):
        a = self.keep[t].view(-1, 1, 1)
        return a.sqrt() * clean + (1 - a).sqrt() * eps


class NoisePredictor(nn.Module):
    def __init__(self, steps, channels=24):
        super().__init__()
        self.time = nn.Embedding(steps, channels)
        self.inp = nn.Conv1d(1, channels, 5, padding=2)
        self.mid = nn.Conv1d(channels, channels, 5, padding=2)
        self.out = nn.Conv1d(channels, 1, 5, padding=2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t).unsqueeze(-1))
        return self.out(F.silu(self.mid(h)))


class DiffusionTrainer:
    def __init__(self, series, steps=50):
        self.series = series
        self.schedule = Schedule(steps)
        self.model = NoisePredictor(steps)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.draw = lambda like: torch.empty_like(like).normal_()

    def train_step(self, batch_size=32):
        clean = self.series[torch.randint(0, len(self.series), (batch_size,))]
        t = torch.randint(0, self.schedule.steps, (batch_size,))
        eps = self.draw(clean)
        guess = self.model(self.schedule.mix(clean, eps, t), t)
        loss = (guess - eps).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return float(loss.detach())


torch.manual_seed(6)
phase = torch.rand(200, 1, 1) * 6.28
series = torch.sin(torch.linspace(0, 12.5, 32) + phase)
trainer = DiffusionTrainer(series)
curve = [trainer.train_step() for _ in range(150)]
print("start %.3f end %.3f" % (np.mean(curve[:10]), np.mean(curve[-10:])))
