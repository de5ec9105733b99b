import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MergeLayer(nn.Module):
    """feeds the input to several layers and merges what they give"""

    def __init__(self, layers, mode='concat', dim=1):
        super().__init__()
        self._mode = mode
        self._dim = dim
        self._layers = nn.ModuleList(layers)

    def forward(self, input):
        outputs = [layer(input) for layer in self._layers]
        if self._mode == 'concat':
            return torch.cat(outputs, dim=self._dim)
        if self._mode == 'elemwise_sum':
            return torch.stack(outputs).sum(dim=0)
        raise ValueError('unknown merge mode ' + self._mode)


class MaxOverTime(nn.Module):
    def forward(self, x):
        return x.max(dim=2)[0]


class Conv1DEncoder(nn.Module):
    def __init__(self, in_channels, filters=16, kernel_sizes=(3, 4, 5), hidden=32):
        super().__init__()
        branches = [nn.Sequential(nn.Conv1d(in_channels, filters, k), nn.ReLU(), MaxOverTime())
                    for k in kernel_sizes]
        self.pool = MergeLayer(branches)
        self.dense = nn.Sequential(nn.Linear(filters * len(kernel_sizes), hidden), nn.ReLU())

    def forward(self, x):
        return self.dense(self.pool(x))


class Conv1DClassifier(nn.Module):
    def __init__(self, vocab, num_classes, emb_dim=16):
        super().__init__()
        self.embedder = nn.Embedding(vocab, emb_dim)
        self.encoder = Conv1DEncoder(emb_dim)
        self.logits = nn.Linear(32, num_classes)

    def forward(self, ids):
        return self.logits(self.encoder(self.embedder(ids).transpose(1, 2)))


PATTERNS = torch.tensor([[3, 17, 8], [17, 8, 3], [8, 3, 17], [17, 3, 8]])


def sentences(n, length=20, vocab=40):
    ids = torch.randint(0, vocab, (n, length))
    labels = torch.randint(0, len(PATTERNS), (n,))
    for i, l in enumerate(labels):
        at = int(torch.randint(0, length - 3, (1,)))
        ids[i, at:at + 3] = PATTERNS[l]
    return TensorDataset(ids, labels)


def main():
    torch.manual_seed(1)
    train, test = sentences(1500), sentences(300)
    model = Conv1DClassifier(vocab=40, num_classes=len(PATTERNS))
    print('trainable parameters', sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    first = model.encoder.pool._layers[0][0].weight
    before = first.detach().clone()
    for epoch in range(5):
        total = 0.0
        for ids, labels in DataLoader(train, batch_size=32, shuffle=True):
            loss = criterion(model(ids), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
        with torch.no_grad():
            ids, labels = test.tensors
            acc = (model(ids).argmax(1) == labels).float().mean().item()
        print('epoch %d loss %.4f test accuracy %.3f' % (epoch, total / len(train), acc))
    print('change of the first filters %.4f' % (first.detach() - before).norm().item())


if __name__ == '__main__':
    main()
