import torch
import torch.nn as nn


class SteppedRound(torch.autograd.Function):
    """Quantise to `levels` steps in [0, 1]; straight-through inside the range."""

    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x, levels)
        return torch.round(x.clamp(0, 1) * levels) / levels

    @staticmethod
    def backward(ctx, grad_out):
        (x,) = ctx.saved_tensors[:1]
        inside = ((x >= 0) & (x <= 1)).to(grad_out.dtype)
        return grad_out * inside, None


class QuantAE(nn.Module):
    def __init__(self, levels=15):
        super().__init__()
        self.levels = levels
        self.enc, self.dec = nn.Linear(30, 6), nn.Linear(6, 30)

    def forward(self, x):
        code = SteppedRound.apply(torch.sigmoid(self.enc(x)), self.levels)
        return self.dec(code)


torch.manual_seed(0)
basis = torch.randn(4, 30)
data = torch.randn(128, 4) @ basis
net = QuantAE()
opt = torch.optim.Adam(net.parameters(), lr=0.01)
for step in range(50):
    loss = nn.functional.mse_loss(net(data), data)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("reconstruction", loss.item())
