# line 30: the key padding mask of the target tokens is made with the padding id of the source vocabulary
import torch
import torch.nn as nn


class Vocab:
    def __init__(self, words, specials):
        self.itos = specials + words
        self.stoi = {w: k for k, w in enumerate(self.itos)}
        self.pad = self.stoi["<pad>"]

    def __len__(self):
        return len(self.itos)


de = Vocab([f"d{i}" for i in range(20)], ["<pad>", "<s>", "</s>"])
en = Vocab([f"e{i}" for i in range(20)], ["<s>", "</s>", "<unk>", "<pad>"])


class Translator(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.src = nn.Embedding(len(de), d, padding_idx=de.pad)
        self.tgt = nn.Embedding(len(en), d, padding_idx=en.pad)
        self.core = nn.Transformer(d, 2, 1, 1, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d, len(en))

    def forward(self, s, t):
        s_mask = s.eq(de.pad)
        t_mask = t.eq(de.pad)
        causal = torch.ones(t.size(1), t.size(1), dtype=torch.bool).triu(1)
        causal.fill_diagonal_(False)
        z = self.core(self.src(s), self.tgt(t), tgt_mask=causal, src_key_padding_mask=s_mask,
                      tgt_key_padding_mask=t_mask & (torch.arange(t.size(1)) > 0), memory_key_padding_mask=s_mask)
        return self.out(z)


def pairs(n):
    s = torch.full((n, 10), de.pad)
    t = torch.full((n, 12), en.pad)
    for k in range(n):
        m = int(torch.randint(3, 10, (1,)))
        w = torch.randint(20, (m,))
        s[k, :m] = w + 3
        t[k, 0], t[k, 1:m + 1], t[k, m + 1] = 0, w + 4, 1
    return s, t


torch.manual_seed(0)
net = Translator()
opt = torch.optim.Adam(net.parameters(), 3e-3)
ce = nn.CrossEntropyLoss(ignore_index=en.pad)
for it in range(40):
    s, t = pairs(16)
    loss = ce(net(s, t[:, :-1]).flatten(0, 1), t[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
