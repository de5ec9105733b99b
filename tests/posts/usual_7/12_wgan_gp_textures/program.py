import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2023)

IMG, CH, Z = 16, 3, 32
LAMBDA_GP = 10.0
N_CRITIC = 3
BATCH = 32


def stripes(n):
    """coloured sine textures in [-1, 1]"""
    grid = torch.linspace(0, 1, IMG)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    freq = 2 + 3 * torch.rand(n, 1, 1)
    ang = 3.1416 * torch.rand(n, 1, 1)
    wave = torch.sin(6.2832 * freq * (xx * ang.cos() + yy * ang.sin()))
    colour = torch.rand(n, CH, 1, 1)
    return wave.unsqueeze(1) * colour


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(Z, 64 * 4 * 4)
        self.net = nn.Sequential(
            nn.BatchNorm2d(64), nn.ReLU(True),
            nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(True),
            nn.ConvTranspose2d(32, CH, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, z):
        return self.net(self.fc(z).view(-1, 64, 4, 4))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(CH, 32, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Flatten(), nn.Linear(64 * 4 * 4, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def compute_gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1, 1, 1)
    inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(inter)
    grads = torch.autograd.grad(
        outputs=score, inputs=inter, grad_outputs=torch.ones_like(score),
        create_graph=True, retain_graph=True, only_inputs=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def mean_input_gradient(critic, x):
    """diagnostic: average length of dD/dx, should come close to 1 for WGAN-GP"""
    x = x.clone().requires_grad_(True)
    g, = torch.autograd.grad(critic(x).sum(), x)
    return g.reshape(len(x), -1).norm(dim=1).mean().item()


data = stripes(1280)
loader = DataLoader(TensorDataset(data), batch_size=BATCH, shuffle=True, drop_last=True)
G, D = Generator(), Critic()
opt_g = optim.Adam(G.parameters(), lr=2e-4, betas=(0.0, 0.9))
opt_d = optim.Adam(D.parameters(), lr=2e-4, betas=(0.0, 0.9))

step = 0
for epoch in range(4):
    for (real,) in loader:
        with torch.no_grad():
            fake = G(torch.randn(BATCH, Z))
        gp = compute_gradient_penalty(D, real, fake)
        wdist = D(real).mean() - D(fake).mean()
        d_loss = -wdist + LAMBDA_GP * gp
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        step += 1
        if step % N_CRITIC == 0:
            g_loss = -D(G(torch.randn(BATCH, Z))).mean()
            opt_g.zero_grad()
            g_loss.backward()
            opt_g.step()
    print("epoch %d  W %.3f  gp %.4f  |grad| %.3f" % (epoch + 1, wdist.item(), gp.item(), mean_input_gradient(D, real)))

G.eval()
with torch.no_grad():
    samples = G(torch.randn(16, Z))
print("samples", tuple(samples.shape), "std %.3f" % samples.std().item())
