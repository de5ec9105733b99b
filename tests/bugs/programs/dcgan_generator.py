import torch
import torch.nn as nn

nz, ngf, nc = 100, 32, 1


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(nz, ngf * 4 * 7 * 7)
        self.main = nn.Sequential(
            nn.BatchNorm2d(ngf * 4),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 3, stride=2, padding=1, output_padding=1),
            nn.BatchNorm2d(ngf),
            nn.ReLU(True),
            nn.ConvTranspose2d(ngf, nc, 3, stride=1, padding=1, output_padding=1),
            nn.Tanh(),
        )

    def forward(self, z):
        h = self.project(z).view(-1, ngf * 4, 7, 7)
        return self.main(h)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.netG = Generator()

    def forward(self, noise):
        fake = self.netG(noise)
        return fake


def example_inputs():
    return (torch.randn(5, nz),)
