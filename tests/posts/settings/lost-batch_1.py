# line 16: squeeze without a dim also removes the batch when a single recording comes in the last batch
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class KeywordSpotter(nn.Module):
    def __init__(self, n_mfcc=13, n_words=6):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(n_mfcc, 24, 3, padding=1), nn.ReLU(),
            nn.Conv1d(24, n_words, 3, padding=1), nn.AdaptiveAvgPool1d(1),
        )

    def forward(self, mfcc):
        return self.body(mfcc).squeeze()


def fit(net, batches, epochs=3):
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    net.train()
    for _ in range(epochs):
        for x, y in batches:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            opt.step()
    return net


@torch.no_grad()
def probabilities(net, batches):
    net.eval()
    rows = []
    for x, _ in batches:
        rows.extend(net(x).softmax(-1).reshape(-1, 6).tolist())
    return rows


torch.manual_seed(1)
mfcc, word = torch.randn(65, 13, 40), torch.randint(6, (65,))
train = DataLoader(TensorDataset(mfcc[:48], word[:48]), batch_size=16, shuffle=True)
test = DataLoader(TensorDataset(mfcc[48:], word[48:]), batch_size=16)
spotter = fit(KeywordSpotter(), train)
table = probabilities(spotter, test)
print(len(table), "rows, first word:", table[0].index(max(table[0])))
