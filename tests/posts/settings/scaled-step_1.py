# line 26: the scaled loss's gradients are used by optimizer.step() itself, without scaler.step()
import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast


class AmpTrainer:
    def __init__(self, net, lr, device="cpu"):
        self.net, self.device = net, device
        self.optimizer = torch.optim.AdamW(net.parameters(), lr=lr, eps=1e-6)
        self.scaler = GradScaler(device, init_scale=2.0 ** 10)

    def forward_loss(self, x, y):
        with autocast(self.device, dtype=torch.bfloat16):
            out = self.net(x)
        return nn.functional.mse_loss(out.float(), y)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward_loss(x, y)
        self.scaler.scale(loss).backward()
        self._apply()
        return loss.item()

    def _apply(self):
        self.optimizer.step()


class SuperRes(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.f = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, 4, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        return self.f(x)


torch.manual_seed(0)
trainer = AmpTrainer(SuperRes(), lr=3e-3)
grid = torch.linspace(0, 6.28, 16)
for it in range(60):
    p = torch.rand(8, 1, 1, 1) * 6.28
    fine = torch.sin(grid[:, None] + grid[None] + p)
    value = trainer.step(nn.functional.avg_pool2d(fine, 2), fine)
print("mse", value)
