import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

LOAD_SIZE = 420
CROP_SIZE = 256


class PairedScenes(Dataset):
    def __init__(self, count=2):
        self.count = count
        self.transform = transforms.Compose([
            transforms.Resize(LOAD_SIZE, antialias=True),
            transforms.CenterCrop(CROP_SIZE),
            transforms.Normalize((0.5,) * 3, (0.5,) * 3),
        ])

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        scene = torch.rand(3, 300, 400, generator=g)
        labels = (scene > 0.5).float()
        return self.transform(labels), self.transform(scene)


class Down(nn.Module):
    def __init__(self, in_ch, out_ch, norm=True, act=True):
        super().__init__()
        layers = [nn.LeakyReLU(0.2)] if act else []
        layers.append(nn.Conv2d(in_ch, out_ch, 4, stride=2, padding=1))
        if norm:
            layers.append(nn.BatchNorm2d(out_ch))
        self.block = nn.Sequential(*layers)

    def forward(self, x):
        return self.block(x)


class Up(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReLU(),
            nn.ConvTranspose2d(in_ch, out_ch, 4, stride=2, padding=1),
            nn.BatchNorm2d(out_ch),
        )

    def forward(self, x, skip):
        return torch.cat([skip, self.block(x)], 1)


class UnetGenerator(nn.Module):
    def __init__(self, ngf=8):
        super().__init__()
        w = [ngf, ngf * 2, ngf * 4, ngf * 8, ngf * 8, ngf * 8, ngf * 8, ngf * 8]
        downs = [Down(3, w[0], norm=False, act=False)]
        for i in range(1, 8):
            downs.append(Down(w[i - 1], w[i], norm=i < 7))
        self.downs = nn.ModuleList(downs)
        ups = [Up(w[7], w[6])]
        for i in range(6, 0, -1):
            ups.append(Up(w[i] * 2, w[i - 1]))
        self.ups = nn.ModuleList(ups)
        self.final = nn.Sequential(nn.ReLU(), nn.ConvTranspose2d(w[0] * 2, 3, 4, stride=2, padding=1), nn.Tanh())

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
        skips.pop()
        for up in self.ups:
            x = up(x, skips.pop())
        return self.final(x)


class PatchDiscriminator(nn.Module):
    def __init__(self, ndf=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(6, ndf, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(ndf * 2, 1, 4, 1, 1),
        )

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


torch.manual_seed(0)
loader = DataLoader(PairedScenes(), batch_size=1, shuffle=True)
G, D = UnetGenerator(), PatchDiscriminator()
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
gan_loss, l1_loss = nn.BCEWithLogitsLoss(), nn.L1Loss()

for real_a, real_b in loader:
    fake_b = G(real_a)
    pred_fake, pred_real = D(real_a, fake_b.detach()), D(real_a, real_b)
    loss_d = 0.5 * (gan_loss(pred_fake, torch.zeros_like(pred_fake)) + gan_loss(pred_real, torch.ones_like(pred_real)))
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    pred_fake = D(real_a, fake_b)
    loss_g = gan_loss(pred_fake, torch.ones_like(pred_fake)) + 100 * l1_loss(fake_b, real_b)
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    print(f"D {loss_d.item():.3f} G {loss_g.item():.3f}")
