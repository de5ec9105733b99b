import torch
import torch.nn as nn


class VisionTrunk(nn.Module):
    """Stands for a frozen image encoder, gives the class token after every layer."""

    def __init__(self, dim=192, layers=4, patch=16):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(dim, 4, 2 * dim, batch_first=True) for _ in range(layers))

    def forward(self, pixels):
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        tokens = []
        for layer in self.layers:
            x = layer(x)
            tokens.append(x[:, 0])
        return tokens


class ConceptEncoder(nn.Module):
    """Word embedding of a new concept from the image and the down blocks of a diffusion model."""

    def __init__(self, word_dim=256, trunk_dim=192, block_channels=(32, 64, 128)):
        super().__init__()
        self.trunk = VisionTrunk(trunk_dim)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LeakyReLU(0.2))
        self.to_word = nn.Linear(trunk_dim + sum(block_channels), word_dim)

    def forward(self, pixels, down1, down2, down3):
        tokens = torch.stack(self.trunk(pixels), dim=1)
        look = tokens.mean(dim=1)
        blocks = [self.squeeze(block) for block in (down1, down2, down3)]
        return self.to_word(torch.cat([look] + blocks, dim=1))
