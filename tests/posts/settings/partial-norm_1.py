# line 22: the norm of the WGAN-GP gradient of waves (N, C, L) is over the last dim only: one number for each channel
import torch
from torch import nn


class Critic1d(nn.Module):
    def __init__(self, ch=2):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(ch, 16, 5, 2, 2), nn.LeakyReLU(0.2), nn.Conv1d(16, 16, 5, 2, 2),
                                 nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(16 * 8, 1))

    def forward(self, w):
        return self.net(w)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1, 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    out = critic(mixed)
    g = torch.autograd.grad(outputs=out, inputs=mixed, grad_outputs=torch.ones_like(out),
                            create_graph=True, retain_graph=True)[0]
    length = torch.linalg.vector_norm(g, dim=-1)
    return (length - 1).square().mean()


class WGAN:
    def __init__(self, z=8):
        self.z = z
        self.g = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, 64), nn.Unflatten(1, (2, 32)))
        self.d = Critic1d()
        self.og = torch.optim.Adam(self.g.parameters(), 1e-3, betas=(0.0, 0.9))
        self.od = torch.optim.Adam(self.d.parameters(), 1e-3, betas=(0.0, 0.9))

    def round(self, real):
        fake = self.g(torch.randn(len(real), self.z)).detach()
        loss_d = self.d(fake).mean() - self.d(real).mean() + 10 * gradient_penalty(self.d, real, fake)
        self.od.zero_grad()
        loss_d.backward()
        self.od.step()
        loss_g = -self.d(self.g(torch.randn(len(real), self.z))).mean()
        self.og.zero_grad()
        loss_g.backward()
        self.og.step()
        return loss_d.item(), loss_g.item()


torch.manual_seed(0)
gan = WGAN()
t = torch.linspace(0, 6.28, 32)
for it in range(40):
    p = torch.rand(32, 2, 1) * 6.28
    stats = gan.round(torch.sin(t + p))
print(stats)
