import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class ChurnDataset(Dataset):
    def __init__(self, n=800, seed=0):
        rng = np.random.default_rng(seed)
        self.num = rng.normal(size=(n, 6)).astype(np.float32)
        self.cat = rng.integers(0, 5, size=(n, 2))
        score = self.num[:, 0] * 2 - self.num[:, 1] + (self.cat[:, 0] == 3) * 2
        self.target = (score > 0.3).astype(np.float32)

    def __len__(self):
        return len(self.target)

    def __getitem__(self, i):
        return self.num[i], self.cat[i], self.target[i]


class TabularNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(5, 3), nn.Embedding(5, 3)])
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))

    def forward(self, num, cat):
        embs = [e(cat[:, i]) for i, e in enumerate(self.embeds)]
        return self.layers(torch.cat([num] + embs, dim=1))


def main():
    torch.manual_seed(0)
    train_ds, val_ds = random_split(ChurnDataset(), [640, 160])
    train_dl = DataLoader(train_ds, batch_size=32, shuffle=True)
    val_dl = DataLoader(val_ds, batch_size=80)
    model = TabularNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(5):
        model.train()
        for num, cat, target in train_dl:
            optimizer.zero_grad()
            logits = model(num, cat)
            loss = criterion(logits, target.unsqueeze(1))
            loss.backward()
            optimizer.step()

        model.eval()
        correct = 0
        with torch.no_grad():
            for num, cat, target in val_dl:
                logits = model(num, cat)
                predicted = (logits.squeeze(1) > 0).float()
                correct += (predicted == target).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} val acc {correct / len(val_ds):.3f}")


if __name__ == "__main__":
    main()
