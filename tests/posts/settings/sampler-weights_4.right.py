# line 22: the sampler gets one weight for each bin of the target's histogram instead of one for each house
import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, TensorDataset, WeightedRandomSampler


class ImbalancedRegression:
    def __init__(self, bins=10, batch=32, seed=5):
        self.bins, self.batch = bins, batch
        self.rng = np.random.default_rng(seed)
        torch.manual_seed(seed)

    def data(self, n=480):
        x = self.rng.normal(size=(n, 5)).astype(np.float32)
        y = np.exp(0.6 * x[:, 0] + 0.3 * x[:, 1]).astype(np.float32)
        return x, y

    def weights(self, y):
        counts, edges = np.histogram(y, bins=self.bins)
        inverse = 1.0 / np.maximum(counts, 1)
        return torch.from_numpy(inverse[np.digitize(y, edges[1:-1])])

    def loader(self, x, y):
        pick = WeightedRandomSampler(self.weights(y), num_samples=len(y), replacement=True)
        batches = BatchSampler(pick, batch_size=self.batch, drop_last=False)
        return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_sampler=batches)

    def run(self, epochs=5):
        x, y = self.data()
        net = nn.Sequential(nn.Linear(5, 32), nn.SiLU(), nn.Linear(32, 1), nn.Flatten(0))
        opt = torch.optim.Adam(net.parameters(), lr=5e-3)
        for epoch in range(epochs):
            total, seen = 0.0, 0
            for features, value in self.loader(x, y):
                loss = nn.functional.l1_loss(net(features), value)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item() * len(value)
                seen += len(value)
            print(f"epoch {epoch}: mae {total / seen:.3f}")


ImbalancedRegression().run()
