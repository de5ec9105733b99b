import torch
import torch.nn as nn
import torch.nn.functional as F


class SpatialGate(nn.Module):
    """One attention map over the positions of a feature map."""

    def __init__(self, kernel_size=7):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(2, 1, kernel_size, padding=kernel_size // 2, bias=False),
            nn.BatchNorm2d(1),
        )

    def forward(self, x):
        pooled = torch.cat([x.amax(dim=1, keepdim=True), x.mean(dim=1, keepdim=True)], dim=1)
        return x * torch.sigmoid(self.conv(pooled))


class TokenLearner(nn.Module):
    """Summarises a feature map (B, C, H, W) into a few tokens (B, S, C)."""

    def __init__(self, num_tokens=8):
        super().__init__()
        self.num_tokens = num_tokens
        self.tokenizers = [SpatialGate() for _ in range(num_tokens)]

    def forward(self, x):
        tokens = []
        for tokenizer in self.tokenizers:
            attended = tokenizer(x)
            tokens.append(F.adaptive_avg_pool2d(attended, 1).flatten(1))
        return torch.stack(tokens, dim=1)


class TokenClassifier(nn.Module):
    def __init__(self, num_classes=10, dim=64, num_tokens=8, depth=2):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, dim // 2, 3, stride=2, padding=1),
            nn.BatchNorm2d(dim // 2),
            nn.ReLU(inplace=True),
            nn.Conv2d(dim // 2, dim, 3, stride=2, padding=1),
            nn.BatchNorm2d(dim),
            nn.ReLU(inplace=True),
        )
        self.tokens = TokenLearner(num_tokens)
        layer = nn.TransformerEncoderLayer(dim, nhead=4, dim_feedforward=2 * dim, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=depth)
        self.head = nn.Linear(dim, num_classes)

    def forward(self, images):
        x = self.stem(images)
        x = self.tokens(x)
        x = self.encoder(x)
        return self.head(x.mean(dim=1))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = TokenClassifier().to(device)
    print("parameters:", sum(p.numel() for p in model.parameters()))

    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.05)

    images = torch.randn(64, 3, 32, 32)
    labels = torch.randint(0, 10, (64,))
    model.train()
    for epoch in range(2):
        running = 0.0
        for start in range(0, len(images), 16):
            x = images[start:start + 16].to(device)
            y = labels[start:start + 16].to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(x)
        print(f"epoch {epoch}: loss {running / len(images):.4f}")


if __name__ == "__main__":
    main()
