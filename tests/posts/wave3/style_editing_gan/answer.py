import torch
from torch import nn, optim
import torch.nn.functional as F

torch.manual_seed(0)
W_DIM = 64
LAMBDA_CODE = 0.5


class Mapping(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(W_DIM, 128), nn.LeakyReLU(0.2), nn.Linear(128, W_DIM))

    def forward(self, z):
        return self.net(F.normalize(z, dim=1))


class Synthesis(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(W_DIM, 64 * 4 * 4)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(32, 16, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(16, 3, 3, padding=1), nn.Tanh())

    def forward(self, w):
        return self.up(self.fc(w).view(-1, 64, 4, 4))


def conv_net(out):
    return nn.Sequential(
        nn.Conv2d(3, 16, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Flatten(), nn.Linear(32 * 4 * 4, out))


mapping, synthesis = Mapping(), Synthesis()
encoder, discriminator = conv_net(W_DIM), conv_net(1)
g_optim = optim.Adam(list(mapping.parameters()) + list(synthesis.parameters()), lr=2e-3, betas=(0.0, 0.99))
e_optim = optim.Adam(encoder.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_optim = optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))
real_images = torch.rand(40, 3, 16, 16) * 2 - 1

for step, real in enumerate(real_images.split(16)):
    z = torch.randn(real.size(0), W_DIM)

    with torch.no_grad():
        fake = synthesis(mapping(z))
    d_loss = F.softplus(discriminator(fake)).mean() + F.softplus(-discriminator(real)).mean()
    d_optim.zero_grad()
    d_loss.backward()
    d_optim.step()

    w = mapping(z)
    fake = synthesis(w)
    adv_loss = F.softplus(-discriminator(fake)).mean()
    code_loss = LAMBDA_CODE * F.mse_loss(encoder(fake), w.detach())

    g_optim.zero_grad()
    e_optim.zero_grad()
    both = adv_loss + code_loss
    both.backward()
    g_optim.step()
    e_optim.step()
    print(f'{step}: d {d_loss.item():.3f} adv {adv_loss.item():.3f} code {code_loss.item():.3f}')
