# line 22: the decoder's tokens (N, H*W, C) are reshaped to (N, C, H, W) without a transpose
import torch
from torch import nn


class PatchAutoencoder(nn.Module):
    def __init__(self, dim=16, side=6):
        super().__init__()
        self.side = side
        self.patchify = nn.Conv2d(3, dim, kernel_size=4, stride=4)
        block = nn.TransformerEncoderLayer(dim, 4, 32, batch_first=True, dropout=0.0)
        self.mixer = nn.TransformerEncoder(block, 2)
        self.pos = nn.Parameter(0.02 * torch.randn(1, side * side, dim))
        self.unpatch = nn.ConvTranspose2d(dim, 3, kernel_size=4, stride=4)

    def encode(self, img):
        tokens = self.patchify(img).flatten(2).transpose(1, 2)
        return self.mixer(tokens + self.pos)

    def decode(self, tokens):
        n, _, c = tokens.size()
        grid = tokens.reshape(n, c, self.side, self.side)
        return self.unpatch(grid)

    def forward(self, img):
        return self.decode(self.encode(img))


def blobs(n):
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    c = torch.rand(n, 2, 1, 1) * 24
    g = torch.exp(-((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2) / 20)
    return g.unsqueeze(1) * torch.rand(n, 3, 1, 1)


def main(steps=25):
    torch.manual_seed(0)
    ae = PatchAutoencoder()
    opt = torch.optim.AdamW(ae.parameters(), lr=2e-3)
    for step in range(steps):
        img = blobs(8)
        loss = nn.functional.mse_loss(ae(img), img)
        opt.zero_grad()
        loss.backward()
        opt.step()
    ae.eval()
    with torch.no_grad():
        img = blobs(16)
        print("reconstruction", nn.functional.mse_loss(ae(img), img).item())


main()
