import torch
import torch.nn as nn
import torch.nn.functional as F


class ContentEncoder(nn.Module):
    def __init__(self, in_ch=3, dim=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(in_ch, dim, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(dim, dim, 4, stride=2, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(dim, dim, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x)


class SymmetryAttention(nn.Module):
    def __init__(self, alpha=30.0):
        super().__init__()
        self.alpha = alpha

    def flatten(self, feat):
        feat = feat - feat.mean(dim=(2, 3), keepdim=True)
        return F.normalize(feat.flatten(2), dim=1)

    def forward(self, content_a, content_b, raw_b):
        n, raw_c, h, w = raw_b.shape
        fa = self.flatten(content_a)
        fb = self.flatten(content_b)
        energy = torch.bmm(fb.transpose(-2, -1), fa) * self.alpha
        corr = F.softmax(energy, dim=2)
        warped = torch.bmm(raw_b.view(n, raw_c, h * w), corr)
        return warped.view(n, raw_c, h, w)


class TransferNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.content = ContentEncoder(3, dim)
        self.attention = SymmetryAttention()

    def forward(self, source, reference):
        content_a = self.content(source)
        content_b = self.content(reference)
        raw_b = F.interpolate(reference, scale_factor=0.5, mode="bilinear", align_corners=False)
        return self.attention(content_a, content_b, raw_b)


def make_pair(batch, size=32):
    base = F.interpolate(torch.rand(batch, 3, 8, 8), size=size, mode="bilinear", align_corners=False)
    shift = torch.randint(-6, 7, (2,)).tolist()
    reference = torch.roll(base, shifts=shift, dims=(2, 3)) + 0.02 * torch.randn(batch, 3, size, size)
    source = base + 0.02 * torch.randn(batch, 3, size, size)
    target = F.interpolate(base, scale_factor=0.5, mode="bilinear", align_corners=False)
    return source, reference, target


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = TransferNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.5, 0.999))

    for it in range(60):
        source, reference, target = (t.to(device) for t in make_pair(8))
        warped = model(source, reference)
        loss = F.l1_loss(warped, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 10 == 0:
            print(f"iter {it:3d}  warp loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        source, reference, target = (t.to(device) for t in make_pair(16))
        warped = model(source, reference)
        print(f"warp error {F.l1_loss(warped, target).item():.4f}")
        print(f"warped range {warped.min().item():.3f} .. {warped.max().item():.3f}")


if __name__ == "__main__":
    main()
