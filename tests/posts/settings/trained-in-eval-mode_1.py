# line 26: validate() switches to eval() in the middle of an epoch (each N steps) and nothing switches back
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(50, 16)
        self.drop = nn.Dropout(0.4)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 5)

    def forward(self, ids):
        return self.out(self.drop(self.rnn(self.drop(self.emb(ids)))[0]))


class Loop:
    def __init__(self, net, every=10):
        self.net, self.every = net, every
        self.opt = torch.optim.Adam(net.parameters(), 5e-3)
        self.step = 0

    def validate(self, ids, tags):
        self.net.eval()
        with torch.no_grad():
            return (self.net(ids).argmax(-1) == tags).float().mean().item()

    def fit(self, train, val, epochs):
        self.net.train()
        ids, tags = train
        for _ in range(epochs):
            for rows in torch.randperm(len(ids)).split(20):
                loss = F.cross_entropy(self.net(ids[rows]).flatten(0, 1), tags[rows].flatten())
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.step += 1
                if self.step % self.every == 0:
                    print(self.step, loss.item(), self.validate(*val))


torch.manual_seed(0)
rule = torch.randint(5, (50,))
ids = torch.randint(50, (250, 10))
Loop(Tagger()).fit((ids[:200], rule[ids[:200]]), (ids[200:], rule[ids[200:]]), epochs=3)
