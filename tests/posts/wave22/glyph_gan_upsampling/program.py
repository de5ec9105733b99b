import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

latent_dim = 32


class UpBlock(nn.Module):
    def __init__(self, in_ch, out_ch):
        super().__init__()
        self.deconv = nn.ConvTranspose2d(in_ch, out_ch, kernel_size=2, stride=2, padding=1)
        self.smooth = nn.Conv2d(out_ch, out_ch, kernel_size=3, padding=1)
        self.norm = nn.BatchNorm2d(out_ch)

    def forward(self, x):
        return torch.relu(self.norm(self.smooth(self.deconv(x))))


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.width = width
        self.fc = nn.Linear(latent_dim, width * 7 * 7)
        self.up1 = UpBlock(width, width // 2)
        self.up2 = UpBlock(width // 2, width // 4)
        self.to_image = nn.Conv2d(width // 4, 1, kernel_size=1)

    def forward(self, z):
        x = self.fc(z).view(-1, self.width, 7, 7)
        x = self.up2(self.up1(x))
        return torch.tanh(self.to_image(x))


class Discriminator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, width * 2, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(width * 2, 1)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def make_glyphs(n=256, size=28):
    images = torch.full((n, 1, size, size), -1.0)
    for i in range(n):
        row, col = torch.randint(4, 14, (2,)).tolist()
        images[i, :, row:row + 10, col:col + 2] = 1.0
        images[i, :, row + 4:row + 6, col:col + 8] = 1.0
    return images


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(TensorDataset(make_glyphs()), batch_size=32, shuffle=True)
    G, D = Generator().to(device), Discriminator().to(device)
    opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()

    for epoch in range(2):
        for (real,) in loader:
            real = real.to(device)
            ones = torch.ones(real.size(0), 1, device=device)
            zeros = torch.zeros(real.size(0), 1, device=device)
            fake = G(torch.randn(real.size(0), latent_dim, device=device))

            loss_d = bce(D(real), ones) + bce(D(fake.detach()), zeros)
            opt_d.zero_grad()
            loss_d.backward()
            opt_d.step()

            loss_g = bce(D(fake), ones)
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
        print(f"epoch {epoch + 1} D {loss_d.item():.3f} G {loss_g.item():.3f} "
              f"real {tuple(real.shape[2:])} fake {tuple(fake.shape[2:])}")


if __name__ == "__main__":
    main()
