import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import Dataset, DataLoader

AMINO = "ACDEFGHIKLMNPQRSTVWY"
LOCATIONS = ["nucleus", "cytoplasm", "membrane", "mitochondrion", "secreted"]


class Proteins(Dataset):
    def __init__(self, n=200, seed=0):
        g = torch.Generator().manual_seed(seed)
        lengths = torch.randint(30, 90, (n,), generator=g).tolist()
        self.seqs = [torch.randint(1, len(AMINO) + 1, (l,), generator=g) for l in lengths]
        self.y = torch.randint(0, len(LOCATIONS), (n,), generator=g)

    def __len__(self):
        return len(self.seqs)

    def __getitem__(self, i):
        return self.seqs[i], self.y[i]


def collate(batch):
    seqs, y = zip(*batch)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.stack(y)


class LocNet(nn.Module):
    def __init__(self, embed=24, hidden=64, layers=2, n_out=len(LOCATIONS)):
        super().__init__()
        self.embed = nn.Embedding(len(AMINO) + 1, embed, padding_idx=0)
        self.rnn = nn.LSTM(embed, hidden, num_layers=layers, batch_first=True,
                           bidirectional=True, dropout=0.2)
        self.head = nn.Sequential(nn.LayerNorm(2 * hidden), nn.Linear(2 * hidden, n_out))

    def forward(self, seqs, lengths):
        packed = pack_padded_sequence(self.embed(seqs), lengths, batch_first=True, enforce_sorted=False)
        _, (h, _) = self.rnn(packed)
        return self.head(h[-1])


torch.manual_seed(3)
loader = DataLoader(Proteins(), batch_size=25, shuffle=True, collate_fn=collate)
model = LocNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    total, right = 0.0, 0
    for seqs, lengths, y in loader:
        optimizer.zero_grad()
        logits = model(seqs, lengths)
        loss = criterion(logits, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(y)
        right += (logits.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    print(f"epoch {epoch}: loss {total / n:.4f} acc {right / n:.3f}")
