# line 37: nll_loss gets probabilities of a softmax instead of log-probabilities
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

vocab = {w: i + 1 for i, w in enumerate("good bad film plot dull fine great poor the a was is".split())}
corpus = [("the film was great", 1), ("a dull plot", 0), ("the plot is fine", 1), ("poor film", 0),
          ("a good film", 1), ("the film is bad", 0), ("great plot", 1), ("the plot was poor", 0)]


def encode(sentences):
    return pad_sequence([torch.tensor([vocab[w] for w in s.split()]) for s in sentences], batch_first=True)


class BagOfWords(nn.Module):
    def __init__(self, n_words, dim, n_labels):
        super().__init__()
        self.emb = nn.EmbeddingBag(n_words, dim, mode="mean", padding_idx=0)
        self.cls = nn.Linear(dim, n_labels)
        self.act = nn.Softmax(dim=-1)

    def forward(self, ids):
        return self.act(self.cls(self.emb(ids)))


class SentimentTask:
    criterion = nn.NLLLoss()

    def __init__(self, net):
        self.net = net
        self.optim = torch.optim.Adam(net.parameters(), lr=0.05)

    def training_step(self, ids, y):
        self.optim.zero_grad()
        out = self.net(ids)
        loss = self.criterion(out, y)
        loss.backward()
        self.optim.step()
        return loss.item()

    def evaluate(self, ids, y):
        self.net.eval()
        with torch.no_grad():
            return (self.net(ids).argmax(-1) == y).float().mean().item()


torch.manual_seed(0)
task = SentimentTask(BagOfWords(len(vocab) + 1, 8, 2))
x = encode([s for s, _ in corpus])
y = torch.tensor([l for _, l in corpus])
for _ in range(30):
    last = task.training_step(x, y)
print(last, task.evaluate(x, y))
