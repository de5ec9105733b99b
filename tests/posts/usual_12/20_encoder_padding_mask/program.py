"""Classify support chats by topic with a small Transformer encoder (replaces the old bag of words)."""
import math
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TOPICS = {
    "billing": ["invoice", "charge", "card", "refund"],
    "network": ["wifi", "router", "signal", "slow"],
    "account": ["password", "login", "email", "locked"],
}
FILLER = ["hello", "please", "my", "is", "the", "since", "today", "help", "with", "thanks", "again", "not"]
PAD = 0
VOCAB = {w: i + 1 for i, w in enumerate(FILLER + [w for ws in TOPICS.values() for w in ws])}
MAX_LEN = 24


class ChatDataset(Dataset):
    def __init__(self, n: int, seed: int):
        rnd = random.Random(seed)
        names = list(TOPICS)
        self.items = []
        for _ in range(n):
            label = rnd.randrange(len(names))
            words = rnd.choices(FILLER, k=rnd.randint(4, 16)) + rnd.choices(TOPICS[names[label]], k=3)
            rnd.shuffle(words)
            self.items.append(([VOCAB[w] for w in words], label))

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int):
        ids, label = self.items[i]
        attention_mask = [1] * len(ids) + [0] * (MAX_LEN - len(ids))
        ids = ids + [PAD] * (MAX_LEN - len(ids))
        return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(attention_mask),
                "label": torch.tensor(label)}


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * div)
        pe[:, 1::2] = torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class ChatClassifier(nn.Module):
    def __init__(self, vocab_size: int, n_topics: int, d_model: int = 32):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=PAD)
        self.pos = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, nhead=4, dim_feedforward=64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(d_model, n_topics)

    def forward(self, input_ids, attention_mask):
        h = self.pos(self.embed(input_ids))
        h = self.encoder(h, src_key_padding_mask=attention_mask.bool())
        return self.out(h[:, 0])


def accuracy(model, loader):
    model.eval()
    n = 0
    with torch.no_grad():
        for b in loader:
            n += (model(b["input_ids"], b["attention_mask"]).argmax(1) == b["label"]).sum().item()
    return n / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train = DataLoader(ChatDataset(800, 0), batch_size=32, shuffle=True)
    test = DataLoader(ChatDataset(200, 1), batch_size=32)
    model = ChatClassifier(len(VOCAB) + 1, len(TOPICS))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(3):
        model.train()
        total = 0.0
        for b in train:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(b["input_ids"], b["attention_mask"]), b["label"])
            loss.backward()
            opt.step()
            total += loss.item() * len(b["label"])
        print(f"epoch {epoch}: loss {total / len(train.dataset):.3f}  test accuracy {accuracy(model, test):.3f}")


if __name__ == "__main__":
    main()
