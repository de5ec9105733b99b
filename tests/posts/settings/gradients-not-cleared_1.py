# line 17: the gradients are never cleared in train_one_batch of the trainer class
import torch
import torch.nn as nn


class Trainer:
    def __init__(self, net, lr, clip=1.0):
        self.net = net
        self.optim = torch.optim.Adam(net.parameters(), lr=lr)
        self.clip = clip
        self.losses = []

    def train_one_batch(self, ids, label):
        self.net.train()
        scores = self.net(ids)
        loss = nn.functional.cross_entropy(scores, label)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.clip)
        self.optim.step()
        self.losses.append(loss.item())

    def fit(self, x, y, epochs, size=32):
        for epoch in range(epochs):
            for rows in torch.randperm(len(x)).split(size):
                self.train_one_batch(x[rows], y[rows])
            print(epoch, sum(self.losses[-5:]) / 5)


class DocNet(nn.Module):
    def __init__(self, words=100, topics=4):
        super().__init__()
        self.bag = nn.EmbeddingBag(words, 24, mode="sum")
        self.lin = nn.Linear(24, topics)

    def forward(self, ids):
        return self.lin(self.bag(ids))


torch.manual_seed(0)
label = torch.randint(4, (320,))
docs = torch.randint(25, (320, 12)) + 25 * label[:, None]
docs[:, ::2] = torch.randint(100, (320, 6))
Trainer(DocNet(), lr=0.01).fit(docs, label, epochs=5)
