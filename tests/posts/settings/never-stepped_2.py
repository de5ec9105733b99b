# line 39: the self-made momentum optimizer is never applied after the backward pass
import torch
from torch import nn


class Momentum:
    def __init__(self, weights, lr=0.05, beta=0.9):
        self.weights, self.lr, self.beta = list(weights), lr, beta
        self.speed = [torch.zeros_like(w) for w in self.weights]

    def clear(self):
        for w in self.weights:
            w.grad = None

    @torch.no_grad()
    def apply(self):
        for w, v in zip(self.weights, self.speed):
            v.mul_(self.beta).add_(w.grad)
            w.sub_(v, alpha=self.lr)


class MatrixFactors(nn.Module):
    def __init__(self, users, films, rank):
        super().__init__()
        self.u, self.f = nn.Embedding(users, rank), nn.Embedding(films, rank)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, user, film):
        return (self.u(user) * self.f(film)).sum(-1) + self.bias


def fit(model, ratings, rule, epochs=5, size=50):
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(ratings)).split(size):
            user, film, stars = ratings[rows].unbind(1)
            rule.clear()
            loss = nn.functional.mse_loss(model(user, film), stars.float())
            loss.backward()
            total += loss.item() * len(rows)
        print(epoch, total / len(ratings))


torch.manual_seed(55)
user, film = torch.randint(40, (500,)), torch.randint(60, (500,))
ratings = torch.stack([user, film, (user + film) % 5 + 1], dim=1)
model = MatrixFactors(40, 60, 8)
fit(model, ratings, Momentum(model.parameters()))
