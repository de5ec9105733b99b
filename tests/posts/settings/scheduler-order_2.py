# line 41: the warm-up schedule steps at the beginning of each epoch, so its first value is skipped
import torch
import torch.nn as nn


def warmup_then_decay(optimizer, warm, total):
    up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=warm)
    down = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.8)
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [up, down], milestones=[warm])


class AutoEncoder(nn.Module):
    def __init__(self, channels=9, code=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(channels, 24), nn.Tanh(), nn.Linear(24, code))
        self.dec = nn.Sequential(nn.Linear(code, 24), nn.Tanh(), nn.Linear(24, channels))

    def forward(self, x):
        return self.dec(self.enc(x))


def train_epoch(model, optimizer, rows, size=32):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(rows)).split(size):
        batch = rows[idx]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(rows)


torch.manual_seed(83)
telemetry = torch.randn(320, 3) @ torch.randn(3, 9) + 0.05 * torch.randn(320, 9)
model = AutoEncoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
schedule = warmup_then_decay(optimizer, warm=3, total=8)
for epoch in range(8):
    schedule.step()
    error = train_epoch(model, optimizer, telemetry)
    print(f"{epoch} lr {optimizer.param_groups[0]['lr']:.4f} error {error:.4f}")
