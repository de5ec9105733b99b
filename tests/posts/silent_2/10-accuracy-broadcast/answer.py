import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class ChurnModel(nn.Module):
    def __init__(self, n_numeric, cardinalities):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(c, 4) for c in cardinalities])
        self.mlp = nn.Sequential(
            nn.Linear(n_numeric + 4 * len(cardinalities), 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 1),
        )

    def forward(self, numeric, categorical):
        parts = [emb(categorical[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat([numeric] + parts, dim=1))


def run():
    torch.manual_seed(7)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    n = 600
    numeric = torch.randn(n, 6)
    categorical = torch.stack([torch.randint(0, c, (n,)) for c in (3, 5, 12)], dim=1)
    churned = (numeric[:, 0] + 0.5 * numeric[:, 1] > 0).float()
    dataset = TensorDataset(numeric, categorical, churned)
    train_set, val_set = random_split(dataset, [480, 120])
    train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=40)

    model = ChurnModel(6, (3, 5, 12)).to(device)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    for epoch in range(4):
        model.train()
        for num, cat, y in train_loader:
            num, cat, y = num.to(device), cat.to(device), y.to(device)
            optimizer.zero_grad()
            logits = model(num, cat)
            loss = criterion(logits, y.unsqueeze(1))
            loss.backward()
            optimizer.step()

        model.eval()
        correct = 0
        with torch.no_grad():
            for num, cat, y in val_loader:
                num, cat, y = num.to(device), cat.to(device), y.to(device)
                probs = torch.sigmoid(model(num, cat))
                preds = (probs > 0.5).float()
                correct += (preds.squeeze(1) == y).sum().item()
        acc = 100.0 * correct / len(val_set)
        print(f"epoch {epoch}: loss {loss.item():.4f}, val accuracy {acc:.1f}%")


if __name__ == "__main__":
    run()
