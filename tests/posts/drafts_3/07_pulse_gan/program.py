import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

# hyper parameters
latent_dim = 16
pulse_len = 64
batch_size = 64
num_epochs = 3
lr = 2e-4
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
torch.manual_seed(999)


def make_pulses(n):
    t = torch.linspace(-1, 1, pulse_len)
    center = torch.empty(n, 1).uniform_(-0.5, 0.5)
    width = torch.empty(n, 1).uniform_(0.05, 0.2)
    return torch.exp(-((t - center) / width) ** 2) * 2 - 1


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(latent_dim, 64),
            nn.BatchNorm1d(64),
            nn.ReLU(True),
            nn.Linear(64, 128),
            nn.BatchNorm1d(128),
            nn.ReLU(True),
            nn.Linear(128, pulse_len),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(pulse_len, 128),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(128, 64),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(64, 1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.net(x)


dataloader = DataLoader(TensorDataset(make_pulses(500)), batch_size=batch_size, shuffle=True)
netG = Generator().to(device)
netD = Discriminator().to(device)
criterion = nn.BCELoss()
optD = optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
optG = optim.Adam(netG.parameters(), lr=lr, betas=(0.5, 0.999))
fixed_noise = torch.randn(5, latent_dim, device=device)

real_labels = torch.ones(batch_size, 1, device=device)
fake_labels = torch.zeros(batch_size, 1, device=device)

for epoch in range(num_epochs):
    for i, (real,) in enumerate(dataloader):
        real = real.to(device)

        # (1) update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        loss_real = criterion(netD(real), real_labels)
        noise = torch.randn(batch_size, latent_dim, device=device)
        fake = netG(noise)
        loss_fake = criterion(netD(fake), fake_labels)
        d_loss = loss_real + loss_fake
        d_loss.backward()
        optD.step()

        # (2) update G: maximize log(D(G(z)))
        netG.zero_grad()
        g_loss = criterion(netD(fake), real_labels)
        g_loss.backward()
        optG.step()

    print("[%d/%d] loss_D: %.4f loss_G: %.4f" % (epoch + 1, num_epochs, d_loss.item(), g_loss.item()))

netG.eval()
with torch.no_grad():
    samples = netG(fixed_noise).cpu()
print("generated", tuple(samples.shape), "range", samples.min().item(), samples.max().item())
