import torch
from torch import nn

torch.manual_seed(38)
LATENT, BATCH, LAMBDA_GP, N_CRITIC = 6, 64, 10.0, 5


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 64), nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        return self.net(x)


generator = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
critic = Critic()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=2e-4, betas=(0.0, 0.9))


def real_batch():
    centers = torch.tensor([[1.5, 0.0], [-1.5, 0.0], [0.0, 1.5], [0.0, -1.5]])
    return centers[torch.randint(0, 4, (BATCH,))] + 0.1 * torch.randn(BATCH, 2)


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    grads = torch.autograd.grad(critic(mixed).sum(), mixed)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


for step in range(400):
    for _ in range(N_CRITIC):
        real = real_batch()
        fake = generator(torch.randn(BATCH, LATENT)).detach()
        gp = gradient_penalty(real, fake)
        loss_c = critic(fake).mean() - critic(real).mean() + LAMBDA_GP * gp
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()

    loss_g = -critic(generator(torch.randn(BATCH, LATENT))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    if step % 100 == 99:
        print(f"step {step + 1} critic {loss_c.item():.3f} gp {gp.item():.3f} gen {loss_g.item():.3f}")
