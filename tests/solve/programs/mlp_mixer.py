import torch.nn as nn


class MixerLayer(nn.Module):
    def __init__(self, patches, dim):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.tokens = nn.Sequential(
            nn.Linear(patches, 8), nn.GELU(), nn.Linear(8, patches)
        )
        self.norm2 = nn.LayerNorm(dim)
        self.channels = nn.Sequential(nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))

    def forward(self, x):
        y = self.norm1(x).transpose(1, 2)
        x = x + self.tokens(y).transpose(1, 2)
        return x + self.channels(self.norm2(x))


class MLPMixer(nn.Module):
    def __init__(self, image_size=32, patch_size=8, dim=8, depth=2, classes=5):
        super().__init__()
        patches = (image_size // patch_size) ** 2
        self.embed = nn.Conv2d(3, dim, patch_size, stride=patch_size)
        self.layers = nn.Sequential(*[MixerLayer(patches, dim) for _ in range(depth)])
        self.head = nn.Linear(dim, classes)

    def forward(self, img):
        x = self.embed(img).flatten(2).transpose(1, 2)
        x = self.layers(x)
        return self.head(x.mean(dim=1))
