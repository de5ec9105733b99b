import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from einops.layers.torch import Rearrange
from torch.utils.data import DataLoader, Dataset


class RandCrop3d:
    """random crop of the wanted size; smaller volumes are left as they are"""

    def __init__(self, spatial_size):
        self.spatial_size = spatial_size

    def __call__(self, image, label):
        for axis, size in enumerate(self.spatial_size, start=1):
            pad = [0, 0] * (3 - axis) + [0, max(0, size - image.size(axis))]
            image, label = F.pad(image, pad), F.pad(label, pad)
            room = image.size(axis) - size
            if room > 0:
                start = int(torch.randint(0, room + 1, (1,)))
                image, label = image.narrow(axis, start, size), label.narrow(axis, start, size)
        return image, label


class CTVolumes(Dataset):
    def __init__(self, transform, n=5, shape=(72, 72, 43)):
        self.transform, self.shape, self.n = transform, shape, n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        image = torch.randn(1, *self.shape, generator=g)
        label = (image > 1.0).long()
        return self.transform(image, label)


class SmallUNETR(nn.Module):
    def __init__(self, img_size, in_channels=1, out_channels=2, hidden=96, heads=4, patch=16):
        super().__init__()
        n_patches = (img_size[0] // patch) * (img_size[1] // patch) * (img_size[2] // patch)
        self.grid = tuple(s // patch for s in img_size)
        self.embed = nn.Sequential(
            Rearrange('b c (h p1) (w p2) (d p3) -> b (h w d) (p1 p2 p3 c)', p1=patch, p2=patch, p3=patch),
            nn.Linear(in_channels * patch ** 3, hidden))
        self.position = nn.Parameter(torch.zeros(1, n_patches, hidden))
        layer = nn.TransformerEncoderLayer(hidden, heads, 2 * hidden, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.decoder = nn.Conv3d(hidden, out_channels, 1)
        self.patch = patch

    def forward(self, x):
        tokens = self.encoder(self.embed(x) + self.position)
        grid = tokens.transpose(1, 2).reshape(x.size(0), -1, *self.grid)
        return F.interpolate(self.decoder(grid), scale_factor=self.patch, mode='trilinear')


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--max_iterations', type=int, default=2)
    args = parser.parse_args()
    data = CTVolumes(RandCrop3d(spatial_size=(64, 64, 64)))
    loader = DataLoader(data, batch_size=2, shuffle=True)
    model = SmallUNETR(img_size=(64, 64, 64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=1e-5)
    for epoch in range(args.max_iterations):
        for step, (image, label) in enumerate(loader):
            logits = model(image)
            loss = F.cross_entropy(logits, label.squeeze(1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, step, loss.item())
