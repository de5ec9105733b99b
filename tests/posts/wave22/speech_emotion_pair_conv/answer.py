import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FrameAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        qkv = self.qkv(x).view(b, t, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.head_dim ** 0.5, dim=-1)
        out = (weights @ v).transpose(1, 2).reshape(b, t, c)
        return self.proj(out), weights.mean(dim=1)


class ImportanceSplit(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = nn.Conv2d(1, 1, kernel_size=(1, 2))

    def forward(self, weights):
        score = weights.unsqueeze(1)
        score = F.pad(score, (0, 1))
        score = self.pair(score)
        return torch.sigmoid(score.squeeze(1).mean(dim=1))


class EmotionNet(nn.Module):
    def __init__(self, feat_dim=64, dim=48, heads=4, num_classes=4):
        super().__init__()
        self.inp = nn.Linear(feat_dim, dim)
        self.attn = FrameAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.split = ImportanceSplit()
        self.classifier = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, num_classes))

    def forward(self, x):
        x = self.inp(x)
        out, weights = self.attn(x)
        x = self.norm(x + out)
        gate = self.split(weights)
        x = (x * gate.unsqueeze(-1)).sum(dim=1) / gate.sum(dim=1, keepdim=True)
        return self.classifier(x)


def main():
    torch.manual_seed(0)
    feats = torch.randn(64, 32, 64)
    labels = torch.randint(0, 4, (64,))
    loader = DataLoader(TensorDataset(feats, labels), batch_size=16, shuffle=True)

    model = EmotionNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

    for epoch in range(3):
        model.train()
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
