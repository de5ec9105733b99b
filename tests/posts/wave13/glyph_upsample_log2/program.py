import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvBlock(nn.Module):
    def __init__(self, in_ch, out_ch, upsample=False):
        super().__init__()
        layers = [nn.Conv2d(in_ch, out_ch, 3, padding=1), nn.GroupNorm(4, out_ch), nn.ReLU()]
        if upsample:
            layers.append(nn.Upsample(scale_factor=2, mode='nearest'))
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)


class ObjectDecoder(nn.Module):
    """from one particle's features to its small RGBA glyph"""

    def __init__(self, patch_size, feature_dim=8, width=16):
        super().__init__()
        self.width = width
        num_upsample = int(np.log(patch_size) // np.log(2)) - 3
        self.fc = nn.Linear(feature_dim, width * 8 * 8)
        self.net = nn.Sequential(
            *[ConvBlock(width, width, upsample=True) for _ in range(num_upsample)],
            ConvBlock(width, width), nn.Conv2d(width, 4, 1))

    def forward(self, features):
        x = self.fc(features).view(-1, self.width, 8, 8)
        return torch.sigmoid(self.net(x))


class ParticleAE(nn.Module):
    def __init__(self, image_size, n_kp=3, glyph_ratio=0.25, feature_dim=8):
        super().__init__()
        self.image_size, self.n_kp, self.feature_dim = image_size, n_kp, feature_dim
        self.patch_size = int(image_size * glyph_ratio)
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=4, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(32 * 16, n_kp * (2 + feature_dim)))
        self.decoder = ObjectDecoder(self.patch_size, feature_dim)

    def translate_patches(self, z, patches):
        """pads the glyphs to the size of the image and moves each to its position"""
        batch = z.shape[0] * z.shape[1]
        pad = (self.image_size - self.patch_size) // 2
        padded = F.pad(patches, [pad] * 4)
        canvas = padded.reshape(batch, -1, self.image_size, self.image_size)
        theta = torch.zeros(batch, 2, 3)
        theta[:, 0, 0] = theta[:, 1, 1] = 1.0
        theta = torch.cat([theta[:, :, :2], -z.reshape(batch, 2, 1)], dim=2)
        grid = F.affine_grid(theta, canvas.shape, align_corners=False)
        return F.grid_sample(canvas, grid, align_corners=False)

    def forward(self, x):
        out = self.encoder(x).view(-1, self.n_kp, 2 + self.feature_dim)
        z = torch.tanh(out[..., :2])
        patches = self.decoder(out[..., 2:].flatten(0, 1))
        moved = self.translate_patches(z, patches)
        moved = moved.view(-1, self.n_kp, 4, self.image_size, self.image_size)
        alpha = moved[:, :, :1]
        rgb = moved[:, :, 1:]
        return (alpha * rgb).sum(dim=1) / alpha.sum(dim=1).clamp(min=1.0)


def bouncing_balls(n, size, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing='ij')
    images = torch.zeros(n, 3, size, size)
    for i in range(n):
        for c in range(3):
            cy, cx = torch.randint(size // 4, 3 * size // 4, (2,), generator=g).tolist()
            images[i, c][(yy - cy) ** 2 + (xx - cx) ** 2 < (size // 10) ** 2] = 1.0
    return images


def main(image_size=256):
    torch.manual_seed(0)
    images = bouncing_balls(16, image_size)
    model = ParticleAE(image_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        total = 0.0
        for idx in torch.randperm(len(images)).split(8):
            loss = F.mse_loss(model(images[idx]), images[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print('epoch %d reconstruction %.4f' % (epoch + 1, total / len(images)))


if __name__ == '__main__':
    main()
