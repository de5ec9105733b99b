import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Critic(nn.Module):
    def __init__(self, dim=16, width=64, blocks=3):
        super().__init__()
        self.inp = nn.Linear(dim, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.Softplus(), nn.Linear(width, width))
            for _ in range(blocks)
        )
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = h + checkpoint(block, h, use_reentrant=False)
        return self.out(h)


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    x = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(x).sum()
    (grad,) = torch.autograd.grad(score, x, create_graph=True)
    return ((grad.norm(dim=1) - 1) ** 2).mean()


real_data = torch.randn(256, 16) * 0.5 + 1.0
loader = DataLoader(TensorDataset(real_data), batch_size=64, shuffle=True)
critic = Critic()
generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 16))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.0, 0.9))

for epoch in range(2):
    for (real,) in loader:
        fake = generator(torch.randn(len(real), 8)).detach()
        gp = gradient_penalty(critic, real, fake)
        loss_c = critic(fake).mean() - critic(real).mean() + 10 * gp
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()

        loss_g = -critic(generator(torch.randn(len(real), 8))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
    print(f"epoch {epoch} critic {loss_c.item():.3f} gen {loss_g.item():.3f}")
