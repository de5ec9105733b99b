# line 27: the decoder cell gets the concatenation of embedding and context but is built for the embedding alone; mended by: an input size of emb + 2 * hid
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, EOS = 0, 1, 2
V = 14


class Encoder(nn.Module):
    def __init__(self, emb, hid):
        super().__init__()
        self.emb = nn.Embedding(V, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hid, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * hid, hid)

    def forward(self, src):
        out, h = self.rnn(self.emb(src))
        return out, torch.tanh(self.bridge(torch.cat([h[0], h[1]], dim=1)))


class AttnDecoder(nn.Module):
    def __init__(self, emb, hid):
        super().__init__()
        self.emb = nn.Embedding(V, emb, padding_idx=PAD)
        self.attn = nn.Linear(hid, 2 * hid, bias=False)
        self.cell = nn.GRUCell(emb + 2 * hid, hid)
        self.out = nn.Linear(3 * hid, V)

    def step(self, tok, h, memory):
        w = torch.einsum("bd,btd->bt", self.attn(h), memory).softmax(-1)
        ctx = (w.unsqueeze(-1) * memory).sum(1)
        h = self.cell(torch.cat([self.emb(tok), ctx], dim=-1), h)
        return self.out(torch.cat([h, ctx], dim=-1)), h

    def forward(self, tgt, h, memory):
        logits = []
        for t in range(tgt.size(1) - 1):
            o, h = self.step(tgt[:, t], h, memory)
            logits.append(o)
        return torch.stack(logits, 1)


def reversal_batch(bs=16, length=6):
    body = torch.randint(3, V, (bs, length))
    bos, eos = torch.full((bs, 1), BOS), torch.full((bs, 1), EOS)
    return body, torch.cat([bos, body.flip(1), eos], 1)


torch.manual_seed(2)
enc, dec = Encoder(12, 24), AttnDecoder(12, 24)
params = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(params, lr=5e-3)
for it in range(20):
    src, tgt = reversal_batch()
    memory, h = enc(src)
    logits = dec(tgt, h, memory)
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten(), ignore_index=PAD)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
    if it % 5 == 0:
        print(it, loss.item())
