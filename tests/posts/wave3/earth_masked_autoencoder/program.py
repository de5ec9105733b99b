import torch
import torch.nn as nn
from einops import rearrange


def posemb_sincos_2d(h, w, dim, temperature=10000):
    y, x = torch.meshgrid(torch.arange(h), torch.arange(w), indexing='ij')
    omega = torch.arange(dim // 4) / (dim // 4 - 1)
    omega = 1.0 / (temperature ** omega)
    y = y.flatten()[:, None] * omega[None, :]
    x = x.flatten()[:, None] * omega[None, :]
    return torch.cat((x.sin(), x.cos(), y.sin(), y.cos()), dim=1)


class Encoder(nn.Module):
    def __init__(self, bands=6, image_size=64, patch_size=8, dim=96, mask_ratio=0.75):
        super().__init__()
        self.patch_size = patch_size
        self.mask_ratio = mask_ratio
        side = image_size // patch_size
        self.num_patches = side * side
        self.to_patch_embed = nn.Linear(bands * patch_size ** 2, dim)
        self.pos_encoding = posemb_sincos_2d(side, side, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 2, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 2)

    def forward(self, cube):
        p = self.patch_size
        patches = rearrange(cube, 'b c (h p1) (w p2) -> b (h w) (c p1 p2)', p1=p, p2=p)
        patches = self.to_patch_embed(patches)
        patches = patches + self.pos_encoding
        keep = int(self.num_patches * (1 - self.mask_ratio))
        order = torch.rand(patches.shape[:2], device=cube.device).argsort(dim=1)[:, :keep]
        visible = patches.gather(1, order.unsqueeze(-1).expand(-1, -1, patches.size(-1)))
        return self.transformer(visible)


class EarthMAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Linear(96, 6 * 64)

    def forward(self, cube):
        latent = self.encoder(cube).mean(dim=1)
        patch = self.decoder(latent)
        target = cube[:, :, :8, :8].flatten(1)
        return nn.functional.mse_loss(patch, target)


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
model = EarthMAE().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
cubes = torch.rand(40, 6, 64, 64)
for step, cube in enumerate(cubes.split(16)):
    loss = model(cube.to(device))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f'step {step} loss {loss.item():.4f}')
