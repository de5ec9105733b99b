import torch
import torch.nn as nn
import torch.nn.functional as F

WAYS, SHOTS, QUERIES = 5, 1, 5


class Embedder(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        layers, previous = [], 1
        for _ in range(2):
            layers += [
                nn.Conv2d(previous, channels, 3, padding=1),
                nn.BatchNorm2d(channels),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
            previous = channels
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x).flatten(1)


class DistanceNetwork(nn.Module):
    def forward(self, support, query):
        support = F.normalize(support, dim=-1)
        query = F.normalize(query, dim=-1)
        return query @ support.transpose(0, 1)


class AttentionalClassify(nn.Module):
    def forward(self, similarities, support_y):
        softmax = nn.Softmax(dim=1)
        attention = softmax(similarities)
        return attention @ support_y


class MatchingNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.g = Embedder()
        self.dn = DistanceNetwork()
        self.classify = AttentionalClassify()

    def forward(self, support_x, support_y, query_x, query_y):
        encoded = self.g(torch.cat([support_x, query_x]))
        support, query = encoded[: len(support_x)], encoded[len(support_x):]
        similarities = self.dn(support, query)
        preds = self.classify(similarities, support_y)
        accuracy = (preds.argmax(1) == query_y).float().mean()
        loss = F.cross_entropy(preds, query_y)
        return accuracy, loss


class EpisodeSampler:
    def __init__(self, classes=20, size=14, seed=0):
        self.gen = torch.Generator().manual_seed(seed)
        self.prototypes = torch.randn(classes, 1, size, size, generator=self.gen)

    def draw(self, labels):
        noise = torch.randn(len(labels), *self.prototypes.shape[1:], generator=self.gen)
        return self.prototypes[labels] + 0.5 * noise

    def sample(self):
        chosen = torch.randperm(len(self.prototypes), generator=self.gen)[:WAYS]
        support_t = torch.arange(WAYS).repeat_interleave(SHOTS)
        query_t = torch.arange(WAYS).repeat_interleave(QUERIES)
        support_y = F.one_hot(support_t, WAYS).float()
        return self.draw(chosen[support_t]), support_y, self.draw(chosen[query_t]), query_t


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sampler = EpisodeSampler()
    model = MatchingNetwork().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for episode in range(100):
        batch = [t.to(device) for t in sampler.sample()]
        accuracy, loss = model(*batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if episode % 25 == 24:
            print(f"episode {episode + 1} loss {loss.item():.4f} acc {accuracy.item():.3f}")


if __name__ == "__main__":
    main()
