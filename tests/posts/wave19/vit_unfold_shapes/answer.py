import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ColouredBlobs(Dataset):
    """one square and one disc, label = colour of the square"""

    COLOURS = torch.tensor([[1.0, 0.1, 0.1], [0.1, 1.0, 0.1], [0.1, 0.1, 1.0], [0.9, 0.9, 0.1]])

    def __init__(self, n, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.images = torch.rand(n, 3, size, size, generator=g) * 0.3
        self.labels = torch.randint(0, 4, (n,), generator=g)
        for i in range(n):
            cy, cx, dy, dx = torch.randint(6, size - 6, (4,), generator=g).tolist()
            other = int(torch.randint(0, 4, (1,), generator=g))
            disc = (yy - dy) ** 2 + (xx - dx) ** 2 < 25
            square = ((yy - cy).abs() < 5) & ((xx - cx).abs() < 5)
            self.images[i][:, disc] = self.COLOURS[other][:, None]
            self.images[i][:, square] = self.COLOURS[self.labels[i]][:, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return (self.images[i] - 0.5) / 0.5, self.labels[i]


class VisionTransformer(nn.Module):
    def __init__(self, img_dim=32, patch_dim=8, channels=3, dim=64, depth=2, heads=4, classes=4):
        super().__init__()
        assert img_dim % patch_dim == 0
        self.patch_dim = patch_dim
        self.flatten_dim = patch_dim * patch_dim * channels
        self.num_patches = (img_dim // patch_dim) ** 2

        self.linear_encoding = nn.Linear(self.flatten_dim, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(torch.randn(1, self.num_patches + 1, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, dim * 2, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def to_patches(self, x):
        p = self.patch_dim
        x = x.unfold(2, p, p).unfold(3, p, p).contiguous()
        x = x.view(x.size(0), x.size(1), -1, p * p)
        x = x.permute(0, 2, 3, 1).contiguous()
        return x.view(x.size(0), -1, self.flatten_dim)

    def forward(self, x):
        x = self.linear_encoding(self.to_patches(x))
        cls = self.cls_token.expand(x.size(0), -1, -1)
        x = torch.cat([cls, x], dim=1) + self.position
        x = self.encoder(x)
        return self.head(self.norm(x[:, 0]))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, correct, loss_sum = 0, 0, 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for images, labels in loader:
            logits = model(images)
            loss = criterion(logits, labels)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(labels)
            correct += (logits.argmax(1) == labels).sum().item()
            total += len(labels)
    return loss_sum / total, correct / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(ColouredBlobs(1500, seed=1), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(ColouredBlobs(300, seed=2), batch_size=args.batch_size)
    model = VisionTransformer()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for epoch in range(args.epochs):
        loss, acc = run_epoch(model, train_loader, criterion, optimizer)
        vloss, vacc = run_epoch(model, val_loader, criterion)
        print(f"epoch {epoch}: train {loss:.3f}/{acc:.3f} val {vloss:.3f}/{vacc:.3f}")


if __name__ == "__main__":
    main()
