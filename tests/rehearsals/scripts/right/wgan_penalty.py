import numpy as np
import torch
import torch.nn as nn
from torch import autograd, optim
from torch.utils.data import DataLoader, Dataset

LAMBDA, CRITIC_STEPS, NOISE = 10.0, 3, 8
cuda = torch.cuda.is_available()
device = torch.device("cuda" if cuda else "cpu")


class Swirls(Dataset):
    def __init__(self, n=100):
        rng = np.random.RandomState(0)
        phase = rng.rand(n, 1) * 6.28
        t = np.linspace(0, 6.28, 32)[None]
        self.waves = (np.sin(t + phase) * rng.rand(n, 1)).astype(np.float32)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        return torch.from_numpy(self.waves[i])


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(True), nn.Linear(32, 32), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 8, 5, stride=2, padding=2)
        self.out = nn.Linear(8 * 16, 1)

    def forward(self, x):
        x = nn.functional.leaky_relu(self.conv(x.unsqueeze(1)))
        return self.out(x.flatten(1)).view(-1)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1, device=device).expand_as(real)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    gradients = autograd.grad(outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score),
                              create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def forever(loader):
    while True:
        for batch in loader:
            yield batch


torch.manual_seed(0)
netG, netD = Generator().to(device), Critic().to(device)
optimizerD = optim.Adam(netD.parameters(), lr=1e-3, betas=(0.0, 0.9))
optimizerG = optim.Adam(netG.parameters(), lr=1e-3, betas=(0.0, 0.9))
data = forever(DataLoader(Swirls(), batch_size=24, shuffle=True))

for iteration in range(5):
    for p in netD.parameters():
        p.requires_grad = True
    for _ in range(CRITIC_STEPS):
        real = next(data).to(device)
        netD.zero_grad()
        with torch.no_grad():
            noise = torch.randn(real.size(0), NOISE, device=device)
        fake = netG(noise).detach()
        cost = netD(fake).mean() - netD(real).mean() + gradient_penalty(netD, real, fake)
        cost.backward()
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad = False
    netG.zero_grad()
    g_cost = -netD(netG(torch.randn(24, NOISE, device=device))).mean()
    g_cost.backward()
    optimizerG.step()
    print(f"iter {iteration} critic {cost.item():.4f} generator {g_cost.item():.4f}")
