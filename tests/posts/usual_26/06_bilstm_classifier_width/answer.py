import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, random_split

CONFIG = {
    "vocab": 500,
    "embed_dim": 40,
    "hidden_dim": 64,
    "num_layers": 1,
    "bidirectional": True,
    "num_classes": 4,
    "batch_size": 24,
    "epochs": 3,
    "lr": 3e-3,
}


class HeadlineDataset(Dataset):
    def __init__(self, size, cfg):
        rng = np.random.default_rng(17)
        self.samples = []
        step = cfg["vocab"] // cfg["num_classes"]
        for _ in range(size):
            topic = int(rng.integers(cfg["num_classes"]))
            n = int(rng.integers(5, 16))
            common = rng.integers(1, cfg["vocab"], n)
            topical = rng.integers(max(1, topic * step), (topic + 1) * step, n)
            ids = np.where(rng.random(n) < 0.6, topical, common)
            self.samples.append((torch.as_tensor(ids), topic))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


def collate_headlines(batch):
    batch = sorted(batch, key=lambda s: len(s[0]), reverse=True)
    lengths = torch.tensor([len(ids) for ids, _ in batch])
    tokens = pad_sequence([ids for ids, _ in batch], batch_first=True)
    topics = torch.tensor([topic for _, topic in batch])
    return tokens, lengths, topics


class HeadlineEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg["vocab"], cfg["embed_dim"], padding_idx=0)
        self.lstm = nn.LSTM(cfg["embed_dim"], cfg["hidden_dim"], cfg["num_layers"],
                            batch_first=True, bidirectional=cfg["bidirectional"])

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True)
        _, (h, _) = self.lstm(packed)
        if self.lstm.bidirectional:
            return torch.cat([h[-2], h[-1]], dim=1)
        return h[-1]


class HeadlineClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = HeadlineEncoder(cfg)
        self.classifier = nn.Sequential(
            nn.Linear(cfg["hidden_dim"] * (2 if cfg["bidirectional"] else 1), 32),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Linear(32, cfg["num_classes"]),
        )

    def forward(self, tokens, lengths):
        features = self.encoder(tokens, lengths)
        return self.classifier(features)


def evaluate(model, loader, criterion):
    model.eval()
    loss, hits, n = 0.0, 0, 0
    with torch.inference_mode():
        for tokens, lengths, topics in loader:
            out = model(tokens, lengths)
            loss += criterion(out, topics).item() * len(topics)
            hits += (out.argmax(1) == topics).sum().item()
            n += len(topics)
    return loss / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(17)
    train_set, val_set = random_split(HeadlineDataset(360, CONFIG), [300, 60])
    train_loader = DataLoader(train_set, CONFIG["batch_size"], shuffle=True, collate_fn=collate_headlines)
    val_loader = DataLoader(val_set, CONFIG["batch_size"], collate_fn=collate_headlines)
    model = HeadlineClassifier(CONFIG)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=CONFIG["lr"])
    for epoch in range(CONFIG["epochs"]):
        model.train()
        for tokens, lengths, topics in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens, lengths), topics)
            loss.backward()
            optimizer.step()
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        print(f"epoch {epoch + 1} | val loss {val_loss:.3f} | val acc {val_acc:.3f}")
