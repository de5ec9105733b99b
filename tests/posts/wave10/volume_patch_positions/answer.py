import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def get_emb(sin_inp):
    emb = torch.stack((sin_inp.sin(), sin_inp.cos()), dim=-1)
    return torch.flatten(emb, -2, -1)


class PositionalEncoding3D(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.org_channels = channels
        channels = int(np.ceil(channels / 6) * 2)
        if channels % 2:
            channels += 1
        self.channels = channels
        inv_freq = 1.0 / (10000 ** (torch.arange(0, channels, 2).float() / channels))
        self.register_buffer('inv_freq', inv_freq)
        self.cached_penc = None

    def forward(self, tensor):
        if self.cached_penc is not None and self.cached_penc.shape == tensor.shape:
            return self.cached_penc
        batch_size, x, y, z, orig_ch = tensor.shape
        embs = []
        for n in (x, y, z):
            pos = torch.arange(n, device=tensor.device, dtype=self.inv_freq.dtype)
            embs.append(get_emb(torch.einsum('i,j->ij', pos, self.inv_freq)))
        emb = torch.zeros((x, y, z, self.channels * 3), device=tensor.device)
        emb[:, :, :, :self.channels] = embs[0][:, None, None]
        emb[:, :, :, self.channels:2 * self.channels] = embs[1][None, :, None]
        emb[:, :, :, 2 * self.channels:] = embs[2][None, None]
        self.cached_penc = emb[None, :, :, :, :orig_ch].repeat(batch_size, 1, 1, 1, 1)
        return self.cached_penc


class Summer(nn.Module):
    def __init__(self, penc):
        super().__init__()
        self.penc = penc

    def forward(self, tensor):
        penc = self.penc(tensor)
        return tensor + penc.to(tensor.device)


class VolumeTransformer(nn.Module):
    def __init__(self, embed_dim=48, patch=4, depth=2, num_classes=3):
        super().__init__()
        self.patch_embed = nn.Conv3d(1, embed_dim, kernel_size=patch, stride=patch)
        self.pos_embed = Summer(PositionalEncoding3D(embed_dim))
        layer = nn.TransformerEncoderLayer(embed_dim, 4, 96, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.head = nn.Linear(embed_dim, num_classes)

    def forward(self, x):
        x = self.patch_embed(x).permute(0, 2, 3, 4, 1)
        x = self.pos_embed(x).flatten(1, 3)
        return self.head(self.encoder(x).mean(1))


device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')
model = VolumeTransformer()
print('output', model(torch.zeros(1, 1, 16, 16, 16)).shape)
model.to(device)

volumes, labels = torch.randn(32, 1, 16, 16, 16), torch.randint(0, 3, (32,))
test_loader = DataLoader(TensorDataset(volumes[24:], labels[24:]), batch_size=1)
train_loader = DataLoader(TensorDataset(volumes[:24], labels[:24]), batch_size=8, shuffle=True)


def test(model):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in test_loader:
            x, y = x.to(device), y.to(device)
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(test_loader.dataset)


print('accuracy before training', test(model))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(2):
    model.train()
    for x, y in train_loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), test(model))
