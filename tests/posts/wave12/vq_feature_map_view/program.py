import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

LR = 3e-4
ITERS = 60
NUM_CODES = 64
DIM = 32
ALPHA = 10
DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'


class Clothes(Dataset):
    def __init__(self, n=512):
        g = torch.Generator().manual_seed(4)
        self.images = torch.full((n, 1, 28, 28), -0.5)
        size = torch.randint(6, 20, (n, 2), generator=g)
        start = torch.randint(0, 8, (n, 2), generator=g)
        tone = torch.rand(n, generator=g)
        for i in range(n):
            (y, x), (h, w) = start[i].tolist(), size[i].tolist()
            self.images[i, :, y:y + h, x:x + w] = tone[i] * 0.5

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], 0


class Quantizer(nn.Module):
    """takes (batch, sequence, dim), gives the nearest codes, their indices and the commitment loss"""

    def __init__(self, dim, num_codes, decay=0.8):
        super().__init__()
        self.decay = decay
        self.register_buffer('codebook', torch.randn(num_codes, dim))
        self.register_buffer('counts', torch.ones(num_codes))
        self.register_buffer('sums', self.codebook.clone())

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        dist = torch.cdist(flat, self.codebook)
        index = dist.argmin(dim=1)
        quantized = self.codebook[index].view_as(x)
        if self.training:
            with torch.no_grad():
                onehot = F.one_hot(index, self.codebook.shape[0]).type(flat.dtype)
                self.counts.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.sums.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
                self.codebook.copy_(self.sums / self.counts.clamp(min=1e-3).unsqueeze(1))
        commit = F.mse_loss(x, quantized.detach())
        quantized = x + (quantized - x).detach()
        return quantized, index.view(x.shape[:-1]), commit


class VQAutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.MaxPool2d(2), nn.GELU(),
            nn.Conv2d(16, DIM, 3, padding=1), nn.MaxPool2d(2))
        self.quantizer = Quantizer(DIM, NUM_CODES)
        self.decoder = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(DIM, 16, 3, padding=1), nn.GELU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(16, 1, 3, padding=1))

    def forward(self, x):
        feat = self.encoder(x)
        b, c, h, w = feat.shape
        feat_flat = feat.view(b, -1, c)
        quantized, indices, commit_loss = self.quantizer(feat_flat)
        quantized = quantized.view(b, c, h, w)
        return self.decoder(quantized).clamp(-1, 1), indices, commit_loss


def train(model, loader, iterations):
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR)
    batches = iter(loader)
    for step in range(iterations):
        try:
            x, _ = next(batches)
        except StopIteration:
            batches = iter(loader)
            x, _ = next(batches)
        x = x.to(DEVICE)
        out, indices, commit_loss = model(x)
        rec_loss = (out - x).abs().mean()
        optimizer.zero_grad()
        (rec_loss + ALPHA * commit_loss).backward()
        optimizer.step()
        if step % 20 == 19:
            print('step %d rec loss %.4f commit loss %.5f active %.1f%%' % (
                step + 1, rec_loss.item(), commit_loss.item(),
                indices.unique().numel() / NUM_CODES * 100))


if __name__ == '__main__':
    torch.manual_seed(1234)
    loader = DataLoader(Clothes(), batch_size=64, shuffle=True, drop_last=True)
    train(VQAutoEncoder().to(DEVICE), loader, ITERS)
