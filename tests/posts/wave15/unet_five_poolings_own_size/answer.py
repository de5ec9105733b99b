import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

# (height, width) to which all cell images are brought
IMAGE_SIZE = (64, 96)


class CellImages(Dataset):
    """made-up fluorescence images: round nuclei on a dark ground"""

    def __init__(self, n, seed=0):
        gen = torch.Generator().manual_seed(seed)
        h, w = 108, 152
        i, j = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
        self.items = []
        for _ in range(n):
            mask = torch.zeros(h, w)
            for _ in range(6):
                ci, cj, r = torch.rand(3, generator=gen).tolist()
                mask[(i - ci * h) ** 2 + (j - cj * w) ** 2 < (8 + 8 * r) ** 2] = 1.0
            image = 0.7 * mask + 0.2 * torch.rand(h, w, generator=gen)
            self.items.append((image[None], mask[None]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        image, mask = self.items[k]
        image = F.interpolate(image[None], size=IMAGE_SIZE, mode="bilinear", align_corners=False)[0]
        mask = F.interpolate(mask[None], size=IMAGE_SIZE, mode="nearest")[0]
        return image, mask


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class ChannelGate(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(channels, channels // 2), nn.ReLU(), nn.Linear(channels // 2, channels))

    def forward(self, x):
        weight = torch.sigmoid(self.fc(x.mean(dim=(2, 3))))
        return x * weight[:, :, None, None]


class AttentionUNet(nn.Module):
    def __init__(self, base=4, depth=5):
        super().__init__()
        widths = [base * 2 ** min(k, 3) for k in range(depth + 1)]
        self.down = nn.ModuleList()
        cin = 1
        for width in widths:
            self.down.append(conv_block(cin, width))
            cin = width
        self.up = nn.ModuleList()
        self.gate = nn.ModuleList()
        self.merge = nn.ModuleList()
        for width in reversed(widths[:-1]):
            self.up.append(nn.Sequential(nn.Upsample(scale_factor=2), conv_block(cin, width)))
            self.gate.append(ChannelGate(width))
            self.merge.append(conv_block(2 * width, width))
            cin = width
        self.head = nn.Conv2d(cin, 1, 1)

    def forward(self, x):
        skips = []
        for k, block in enumerate(self.down):
            x = block(x if k == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for up, gate, merge in zip(self.up, self.gate, self.merge):
            x = up(x)
            x = merge(torch.cat((gate(skips.pop()), x), dim=1))
        return self.head(x)


def main():
    torch.manual_seed(0)
    loader = DataLoader(CellImages(24), batch_size=4, shuffle=True)
    model = AttentionUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        inter = union = 0.0
        for images, masks in loader:
            outputs = model(images)
            loss = F.binary_cross_entropy_with_logits(outputs, masks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            pred = (outputs > 0).float()
            inter += (pred * masks).sum().item()
            union += ((pred + masks) > 0).float().sum().item()
        print("epoch %d loss %.4f iou %.3f" % (epoch + 1, loss.item(), inter / union))


if __name__ == "__main__":
    main()
