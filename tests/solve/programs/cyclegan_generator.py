import torch.nn as nn


class ResidualBlock(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.block = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(features, features, 3),
            nn.BatchNorm2d(features),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return x + self.block(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(3, 4, 7))
        self.down = nn.Sequential(
            nn.Conv2d(4, 8, 3, stride=2, padding=1),
            nn.Conv2d(8, 8, 3, stride=2, padding=1),
        )
        self.residual = ResidualBlock(8)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1, output_padding=1),
            nn.ConvTranspose2d(8, 4, 3, stride=2, padding=1, output_padding=1),
        )
        self.tail = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(4, 3, 7), nn.Tanh())

    def forward(self, x):
        x = self.down(self.head(x))
        x = self.residual(x)
        return self.tail(self.up(x))
