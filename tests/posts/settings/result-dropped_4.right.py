# line 27: clamp without _ on the gradients: nothing is clipped
import math

import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, chars=26, width=40):
        super().__init__()
        self.embed = nn.Embedding(chars, width)
        self.rnn = nn.RNN(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, chars)

    def forward(self, x, state=None):
        h, state = self.rnn(self.embed(x), state)
        return self.out(h), state


class Learner:
    def __init__(self, model, lr=0.05, limit=0.01):
        self.model, self.lr, self.limit = model, lr, limit

    def limit_gradients(self):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad.clamp_(-self.limit, self.limit)

    def update(self):
        with torch.no_grad():
            for p in self.model.parameters():
                p.sub_(p.grad, alpha=self.lr * 10)

    def train_on(self, text, window=20):
        state, nats, n = None, 0.0, 0
        for start in range(0, text.size(1) - window - 1, window):
            x = text[:, start : start + window]
            y = text[:, start + 1 : start + window + 1]
            scores, state = self.model(x, state)
            state = state.detach()
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), y.flatten())
            self.model.zero_grad()
            loss.backward()
            self.limit_gradients()
            self.update()
            nats += loss.item()
            n += 1
        return nats / n / math.log(2)


torch.manual_seed(13)
stream = (torch.arange(200)[None, :] * torch.tensor([[1], [3], [5], [7]]) + torch.randint(2, (4, 200))) % 26
learner = Learner(CharRNN())
for epoch in range(4):
    print(f"epoch {epoch}: {learner.train_on(stream):.3f} bits per character")
