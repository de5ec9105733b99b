import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset


class SpeechFrames(Dataset):
    def __init__(self, length, n_feats=20, n_labels=6):
        gen = torch.Generator().manual_seed(0)
        self.items = []
        for _ in range(length):
            frames = int(torch.randint(20, 60, (1,), generator=gen))
            label = int(torch.randint(0, n_labels, (1,), generator=gen))
            feats = torch.randn(frames, n_feats, generator=gen)
            feats[:, label] += 1.5
            self.items.append((feats, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    feats, labels = zip(*batch)
    sizes = torch.tensor([f.size(0) for f in feats])
    return pad_sequence(feats, batch_first=True), sizes, torch.tensor(labels)


class LSTMEncoder(nn.Module):
    def __init__(self, n_feats, hidden, n_labels, num_layers=2):
        super().__init__()
        self.lstm = nn.LSTM(n_feats, hidden, num_layers, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_labels)

    def forward(self, source, sizes):
        packed = pack_padded_sequence(source, sizes.to("cpu"), batch_first=True, enforce_sorted=False)
        result, _ = self.lstm(packed)
        result, _ = pad_packed_sequence(result, batch_first=True)
        steps = torch.arange(result.size(1), device=result.device)
        mask = (steps[None, :] < sizes.to(result.device)[:, None]).unsqueeze(2)
        pooled = (result * mask).sum(1) / mask.sum(1)
        return self.out(pooled)


def run_epoch(model, loader, criterion, optimizer, device):
    model.train()
    total, correct, seen = 0.0, 0, 0
    for batch in loader:
        feats, sizes, labels = (t.to(device) for t in batch)
        logits = model(feats, sizes)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * labels.size(0)
        correct += (logits.argmax(1) == labels).sum().item()
        seen += labels.size(0)
    return total / seen, correct / seen


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(SpeechFrames(200), batch_size=20, shuffle=True, collate_fn=collate)
    model = LSTMEncoder(n_feats=20, hidden=32, n_labels=6).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(3):
        loss, acc = run_epoch(model, loader, criterion, optimizer, device)
        print(f"epoch {epoch}: loss {loss:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
