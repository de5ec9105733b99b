import os
import tempfile

import timm
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class LeafDataset(Dataset):
    """Synthetic leaf photos; each species has its own tint and stripe spacing."""

    def __init__(self, n, n_species, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, n_species, (n,), generator=g)
        tint = torch.linspace(0.2, 0.9, n_species)[self.y].view(n, 1, 1, 1)
        self.x = torch.rand(n, 3, 32, 32, generator=g) * 0.4 + tint * torch.tensor([0.3, 1.0, 0.4]).view(1, 3, 1, 1)
        for i in range(n):
            self.x[i, :, :: 2 + int(self.y[i])] *= 0.5

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def make_model(n_classes):
    return timm.create_model("resnet10t", pretrained=False, num_classes=n_classes)


def train(model, loader, epochs, lr, tag):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
    for epoch in range(epochs):
        model.train()
        seen, total = 0, 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += len(y)
            total += loss.item() * len(y)
        print(f"{tag} epoch {epoch}: {total / seen:.3f}")


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        right = [(model(x).argmax(1) == y).float().mean() for x, y in loader]
    return torch.stack(right).mean().item()


def save_checkpoint(model, path, **info):
    torch.save({"model": model.state_dict(), **info}, path)


def load_backbone(path, n_classes):
    ckpt = torch.load(path, map_location="cpu")
    print("checkpoint from", ckpt["dataset"])
    model = make_model(n_classes)
    state = {k: v for k, v in ckpt["model"].items() if not k.startswith("fc.")}
    model.load_state_dict(state, strict=False)
    return model


def main():
    torch.manual_seed(0)
    trees = DataLoader(LeafDataset(96, 12, 0), batch_size=24, shuffle=True, drop_last=True)
    big = make_model(12)
    train(big, trees, epochs=1, lr=0.02, tag="trees")

    herbs_train = DataLoader(LeafDataset(128, 4, 1), batch_size=16, shuffle=True)
    herbs_test = DataLoader(LeafDataset(32, 4, 2), batch_size=16)
    with tempfile.TemporaryDirectory() as workdir:
        path = os.path.join(workdir, "trees.pt")
        save_checkpoint(big, path, dataset="trees-12", epoch=1)
        small = load_backbone(path, n_classes=4)
    train(small, herbs_train, epochs=6, lr=0.01, tag="herbs")
    print(f"herbs accuracy {accuracy(small, herbs_test):.3f}")


if __name__ == "__main__":
    main()
