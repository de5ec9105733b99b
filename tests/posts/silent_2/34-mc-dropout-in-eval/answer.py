import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

N_SAMPLES = 20
EPOCHS = 30


class BayesianRegressor(nn.Module):
    def __init__(self, n_in, width=64, p=0.2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x)


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


@torch.no_grad()
def predict_with_uncertainty(model, x, n_samples=N_SAMPLES):
    model.eval()
    enable_dropout(model)
    draws = torch.stack([model(x) for _ in range(n_samples)])
    return draws.mean(dim=0), draws.std(dim=0)


def fit(model, loader, device):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
    criterion = nn.MSELoss()
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * x.size(0)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1} mse {total / len(loader.dataset):.4f}")


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.rand(400, 1) * 4 - 2
    y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
    train_loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = BayesianRegressor(1).to(device)
    fit(model, train_loader, device)

    grid = torch.linspace(-4, 4, 9, device=device).unsqueeze(1)
    mean, std = predict_with_uncertainty(model, grid)
    for g, m, s in zip(grid.flatten().tolist(), mean.flatten().tolist(), std.flatten().tolist()):
        print(f"x {g:+.1f}  mean {m:+.3f}  std {s:.3f}")


if __name__ == "__main__":
    main()
