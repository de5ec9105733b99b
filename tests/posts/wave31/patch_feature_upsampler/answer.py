import torch
import torch.nn as nn
import torch.nn.functional as F
import timm


class PatchFeaturizer(nn.Module):
    """Frozen ViT with 14x14 patches, gives a dense feature map."""

    def __init__(self, img_size, dim=16):
        super().__init__()
        self.model = timm.models.vision_transformer.VisionTransformer(
            img_size=img_size, patch_size=14, embed_dim=dim, depth=2, num_heads=4, num_classes=0
        )
        self.dim = dim
        for p in self.model.parameters():
            p.requires_grad = False

    def forward(self, img):
        tokens = self.model.forward_features(img)[:, 1:]
        return tokens.reshape(-1, img.shape[2] // 14, img.shape[3] // 14, self.dim).permute(0, 3, 1, 2)


class GuidedUpsampler(nn.Module):
    """Joint bilateral upsampling by two in each call."""

    def __init__(self, dim, key_dim=4, radius=1):
        super().__init__()
        self.radius = radius
        self.key = nn.Sequential(nn.Conv2d(3, key_dim, 1), nn.GELU(), nn.Conv2d(key_dim, key_dim, 1))
        self.temp = nn.Parameter(torch.tensor(0.0))
        self.fix = nn.Conv2d(dim, dim, 1)

    def forward(self, source, guidance):
        b, c, h, w = source.shape
        small = F.adaptive_avg_pool2d(guidance, (2 * h, 2 * w))
        hr = F.interpolate(source, scale_factor=2, mode="bicubic", align_corners=False)
        key = self.key(small)
        k = 2 * self.radius + 1
        neigh = F.unfold(key, k, padding=self.radius).view(b, key.size(1), k * k, 4 * h * w)
        weight = (neigh * key.flatten(2).unsqueeze(2)).sum(1)
        weight = (weight * self.temp.exp()).softmax(dim=1)
        value = F.unfold(hr, k, padding=self.radius).view(b, c, k * k, 4 * h * w)
        out = (value * weight.unsqueeze(1)).sum(2).view(b, c, 2 * h, 2 * w)
        return out + 0.1 * self.fix(out)


class FeatureTrainer(nn.Module):
    def __init__(self, img_size, dim=16):
        super().__init__()
        self.featurizer = PatchFeaturizer(img_size, dim)
        self.norm = nn.InstanceNorm2d(dim)
        self.up = nn.ModuleList([GuidedUpsampler(dim), GuidedUpsampler(dim)])
        self.downsampler = nn.Conv2d(dim, dim, 4, stride=4)

    def forward(self, img):
        lr_feats = self.norm(self.featurizer(img))
        hr_feats = lr_feats
        for up in self.up:
            hr_feats = up(hr_feats, img)
        return lr_feats, hr_feats


def shift(img, dx):
    return torch.roll(img, shifts=dx, dims=-1)


def main(img_size=448, batch_size=2, steps=4):
    torch.manual_seed(0)
    net = FeatureTrainer(img_size)
    optimizer = torch.optim.NAdam([p for p in net.parameters() if p.requires_grad], lr=1e-3)
    for step in range(steps):
        img = torch.rand(batch_size, 3, img_size, img_size)
        optimizer.zero_grad()
        lr_feats, hr_feats = net(img)
        view_feats, _ = net(shift(img, 14))
        target = torch.roll(view_feats, shifts=-1, dims=-1).detach()
        loss = F.mse_loss(net.downsampler(hr_feats), target)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f} lr {tuple(lr_feats.shape)} hr {tuple(hr_feats.shape)}")


if __name__ == "__main__":
    main()
