"""Transfer learning service job: load the house backbone, put a new head on, fine-tune."""
import torch
import torch.nn as nn
from sklearn.metrics import balanced_accuracy_score
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import shufflenet_v2_x0_5

CONFIG = {
    "labels": ["intact", "dented", "torn", "wet"],
    "lr": 1e-2,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "epochs": 6,
    "batch_size": 16,
    "seed": 17,
}


def parcels(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(len(CONFIG["labels"]), (n,), generator=g)
    x = 0.3 * torch.randn(n, 3, 32, 32, generator=g)
    x[y == 1, :, 8:24, 8:24] += 1.0
    x[y == 2, :, :, ::4] += 1.0
    x[y == 3, 2] += 1.0
    return TensorDataset(x, y)


class FineTuner:
    def __init__(self, config):
        self.config = config
        torch.manual_seed(config["seed"])
        self.model = shufflenet_v2_x0_5(weights=None)
        self.optimizer = torch.optim.SGD(
            [p for p in self.model.parameters() if p.requires_grad],
            lr=config["lr"], momentum=config["momentum"], weight_decay=config["weight_decay"],
        )
        self.criterion = nn.CrossEntropyLoss()

    def setup_head(self):
        n_labels = len(self.config["labels"])
        in_features = self.model.fc.in_features
        self.model.fc = nn.Sequential(nn.Dropout(0.2), nn.Linear(in_features, n_labels))

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for images, labels in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(images), labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * labels.size(0)
        return total / len(loader.dataset)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        y_true, y_pred = [], []
        for images, labels in loader:
            y_pred.extend(self.model(images).argmax(1).tolist())
            y_true.extend(labels.tolist())
        return balanced_accuracy_score(y_true, y_pred)


def main():
    tuner = FineTuner(CONFIG)
    tuner.setup_head()
    train_loader = DataLoader(parcels(160, 0), batch_size=CONFIG["batch_size"], shuffle=True)
    val_loader = DataLoader(parcels(48, 1), batch_size=48)
    for epoch in range(CONFIG["epochs"]):
        loss = tuner.train_epoch(train_loader)
        print(f"epoch {epoch}: loss {loss:.3f} balanced accuracy {tuner.evaluate(val_loader):.3f}")


if __name__ == "__main__":
    main()
