import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Reviews(Dataset):
    def __init__(self, n=240, vocab=200):
        self.items = []
        for _ in range(n):
            label = int(torch.rand(1) > 0.5)
            length = int(torch.randint(5, 25, (1,)))
            low = 1 if label == 0 else 60
            self.items.append((torch.randint(low, low + 120, (length,)), label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    seqs = [s for s, _ in batch]
    labels = torch.tensor([l for _, l in batch], dtype=torch.float32)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, labels


class GRUClassifier(nn.Module):
    def __init__(self, vocab=200, dim=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True)
        _, h = self.gru(packed)
        return self.fc(h[-1]).squeeze(-1)


loader = DataLoader(Reviews(), batch_size=24, shuffle=True, collate_fn=collate)
model = GRUClassifier()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.BCEWithLogitsLoss()

for epoch in range(3):
    running = 0.0
    for x, lengths, labels in loader:
        opt.zero_grad()
        loss = loss_fn(model(x, lengths), labels)
        loss.backward()
        opt.step()
        running += loss.item()
    print(epoch, round(running / len(loader), 4))
