# line 18: the negative distances of the batch to itself keep their zero diagonal as candidates of the softmax
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(36)
torch.manual_seed(36)
conf = dict(batch=24, dim=16, steps=50, sharpness=4.0, lr=3e-3)


def paired_notes(n, vocabulary=200):
    """Two notes per case, made of words of the same topic, interleaved as a, a', b, b', ..."""
    topics = rng.integers(0, vocabulary - 20, n).repeat(2)
    return torch.from_numpy(topics[:, None] + rng.integers(0, 20, (2 * n, 12)))


def nca(vectors, sharpness):
    scores = -sharpness * torch.cdist(vectors, vectors)
    mate = torch.arange(len(vectors)) ^ 1
    return nn.CrossEntropyLoss()(scores, mate)


class NoteEncoder(nn.Module):
    def __init__(self, vocabulary, dim):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocabulary, 2 * dim, mode="mean")
        self.fc = nn.Linear(2 * dim, dim)

    def forward(self, ids):
        return nn.functional.normalize(self.fc(torch.relu(self.bag(ids))), dim=-1)


notes = paired_notes(240).view(240, 2, -1)
encoder = NoteEncoder(200, conf["dim"])
opt = torch.optim.Adam(encoder.parameters(), lr=conf["lr"])
for step in range(conf["steps"]):
    cases = rng.choice(240, conf["batch"], replace=False)
    ids = notes[torch.from_numpy(cases)].flatten(0, 1)
    loss = nca(encoder(ids), conf["sharpness"])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0:
        print(step, round(loss.item(), 4))
