import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class TileDataset(Dataset):
    """Tiles cut from large aerial pictures, with a building mask each."""

    def __init__(self, n_tiles, size=64, seed=0):
        rng = np.random.default_rng(seed)
        self.tiles, self.masks = [], []
        for _ in range(n_tiles):
            mask = np.zeros((size, size), dtype=np.int64)
            for _ in range(3):
                y, x = rng.integers(0, size - 16, 2)
                mask[y:y + 16, x:x + 16] = 1
            tile = rng.normal(0, 0.3, (3, size, size)) + mask[None]
            self.tiles.append(tile.astype(np.float32))
            self.masks.append(mask)

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        return torch.from_numpy(self.tiles[i]), torch.from_numpy(self.masks[i])


def conv_bn(cin, cout, kernel=3, stride=1, dilation=1):
    padding = dilation * (kernel // 2)
    return nn.Sequential(
        nn.Conv2d(cin, cout, kernel, stride, padding, dilation, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
    )


class ASPP(nn.Module):
    def __init__(self, cin, cout, rates=(1, 2, 4)):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn(cin, cout, 3, dilation=r) for r in rates])
        self.image_pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv_bn(cin, cout, 1))
        self.project = conv_bn(cout * (len(rates) + 1), cout, 1)

    def forward(self, x):
        feats = [branch(x) for branch in self.branches]
        pooled = F.interpolate(self.image_pool(x), size=x.shape[2:], mode="nearest")
        return self.project(torch.cat(feats + [pooled], dim=1))


class DLinkLite(nn.Module):
    def __init__(self, n_class=2):
        super().__init__()
        self.encoder = nn.Sequential(conv_bn(3, 16, stride=2), conv_bn(16, 32, stride=2))
        self.aspp = ASPP(32, 24)
        self.cls = nn.Conv2d(24, n_class, 1)

    def forward(self, x):
        out = self.cls(self.aspp(self.encoder(x)))
        return F.interpolate(out, size=x.shape[2:], mode="bilinear", align_corners=False)


def iou(pred, mask):
    inter = ((pred == 1) & (mask == 1)).sum().item()
    union = ((pred == 1) | (mask == 1)).sum().item()
    return inter, union


def train(args):
    torch.manual_seed(args["seed"])
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    train_set = TileDataset(args["n_train"])
    train_loader = DataLoader(train_set, batch_size=args["batch_size"], shuffle=True, num_workers=0)
    model = DLinkLite().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args["lr"])
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args["epochs"]):
        model.train()
        inter, union, running = 0, 0, []
        for tile, mask in train_loader:
            tile, mask = tile.to(device), mask.to(device)
            optimizer.zero_grad()
            pred = model(tile)
            loss = criterion(pred, mask)
            loss.backward()
            optimizer.step()
            running.append(loss.item())
            i, u = iou(pred.argmax(dim=1), mask)
            inter, union = inter + i, union + u
        print("[Epoch %d] xent %.3f IoU %.3f" % (epoch, np.mean(running), inter / union))


if __name__ == "__main__":
    train({"seed": 1, "n_train": 41, "batch_size": 5, "lr": 2e-3, "epochs": 3})
