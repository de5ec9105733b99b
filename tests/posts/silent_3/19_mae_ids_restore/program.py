import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

GRID, PATCH, DIM = 6, 4, 48
N_PATCH = GRID * GRID


def make_images(n, seed):
    g = torch.Generator().manual_seed(seed)
    size = GRID * PATCH
    axis = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    p = torch.randn(n, 5, generator=g)[:, :, None, None]
    img = p[:, 0] * xx + p[:, 1] * yy + p[:, 2] * xx * yy + 0.5 * torch.sin(3 * xx + p[:, 3]) + 0.5 * torch.cos(3 * yy + p[:, 4])
    return img


def patchify(img):
    b = img.shape[0]
    x = img.reshape(b, GRID, PATCH, GRID, PATCH).permute(0, 1, 3, 2, 4)
    return x.reshape(b, N_PATCH, PATCH * PATCH)


def block(dim):
    return nn.TransformerEncoderLayer(dim, 4, dim_feedforward=2 * dim, batch_first=True, norm_first=True, dropout=0.0)


class TinyMAE(nn.Module):
    def __init__(self, mask_ratio=0.6):
        super().__init__()
        self.keep = int(N_PATCH * (1 - mask_ratio))
        self.embed = nn.Linear(PATCH * PATCH, DIM)
        self.pos = nn.Parameter(torch.randn(1, N_PATCH, DIM) * 0.02)
        self.dec_pos = nn.Parameter(torch.randn(1, N_PATCH, DIM) * 0.02)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, DIM))
        self.encoder = nn.TransformerEncoder(block(DIM), 2, enable_nested_tensor=False)
        self.decoder = nn.TransformerEncoder(block(DIM), 1, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, PATCH * PATCH)

    def random_masking(self, x):
        b, n, d = x.shape
        noise = torch.rand(b, n)
        ids_shuffle = torch.argsort(noise, dim=1)
        ids_restore = torch.argsort(noise, dim=1)
        ids_keep = ids_shuffle[:, :self.keep]
        visible = torch.gather(x, 1, ids_keep.unsqueeze(-1).expand(-1, -1, d))
        mask = torch.ones(b, n)
        mask.scatter_(1, ids_keep, 0.0)
        return visible, mask, ids_restore

    def forward(self, patches):
        x = self.embed(patches) + self.pos
        visible, mask, ids_restore = self.random_masking(x)
        latent = self.encoder(visible)
        b, n = mask.shape
        full = torch.cat([latent, self.mask_token.expand(b, n - self.keep, -1)], dim=1)
        full = torch.gather(full, 1, ids_restore.unsqueeze(-1).expand(-1, -1, DIM))
        pred = self.head(self.decoder(full + self.dec_pos))
        loss = ((pred - patches) ** 2).mean(-1)
        return (loss * mask).sum() / mask.sum()


torch.manual_seed(0)
train = patchify(make_images(1200, seed=1))
test = patchify(make_images(200, seed=2))
loader = DataLoader(TensorDataset(train), batch_size=60, shuffle=True)
model = TinyMAE()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
print(f"variance of the pixels {test.var():.4f}")
for epoch in range(12):
    model.train()
    for (x,) in loader:
        loss = model(x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch + 1}: masked-patch MSE on test {model(test):.4f}")
