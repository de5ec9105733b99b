# line 34: the gradients of the real rows are cleared before those of the generated rows come, so they never reach a step
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

np.random.seed(0)
torch.manual_seed(0)


def real_rows(n):
    a = np.random.randn(n, 1)
    return torch.from_numpy(np.concatenate([a, a**2 - 1, -a], axis=1).astype(np.float32))


def clear(module):
    for p in module.parameters():
        p.grad = None


netG = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 3))
netD = nn.Sequential(nn.Linear(3, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
batch_size, one, zero = 50, torch.ones(50), torch.zeros(50)

for it in range(300):
    # discriminator
    clear(netD)
    real = Variable(real_rows(batch_size))
    err_real = criterion(netD(real).view(-1), one)
    err_real.backward()
    fake = netG(torch.randn(batch_size, 5))
    err_fake = criterion(netD(fake.detach()).view(-1), zero)
    err_fake.backward()
    optD.step()

    # generator
    clear(netG)
    err_g = criterion(netD(fake).view(-1), one)
    err_g.backward()
    optG.step()
    if it % 100 == 0:
        print("%d D %.3f G %.3f" % (it, err_real.item() + err_fake.item(), err_g.item()))

netG.eval()
netD.eval()
with torch.no_grad():
    fake = netG(torch.randn(500, 5))
    print("means", fake.mean(0).tolist())
    print("D(real) %.3f D(fake) %.3f" % (netD(real_rows(500)).sigmoid().mean(), netD(fake).sigmoid().mean()))
