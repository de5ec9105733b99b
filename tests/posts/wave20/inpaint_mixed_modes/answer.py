import os
import tempfile

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision.transforms.functional import to_tensor


def write_photos(root, n=48, seed=0):
    """Stand-in for the photo folder: most files are colour, some were saved as black and white."""
    rng = np.random.default_rng(seed)
    paths = []
    for k in range(n):
        height, width = rng.integers(70, 140, size=2)
        base = rng.integers(0, 255, size=(4, 4, 3), dtype=np.uint8)
        img = Image.fromarray(base).resize((int(width), int(height)), Image.BICUBIC)
        if k % 6 == 5:
            img = img.convert("L")
        path = os.path.join(root, f"photo_{k:04d}.png")
        img.save(path)
        paths.append(path)
    flist = os.path.join(root, "train.flist")
    with open(flist, "w") as f:
        f.write("\n".join(paths))
    return flist


class InpaintingDataset(Dataset):
    def __init__(self, flist, input_size=64):
        with open(flist) as f:
            self.files = [line.strip() for line in f if line.strip()]
        self.input_size = input_size

    def __len__(self):
        return len(self.files)

    def resize(self, img):
        side = min(img.size)
        left, top = (img.width - side) // 2, (img.height - side) // 2
        return img.crop((left, top, left + side, top + side)).resize((self.input_size, self.input_size))

    def random_mask(self):
        mask = torch.zeros(1, self.input_size, self.input_size)
        half = self.input_size // 2
        y, x = torch.randint(0, half, (2,)).tolist()
        mask[:, y:y + half, x:x + half] = 1
        return mask

    def edges(self, gray):
        dx = (gray[:, :, 1:] - gray[:, :, :-1]).abs()
        dy = (gray[:, 1:, :] - gray[:, :-1, :]).abs()
        return ((F.pad(dx, (0, 1)) + F.pad(dy, (0, 0, 0, 1))) > 0.1).float()

    def __getitem__(self, index):
        img = self.resize(Image.open(self.files[index]).convert("RGB"))
        gray = to_tensor(img.convert("L"))
        return to_tensor(img), gray, self.edges(gray), self.random_mask()


class EdgeGenerator(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(6, width, 4, stride=2, padding=1), nn.InstanceNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=2, dilation=2), nn.InstanceNorm2d(2 * width), nn.ReLU(),
            nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1), nn.InstanceNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4, 3, padding=1),
        )

    def forward(self, image, edge, mask):
        hidden_image = image * (1 - mask) + mask
        hidden_edge = edge * (1 - mask)
        boundary = F.max_pool2d(mask, 3, stride=1, padding=1) - mask
        out = self.net(torch.cat([hidden_image, hidden_edge, mask, boundary], dim=1))
        return out[:, :3].sigmoid(), out[:, 3:]


def main():
    torch.manual_seed(0)
    flist = write_photos(tempfile.mkdtemp())
    loader = DataLoader(InpaintingDataset(flist), batch_size=8, shuffle=True, drop_last=True)
    model = EdgeGenerator()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.9))
    for epoch in range(2):
        for step, (images, grays, edges, masks) in enumerate(loader):
            filled, edge_logits = model(images, edges, masks)
            loss = F.l1_loss(filled, images) + 0.1 * F.binary_cross_entropy_with_logits(edge_logits, edges)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
