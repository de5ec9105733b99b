import argparse
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, DataLoader


class ProteinDataset(Dataset):
    """Sequences of 20 amino acids (ids 1..20), the label is whether the motif 7-3-11 occurs."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            length = int(torch.randint(10, 40, (1,), generator=g))
            seq = torch.randint(1, 21, (length,), generator=g)
            label = int(torch.randint(0, 2, (1,), generator=g))
            if label:
                for _ in range(2):
                    pos = int(torch.randint(0, length - 3, (1,), generator=g))
                    seq[pos : pos + 3] = torch.tensor([7, 3, 11])
            self.rows.append((seq, label))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(batch):
    seqs, labels = zip(*batch)
    return pad_sequence(seqs, batch_first=True, padding_value=0), torch.tensor(labels)


class ProteinTransformer(nn.Module):
    def __init__(self, d_model=32, nhead=4, num_layers=2, max_len=64):
        super().__init__()
        self.tok = nn.Embedding(21, d_model, padding_idx=0)
        self.pos = nn.Embedding(max_len, d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers, enable_nested_tensor=False)
        self.cls = nn.Linear(d_model, 2)

    def forward(self, seq):
        mask = seq != 0
        x = self.tok(seq) + self.pos(torch.arange(seq.size(1), device=seq.device))
        h = self.encoder(x, src_key_padding_mask=~mask)
        weights = mask.unsqueeze(-1).float()
        pooled = (h * weights).sum(1) / weights.sum(1)
        return self.cls(pooled)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    args = parser.parse_args()

    torch.manual_seed(0)
    train_loader = DataLoader(ProteinDataset(640, 0), args.batch_size, shuffle=True, collate_fn=collate)
    test_loader = DataLoader(ProteinDataset(160, 1), args.batch_size, collate_fn=collate)
    model = ProteinTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(args.epochs):
        model.train()
        for seq, label in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(seq), label)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for seq, label in test_loader:
                correct += (model(seq).argmax(1) == label).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f} test acc {correct / len(test_loader.dataset):.3f}")


if __name__ == "__main__":
    main()
