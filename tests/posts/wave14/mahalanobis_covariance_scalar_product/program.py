import torch
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, dim_in=20, hidden=12, classes=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim_in, 48), nn.ReLU(), nn.Linear(48, hidden), nn.Tanh())
        self.head = nn.Linear(hidden, classes)

    def embed(self, x):
        return self.encoder(x)

    def forward(self, x):
        return self.head(self.embed(x))


class Source:
    def __init__(self, dim=20, classes=3):
        self.gen = torch.Generator().manual_seed(21)
        self.means = torch.randn(classes, dim, generator=self.gen) * 1.5
        self.mix = torch.eye(dim) + 0.5 * torch.randn(dim, dim, generator=self.gen) / dim ** 0.5

    def known(self, n):
        y = torch.randint(0, len(self.means), (n,), generator=self.gen)
        noise = torch.randn(n, self.mix.size(0), generator=self.gen) @ self.mix
        return self.means[y] + noise, y

    def unknown(self, n):
        return torch.randn(n, self.mix.size(0), generator=self.gen) @ self.mix - 1.2 * self.means.mean(0)


def compute_inv_covariance(centroid, train_features, jitters=(0, 1e-6, 1e-4, 1e-2, 1e-1, 1.0)):
    dim = train_features.shape[1]
    cov = torch.zeros(dim, dim, dtype=train_features.dtype)
    for feature in train_features:
        d = (feature - centroid).unsqueeze(0)
        cov += d @ d.T
    cov /= len(train_features) - 1
    for jitter in jitters:
        shifted = cov + jitter * torch.eye(dim, dtype=cov.dtype)
        if torch.linalg.eigvalsh(shifted).min() > 1e-9:
            return torch.inverse(shifted), jitter
    raise RuntimeError('the covariance cannot be inverted')


def mahalanobis_distance(centroid, inv_cov, features):
    diff = features - centroid
    return ((diff @ inv_cov) * diff).sum(dim=1)


class MahalanobisScorer:
    """distance of an embedding to the training data, as the uncertainty of the answer"""

    def __init__(self, model):
        self.model = model.eval()

    @torch.no_grad()
    def fit(self, x):
        features = self.model.embed(x).double()
        self.centroid = features.mean(dim=0)
        self.inv_cov, jitter = compute_inv_covariance(self.centroid, features)
        print('jitter', jitter)
        return self

    @torch.no_grad()
    def __call__(self, x):
        return mahalanobis_distance(self.centroid, self.inv_cov, self.model.embed(x).double())


def roc_auc(negative, positive):
    return (positive[:, None] > negative[None, :]).double().mean().item()


def main():
    torch.manual_seed(0)
    source = Source()
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-4)
    for step in range(250):
        x, y = source.known(64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, y = source.known(800)
    scorer = MahalanobisScorer(model).fit(x)
    print('accuracy %.3f' % (model(x).argmax(1) == y).float().mean().item())
    inside, outside = scorer(source.known(300)[0]), scorer(source.unknown(300))
    print('mean distance: known %.3f unknown %.3f' % (inside.mean(), outside.mean()))
    print('ROC AUC of the detection %.3f' % roc_auc(inside, outside))


if __name__ == '__main__':
    main()
