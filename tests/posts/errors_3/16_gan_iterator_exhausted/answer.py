import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
BATCH = 32
real = torch.randn(320, 2) @ torch.tensor([[1.0, 0.4], [0.0, 0.6]]) + 2.0
loader = DataLoader(TensorDataset(real), batch_size=BATCH, shuffle=True, drop_last=True)

G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.9))
N_CRITIC = 5


def endless(dl):
    while True:
        yield from dl


def critic_step(x):
    z = torch.randn(x.size(0), 8)
    loss = D(G(z).detach()).mean() - D(x).mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    for p in D.parameters():
        p.data.clamp_(-0.05, 0.05)
    return loss.item()


batches = endless(loader)
for step in range(20):
    for _ in range(N_CRITIC):
        (x,) = next(batches)
        d_loss = critic_step(x)
    g_loss = -D(G(torch.randn(BATCH, 8))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if step % 5 == 0:
        print(f"{step:3d} D {d_loss:+.4f} G {g_loss.item():+.4f}")
