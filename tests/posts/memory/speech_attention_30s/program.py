import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

RATE = 48000
SECONDS = 30
N_FFT = 1024
HOP = 512


class Speech(Dataset):
    def __init__(self, n=200):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        clean = 0.1 * torch.randn(RATE * SECONDS)
        return clean + 0.05 * torch.randn_like(clean), clean


class AxialAttention(nn.Module):
    def __init__(self, channels, d_c):
        super().__init__()
        self.d_c = d_c
        self.qkv_f = nn.Conv2d(channels, 3 * d_c, 1)
        self.qk_t = nn.Conv2d(channels, 2 * d_c, 1)
        self.proj = nn.Conv2d(d_c, channels, 1)

    def forward(self, x):
        qf, kf, v = self.qkv_f(x).chunk(3, dim=1)
        f_score = torch.einsum("bcft,bcyt->btfy", qf, kf) / self.d_c ** 0.5
        v = torch.einsum("btfy,bcyt->bcft", f_score.softmax(dim=-1), v)
        qt, kt = self.qk_t(x).chunk(2, dim=1)
        t_score = torch.einsum("bcft,bcfy->bfty", qt, kt) / self.d_c ** 0.5
        v = torch.einsum("bfty,bcfy->bcft", t_score.softmax(dim=-1), v)
        return x + self.proj(v)


class Enhancer(nn.Module):
    def __init__(self, channels=24, blocks=3):
        super().__init__()
        self.merge = nn.Conv2d(2, channels, (4, 1), stride=(4, 1))
        self.convs = nn.ModuleList([nn.Conv2d(channels, channels, 3, padding=1) for _ in range(blocks)])
        self.attention = nn.ModuleList([AxialAttention(channels, 8) for _ in range(blocks)])
        self.split = nn.ConvTranspose2d(channels, 2, (4, 1), stride=(4, 1))

    def forward(self, spec):
        x = self.merge(spec)
        for conv, attention in zip(self.convs, self.attention):
            x = attention(F.elu(conv(x)))
        return spec * torch.sigmoid(self.split(x))


def transform(wave):
    spec = torch.stft(wave, N_FFT, HOP, window=window, return_complex=True)
    return torch.view_as_real(spec[:, 1:]).permute(0, 3, 1, 2)


device = torch.device("cuda")
window = torch.hann_window(N_FFT).to(device)
loader = DataLoader(Speech(), batch_size=1, shuffle=True)
model = Enhancer().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
for epoch in range(10):
    for noisy, clean in loader:
        noisy, clean = transform(noisy.to(device)), transform(clean.to(device))
        loss = F.l1_loss(model(noisy), clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
