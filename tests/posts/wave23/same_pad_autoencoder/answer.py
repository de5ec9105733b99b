import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SameConv2d(nn.Conv2d):
    def forward(self, x):
        ih, iw = x.shape[-2:]
        kh, kw = self.kernel_size
        sh, sw = self.stride
        pad_h = max((math.ceil(ih / sh) - 1) * sh + kh - ih, 0)
        pad_w = max((math.ceil(iw / sw) - 1) * sw + kw - iw, 0)
        x = F.pad(x, [pad_w // 2, pad_w - pad_w // 2, pad_h // 2, pad_h - pad_h // 2])
        return super().forward(x)


class SameTransposedConv2d(nn.ConvTranspose2d):
    def forward(self, x, size):
        oh, ow = size
        x = super().forward(x)
        return x[..., :oh, :ow]


class Encoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.stages = nn.ModuleList()
        self.norms = nn.ModuleList()
        for w_in, w_out in zip(widths[:-1], widths[1:]):
            self.stages.append(SameConv2d(w_in, w_out, 3, stride=2, bias=False))
            self.norms.append(nn.BatchNorm2d(w_out))

    def forward(self, x):
        sizes = []
        for conv, norm in zip(self.stages, self.norms):
            sizes.append(x.shape[-2:])
            x = F.silu(norm(conv(x)))
        return x, sizes


class Decoder(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.stages = nn.ModuleList()
        for w_in, w_out in zip(widths[:-1], widths[1:]):
            self.stages.append(SameTransposedConv2d(w_in, w_out, 3, stride=2))

    def forward(self, x, sizes):
        for i, conv in enumerate(self.stages):
            x = conv(x, sizes[-1 - i])
            if i < len(self.stages) - 1:
                x = F.silu(x)
        return x


class AutoEncoder(nn.Module):
    def __init__(self, widths=(3, 8, 16, 24)):
        super().__init__()
        self.encoder = Encoder(widths)
        self.decoder = Decoder(widths[::-1])

    def forward(self, x):
        latent, sizes = self.encoder(x)
        return self.decoder(latent, sizes)


def fit(image_size=57, epochs=3):
    torch.manual_seed(0)
    images = torch.rand(24, 3, image_size, image_size)
    loader = DataLoader(TensorDataset(images), batch_size=8, shuffle=True)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        for (batch,) in loader:
            recon = model(batch)
            loss = ((recon - batch) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    fit()
