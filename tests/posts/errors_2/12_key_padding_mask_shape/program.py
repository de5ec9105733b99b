import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(11)
PAD = 0
samples = []
for _ in range(200):
    n = int(torch.randint(4, 18, (1,)))
    seq = torch.randint(1, 60, (n,))
    samples.append((seq, int(seq.sum() % 2)))


def collate(batch):
    seqs, labels = zip(*batch)
    return pad_sequence(seqs, batch_first=True, padding_value=PAD), torch.tensor(labels)


loader = DataLoader(samples, batch_size=20, shuffle=True, collate_fn=collate)


class AttentionPool(nn.Module):
    def __init__(self, vocab=60, dim=32, heads=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.attn = nn.MultiheadAttention(dim, heads)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, tokens):
        mask = tokens == PAD
        x = self.embed(tokens)
        att, _ = self.attn(x, x, x, key_padding_mask=mask)
        x = self.norm(x + att)
        keep = (~mask).unsqueeze(-1).float()
        pooled = (x * keep).sum(1) / keep.sum(1)
        return self.out(pooled)


model = AttentionPool()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    total, n = 0.0, 0
    for tokens, labels in loader:
        opt.zero_grad()
        loss = criterion(model(tokens), labels)
        loss.backward()
        opt.step()
        total += loss.item() * len(labels)
        n += len(labels)
    print(f"epoch {epoch} loss {total / n:.4f}")
