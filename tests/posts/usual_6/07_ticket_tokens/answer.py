import re
from collections import Counter

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

TICKETS = [
    ("my invoice shows the wrong amount", "billing"),
    ("please refund the second payment on my card", "billing"),
    ("i was charged twice this month", "billing"),
    ("where can i download the invoice for march", "billing"),
    ("the app crashes when i open the settings", "bug"),
    ("login page stays blank after the update", "bug"),
    ("export to pdf gives an error message", "bug"),
    ("search results are empty since the update", "bug"),
    ("how do i change my password", "account"),
    ("please delete my account", "account"),
    ("i want to change the email address of my account", "account"),
    ("cannot reset my password the mail never arrives", "account"),
] * 8
TEAMS = ["billing", "bug", "account"]

PAD, UNK = "<pad>", "<unk>"


def tokenize(text):
    return re.findall(r"[a-z']+", text.lower())


def build_vocab(texts, min_freq=1):
    counts = Counter(tok for t in texts for tok in tokenize(t))
    words = [w for w, c in counts.most_common() if c >= min_freq]
    return {w: i for i, w in enumerate([PAD, UNK] + words)}


def encode(text, vocab, max_len=10):
    ids = [vocab.get(tok, vocab[UNK]) for tok in tokenize(text)]
    ids = ids[:max_len] + [vocab[PAD]] * (max_len - len(ids))
    return ids


class TicketRouter(nn.Module):
    def __init__(self, vocab_size, emb_dim=32, n_classes=3, pad_idx=0):
        super().__init__()
        self.pad_idx = pad_idx
        self.emb = nn.Embedding(vocab_size, emb_dim, padding_idx=pad_idx)
        self.fc = nn.Linear(emb_dim, n_classes)

    def forward(self, ids):
        mask = (ids != self.pad_idx).unsqueeze(-1).float()
        vec = (self.emb(ids) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.fc(vec)


def make_loader(tickets, vocab, batch_size, shuffle):
    x = torch.tensor([encode(text, vocab) for text, _ in tickets])
    y = torch.tensor([TEAMS.index(team) for _, team in tickets])
    return DataLoader(TensorDataset(x, y), batch_size=batch_size, shuffle=shuffle)


def main():
    torch.manual_seed(0)
    vocab = build_vocab(t for t, _ in TICKETS)
    print("vocabulary:", len(vocab), "words")
    loader = make_loader(TICKETS, vocab, batch_size=16, shuffle=True)

    model = TicketRouter(len(vocab), pad_idx=vocab[PAD])
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
    print(f"final loss {total / len(TICKETS):.4f}")

    new = [("i was charged for a deleted account", "billing"), ("the update gives an error", "bug")]
    model.eval()
    with torch.no_grad():
        for x, y in make_loader(new, vocab, 1, False):
            print(TEAMS[model(x).argmax(1).item()], "/", TEAMS[y.item()])


if __name__ == "__main__":
    main()
