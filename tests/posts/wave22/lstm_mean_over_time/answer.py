import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class UtteranceDataset(Dataset):
    def __init__(self, count, feat_dim=13, classes=4, seed=0):
        g = torch.Generator().manual_seed(seed)
        prototypes = torch.randn(classes, feat_dim, generator=torch.Generator().manual_seed(99))
        self.items = []
        for _ in range(count):
            label = int(torch.randint(0, classes, (1,), generator=g))
            length = int(torch.randint(5, 60, (1,), generator=g))
            frames = prototypes[label] * 0.5 + torch.randn(length, feat_dim, generator=g)
            self.items.append((frames, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(batch):
    batch = sorted(batch, key=lambda item: len(item[0]), reverse=True)
    frames = [item[0] for item in batch]
    lengths = torch.tensor([len(f) for f in frames])
    labels = torch.tensor([item[1] for item in batch])
    return pad_sequence(frames, batch_first=True), lengths, labels


class UtteranceClassifier(nn.Module):
    def __init__(self, feat_dim=13, hidden=32, classes=4):
        super().__init__()
        self.lstm = nn.LSTM(feat_dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def embed(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        packed_output, _ = self.lstm(packed)
        lstm_out, out_lengths = pad_packed_sequence(packed_output, batch_first=True)
        return lstm_out.sum(dim=1) / out_lengths.unsqueeze(1).to(lstm_out.dtype)

    def forward(self, x, lengths):
        return self.fc(self.embed(x, lengths))


def evaluate(model, loader):
    model.eval()
    hits = n = 0
    with torch.no_grad():
        for x, lengths, labels in loader:
            hits += (model(x, lengths).argmax(dim=1) == labels).sum().item()
            n += len(labels)
    return hits / n


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(UtteranceDataset(256), batch_size=32, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(UtteranceDataset(64, seed=1), batch_size=32, collate_fn=collate)
    model = UtteranceClassifier()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        model.train()
        total = 0.0
        for x, lengths, labels in train_loader:
            loss = criterion(model(x, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(train_loader):.4f} test {evaluate(model, test_loader):.3f}")


if __name__ == "__main__":
    main()
