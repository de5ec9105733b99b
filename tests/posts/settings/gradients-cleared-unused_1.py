# line 19: the gradients are set to zero between the backward pass and the step of the learner
import torch
from torch import nn


class Learner:
    def __init__(self, network, objective, **settings):
        self.network, self.objective = network, objective
        self.optimiser = torch.optim.RMSprop(network.parameters(), **settings)
        self.history = []

    def _forward(self, batch):
        ids, offsets, label = batch
        return self.objective(self.network(ids, offsets), label)

    def _backward(self, loss):
        loss.backward()
        for p in self.network.parameters():
            p.grad = None

    def learn(self, batches):
        for batch in batches:
            loss = self._forward(batch)
            self._backward(loss)
            self.optimiser.step()
            self.history.append(loss.item())
        return self.history[-1]


class Headlines(nn.Module):
    def __init__(self, vocab, sections):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, 20)
        self.out = nn.Linear(20, sections)

    def forward(self, ids, offsets):
        return self.out(self.bag(ids, offsets))


def headline_batches(n, size):
    for _ in range(n):
        lengths = torch.randint(3, 9, (size,))
        label = torch.randint(4, (size,))
        ids = torch.randint(25, (int(lengths.sum()),)) + 25 * label.repeat_interleave(lengths)
        yield ids, lengths.cumsum(0) - lengths, label


torch.manual_seed(45)
learner = Learner(Headlines(100, 4), nn.CrossEntropyLoss(), lr=0.01)
for epoch in range(4):
    print(epoch, learner.learn(headline_batches(10, 32)))
