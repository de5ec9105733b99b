import random
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.dataloader import default_collate


class FakeT5:
    """a text encoder that is not trained: one vector per token"""

    def __init__(self, dim=64):
        g = torch.Generator().manual_seed(11)
        self.table = torch.randn(2000, dim, generator=g)

    def __call__(self, caption):
        return self.table[torch.tensor([sum(map(ord, w)) % 2000 for w in caption.split()])]


class CaptionedImages(Dataset):
    words = 'a photo of the red small car dog house near tree with blue sky and snow'.split()

    def __init__(self, n, encoder, size=32):
        random.seed(n)
        self.captions = [' '.join(random.choices(self.words, k=random.randint(3, 12))) for _ in range(n)]
        self.encoder, self.size = encoder, size

    def __len__(self):
        return len(self.captions)

    def __getitem__(self, i):
        return torch.rand(3, self.size, self.size), self.encoder(self.captions[i])


class Collator:
    """drops the samples that could not be read"""

    def __call__(self, batch):
        batch = [sample for sample in batch if sample is not None]
        if not batch:
            return None
        images, embeds = zip(*batch)
        return default_collate(images), nn.utils.rnn.pad_sequence(embeds, batch_first=True)


class TextUnet(nn.Module):
    def __init__(self, dim=32, cond_dim=64):
        super().__init__()
        self.inp = nn.Conv2d(3, dim, 3, padding=1)
        self.attn = nn.MultiheadAttention(dim, 4, kdim=cond_dim, vdim=cond_dim, batch_first=True)
        self.time = nn.Linear(1, dim)
        self.out = nn.Conv2d(dim, 3, 3, padding=1)

    def forward(self, x, t, embeds):
        h = F.silu(self.inp(x)) + self.time(t[:, None])[:, :, None, None]
        b, c, height, width = h.shape
        tokens = h.flatten(2).transpose(1, 2)
        mask = (embeds == 0).all(dim=-1)
        tokens = tokens + self.attn(tokens, embeds, embeds, key_padding_mask=mask)[0]
        return self.out(tokens.transpose(1, 2).reshape(b, c, height, width))


torch.manual_seed(0)
train_dl = DataLoader(CaptionedImages(22, FakeT5()), batch_size=8, shuffle=True, collate_fn=Collator())
unet = TextUnet()
optimizer = torch.optim.Adam(unet.parameters(), lr=1e-4)
for epoch in range(2):
    for images, embeds in train_dl:
        t = torch.rand(images.size(0))
        noise = torch.randn_like(images)
        alpha = torch.cos(t * 1.57)[:, None, None, None]
        noisy = alpha * images + (1 - alpha ** 2).sqrt() * noise
        loss = F.mse_loss(unet(noisy, t, embeds), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f'loss: {loss.item():.4f}')
