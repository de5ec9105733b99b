import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PAD, CLS = 0, 1


class QuestionSet(Dataset):
    """Questions of one of three kinds; the kind is told by two marker words."""

    def __init__(self, n, max_len, seed):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.full((n, max_len), PAD)
        self.kind = torch.randint(0, 3, (n,), generator=g)
        for i in range(n):
            length = int(torch.randint(6, max_len - 1, (1,), generator=g))
            self.tokens[i, 0] = CLS
            self.tokens[i, 1:length] = torch.randint(20, 100, (length - 1,), generator=g)
            spot = int(torch.randint(1, length, (1,), generator=g))
            self.tokens[i, spot] = 5 + self.kind[i]

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        return self.tokens[i], self.kind[i]


class QuestionEncoder(nn.Module):
    def __init__(self, vocab=100, dim=32, heads=2, max_len=20):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, max_len, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.fc = nn.Linear(dim, 3)

    def forward(self, tokens):
        mask = tokens != PAD
        h = self.tok(tokens) + self.pos[:, :tokens.size(1)]
        h = self.encoder(h, src_key_padding_mask=mask)
        return self.fc(h[:, 0])


def epoch_pass(model, loader, opt=None):
    model.train(opt is not None)
    loss_sum = hits = n = 0
    for tokens, kind in loader:
        with torch.set_grad_enabled(opt is not None):
            logits = model(tokens)
            loss = F.cross_entropy(logits, kind)
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            opt.step()
        loss_sum += loss.item() * len(kind)
        hits += (logits.argmax(1) == kind).sum().item()
        n += len(kind)
    return loss_sum / n, hits / n


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(QuestionSet(1000, 20, 0), batch_size=32, shuffle=True)
    test_loader = DataLoader(QuestionSet(300, 20, 1), batch_size=100)
    model = QuestionEncoder()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 9):
        loss, acc = epoch_pass(model, train_loader, opt)
        test_loss, test_acc = epoch_pass(model, test_loader)
        print(f"{epoch} | train {loss:.3f} {acc:.3f} | test {test_loss:.3f} {test_acc:.3f}")


if __name__ == "__main__":
    main()
