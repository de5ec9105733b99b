"""'3 march 1998' -> '1998-03-03', character by character, with nn.Transformer."""
import datetime
import random

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

PAD, BOS, EOS = 0, 1, 2
SRC_LEN = 20
SYMBOLS = "abcdefghijklmnopqrstuvwxyz0123456789- "
ENC = {c: i + 3 for i, c in enumerate(SYMBOLS)}
DEC = {i: c for c, i in ENC.items()}
VOCAB = len(SYMBOLS) + 3


def random_pair():
    day = datetime.date(1990, 1, 1) + datetime.timedelta(days=random.randrange(10000))
    written = f"{day.day} {day.strftime('%B').lower()} {day.year}"
    return written, day.isoformat()


def encode_src(text):
    ids = [ENC[c] for c in text]
    return ids + [PAD] * (SRC_LEN - len(ids))


def encode_tgt(text):
    return [BOS] + [ENC[c] for c in text] + [EOS]


def make_set(n):
    pairs = [random_pair() for _ in range(n)]
    src = torch.tensor([encode_src(a) for a, _ in pairs])
    tgt = torch.tensor([encode_tgt(b) for _, b in pairs])
    return TensorDataset(src, tgt)


class DateTranslator(nn.Module):
    def __init__(self, d_model=64, nhead=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model, padding_idx=PAD)
        self.pos = nn.Parameter(torch.randn(SRC_LEN, d_model) * 0.3)
        self.transformer = nn.Transformer(
            d_model=d_model,
            nhead=nhead,
            num_encoder_layers=1,
            num_decoder_layers=1,
            dim_feedforward=128,
            dropout=0.0,
        )
        self.out = nn.Linear(d_model, VOCAB)

    def forward(self, src, tgt_in, tgt_mask):
        src_pad = src != PAD
        h = self.transformer(
            self.embed(src) + self.pos[:src.size(1)],
            self.embed(tgt_in) + self.pos[:tgt_in.size(1)],
            tgt_mask=tgt_mask,
            src_key_padding_mask=src_pad,
            memory_key_padding_mask=src_pad,
        )
        return self.out(h)


def causal_mask(size):
    return torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)


def main():
    random.seed(30)
    torch.manual_seed(30)
    train_loader = DataLoader(make_set(3200), batch_size=64, shuffle=True)
    test_src, test_tgt = make_set(200).tensors

    model = DateTranslator()
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(4):
        model.train()
        total = 0.0
        for src, tgt in train_loader:
            tgt_in, tgt_out = tgt[:, :-1], tgt[:, 1:]
            mask = causal_mask(tgt.size(1))
            logits = model(src, tgt_in, mask)
            loss = criterion(logits.reshape(-1, VOCAB), tgt_out.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(train_loader):.3f}")

    model.eval()
    with torch.no_grad():
        tgt_in = test_tgt[:, :-1]
        pred = model(test_src, tgt_in, causal_mask(tgt_in.size(1))).argmax(-1)
    share = (pred == test_tgt[:, 1:]).float().mean().item()
    print(f"right characters {share:.3f}")
    print("".join(DEC.get(i, "?") for i in test_src[0].tolist()), "->", "".join(DEC.get(i, "") for i in pred[0].tolist()))


if __name__ == "__main__":
    main()
