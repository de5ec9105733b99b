import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FeedForward(nn.Module):
    def __init__(self, dim, bias=False):
        super().__init__()
        self.project_in = nn.Conv2d(dim, dim * 2, 1, bias=bias)
        self.dwconv = nn.Conv2d(dim * 2, dim * 2, 3, padding=1, groups=dim * 2, bias=bias)
        self.project_out = nn.Conv2d(dim, dim, 1, bias=bias)

    def forward(self, x):
        a, b = self.dwconv(self.project_in(x)).chunk(2, dim=1)
        return self.project_out(F.gelu(a) * b)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.GroupNorm(1, dim)
        self.ffn = FeedForward(dim)

    def forward(self, x):
        return x + self.ffn(self.norm(x))


class Downsample(nn.Module):
    def __init__(self, n_feat):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n_feat, n_feat // 2, 3, padding=1, bias=False), nn.PixelUnshuffle(2))

    def forward(self, x):
        return self.body(x)


class Upsample(nn.Module):
    def __init__(self, n_feat):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(n_feat, n_feat * 2, 3, padding=1, bias=False), nn.PixelShuffle(2))

    def forward(self, x):
        return self.body(x)


class PromptGen(nn.Module):
    def __init__(self, prompt_dim, lin_dim, prompt_len=3, size=4):
        super().__init__()
        self.prompts = nn.Parameter(torch.rand(1, prompt_len, prompt_dim, size, size))
        self.linear = nn.Linear(lin_dim, prompt_len)
        self.conv = nn.Conv2d(prompt_dim, prompt_dim, 3, padding=1, bias=False)

    def forward(self, x):
        w = self.linear(x.mean(dim=(-2, -1))).softmax(dim=1)
        prompt = (w[:, :, None, None, None] * self.prompts).sum(dim=1)
        return self.conv(F.interpolate(prompt, x.shape[-2:], mode="bilinear"))


class RestorationNet(nn.Module):
    def __init__(self, dim=16, prompt=True):
        super().__init__()
        self.prompt = prompt
        self.embed = nn.Conv2d(3, dim, 3, padding=1)
        self.encoder1, self.down1_2 = Block(dim), Downsample(dim)
        self.encoder2, self.down2_3 = Block(dim * 2), Downsample(dim * 2)
        self.encoder3, self.down3_4 = Block(dim * 4), Downsample(dim * 4)
        self.latent = Block(dim * 8)

        if prompt:
            self.prompt3 = PromptGen(dim * 4, dim * 8)
            self.noise_level3 = Block(dim * 12)
            self.reduce_noise3 = nn.Conv2d(dim * 12, dim * 8, 1, bias=False)

        self.up4_3 = Upsample(dim * 8)
        self.reduce_chan3 = nn.Conv2d(dim * 8, dim * 4, 1, bias=False)
        self.decoder3 = Block(dim * 4)
        self.up3_2 = Upsample(dim * 4)
        self.reduce_chan2 = nn.Conv2d(dim * 4, dim * 2, 1, bias=False)
        self.decoder2 = Block(dim * 2)
        self.up2_1 = Upsample(dim * 2)
        self.decoder1 = Block(dim * 2)
        self.output = nn.Conv2d(dim * 2, 3, 3, padding=1)

    def forward(self, img):
        e1 = self.encoder1(self.embed(img))
        e2 = self.encoder2(self.down1_2(e1))
        e3 = self.encoder3(self.down2_3(e2))
        latent = self.latent(self.down3_4(e3))
        if self.prompt:
            latent = torch.cat([latent, self.prompt3(latent)], dim=1)
            latent = self.reduce_noise3(self.noise_level3(latent))

        d3 = self.up4_3(latent)
        d3 = self.decoder3(self.reduce_chan3(torch.cat([d3, e3], dim=1)))
        d2 = self.decoder2(self.reduce_chan2(torch.cat([self.up3_2(d3), e2], dim=1)))
        d1 = self.decoder1(torch.cat([self.up2_1(d2), e1], dim=1))
        return self.output(d1) + img


def main():
    torch.manual_seed(0)
    clean = F.interpolate(torch.rand(24, 3, 8, 8), (32, 32), mode="bilinear")
    sigma = torch.tensor([15.0, 25.0, 50.0])[torch.randint(0, 3, (24,))] / 255
    noisy = clean + sigma[:, None, None, None] * torch.randn_like(clean)
    loader = DataLoader(TensorDataset(noisy, clean), batch_size=8, shuffle=True)
    net = RestorationNet(dim=16, prompt=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
    for epoch in range(3):
        total = 0.0
        for degraded, target in loader:
            loss = F.l1_loss(net(degraded), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} l1 {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
