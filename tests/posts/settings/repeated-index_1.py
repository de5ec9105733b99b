# line 17: confusion[true, guess] += 1 writes each cell once per batch, though pairs repeat
import torch
from torch import nn


class ConfusionMatrix:
    def __init__(self, n_classes):
        self.n = n_classes
        self.reset()

    def reset(self):
        self.cells = torch.zeros(self.n, self.n)

    def update(self, scores, truth):
        guess = scores.argmax(dim=1)
        one = torch.ones(len(truth))
        self.cells[truth, guess] += one

    def recall(self):
        return self.cells.diagonal() / self.cells.sum(1).clamp(min=1)

    def compute(self):
        return {"recall": self.recall().tolist(), "n": int(self.cells.sum())}


def gaussians(n, k=3):
    y = torch.randint(k, (n,))
    means = torch.tensor([[0.0, 2.0], [2.0, 0.0], [-1.0, -1.0]])
    return means[y] + torch.randn(n, 2), y


torch.manual_seed(0)
x, y = gaussians(600)
train = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[:400], y[:400]), 40, shuffle=True)
valid = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[400:], y[400:]), 50)
model = nn.Sequential(nn.Linear(2, 16), nn.ELU(), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), 0.01)
matrix = ConfusionMatrix(3)
for epoch in range(4):
    model.train()
    for a, b in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(a), b).backward()
        opt.step()
    model.eval()
    matrix.reset()
    with torch.no_grad():
        for a, b in valid:
            matrix.update(model(a), b)
    print(epoch, matrix.compute())
