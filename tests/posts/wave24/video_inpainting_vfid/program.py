import numpy as np
import torch
import torch.nn as nn


class UnitConv3d(nn.Module):
    def __init__(self, c_in, c_out, stride=1):
        super().__init__()
        self.conv = nn.Conv3d(c_in, c_out, 3, stride=stride, padding=1, bias=False)
        self.bn = nn.BatchNorm3d(c_out)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class InceptionI3d(nn.Module):
    def __init__(self, feature_dim=32, num_classes=400):
        super().__init__()
        self.stem = nn.Sequential(UnitConv3d(3, 16, stride=2), UnitConv3d(16, feature_dim, stride=2))
        self.pool = nn.AdaptiveAvgPool3d(1)
        self.dropout = nn.Dropout(0.5)
        self.logits = nn.Linear(feature_dim, num_classes)

    def extract_features(self, x):
        return self.dropout(self.pool(self.stem(x)).flatten(1))

    def forward(self, x):
        return self.logits(self.extract_features(x))


class InpaintGenerator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(4, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.decoder = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, frames, masks):
        t = frames.size(0)
        x = torch.cat([frames * (1 - masks), masks.expand(t, 1, -1, -1)], dim=1)
        return torch.sigmoid(self.decoder(self.encoder(x)))


def make_video(index, length=8, size=32):
    g = torch.Generator().manual_seed(index)
    base = torch.rand(1, 3, size, size, generator=g)
    drift = 0.05 * torch.randn(length, 3, 1, 1, generator=g).cumsum(dim=0)
    frames = (base + drift).clamp(0, 1)
    masks = torch.zeros(length, 1, size, size)
    masks[:, :, 8:20, 10:24] = 1
    return frames, masks


def load_i3d(device):
    torch.manual_seed(7)
    i3d_model = InceptionI3d()
    return i3d_model.to(device)


def load_generator(device):
    torch.manual_seed(3)
    model = InpaintGenerator().to(device)
    model.eval()
    return model


def i3d_activations(clip, i3d_model):
    clip = clip.permute(1, 0, 2, 3).unsqueeze(0) * 2 - 1
    return i3d_model.extract_features(clip).squeeze(0).cpu().numpy()


def sqrt_trace(cov_a, cov_b):
    eigenvalues = np.linalg.eigvals(cov_a @ cov_b)
    return np.sqrt(np.clip(eigenvalues.real, 0, None)).sum()


def vfid(real, fake):
    real, fake = np.stack(real).astype(np.float64), np.stack(fake).astype(np.float64)
    cov_r, cov_f = np.cov(real, rowvar=False), np.cov(fake, rowvar=False)
    gap = ((real.mean(0) - fake.mean(0)) ** 2).sum()
    return gap + np.trace(cov_r) + np.trace(cov_f) - 2 * sqrt_trace(cov_r, cov_f)


@torch.no_grad()
def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load_generator(device)
    i3d_model = load_i3d(device)

    real_features, output_features, psnrs = [], [], []
    for index in range(40):
        frames, masks = (t.to(device) for t in make_video(index))
        predicted = model(frames, masks)
        completed = predicted * masks + frames * (1 - masks)
        mse = ((completed - frames) ** 2).mean()
        psnrs.append((10 * torch.log10(1 / mse)).item())
        real_features.append(i3d_activations(frames, i3d_model))
        output_features.append(i3d_activations(completed, i3d_model))

    print(f"PSNR {np.mean(psnrs):.2f} dB")
    print(f"VFID {vfid(real_features, output_features):.5f}")
    print(f"VFID of the real videos with themselves {vfid(real_features, real_features):.5f}")


if __name__ == "__main__":
    main()
