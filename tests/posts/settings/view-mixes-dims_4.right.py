# line 16: the final states of the two directions, (2, B, H), are viewed as (B, 2H), which joins states of different texts
import torch
import torch.nn as nn
import torch.nn.functional as F


class ReviewClassifier(nn.Module):
    def __init__(self, vocab=120, emb=24, hidden=20, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, emb)
        self.rnn = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def encode(self, ids):
        _, (h_n, _) = self.rnn(self.emb(ids))
        return h_n.transpose(0, 1).reshape(ids.size(0), -1)

    def forward(self, ids):
        return self.fc(self.encode(ids))


def reviews(n):
    ids = torch.randint(20, 120, (n, 15))
    label = torch.randint(2, (n,))
    where = torch.randint(15, (n, 4))
    ids.scatter_(1, where, (label * 10)[:, None] + torch.randint(10, (n, 4)))
    return ids, label


@torch.no_grad()
def accuracy(model, ids, label):
    model.eval()
    hits = torch.eq(model(ids).argmax(-1), label)
    model.train()
    return hits.float().mean().item()


torch.manual_seed(7)
train_x, train_y = reviews(640)
dev_x, dev_y = reviews(160)
clf = ReviewClassifier()
opt = torch.optim.RMSprop(clf.parameters(), lr=2e-3)
for epoch in range(4):
    for rows in torch.randperm(len(train_x)).chunk(20):
        opt.zero_grad()
        loss = F.cross_entropy(clf(train_x[rows]), train_y[rows])
        loss.backward()
        opt.step()
    print("epoch", epoch, "dev accuracy", accuracy(clf, dev_x, dev_y))
