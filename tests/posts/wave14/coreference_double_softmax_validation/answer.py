import random
import torch
import torch.nn as nn
import torch.nn.functional as F

RELATIONS = ['none', 'same concept', 'parent', 'child']


class MulticlassModel(nn.Module):
    """scores the relation of a pair of mentions"""

    def __init__(self, vocab_size, dim=48):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab_size, dim)
        self.classifier = nn.Sequential(nn.Linear(4 * dim, 96), nn.ReLU(), nn.Linear(96, len(RELATIONS)))
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, pair):
        a, b = self.embed(pair[:, 0]), self.embed(pair[:, 1])
        return self.classifier(torch.cat([a, b, a * b, (a - b).abs()], dim=1))

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self(x), y)

    def validation_step(self, batch):
        x, y = batch
        scores = self(x)
        probs = F.softmax(scores, dim=1)
        loss = self.criterion(scores, y)
        return {'loss': loss, 'pred': probs.argmax(dim=1), 'label': y}


def make_pairs(n, rng, n_concepts=12):
    """mention ids: 4 words of the concept, the first one says how general it is"""
    pairs, labels = [], []
    for _ in range(n):
        label = rng.randrange(4)
        c, general = rng.randrange(n_concepts), rng.randrange(2)
        d, other = c, general
        if label == 0:
            d = (c + rng.randrange(1, n_concepts)) % n_concepts
        elif label == 2:
            general, other = 1, 0
        elif label == 3:
            general, other = 0, 1
        mention = lambda k, g: [g] + [2 + 5 * k + rng.randrange(5) for _ in range(3)]
        pairs.append([mention(c, general), mention(d, other)])
        labels.append(label)
    return torch.tensor(pairs), torch.tensor(labels)


def batches(x, y, size):
    for i in range(0, len(y), size):
        yield x[i:i + size], y[i:i + size]


def validate(model, data):
    model.eval()
    with torch.no_grad():
        outs = [model.validation_step(b) for b in batches(*data, 64)]
    model.train()
    loss = torch.stack([o['loss'] for o in outs]).mean().item()
    pred = torch.cat([o['pred'] for o in outs])
    label = torch.cat([o['label'] for o in outs])
    return loss, (pred == label).float().mean().item()


def main():
    torch.manual_seed(0)
    rng = random.Random(0)
    train, dev = make_pairs(3000, rng), make_pairs(512, rng)
    model = MulticlassModel(2 + 5 * 12)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        order = torch.randperm(len(train[1]))
        total, steps = 0.0, 0
        for batch in batches(train[0][order], train[1][order], 32):
            loss = model.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, steps = total + loss.item(), steps + 1
        val_loss, acc = validate(model, dev)
        print('epoch %d train loss %.3f val loss %.3f val accuracy %.3f' % (epoch, total / steps, val_loss, acc))


if __name__ == '__main__':
    main()
