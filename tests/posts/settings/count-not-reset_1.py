# line 11: the tallies are made once in the constructor, so each epoch prints the accuracy of all epochs so far
import torch
from torch import nn


class SpellingTrainer:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.Adam(net.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()
        self.n_right = 0
        self.n_seen = 0

    def _batch(self, ids, label):
        logits = self.net(ids)
        self.opt.zero_grad()
        self.loss_fn(logits, label).backward()
        self.opt.step()
        self.n_right += int(torch.sum(logits.detach().argmax(-1) == label))
        self.n_seen += label.shape[0]

    def run(self, batches, epochs):
        for epoch in range(1, epochs + 1):
            self.net.train()
            for ids, label in batches():
                self._batch(ids, label)
            accuracy = self.n_right / self.n_seen
            print(f"epoch {epoch}: training accuracy {accuracy:.3f}")


class CharCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(27, 12)
        self.conv = nn.Conv1d(12, 24, 3)
        self.out = nn.Linear(24, 2)

    def forward(self, ids):
        return self.out(self.conv(self.emb(ids).transpose(1, 2)).relu().amax(-1))


torch.manual_seed(58)
ids = torch.randint(27, (300, 9))
label = ((ids[:, 1:] == 5) & (ids[:, :-1] < 14)).any(1).long()


def batches():
    for rows in torch.randperm(300).split(30):
        yield ids[rows], label[rows]


SpellingTrainer(CharCnn(), 5e-3).run(batches, 5)
