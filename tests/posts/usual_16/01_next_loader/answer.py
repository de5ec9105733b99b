import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

# ---- hyperparameters ----
batch_size = 64
nz = 32
ngf = 16
lr = 2e-4
epochs = 1


def make_blobs(n=640, size=28):
    """white discs on black background, a poor man's MNIST"""
    ys, xs = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    cx = torch.randint(8, 20, (n, 1, 1))
    cy = torch.randint(8, 20, (n, 1, 1))
    r = torch.randint(3, 7, (n, 1, 1))
    imgs = ((xs - cx) ** 2 + (ys - cy) ** 2 < r ** 2).float()
    return imgs.unsqueeze(1) * 2 - 1, r.flatten() - 3


images, radius = make_blobs()
train_set = TensorDataset(images, radius)
train_loader = DataLoader(train_set, batch_size=batch_size, shuffle=True, drop_last=True)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 2, 7, 1, 0, bias=False),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ngf, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(ngf, ngf * 2, 4, 2, 1),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Flatten(),
            nn.Linear(ngf * 2 * 7 * 7, 1),
        )

    def forward(self, x):
        return self.main(x).squeeze(1)


netG = Generator().to(device)
netD = Discriminator().to(device)
criterion = nn.BCEWithLogitsLoss()
optG = optim.Adam(netG.parameters(), lr=lr, betas=(0.5, 0.999))
optD = optim.Adam(netD.parameters(), lr=lr, betas=(0.5, 0.999))
fixed_noise = torch.randn(16, nz, 1, 1, device=device)

# look at one real batch first
real_images, _ = next(iter(train_loader))
print("real batch:", tuple(real_images.shape), "range", real_images.min().item(), real_images.max().item())

for epoch in range(epochs):
    for i, (real, _) in enumerate(train_loader):
        real = real.to(device)
        b = real.size(0)
        ones = torch.ones(b, device=device)
        zeros = torch.zeros(b, device=device)

        optD.zero_grad()
        fake = netG(torch.randn(b, nz, 1, 1, device=device))
        lossD = criterion(netD(real), ones) + criterion(netD(fake.detach()), zeros)
        lossD.backward()
        optD.step()

        optG.zero_grad()
        lossG = criterion(netD(fake), ones)
        lossG.backward()
        optG.step()
    print(f"epoch {epoch + 1}: D {lossD.item():.3f}  G {lossG.item():.3f}")

with torch.no_grad():
    samples = netG(fixed_noise)
print("samples:", tuple(samples.shape))
