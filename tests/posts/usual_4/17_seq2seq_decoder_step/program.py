# Date translation: "3 march 1998" -> "1998-03-03", GRU encoder/decoder + Luong attention
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(5); torch.manual_seed(5)
MONTHS = "january february march april may june july august september october november december".split()
PAD, SOS, EOS = 0, 1, 2
chars = sorted(set("".join(MONTHS)) | set("0123456789 -"))
stoi = {c: i + 3 for i, c in enumerate(chars)}
itos = {i: c for c, i in stoi.items()}
V = len(chars) + 3


def make_pair():
    d, m, y = random.randint(1, 28), random.randint(1, 12), random.randint(1950, 2020)
    return f"{d} {MONTHS[m - 1]} {y}", f"{y}-{m:02d}-{d:02d}"


def encode(s):
    return torch.tensor([stoi[c] for c in s] + [EOS])


def batchify(pairs):
    src = nn.utils.rnn.pad_sequence([encode(a) for a, _ in pairs], batch_first=True, padding_value=PAD)
    trg = nn.utils.rnn.pad_sequence([encode(b) for _, b in pairs], batch_first=True, padding_value=PAD)
    return src, trg


class Encoder(nn.Module):
    def __init__(self, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(V, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hid, batch_first=True)

    def forward(self, src):
        lengths = (src != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(src), lengths, batch_first=True, enforce_sorted=False)
        out, hidden = self.rnn(packed)
        out, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return out, hidden


class Decoder(nn.Module):
    def __init__(self, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(V, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.attn = nn.Linear(hid, hid, bias=False)
        self.out = nn.Linear(2 * hid, V)

    def forward(self, token, hidden, enc_out, src_mask):
        """one step; token: (batch,)"""
        embedded = self.embedding(token)
        output, hidden = self.rnn(embedded, hidden)
        energy = torch.bmm(self.attn(output), enc_out.transpose(1, 2))      # (batch, 1, src_len)
        energy = energy.masked_fill(~src_mask.unsqueeze(1), -1e9)
        context = torch.bmm(F.softmax(energy, dim=-1), enc_out)
        logits = self.out(torch.cat([output, context], dim=-1)).squeeze(1)
        return logits, hidden


class Seq2Seq(nn.Module):
    def __init__(self, emb=32, hid=64):
        super().__init__()
        self.encoder, self.decoder = Encoder(emb, hid), Decoder(emb, hid)

    def forward(self, src, trg, teacher_forcing=0.7):
        enc_out, hidden = self.encoder(src)
        token = torch.full((src.size(0),), SOS)
        outputs = []
        for t in range(trg.size(1)):
            logits, hidden = self.decoder(token, hidden, enc_out, src != PAD)
            outputs.append(logits)
            token = trg[:, t] if random.random() < teacher_forcing else logits.argmax(-1)
        return torch.stack(outputs, dim=1)


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
crit = nn.CrossEntropyLoss(ignore_index=PAD)

for step in range(1, 121):
    model.train()
    src, trg = batchify([make_pair() for _ in range(48)])
    scores = model(src, trg)
    loss = crit(scores.reshape(-1, V), trg.reshape(-1))
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 40 == 0:
        print(f"step {step} loss {loss.item():.3f}")

model.eval()
pairs = [make_pair() for _ in range(5)]
with torch.no_grad():
    src, trg = batchify(pairs)
    pred = model(src, trg, teacher_forcing=0.0).argmax(-1)
for (a, b), p in zip(pairs, pred.tolist()):
    p = p[: p.index(EOS)] if EOS in p else p
    print(f"{a:>20s}  {b}  {''.join(itos.get(i, '?') for i in p)}")
