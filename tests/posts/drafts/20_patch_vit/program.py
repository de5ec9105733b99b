import argparse

import torch
from einops import rearrange
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class PatchViT(nn.Module):
    def __init__(self, image_size=32, patch_size=8, channels=3, dim=64, depth=2, heads=4, num_classes=10):
        super().__init__()
        self.patch_size = patch_size
        num_patches = (image_size // patch_size) ** 2
        patch_dim = channels * patch_size ** 2

        self.to_embedding = nn.Linear(patch_dim, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches, dim))
        self.dropout = nn.Dropout(0.1)
        layer = nn.TransformerEncoderLayer(
            d_model=dim, nhead=heads, dim_feedforward=dim * 2,
            dropout=0.1, activation="gelu", batch_first=True, norm_first=True,
        )
        self.transformer = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, img):
        p = self.patch_size
        patches = rearrange(img, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=p, p2=p)
        x = self.to_embedding(patches)
        x = torch.cat([self.cls_token, x], dim=1)
        x = x + self.pos_embedding
        x = self.transformer(self.dropout(x))
        return self.head(self.norm(x[:, 0]))


def synthetic_cifar(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 10, (n,), generator=g)
    x = torch.randn(n, 3, 32, 32, generator=g)
    for i, label in enumerate(y.tolist()):
        row = (label // 4) * 8
        col = (label % 4) * 8
        x[i, :, row:row + 8, col:col + 8] += 2.5
    return TensorDataset(x, y)


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(dim=1) == y).sum().item()
    return correct / len(loader.dataset)


def main(args):
    torch.manual_seed(args.seed)
    train_loader = DataLoader(synthetic_cifar(512, 1), batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(synthetic_cifar(128, 2), batch_size=args.batch_size)

    model = PatchViT()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    for epoch in range(args.epochs):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        scheduler.step()
        print(f"[{epoch + 1}/{args.epochs}] loss {loss.item():.3f} test acc {accuracy(model, test_loader):.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args())
