# line 20: init_hidden makes one state per layer but the LSTM is bidirectional; mended by: layers times two directions in init_hidden
import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable


class BLSTMTagger(nn.Module):
    """Sleep stage of every 30 s epoch of a night from band powers."""

    def __init__(self, n_bands, n_hidden, n_layers, n_stages):
        super(BLSTMTagger, self).__init__()
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.lstm = nn.LSTM(n_bands, n_hidden, n_layers, bidirectional=True)
        self.hidden2tag = nn.Linear(n_hidden * 2, n_stages)

    def init_hidden(self, batch_size):
        weight = next(self.parameters()).data
        shape = (self.n_layers * 2, batch_size, self.n_hidden)
        return (Variable(weight.new(*shape).zero_()), Variable(weight.new(*shape).zero_()))

    def forward(self, nights, hidden):
        out, hidden = self.lstm(nights, hidden)
        return self.hidden2tag(out), hidden


def make_nights(n_nights, n_epochs, n_bands, n_stages, seed):
    rng = np.random.RandomState(seed)
    stages = np.zeros((n_epochs, n_nights), dtype=np.int64)
    for j in range(n_nights):
        s = 0
        for t in range(n_epochs):
            if rng.rand() < 0.1:
                s = rng.randint(n_stages)
            stages[t, j] = s
    centers = rng.randn(n_stages, n_bands)
    power = centers[stages] + 0.5 * rng.randn(n_epochs, n_nights, n_bands)
    return torch.from_numpy(power).float(), torch.from_numpy(stages)


if __name__ == "__main__":
    torch.manual_seed(0)
    power, stages = make_nights(20, 50, 5, 4, seed=9)
    tagger = BLSTMTagger(n_bands=5, n_hidden=12, n_layers=2, n_stages=4)
    optimizer = torch.optim.SGD(tagger.parameters(), lr=0.5)
    loss_function = nn.CrossEntropyLoss()
    for epoch in range(3):
        for i in range(0, 20, 5):
            x, y = Variable(power[:, i:i + 5]), Variable(stages[:, i:i + 5])
            hidden = tagger.init_hidden(x.size(1))
            tagger.zero_grad()
            scores, hidden = tagger(x, hidden)
            loss = loss_function(scores.view(-1, 4), y.reshape(-1))
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())
