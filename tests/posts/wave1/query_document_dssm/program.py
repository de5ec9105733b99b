import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
np.random.seed(0)

LETTER_GRAM_SIZE = 3
WINDOW_SIZE = 3
TOTAL_LETTER_GRAMS = 200
WORD_DEPTH = WINDOW_SIZE * TOTAL_LETTER_GRAMS
K = 64   # feature maps of the convolution
L = 32   # size of the semantic space
J = 4    # irrelevant documents for each query


def sparse_rows(n_words):
    return (np.random.rand(n_words, WORD_DEPTH) > 0.97).astype(np.float32)


# the clicked document is a noisy copy of the query
queries = [sparse_rows(np.random.randint(3, 8)) for _ in range(60)]
clicked = [np.clip(np.vstack([q, sparse_rows(4)]), 0, 1) for q in queries]


class CDSSM(nn.Module):
    def __init__(self):
        super(CDSSM, self).__init__()
        self.query_conv = nn.Conv1d(WORD_DEPTH, K, 1)
        self.query_sem = nn.Linear(K, L)
        self.doc_conv = nn.Conv1d(WORD_DEPTH, K, 1)
        self.doc_sem = nn.Linear(K, L)
        self.learn_gamma = nn.Linear(1, 1)
        nn.init.constant_(self.learn_gamma.weight, 10.)

    def encode(self, x, conv, sem):
        h = torch.tanh(conv(x.transpose(1, 2)))
        return torch.tanh(sem(h.max(dim=2)[0]))

    def forward(self, q, pos, negs):
        q_s = self.encode(q, self.query_conv, self.query_sem)
        docs = [self.encode(d, self.doc_conv, self.doc_sem) for d in [pos] + negs]
        dots = torch.stack([F.cosine_similarity(q_s, d) for d in docs], dim=1)
        with_gamma = self.learn_gamma(dots.unsqueeze(2)).squeeze(2)
        prob = F.softmax(with_gamma, dim=1)
        return prob


model = CDSSM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
y = torch.zeros(1, dtype=torch.long)    # the clicked document comes first

for epoch in range(6):
    total, right = 0.0, 0
    for i in np.random.permutation(len(queries)):
        others = np.random.choice([j for j in range(len(queries)) if j != i], J, replace=False)
        q = torch.from_numpy(queries[i]).unsqueeze(0)
        pos = torch.from_numpy(clicked[i]).unsqueeze(0)
        negs = [torch.from_numpy(clicked[j]).unsqueeze(0) for j in others]
        y_pred = model(q, pos, negs)
        loss = criterion(y_pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += int(y_pred.argmax(1).item() == 0)
    print('epoch %d loss %.4f accuracy %.3f' % (epoch, total / len(queries), right / len(queries)))
