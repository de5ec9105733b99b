import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def assay_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    direction = torch.randn(40, generator=torch.Generator().manual_seed(4))
    x = torch.randn(n, 40, generator=g)
    y = torch.tanh(x @ direction / 4) + 0.6 * torch.randn(n, generator=g)
    return x, y


class EarlyStopping:
    def __init__(self, patience):
        self.patience = patience
        self.best_loss = float("inf")
        self.best_weights = None
        self.best_epoch = 0
        self.bad_epochs = 0

    def update(self, epoch, loss, model):
        if loss < self.best_loss:
            self.best_loss = loss
            self.best_epoch = epoch
            self.best_weights = model.state_dict()
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
        return self.bad_epochs >= self.patience


def train_one_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return nn.functional.mse_loss(model(x).squeeze(1), y).item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*assay_data(300, seed=0)), batch_size=20, shuffle=True)
    x_val, y_val = assay_data(300, seed=1)

    model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    stopper = EarlyStopping(patience=15)

    for epoch in range(1, 101):
        train_loss = train_one_epoch(model, loader, optimizer)
        val_loss = validate(model, x_val, y_val)
        if epoch % 3 == 1:
            print(f"epoch {epoch:3d}  train {train_loss:.4f}  val {val_loss:.4f}")
        if stopper.update(epoch, val_loss, model):
            print(f"stopped after epoch {epoch}; best epoch {stopper.best_epoch} with {stopper.best_loss:.4f}")
            break

    model.load_state_dict(stopper.best_weights)
    print(f"restored model: val {validate(model, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
