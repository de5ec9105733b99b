"""Product attributes from catalogue features: one shared trunk, one head for each attribute."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

ATTRIBUTES = {
    "color": ["black", "white", "red", "blue", "green"],
    "type": ["shirt", "trousers", "shoes", "jacket"],
    "season": ["summer", "winter", "all"],
}
LOSS_WEIGHTS = {"color": 1.0, "type": 2.0, "season": 0.5}
FEATURES = 40


class Catalogue(Dataset):
    """Image embeddings with the attribute labels given by the merchandisers."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        proto = torch.Generator().manual_seed(99)
        self.x = torch.randn(n, FEATURES, generator=g)
        self.labels = {}
        for name, values in ATTRIBUTES.items():
            centers = torch.randn(len(values), FEATURES, generator=proto)
            y = torch.randint(0, len(values), (n,), generator=g)
            self.x += centers[y]
            self.labels[name] = y

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], {name: y[i] for name, y in self.labels.items()}


class AttributeTagger(nn.Module):
    def __init__(self, attributes, hidden=64):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(FEATURES, hidden), nn.LayerNorm(hidden), nn.GELU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.GELU(),
        )
        self.heads = nn.ModuleDict({name: nn.Linear(hidden, len(v)) for name, v in attributes.items()})

    def forward(self, x):
        h = self.trunk(x)
        return {name: head(h) for name, head in self.heads.items()}


def multitask_loss(outputs, targets):
    parts = {k: F.cross_entropy(outputs[k], targets[k]) for k in outputs}
    total = sum(LOSS_WEIGHTS[k] * v for k, v in parts.items())
    return total, {k: v.item() for k, v in parts.items()}


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = dict.fromkeys(ATTRIBUTES, 0)
    for x, targets in loader:
        outputs = model(x)
        for name in hits:
            hits[name] += (outputs[name].argmax(1) == targets[name]).sum().item()
    return {name: h / len(loader.dataset) for name, h in hits.items()}


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Catalogue(1200, 0), batch_size=64, shuffle=True)
    val_loader = DataLoader(Catalogue(300, 1), batch_size=100)
    model = AttributeTagger(ATTRIBUTES)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(5):
        model.train()
        for x, targets in train_loader:
            loss, parts = multitask_loss(model(x), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scores = evaluate(model, val_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} " + " ".join(f"{k}={v:.3f}" for k, v in scores.items()))
    torch.save(model.state_dict(), "/tmp/attribute_tagger.pt")


if __name__ == "__main__":
    main()
