"""Set encoder for particle jets: variable number of particles per jet, attention with padding."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Jets(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            label = int(torch.randint(0, 2, (1,), generator=g))
            count = int(torch.randint(4, 20, (1,), generator=g))
            momenta = torch.randn(count, 3, generator=g)
            momenta[:, 0] = momenta[:, 0].abs() * (0.6 + 0.8 * label)
            self.items.append((momenta, label))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    jets, labels = zip(*batch)
    lengths = torch.tensor([len(j) for j in jets])
    padded = pad_sequence(jets, batch_first=True)
    mask = torch.arange(padded.size(1))[None, :] < lengths[:, None]
    return padded, mask, torch.tensor(labels)


class AttentionBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, query, tokens, mask):
        kv = self.norm(tokens)
        out, _ = self.att(self.norm(query), kv, kv, key_padding_mask=mask, need_weights=False)
        query = query + out
        return query + self.ff(query)


class JetTagger(nn.Module):
    def __init__(self, dim=24, heads=3, depth=2):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(3, dim), nn.GELU(), nn.Linear(dim, dim))
        self.summary = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.blocks = nn.ModuleList(AttentionBlock(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, jets, mask):
        tokens = self.embed(jets)
        tokens = torch.cat([tokens, torch.zeros_like(tokens[:, :1])], dim=1)
        mask = F.pad(mask, (0, 1), value=False)
        s = self.summary.expand(len(jets), -1, -1)
        for block in self.blocks:
            s = block(s, tokens, mask)
        return self.head(s).squeeze(-1).squeeze(-1)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(Jets(600, 0), batch_size=30, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(Jets(200, 1), batch_size=50, collate_fn=collate)
    model = JetTagger()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(5):
        model.train()
        for jets, mask, y in train_loader:
            loss = F.binary_cross_entropy_with_logits(model(jets, mask), y.float())
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        hits = []
        with torch.no_grad():
            for jets, mask, y in test_loader:
                hits.append(((model(jets, mask) > 0).long() == y).float())
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {torch.cat(hits).mean():.3f}")


if __name__ == "__main__":
    main()
