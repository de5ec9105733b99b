import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class SignatureScans(Dataset):
    def __init__(self, n=122, writers=8, size=(32, 64)):
        self.writer = torch.arange(n) % writers
        strokes = torch.linspace(0, 6.28, size[1])
        rows = torch.arange(size[0]).view(-1, 1)
        scans = []
        for w in self.writer.tolist():
            line = 16 + (6 + w % 3) * torch.sin(strokes * (1 + w * 0.4) + torch.rand(1))
            ink = torch.exp(-((rows - line) ** 2) / 4.0)
            scans.append(ink + 0.05 * torch.randn(size))
        self.scans = torch.stack(scans).unsqueeze(1)

    def __len__(self):
        return len(self.scans)

    def __getitem__(self, idx):
        return self.scans[idx], self.writer[idx]


class Projection(nn.Module):
    def __init__(self, c_in, c_hidden, c_out):
        super().__init__()
        self.lin1 = nn.Linear(c_in, c_hidden)
        self.bn = nn.BatchNorm1d(c_hidden)
        self.lin2 = nn.Linear(c_hidden, c_out)

    def forward(self, x):
        x = F.relu(self.bn(self.lin1(x)))
        return F.normalize(self.lin2(x), dim=1)


class SignatureEmbedder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d((2, 4)),
            nn.Flatten(),
        )
        self.project = Projection(32 * 8, 64, dim)

    def forward(self, x):
        return self.project(self.trunk(x))


class CosineClassifier(nn.Module):
    def __init__(self, dim, writers, scale=12.0):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(writers, dim))
        self.scale = scale

    def forward(self, z):
        return self.scale * z @ F.normalize(self.centers, dim=1).t()


def build_loaders(dataset, batch_size=16, train_share=0.8):
    n_train = int(len(dataset) * train_share)
    train_part, test_part = random_split(dataset, [n_train, len(dataset) - n_train])
    train_loader = DataLoader(train_part, batch_size=batch_size, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_part, batch_size=batch_size)
    return train_loader, test_loader


def fit(embedder, classifier, loaders, epochs=3):
    train_loader, test_loader = loaders
    params = list(embedder.parameters()) + list(classifier.parameters())
    optimizer = torch.optim.Adam(params, lr=2e-3)
    for epoch in range(1, epochs + 1):
        embedder.train()
        for scans, writer in train_loader:
            logits = classifier(embedder(scans))
            loss = F.cross_entropy(logits, writer)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        embedder.eval()
        with torch.no_grad():
            good = [(classifier(embedder(s)).argmax(1) == w).float() for s, w in test_loader]
        print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {torch.cat(good).mean():.3f}")


torch.manual_seed(8)
dataset = SignatureScans()
fit(SignatureEmbedder(24), CosineClassifier(24, 8), build_loaders(dataset))
