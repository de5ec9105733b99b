"""Linear probing: the pretrained encoder stays fixed, only new heads are trained.

The encoder is shared by several products.
"""
import copy

import timm
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def pictures(n, n_classes, shift, scale, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, n_classes, (n,), generator=g)
    x = torch.randn(n, 3, 32, 32, generator=g)
    for i, c in enumerate(y.tolist()):
        x[i, c % 3, 8:24, 8:24] += 1.5
        x[i, :, ::c + 2] -= 0.8
    return shift + scale * x, y


def train_encoder():
    """Stands in for the company's pretrained encoder."""
    torch.manual_seed(0)
    net = timm.create_model("resnet10t", pretrained=False, num_classes=6)
    x, y = pictures(288, 6, 0.0, 1.0, seed=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    loss_fn = nn.CrossEntropyLoss()
    net.train()
    for _ in range(2):
        for xb, yb in loader:
            opt.zero_grad()
            loss_fn(net(xb), yb).backward()
            opt.step()
    return net


class ProbeModel(nn.Module):
    def __init__(self, encoder, n_classes):
        super().__init__()
        self.encoder = encoder
        for p in self.encoder.parameters():
            p.requires_grad = False
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(encoder.num_features, n_classes))

    def forward(self, x):
        return self.head(self.encoder(x))


def fit_probe(model, x, y, epochs=2):
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=3e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        model.encoder.eval()
        total = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(yb)
        print(f"  probe epoch {epoch} loss {total / len(y):.4f}")


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    return (net(x).argmax(1) == y).float().mean().item()


def main():
    pretrained = train_encoder()
    x_old, y_old = pictures(128, 6, 0.0, 1.0, seed=2)
    print(f"original product before: {accuracy(pretrained, x_old, y_old):.3f}")

    original_head = copy.deepcopy(pretrained.get_classifier())
    pretrained.reset_classifier(0)
    probe = ProbeModel(pretrained, n_classes=4)
    fit_probe(probe, *pictures(256, 4, 1.5, 2.0, seed=3))
    x_new, y_new = pictures(128, 4, 1.5, 2.0, seed=4)
    print(f"new product: {accuracy(probe, x_new, y_new):.3f}")

    original = nn.Sequential(probe.encoder, original_head)
    print(f"original product after: {accuracy(original, x_old, y_old):.3f}")


if __name__ == "__main__":
    main()
