"""One backbone, two tasks: age (regression) and hair colour (4 classes) from portraits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

HAIR = ["black", "brown", "blond", "grey"]


class Portraits(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.ages = torch.randint(16, 80, (n,), generator=g)
        self.hair = torch.randint(0, len(HAIR), (n,), generator=g)
        tones = torch.tensor([[0.1, 0.1, 0.1], [0.45, 0.3, 0.2], [0.9, 0.8, 0.4], [0.6, 0.6, 0.6]])
        self.images = 0.15 * torch.randn(n, 3, 32, 32, generator=g)
        self.images[:, :, :10] += tones[self.hair][:, :, None, None]
        self.images[:, :, 10:] += (self.ages.float() / 80)[:, None, None, None]

    def __len__(self):
        return len(self.ages)

    def __getitem__(self, i):
        return {"image": self.images[i], "age": self.ages[i], "hair": self.hair[i]}


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d((4, 1))
        self.out_features = width * 2 * 4

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.pool(x).flatten(1)


class MultiTaskNet(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.backbone = Backbone()
        self.heads = nn.ModuleDict()
        for name, n_out in tasks.items():
            self.heads[name] = nn.Sequential(
                nn.Linear(self.backbone.out_features, 32),
                nn.ReLU(),
                nn.Linear(32, n_out),
            )

    def forward(self, x):
        feats = self.backbone(x)
        return {name: head(feats) for name, head in self.heads.items()}


def compute_losses(outputs, batch, age_weight=0.01):
    age_loss = F.mse_loss(outputs["age"].squeeze(1), batch["age"].float())
    hair_loss = F.cross_entropy(outputs["hair"], batch["hair"])
    return {"age": age_weight * age_loss, "hair": hair_loss}


def evaluate(model, loader):
    model.eval()
    abs_err, correct, n = 0.0, 0, 0
    with torch.no_grad():
        for batch in loader:
            out = model(batch["image"])
            abs_err += (out["age"].squeeze(1) - batch["age"]).abs().sum().item()
            correct += (out["hair"].argmax(1) == batch["hair"]).sum().item()
            n += len(batch["age"])
    return abs_err / n, correct / n


def main():
    torch.manual_seed(31)
    train_loader = DataLoader(Portraits(640, 1), batch_size=32, shuffle=True)
    val_loader = DataLoader(Portraits(160, 2), batch_size=32)

    model = MultiTaskNet({"age": 1, "hair": len(HAIR)})
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    n_params = sum(p.numel() for p in model.parameters())
    print(f"{n_params} parameters to train")

    for epoch in range(5):
        model.train()
        total = 0.0
        for batch in train_loader:
            outputs = model(batch["image"])
            loss = sum(compute_losses(outputs, batch).values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        mae, acc = evaluate(model, val_loader)
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.3f}  age MAE {mae:.1f}  hair acc {acc:.3f}")


if __name__ == "__main__":
    main()
