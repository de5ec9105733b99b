import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class NoisySignals(Dataset):
    def __init__(self, n=70, length=128):
        g = torch.Generator().manual_seed(3)
        phase = torch.rand(n, 1, generator=g) * 6.28
        self.clean = torch.sin(torch.linspace(0, 12, length) + phase)
        self.noisy = self.clean + 0.3 * torch.randn(n, length, generator=g)

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.noisy[i].unsqueeze(0), self.clean[i].unsqueeze(0)


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.enc = nn.Conv1d(1, width, 9, padding=4)
        self.mid = nn.Conv1d(width, width, 9, padding=4)
        self.dec = nn.Conv1d(width, 1, 9, padding=4)

    def forward(self, x):
        h = F.leaky_relu(self.enc(x), 0.2)
        h = F.leaky_relu(self.mid(h), 0.2)
        return x + self.dec(h)


class Critic(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, width, 9, stride=4, padding=4), nn.LeakyReLU(0.2),
                                  nn.Conv1d(width, width, 9, stride=4, padding=4), nn.LeakyReLU(0.2),
                                  nn.Flatten(), nn.Linear(width * 8, 1))

    def forward(self, x):
        return self.body(x)


def bce(logits, value):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))


torch.manual_seed(0)
G, D = Denoiser(), Critic()
optim_g = torch.optim.Adam(G.parameters(), lr=1e-3)
optim_d = torch.optim.Adam(D.parameters(), lr=1e-3)
loader = DataLoader(NoisySignals(), batch_size=16, shuffle=True)

for epoch in range(2):
    for noisy, clean in loader:
        restored = G(noisy)

        # the two losses
        loss_g = bce(D(restored), 1.0) + 10 * F.l1_loss(restored, clean)
        loss_d = 0.5 * (bce(D(clean), 1.0) + bce(D(restored), 0.0))

        optim_g.zero_grad()
        loss_g.backward(retain_graph=True)
        optim_g.step()

        optim_d.zero_grad()
        loss_d.backward()
        optim_d.step()
    print(f'epoch {epoch} loss_g {loss_g.item():.4f} loss_d {loss_d.item():.4f}')
