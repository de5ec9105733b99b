import torch
import torch.nn as nn
import torch.nn.functional as F


class SupervisedContrastive(nn.Module):
    """features: (batch, views, dim), labels: (batch,)"""

    def __init__(self, temperature=0.07):
        super().__init__()
        self.temperature = temperature

    def forward(self, features, labels):
        batch, views, _ = features.shape
        anchors = torch.cat(features.unbind(dim=1), dim=0)
        same = (labels[:, None] == labels[None, :]).float().repeat(views, views)
        not_self = 1.0 - torch.eye(batch * views)
        positives = same * not_self

        logits = anchors @ anchors.T / self.temperature
        logits = logits - logits.max(dim=1, keepdim=True).values.detach()
        exp_logits = torch.exp(logits) * not_self
        log_prob = logits - torch.log(exp_logits.sum(dim=1, keepdim=True))
        mean_log_prob = (positives * log_prob).sum(dim=1) / positives.sum(dim=1)
        return -mean_log_prob.mean()


class SupConNet(nn.Module):
    def __init__(self, n_in=64, hidden=256, feat_dim=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
                                     nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU())
        self.projection = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, feat_dim))

    def forward(self, x):
        return self.projection(self.encoder(x))


def make_spectra(n=800, n_classes=10, n_in=64):
    centers = torch.randn(n_classes, n_in)
    labels = torch.randint(n_classes, size=(n,))
    return centers[labels] + 0.8 * torch.randn(n, n_in), labels


def augment(x):
    keep = (torch.rand_like(x) > 0.15).float()
    return x * keep + 0.1 * torch.randn_like(x)


def knn_accuracy(net, x, y, k=5):
    net.eval()
    with torch.no_grad():
        z = F.normalize(net.encoder(x), dim=1)
    sim = z @ z.T
    sim.fill_diagonal_(-2)
    votes = y[sim.topk(k, dim=1).indices]
    return (votes.mode(dim=1).values == y).float().mean().item()


def main():
    torch.manual_seed(0)
    x, y = make_spectra()
    net = SupConNet()
    criterion = SupervisedContrastive()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)

    for epoch in range(1, 6):
        net.train()
        losses = []
        for idx in torch.randperm(len(x)).split(200):
            xb, yb = x[idx], y[idx]
            views = torch.cat([augment(xb), augment(xb)])
            z1, z2 = net(views).chunk(2)
            features = torch.stack([z1, z2], dim=1)
            features = F.normalize(features, dim=1)
            loss = criterion(features, yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f'Train epoch {epoch}: loss {sum(losses) / len(losses):.3f}')
    print(f'kNN accuracy {knn_accuracy(net, x, y):.3f}')


if __name__ == '__main__':
    main()
