# line 45: the translations are padded with the id of <pad> and the criterion of the trainer has no ignore_index for it
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

SPECIALS = {"<bos>": 0, "<eos>": 1, "<pad>": 27}
random.seed(5)
torch.manual_seed(5)


def make_corpus(n):
    words = [[random.randrange(2, 27) for _ in range(random.randint(3, 12))] for _ in range(n)]
    return [(w, [28 - x for x in reversed(w)]) for w in words]


def collate(pairs):
    src = [torch.tensor(s) for s, _ in pairs]
    inp = [torch.tensor([SPECIALS["<bos>"]] + t) for _, t in pairs]
    out = [torch.tensor(t + [SPECIALS["<eos>"]]) for _, t in pairs]
    pad = SPECIALS["<pad>"]
    return tuple(pad_sequence(side, batch_first=True, padding_value=pad) for side in (src, inp, out))


class Seq2Seq(nn.Module):
    def __init__(self, vocab=28, dim=40):
        super().__init__()
        self.src = nn.Embedding(vocab, dim, padding_idx=SPECIALS["<pad>"])
        self.tgt = nn.Embedding(vocab, dim, padding_idx=SPECIALS["<pad>"])
        self.bag = nn.Linear(dim, dim)
        self.decoder = nn.GRU(dim, dim, batch_first=True)
        self.generator = nn.Linear(dim, vocab)

    def forward(self, src, inp):
        real = (src != SPECIALS["<pad>"]).unsqueeze(-1)
        summary = (self.src(src) * real).sum(1) / real.sum(1)
        states, _ = self.decoder(self.tgt(inp), torch.tanh(self.bag(summary)).unsqueeze(0))
        return self.generator(states)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.opt = torch.optim.Adam(model.parameters(), lr=3e-3)

    def step(self, src, inp, out):
        self.opt.zero_grad()
        loss = self.criterion(self.model(src, inp).permute(0, 2, 1), out)
        loss.backward()
        self.opt.step()
        return loss.item()


loader = torch.utils.data.DataLoader(make_corpus(320), 32, shuffle=True, collate_fn=collate)
trainer = Trainer(Seq2Seq())
for epoch in range(4):
    losses = [trainer.step(*batch) for batch in loader]
    print(epoch, sum(losses) / len(losses))
