# line 25: np.log of word counts that contain zeros gives minus infinity in the features
import numpy as np
import torch
from torch import nn

np.random.seed(7)
torch.manual_seed(7)


def term_matrix(docs, vocabulary):
    counts = np.zeros((len(docs), vocabulary))
    for row, doc in enumerate(docs):
        ids, n = np.unique(doc, return_counts=True)
        counts[row, ids] = n
    return counts


class CountFeatures:
    def __init__(self, vocabulary):
        self.vocabulary = vocabulary

    def __call__(self, docs):
        counts = torch.from_numpy(term_matrix(docs, self.vocabulary)).float()
        share = counts / counts.sum(dim=1, keepdim=True)
        return share.log()


class Spam(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.hidden, self.out = nn.Linear(vocabulary, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x))).squeeze(1)


spam = np.random.randint(0, 2, 200)
docs = [np.random.randint(0, 30, 40) + 10 * s for s in spam]
features = CountFeatures(40)(docs)
target = torch.from_numpy(spam).float()
model = Spam(40)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for rows in torch.randperm(200).split(25):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(features[rows]), target[rows])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
