import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader, Dataset

N_INTENTS = 5
VOCAB = 80


class IntentDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for _ in range(n):
            intent = int(torch.randint(0, N_INTENTS, (1,), generator=g))
            length = int(torch.randint(4, 12, (1,), generator=g))
            tokens = torch.randint(1, VOCAB, (length,), generator=g)
            where = int(torch.randint(0, length, (1,), generator=g))
            tokens[where] = VOCAB + intent
            self.samples.append((tokens, intent))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, idx):
        return self.samples[idx]


def collate(batch):
    tokens, intents = zip(*batch)
    lengths = torch.tensor([len(t) for t in tokens])
    return pad_sequence(tokens, batch_first=True), lengths, torch.tensor(intents)


class IntentModel(nn.Module):
    def __init__(self, vocab_size, embed_dim=32, hidden=64):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.gru = nn.GRU(embed_dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, N_INTENTS)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        _, h = self.gru(packed)
        logits = self.fc(h[-1])
        return logits


torch.manual_seed(0)
train_loader = DataLoader(IntentDataset(800, 1), batch_size=32, shuffle=True, collate_fn=collate)
test_loader = DataLoader(IntentDataset(200, 2), batch_size=64, collate_fn=collate)
model = IntentModel(VOCAB + N_INTENTS)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for tokens, lengths, intents in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(tokens, lengths), intents)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(intents)
    model.eval()
    correct = 0
    with torch.no_grad():
        for tokens, lengths, intents in test_loader:
            correct += (model(tokens, lengths).argmax(dim=1) == intents).sum().item()
    print(f"epoch {epoch}: loss {total / 800:.3f} test acc {correct / 200:.3f}")
