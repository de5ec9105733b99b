import torch
import torch.nn as nn


def spectral_features(x):
    return torch.fft.rfft(x, dim=-1).abs().log1p()


class Detector(nn.Module):
    def __init__(self, n_bins):
        super().__init__()
        self.proj = nn.Linear(n_bins, 32)
        self.score = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.relu(self.proj(spectral_features(x)))
        return self.score(h).squeeze(-1), h


torch.manual_seed(0)
model = Detector(33)
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
teacher = Detector(33)
x = torch.randn(32, 64)
x[:16] += torch.sin(torch.arange(64) * 0.5)
y = torch.cat([torch.ones(16), torch.zeros(16)])

for step in range(15):
    logits, h = model(x)
    _, target_h = teacher(x)
    target_h.requires_grad = False
    bce = nn.functional.binary_cross_entropy_with_logits(logits, y)
    distill = nn.functional.mse_loss(h, target_h)
    loss = bce + 0.1 * distill
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"bce {bce.item():.4f} distill {distill.item():.4f}")
