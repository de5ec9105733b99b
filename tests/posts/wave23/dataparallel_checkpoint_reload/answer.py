import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, vocab_size, embed_dim, hidden_dim):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.gru = nn.GRU(embed_dim, hidden_dim, batch_first=True, bidirectional=True)

    def forward(self, tokens):
        output, _ = self.gru(self.embedding(tokens))
        return output.max(dim=1).values


class SentenceMatcher(nn.Module):
    def __init__(self, vocab_size=500, embed_dim=32, hidden_dim=48):
        super().__init__()
        self.encoder = Encoder(vocab_size, embed_dim, hidden_dim)
        self.classifier = nn.Sequential(
            nn.Linear(4 * 2 * hidden_dim, 64),
            nn.ReLU(),
            nn.Linear(64, 3),
        )

    def forward(self, first, second):
        u, v = self.encoder(first), self.encoder(second)
        return self.classifier(torch.cat([u, v, (u - v).abs(), u * v], dim=1))


def make_loader(n, seed):
    g = torch.Generator().manual_seed(seed)
    first = torch.randint(1, 500, (n, 12), generator=g)
    second = torch.randint(1, 500, (n, 12), generator=g)
    labels = torch.randint(0, 3, (n,), generator=g)
    return DataLoader(TensorDataset(first, second, labels), batch_size=32)


def train(device, path):
    model = SentenceMatcher().to(device)
    model = nn.DataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for epoch in range(2):
        total = 0.0
        for first, second, labels in make_loader(128, seed=0):
            optimizer.zero_grad()
            loss = criterion(model(first.to(device), second.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        print(f"epoch {epoch}: train loss {total / 128:.4f}")
    torch.save({"epoch": epoch, "state_dict": model.module.state_dict()}, path)


def evaluate(device, path):
    model = SentenceMatcher().to(device)
    checkpoint = torch.load(path, map_location=device)
    model.load_state_dict(checkpoint["state_dict"])
    model.eval()
    correct, seen = 0, 0
    with torch.no_grad():
        for first, second, labels in make_loader(64, seed=1):
            pred = model(first.to(device), second.to(device)).argmax(dim=1).cpu()
            correct += (pred == labels).sum().item()
            seen += len(labels)
    print(f"test accuracy {correct / seen:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "matcher.pt")
        train(device, path)
        evaluate(device, path)
