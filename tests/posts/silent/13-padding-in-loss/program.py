import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD = 0
VOCAB, TAGS = 120, 9


class TaggedSentences(Dataset):
    def __init__(self, n=300, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(3, 25, (1,), generator=g))
            words = torch.randint(1, VOCAB, (length,), generator=g)
            tags = words % (TAGS - 1) + 1
            self.items.append((words, tags))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    words, tags = zip(*batch)
    words = pad_sequence(words, batch_first=True, padding_value=PAD)
    tags = pad_sequence(tags, batch_first=True, padding_value=PAD)
    return words, tags


class BiLSTMTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32, padding_idx=PAD)
        self.lstm = nn.LSTM(32, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, TAGS)

    def forward(self, words):
        h, _ = self.lstm(self.emb(words))
        return self.out(h)


torch.manual_seed(0)
loader = DataLoader(TaggedSentences(), batch_size=20, shuffle=True, collate_fn=collate)
model = BiLSTMTagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(3):
    losses = []
    for words, tags in loader:
        optimizer.zero_grad()
        logits = model(words)
        loss = criterion(logits.reshape(-1, TAGS), tags.reshape(-1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch + 1} loss {sum(losses) / len(losses):.4f}")
