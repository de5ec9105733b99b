import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class ClickDataset(Dataset):
    def __init__(self, size=1024, features=26):
        g = torch.Generator().manual_seed(0)
        self.x = torch.randn(size, features, generator=g)
        self.y = (self.x[:, :3].sum(dim=1) > 0).long()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return i, self.x[i], self.y[i]


class RHOLossDownsampling:
    """keeps the samples of a batch with the largest reducible holdout loss"""

    def __init__(self, ratio, irreducible_loss, criterion, device):
        self.ratio = ratio
        self.irreducible_loss = irreducible_loss
        self.criterion = criterion
        self.device = device
        self.init_downsampler()

    def init_downsampler(self):
        self.index_sampleid = []
        self.rho_loss = torch.tensor([])

    def inform_samples(self, sample_ids, forward_output, target):
        training_loss = self.criterion(forward_output, target).detach()
        irreducible = self.irreducible_loss[sample_ids.to(self.device)]
        self.rho_loss = torch.cat([self.rho_loss, training_loss - irreducible]).to(training_loss.dtype)
        self.index_sampleid += sample_ids.tolist()

    def select_points(self):
        target_size = max(int(self.ratio * len(self.index_sampleid)), 1)
        _, indices = torch.topk(self.rho_loss, target_size)
        return indices


class MLP(nn.Module):
    def __init__(self, features=26, hidden=128, classes=2):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.net(x)


def main():
    device = torch.device("cuda")
    dataset = ClickDataset()
    loader = DataLoader(dataset, batch_size=128, shuffle=True)

    il_model = MLP().to(device)
    with torch.no_grad():
        irreducible_loss = F.cross_entropy(il_model(dataset.x.to(device)), dataset.y.to(device), reduction="none")

    model = MLP().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss(reduction="none")
    sampler = RHOLossDownsampling(0.25, irreducible_loss, criterion, device)

    for epoch in range(2):
        for sample_ids, x, y in loader:
            x, y = x.to(device), y.to(device)
            model.eval()
            with torch.no_grad():
                sampler.init_downsampler()
                sampler.inform_samples(sample_ids, model(x), y)
            selected = sampler.select_points()
            model.train()
            loss = criterion(model(x[selected]), y[selected]).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, "loss", loss.item())


if __name__ == "__main__":
    main()
