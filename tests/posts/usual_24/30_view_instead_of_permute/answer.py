import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PatchEmbed(nn.Module):
    def __init__(self, in_ch=3, patch=8, dim=64):
        super().__init__()
        self.proj = nn.Conv2d(in_ch, dim, kernel_size=patch, stride=patch)

    def forward(self, x):
        x = self.proj(x)
        b, c, h, w = x.shape
        return x.flatten(2).transpose(1, 2)


class MiniViT(nn.Module):
    def __init__(self, image_size=32, patch=8, dim=64, depth=2, heads=4, num_classes=4):
        super().__init__()
        n_patches = (image_size // patch) ** 2
        self.patch_embed = PatchEmbed(3, patch, dim)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, n_patches + 1, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 2 * dim, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, x):
        tokens = self.patch_embed(x)
        cls = self.cls_token.expand(x.size(0), -1, -1)
        tokens = torch.cat([cls, tokens], dim=1) + self.pos_embed
        return self.head(self.norm(self.encoder(tokens)[:, 0]))


COLORS = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 0.0]])


def colored_squares(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = 0.5 * torch.randn(n, 3, 32, 32, generator=g)
    corners = torch.randint(0, 4, (n, 2), generator=g) * 8
    for i, (r, c) in enumerate(corners.tolist()):
        x[i, :, r : r + 8, c : c + 8] += COLORS[y[i]].view(3, 1, 1)
    return TensorDataset(x, y)


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(colored_squares(512, 0), batch_size=32, shuffle=True)
    test_loader = DataLoader(colored_squares(128, 1), batch_size=64)
    model = MiniViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}, test acc {accuracy(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
