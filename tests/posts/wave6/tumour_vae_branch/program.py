import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class BasicBlock(nn.Module):
    def __init__(self, inp, out, groups=4):
        super().__init__()
        self.gn1, self.gn2 = nn.GroupNorm(groups, inp), nn.GroupNorm(groups, out)
        self.conv1 = nn.Conv3d(inp, out, 3, padding=1)
        self.conv2 = nn.Conv3d(out, out, 3, padding=1)
        self.skip = nn.Conv3d(inp, out, 1) if inp != out else nn.Identity()

    def forward(self, x):
        y = self.conv1(F.relu(self.gn1(x)))
        return self.conv2(F.relu(self.gn2(y))) + self.skip(x)


class VAE(nn.Module):
    def __init__(self, input_shape, init_channels=4, out_channels=2, squeeze_channels=16):
        super().__init__()
        self.input_shape = input_shape
        self.squeeze_channels = squeeze_channels
        squeezed = (input_shape[0] // 16) * (input_shape[1] // 16) * (input_shape[2] // 16)
        self.hidden_conv = nn.Sequential(
            nn.GroupNorm(4, init_channels * 8), nn.ReLU(),
            nn.Conv3d(init_channels * 8, squeeze_channels, 3, padding=1, stride=2), nn.AdaptiveAvgPool3d(1),
        )
        self.mu_fc = nn.Linear(squeeze_channels, squeeze_channels // 2)
        self.logvar_fc = nn.Linear(squeeze_channels, squeeze_channels // 2)
        self.reconstruction = nn.Sequential(nn.Linear(squeeze_channels // 2, init_channels * 8 * squeezed), nn.ReLU())
        self.up4 = nn.Sequential(nn.Conv3d(init_channels * 8, init_channels * 8, 1), nn.Upsample(scale_factor=2))
        self.up3 = nn.Sequential(nn.Conv3d(init_channels * 8, init_channels * 4, 1), nn.Upsample(scale_factor=2))
        self.up2 = nn.Sequential(nn.Conv3d(init_channels * 4, init_channels * 2, 1), nn.Upsample(scale_factor=4))
        self.out = nn.Conv3d(init_channels * 2, out_channels, 1)

    def forward(self, x):
        z = self.hidden_conv(x).flatten(1)
        mu, logvar = self.mu_fc(z), self.logvar_fc(z)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        re_x = self.reconstruction(z)
        recon_shape = [x.shape[0], self.squeeze_channels // 2,
                       self.input_shape[0] // 16, self.input_shape[1] // 16, self.input_shape[2] // 16]
        re_x = re_x.view(recon_shape)
        re_x = self.up2(self.up3(self.up4(re_x)))
        return self.out(re_x), mu, logvar


class UNetVAE(nn.Module):
    def __init__(self, input_shape, in_channels=2, classes=3, c=4):
        super().__init__()
        self.stem = nn.Conv3d(in_channels, c, 3, padding=1)
        self.down = nn.ModuleList(nn.Sequential(nn.Conv3d(c * 2 ** i, c * 2 ** (i + 1), 3, stride=2, padding=1), BasicBlock(c * 2 ** (i + 1), c * 2 ** (i + 1))) for i in range(3))
        self.up = nn.ModuleList(nn.Sequential(nn.Conv3d(c * 2 ** (i + 1), c * 2 ** i, 1), nn.Upsample(scale_factor=2)) for i in reversed(range(3)))
        self.seg = nn.Conv3d(c, classes, 1)
        self.vae = VAE(input_shape, init_channels=c, out_channels=in_channels)

    def forward(self, x):
        skips = [self.stem(x)]
        for block in self.down:
            skips.append(block(skips[-1]))
        y = skips[-1]
        for up, skip in zip(self.up, reversed(skips[:-1])):
            y = up(y) + skip
        return self.seg(y), self.vae(skips[-1])


model = UNetVAE(input_shape=(32, 32, 32))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, weight_decay=1e-5)
for step in range(3):
    volume, mask = torch.rand(2, 2, 32, 32, 32), (torch.rand(2, 3, 32, 32, 32) > 0.8).float()
    logits, (recon, mu, logvar) = model(volume)
    kld = (mu ** 2 + logvar.exp() - logvar - 1).mean()
    loss = F.binary_cross_entropy_with_logits(logits, mask) + 0.1 * F.mse_loss(recon, volume) + 0.1 * kld
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", step, "loss", loss.item())
