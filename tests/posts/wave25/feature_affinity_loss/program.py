import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.body(x)


class Decoder(nn.Module):
    """Upsamples the shared features by eight and predicts out_channels maps."""

    def __init__(self, in_channels, channels, out_channels):
        super().__init__()
        self.refine = nn.Sequential(nn.Conv2d(in_channels, channels, 3, padding=1), nn.ReLU(inplace=True))
        self.predict = nn.Conv2d(channels, out_channels, 3, padding=1)

    def forward(self, x):
        feature = F.interpolate(self.refine(x), scale_factor=8, mode="bilinear", align_corners=False)
        return feature, self.predict(feature)


class DualNet(nn.Module):
    """Segmentation and super resolution from one low resolution image."""

    def __init__(self, num_classes=6):
        super().__init__()
        self.backbone = Backbone()
        self.seg_decoder = Decoder(32, 24, num_classes)
        self.sr_decoder = Decoder(32, 12, 3)
        self.adapt = nn.Conv2d(24, 12, kernel_size=1)

    def forward(self, x):
        shared = self.backbone(x)
        seg_feature, seg = self.seg_decoder(shared)
        sr_feature, sr = self.sr_decoder(shared)
        return seg, sr, self.adapt(seg_feature), sr_feature


def similarity_matrix(feature):
    """Cosine similarity between the positions of one feature map (C, H, W)."""
    feature = F.normalize(feature, dim=0)
    return torch.bmm(feature.permute(1, 2, 0), feature)


def affinity_loss(seg_feature, sr_feature, subsample=8):
    seg_feature = F.avg_pool2d(seg_feature, subsample)
    sr_feature = F.avg_pool2d(sr_feature, subsample)
    total = 0.0
    for f_seg, f_sr in zip(seg_feature, sr_feature):
        total = total + (similarity_matrix(f_seg) - similarity_matrix(f_sr)).abs().mean()
    return total / seg_feature.size(0)


def make_batch(batch_size=4, size=64, num_classes=6):
    high = torch.rand(batch_size, 3, 2 * size, 2 * size)
    low = F.interpolate(high, scale_factor=0.5, mode="bilinear", align_corners=False)
    target = torch.randint(0, num_classes, (batch_size, 2 * size, 2 * size))
    return low.to(device), high.to(device), target.to(device)


def main(w1=0.1, w2=1.0):
    torch.manual_seed(0)
    model = DualNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    for step in range(6):
        low, high, target = make_batch()
        seg, sr, seg_feature, sr_feature = model(low)
        ce = F.cross_entropy(seg, target)
        mse = F.mse_loss(sr, high)
        fa = affinity_loss(seg_feature, sr_feature)
        loss = ce + w1 * mse + w2 * fa
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: ce {ce.item():.4f} mse {mse.item():.4f} fa {fa.item():.4f}")


if __name__ == "__main__":
    main()
