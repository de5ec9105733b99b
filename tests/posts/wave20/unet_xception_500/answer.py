import argparse

import timm
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CellImages(Dataset):
    """Microscope fields with round cells; classes are background, membrane and inside."""

    def __init__(self, n_images, size, seed=0):
        gen = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.items = []
        for _ in range(n_images):
            label = torch.zeros(size, size, dtype=torch.long)
            for _ in range(6):
                cy, cx = torch.randint(0, size, (2,), generator=gen)
                r = int(torch.randint(20, 60, (1,), generator=gen))
                dist = ((yy - cy) ** 2 + (xx - cx) ** 2).float().sqrt()
                label[dist < r] = 2
                label[(dist - r).abs() < 4] = 1
            image = label.float()[None].repeat(3, 1, 1) / 2 + 0.2 * torch.randn(3, size, size, generator=gen)
            self.items.append((image, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class DecoderBlock(nn.Module):
    def __init__(self, in_ch, skip_ch, out_ch):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(in_ch + skip_ch, out_ch, 3, padding=1, bias=False), nn.BatchNorm2d(out_ch), nn.ReLU(),
            nn.Conv2d(out_ch, out_ch, 3, padding=1, bias=False), nn.BatchNorm2d(out_ch), nn.ReLU(),
        )

    def forward(self, x, skip=None):
        x = F.interpolate(x, scale_factor=2, mode="nearest")
        if skip is not None:
            x = torch.cat([x, skip], dim=1)
        return self.conv(x)


class Unet(nn.Module):
    def __init__(self, encoder_name, classes, decoder_channels=(128, 64, 32, 16, 16), pretrained=False):
        super().__init__()
        self.encoder = timm.create_model(encoder_name, features_only=True, pretrained=pretrained)
        channels = self.encoder.feature_info.channels()[::-1]
        skips = channels[1:] + [0]
        blocks, in_ch = [], channels[0]
        for skip_ch, out_ch in zip(skips, decoder_channels):
            blocks.append(DecoderBlock(in_ch, skip_ch, out_ch))
            in_ch = out_ch
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Conv2d(in_ch, classes, 3, padding=1)

    def forward(self, x):
        features = self.encoder(x)[::-1]
        x = features[0]
        for i, block in enumerate(self.blocks):
            skip = features[i + 1] if i + 1 < len(features) else None
            x = block(x, skip)
        return self.head(x)


def dice_loss(logits, label, eps=1.0):
    prob = logits.softmax(1)
    onehot = F.one_hot(label, logits.size(1)).permute(0, 3, 1, 2).float()
    inter = (prob * onehot).sum((0, 2, 3))
    total = (prob + onehot).sum((0, 2, 3))
    return 1 - ((2 * inter + eps) / (total + eps)).mean()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--encoder", default="xception41")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--epochs", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(0)
    loader = DataLoader(CellImages(4, args.size), batch_size=2, shuffle=True)
    model = Unet(args.encoder, classes=3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    for epoch in range(args.epochs):
        model.train()
        for image, label in loader:
            logits = model(image)
            loss = F.cross_entropy(logits, label) + dice_loss(logits, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
