import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(99)
n_classes = 6
latent_dim = 20
img_size = 16
batch_size = 64
device = "cuda" if torch.cuda.is_available() else "cpu"


# make glyphs: class k = a bar / cross / frame at some place
def glyph(k):
    im = torch.zeros(img_size, img_size)
    if k == 0:
        im[7:9, :] = 1
    elif k == 1:
        im[:, 7:9] = 1
    elif k == 2:
        im[7:9, :] = 1
        im[:, 7:9] = 1
    elif k == 3:
        im[2:14, 2:14] = 1
        im[4:12, 4:12] = 0
    elif k == 4:
        im.fill_diagonal_(1)
    else:
        im[:8, :8] = 1
    return im


def make_dataset(n):
    y = torch.randint(0, n_classes, (n,))
    x = torch.stack([glyph(k) for k in y.tolist()])
    x = torch.stack([torch.roll(im, tuple(torch.randint(-2, 3, (2,)).tolist()), (0, 1)) for im in x])
    return x.unsqueeze(1) * 2 - 1, y


class CondGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(latent_dim + n_classes, 128 * 4 * 4), nn.BatchNorm1d(128 * 16), nn.ReLU())
        self.deconv = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.ConvTranspose2d(64, 1, 4, stride=2, padding=1),
            nn.Tanh(),
        )

    def forward(self, z, y):
        cond = F.one_hot(y, n_classes).to(z.dtype)
        h = self.fc(torch.cat([z, cond], dim=1))
        return self.deconv(h.view(-1, 128, 4, 4))


class CondDiscriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_map = nn.Embedding(n_classes, img_size * img_size)
        self.conv = nn.Sequential(
            nn.Conv2d(2, 32, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
        )
        self.out = nn.Linear(64 * 4 * 4, 1)

    def forward(self, x, y):
        m = self.label_map(y).view(-1, 1, img_size, img_size)
        return self.out(self.conv(torch.cat([x, m], dim=1)).flatten(1)).squeeze(1)


X, Y = make_dataset(1024)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, Y), batch_size=batch_size, shuffle=True)
netG, netD = CondGenerator().to(device), CondDiscriminator().to(device)
optG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=5e-4, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()

for epoch in range(3):
    for real, y in loader:
        real, y = real.to(device), y.to(device)
        ones, zeros = torch.ones(len(y), device=device), torch.zeros(len(y), device=device)
        fake = netG(torch.randn(len(y), latent_dim, device=device), y)

        optD.zero_grad()
        lossD = bce(netD(real, y), ones) + bce(netD(fake.detach(), y), zeros)
        lossD.backward()
        optD.step()

        optG.zero_grad()
        lossG = bce(netD(fake, y), ones)
        lossG.backward()
        optG.step()
    print(f"[{epoch + 1}/3] D {lossD.item():.3f} G {lossG.item():.3f}")


# ten samples of every class, one class after another
@torch.no_grad()
def sample_class(k, n=10):
    netG.eval()
    labels = torch.full((n,), k, dtype=torch.long, device=device)
    return netG(torch.randn(n, latent_dim, device=device), labels).cpu()


sheet = torch.cat([sample_class(k) for k in range(n_classes)])
print("sheet:", tuple(sheet.shape), "range", round(sheet.min().item(), 2), round(sheet.max().item(), 2))
