import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

config = {
    "tile": 96,
    "backbone": "vit_tiny_patch16_224",
    "embed": 192,
    "batch_size": 12,
    "lr": 3e-4,
    "epochs": 4,
}
ROOFS = ["flat", "gable", "hip"]


class RoofTiles(Dataset):
    def __init__(self, n, tile, seed):
        g = torch.Generator().manual_seed(seed)
        self.kind = torch.randint(len(ROOFS), (n,), generator=g)
        line = torch.linspace(-1, 1, tile)
        yy, xx = torch.meshgrid(line, line, indexing="ij")
        shapes = torch.stack([torch.full_like(xx, 0.6), 1 - xx.abs(), 1 - torch.maximum(xx.abs(), yy.abs())])
        self.tiles = shapes[self.kind].unsqueeze(1).repeat(1, 3, 1, 1)
        self.tiles = self.tiles + 0.1 * torch.randn(self.tiles.shape, generator=g)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.tiles[i], self.kind[i]


class RoofClassifier(nn.Module):
    def __init__(self, backbone, embed, n_roofs):
        super().__init__()
        self.backbone = timm.create_model(backbone, pretrained=False, num_classes=0, depth=4, img_size=config["tile"])
        self.head = nn.Sequential(nn.LayerNorm(embed), nn.Dropout(0.1), nn.Linear(embed, n_roofs))

    def forward(self, tiles):
        return self.head(self.backbone(tiles))


def parameter_groups(model, lr):
    return [
        {"params": model.backbone.parameters(), "lr": lr},
        {"params": model.head.parameters(), "lr": lr * 5},
    ]


class Runner:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(parameter_groups(model, lr), weight_decay=0.05)
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)

    def train(self, loader):
        self.model.train()
        total = 0.0
        for tiles, kind in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(tiles), kind)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        hits = 0
        for tiles, kind in loader:
            hits += (self.model(tiles).argmax(1) == kind).sum().item()
        return hits / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(RoofTiles(72, config["tile"], 0), config["batch_size"], shuffle=True)
    test_loader = DataLoader(RoofTiles(24, config["tile"], 1), config["batch_size"])
    model = RoofClassifier(config["backbone"], config["embed"], len(ROOFS))
    runner = Runner(model, config["lr"])
    for epoch in range(config["epochs"]):
        loss = runner.train(train_loader)
        print(f"epoch {epoch}: loss {loss:.3f}, accuracy {runner.test(test_loader):.2f}")
