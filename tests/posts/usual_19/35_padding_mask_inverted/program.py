import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PAD, CLS, KEYWORD = 0, 1, 2
VOCAB = 50
MAX_LEN = 16


class KeywordDataset(Dataset):
    """Does the sentence contain the keyword?"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.full((n, MAX_LEN), PAD)
        self.labels = torch.randint(0, 2, (n,), generator=g)
        for i in range(n):
            length = int(torch.randint(6, MAX_LEN - 1, (1,), generator=g))
            row = torch.randint(3, VOCAB, (length,), generator=g)
            row[0] = CLS
            if self.labels[i] == 1:
                row[int(torch.randint(1, length, (1,), generator=g))] = KEYWORD
            self.tokens[i, :length] = row

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.tokens[i], self.labels[i]


class Classifier(nn.Module):
    def __init__(self, dim=64, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(1, MAX_LEN, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 128, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, tokens):
        padding_mask = tokens != PAD
        h = self.tok(tokens) + self.pos
        h = self.encoder(h, src_key_padding_mask=padding_mask)
        return self.head(h[:, 0])


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(KeywordDataset(2000, 1), batch_size=64, shuffle=True)
    test_loader = DataLoader(KeywordDataset(500, 2), batch_size=100)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        for tokens, labels in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(tokens), labels)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            hits = sum((model(t).argmax(1) == y).sum().item() for t, y in test_loader)
        print(f"epoch {epoch} loss {loss.item():.3f} test acc {hits / 500:.3f}")


main()
