import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import rearrange
from torch.utils.data import DataLoader, TensorDataset


def image2patches(image, grid_h=2, grid_w=2, patch_ref=None,
                  transformation="b c (hg h) (wg w) -> (b hg wg) c h w"):
    if patch_ref is not None:
        grid_h = image.shape[-2] // patch_ref.shape[-2]
        grid_w = image.shape[-1] // patch_ref.shape[-1]
    patches = rearrange(image, transformation, hg=grid_h, wg=grid_w)
    return patches


def patches2image(patches, grid_h=2, grid_w=2, patch_ref=None,
                  transformation="(b hg wg) c h w -> b c (hg h) (wg w)"):
    if patch_ref is not None:
        grid_h = patch_ref.shape[-2] // image.shape[-2]
        grid_w = patch_ref.shape[-1] // image.shape[-1]
    image = rearrange(patches, transformation, hg=grid_h, wg=grid_w)
    return image


class ConvBlock(nn.Module):
    def __init__(self, in_ch, out_ch, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(in_ch, out_ch, 3, stride=stride, padding=1)
        self.norm = nn.BatchNorm2d(out_ch)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class ForegroundNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = ConvBlock(3, width, stride=2)
        self.deep = ConvBlock(width, width * 2, stride=2)
        self.patch_branch = ConvBlock(3, width)
        self.fuse = ConvBlock(width * 3, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        deep = self.deep(self.stem(x))
        patches = image2patches(x, patch_ref=deep)
        local = self.patch_branch(patches)
        local = patches2image(local, patch_ref=x)
        deep = F.interpolate(deep, size=x.shape[-2:], mode="bilinear", align_corners=True)
        return self.head(self.fuse(torch.cat([deep, local], dim=1)))


def synthetic_masks(n=16, size=64):
    images = torch.randn(n, 3, size, size) * 0.3
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        top, left = torch.randint(8, 32, (2,)).tolist()
        masks[i, :, top:top + 24, left:left + 24] = 1
    return images + masks, masks


def main():
    torch.manual_seed(0)
    images, masks = synthetic_masks()
    loader = DataLoader(TensorDataset(images, masks), batch_size=4, shuffle=True)
    net = ForegroundNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(2):
        running = 0.0
        for image, mask in loader:
            logits = net(image)
            loss = F.binary_cross_entropy_with_logits(logits, mask)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch + 1} loss {running / len(loader):.4f}")


if __name__ == "__main__":
    main()
