# line 15: the lower triangle is hidden in nn.MultiheadAttention, so every step sees only later steps
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Forecaster(nn.Module):
    def __init__(self, horizon, dim=16):
        super().__init__()
        self.inp = nn.Linear(1, dim)
        self.pos = nn.Parameter(torch.randn(1, horizon, dim) * 0.02)
        self.attn = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, 1))
        steps = torch.arange(horizon)
        self.register_buffer("hidden", steps[None, :] < steps[:, None])

    def forward(self, series):
        x = self.inp(series.unsqueeze(-1)) + self.pos
        seen, _ = self.attn(x, x, x, attn_mask=self.hidden, need_weights=False)
        return self.ff(x + seen).squeeze(-1)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)

    def step(self, past, future):
        self.opt.zero_grad()
        loss = nn.functional.l1_loss(self.model(past), future)
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(22)
waves = torch.sin(torch.rand(96, 1) * 6 + 0.3 * torch.arange(25)) + 0.05 * torch.randn(96, 25)
loader = DataLoader(TensorDataset(waves[:, :-1], waves[:, 1:]), 24, shuffle=True)
trainer = Trainer(Forecaster(24), 3e-3)
for epoch in range(4):
    losses = [trainer.step(past, future) for past, future in loader]
    print(epoch, sum(losses) / len(losses))
