import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = 6


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    centers = torch.randn(CLASSES, 20, generator=torch.Generator().manual_seed(5))
    y = torch.randint(0, CLASSES, (n,), generator=g)
    x = centers[y] + 1.6 * torch.randn(n, 20, generator=g)
    return x, y


def augment(x):
    keep = (torch.rand_like(x) > 0.2).float()
    return x * keep * (0.8 + 0.4 * torch.rand(len(x), 1)) + 0.3 * torch.randn_like(x)


class SimSiam(nn.Module):
    def __init__(self, dim=64, pred=16):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Linear(20, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, dim))
        self.projector = nn.Sequential(
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim), nn.ReLU(),
            nn.Linear(dim, dim, bias=False), nn.BatchNorm1d(dim, affine=False))
        self.predictor = nn.Sequential(nn.Linear(dim, pred), nn.BatchNorm1d(pred), nn.ReLU(), nn.Linear(pred, dim))

    def forward(self, x1, x2):
        z1, z2 = self.projector(self.backbone(x1)), self.projector(self.backbone(x2))
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return p1, p2, z1.detach(), z2.detach()


def neg_cosine(p, z):
    return -F.cosine_similarity(p, z, dim=1).mean()


class KNNValidation:
    """weighted vote of the K nearest training samples by cosine similarity"""

    def __init__(self, model, train, val, K=100, temperature=0.07):
        self.model, self.train, self.val = model, train, val
        self.K, self.t = K, temperature

    @torch.no_grad()
    def __call__(self):
        self.model.eval()
        bank, labels = [], self.train[1]
        for x in self.train[0].split(128):
            features = self.model.backbone(x)
            features = F.normalize(features, dim=1)
            bank.append(features)
        bank = torch.cat(bank).t()

        correct = 0
        for x, y in zip(self.val[0].split(128), self.val[1].split(128)):
            features = self.model.backbone(x)
            sim = features @ bank
            weight, nearest = sim.topk(self.K, dim=1)
            weight = (weight / self.t).exp()
            votes = F.one_hot(labels[nearest], CLASSES) * weight.unsqueeze(-1)
            correct += (votes.sum(1).argmax(1) == y).sum().item()
        return correct / len(self.val[1])


def main():
    torch.manual_seed(0)
    train, val = make_data(1500, 1), make_data(600, 2)
    model = SimSiam()
    knn = KNNValidation(model, train, val)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(6):
        model.train()
        total = 0.0
        batches = torch.randperm(len(train[0])).split(125)
        for idx in batches:
            x = train[0][idx]
            p1, p2, z1, z2 = model(augment(x), augment(x))
            loss = (neg_cosine(p1, z2) + neg_cosine(p2, z1)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print('epoch %d loss %.3f knn accuracy %.3f' % (epoch + 1, total / len(batches), knn()))


if __name__ == '__main__':
    main()
