import argparse

import torch
import torch.nn as nn


class Generator(nn.Module):
    """picture of one kind to picture of the other kind, any size that halves twice"""

    def __init__(self, width=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
            nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Sigmoid())

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        layers, cin = [], 3
        for k in range(4):
            layers += [nn.Conv2d(cin, width * 2 ** k, 4, 2, 1, bias=False), nn.LeakyReLU(0.2)]
            cin = width * 2 ** k
        self.features = nn.Sequential(*layers, nn.MaxPool2d(2))
        self.last = nn.Conv2d(cin, 1, 4, 1, 0, bias=False)

    def forward(self, x):
        return torch.sigmoid(self.last(self.features(x)).view(-1))


def bags_and_shoes(n, size):
    """plain rectangles on the one side, discs on the other, each in a random colour"""
    i, j = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    bag = ((i.abs() < 0.5) & (j.abs() < 0.6)).float()
    shoe = (i ** 2 + j ** 2 < 0.4).float()
    return torch.rand(n, 3, 1, 1) * bag, torch.rand(n, 3, 1, 1) * shoe


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--input_scale_size", type=int, default=128)
    parser.add_argument("--batch_size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=8)
    config = parser.parse_args(argv)

    torch.manual_seed(0)
    G_AB, G_BA, D_A, D_B = Generator(), Generator(), Discriminator(), Discriminator()
    d = nn.MSELoss()
    bce = nn.BCELoss()
    real_label = torch.ones(config.batch_size)
    fake_label = torch.zeros(config.batch_size)
    optimizer_d = torch.optim.Adam([*D_A.parameters(), *D_B.parameters()], lr=2e-4, betas=(0.5, 0.999))
    optimizer_g = torch.optim.Adam([*G_AB.parameters(), *G_BA.parameters()], lr=2e-4, betas=(0.5, 0.999))

    for step in range(config.steps):
        x_A, x_B = bags_and_shoes(config.batch_size, config.input_scale_size)
        x_AB, x_BA = G_AB(x_A), G_BA(x_B)

        l_d = (bce(D_A(x_A), real_label) + bce(D_A(x_BA.detach()), fake_label)
               + bce(D_B(x_B), real_label) + bce(D_B(x_AB.detach()), fake_label))
        optimizer_d.zero_grad()
        l_d.backward()
        optimizer_d.step()

        l_const = d(G_BA(x_AB), x_A) + d(G_AB(x_BA), x_B)
        l_g = l_const + bce(D_A(x_BA), real_label) + bce(D_B(x_AB), real_label)
        optimizer_g.zero_grad()
        l_g.backward()
        optimizer_g.step()
        print(f"[{step}/{config.steps}] Loss_D: {l_d.item():.4f} Loss_G: {l_g.item():.4f} Loss_const: {l_const.item():.4f}")


if __name__ == "__main__":
    main()
