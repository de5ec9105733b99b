import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable
from torch.utils.data import DataLoader, TensorDataset

batch_size = 64
z_dim = 32
num_epochs = 2

use_cuda = torch.cuda.is_available()
torch.manual_seed(1)

real_images = torch.rand(512, 1, 16, 16) * 2 - 1
loader = DataLoader(TensorDataset(real_images), batch_size=batch_size, shuffle=True, drop_last=True)


class Generator(nn.Module):
    def __init__(self):
        super(Generator, self).__init__()
        self.net = nn.Sequential(
            nn.Linear(z_dim, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 256),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z).view(-1, 1, 16, 16)


class Discriminator(nn.Module):
    def __init__(self):
        super(Discriminator, self).__init__()
        self.net = nn.Sequential(
            nn.Linear(256, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, 1),
        )

    def forward(self, x):
        return self.net(x.view(x.size(0), -1))


G = Generator()
D = Discriminator()
if use_cuda:
    G.cuda()
    D.cuda()

criterion = nn.BCEWithLogitsLoss()
opt_g = optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))

real_label = torch.ones(batch_size, 1)
fake_label = torch.zeros(batch_size, 1)
if use_cuda:
    real_label, fake_label = real_label.cuda(), fake_label.cuda()

for epoch in range(num_epochs):
    for i, (x,) in enumerate(loader):
        if use_cuda:
            x = x.cuda()

        # discriminator
        z = Variable(torch.randn(batch_size, z_dim, device=x.device))
        fake = G(z)
        d_loss = criterion(D(x), real_label) + criterion(D(fake.detach()), fake_label)
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        # generator
        g_loss = criterion(D(fake), real_label)
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()

    print("epoch %d  d_loss %.4f  g_loss %.4f" % (epoch, d_loss.item(), g_loss.item()))
