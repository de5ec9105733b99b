import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

settings = {
    "tile": 128,
    "crop": 96,
    "bands": 4,
    "base": 8,
    "depth": 3,
    "batch": 4,
    "epochs": 2,
}


class RiverTiles(Dataset):
    def __init__(self, n, tile, crop, bands, train=True):
        self.crop = crop
        self.train = train
        x = torch.arange(tile).float()
        phase = torch.rand(n, 1) * 6.28
        course = tile / 2 + 25 * torch.sin(x / 18 + phase)
        rows = torch.arange(tile).view(1, -1, 1)
        self.masks = ((rows - course.unsqueeze(1)).abs() < 8).float()
        self.tiles = 0.4 * torch.rand(n, bands, tile, tile) + 0.5 * self.masks.unsqueeze(1)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        c = self.crop
        room = self.tiles.shape[-1] - c
        top, left = (torch.randint(0, room + 1, (2,)).tolist() if self.train else (room // 2, room // 2))
        window = (..., slice(top, top + c), slice(left, left + c))
        return self.tiles[i][window], self.masks[i][window].unsqueeze(0)


def double_conv(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
        nn.Conv2d(c_out, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(inplace=True),
    )


class UpBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.up = nn.ConvTranspose2d(c_in, c_out, 2, stride=2)
        self.conv = double_conv(2 * c_out, c_out)

    def forward(self, x, skip):
        x = self.up(x)
        return self.conv(torch.cat([skip, x], dim=1))


class RiverUNet(nn.Module):
    def __init__(self, bands, base, depth):
        super().__init__()
        widths = [base * 2 ** k for k in range(depth + 1)]
        self.downs = nn.ModuleList()
        previous = bands
        for w in widths[:-1]:
            self.downs.append(double_conv(previous, w))
            previous = w
        self.pool = nn.MaxPool2d(2)
        self.bottom = double_conv(widths[-2], widths[-1])
        self.ups = nn.ModuleList(UpBlock(widths[k + 1], widths[k]) for k in reversed(range(depth)))
        self.final = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        skips = []
        for down in self.downs:
            x = down(x)
            skips.append(x)
            x = self.pool(x)
        x = self.bottom(x)
        for up in self.ups:
            x = up(x, skips.pop())
        return self.final(x)


def iou(logits, mask):
    predicted = logits > 0
    truth = mask > 0.5
    return ((predicted & truth).sum() / (predicted | truth).sum().clamp(min=1)).item()


torch.manual_seed(0)
common = (settings["tile"], settings["crop"], settings["bands"])
train_loader = DataLoader(RiverTiles(32, *common), batch_size=settings["batch"], shuffle=True)
valid_loader = DataLoader(RiverTiles(8, *common, train=False), batch_size=settings["batch"])
model = RiverUNet(settings["bands"], settings["base"], settings["depth"])
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(settings["epochs"]):
    model.train()
    for tiles, masks in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tiles), masks)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        scores = [iou(model(tiles), masks) for tiles, masks in valid_loader]
    print(f"epoch {epoch} loss {loss.item():.3f} IoU {sum(scores) / len(scores):.3f}")
