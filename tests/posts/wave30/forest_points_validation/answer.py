import numpy as np
import pandas as pd
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ["terrain", "vegetation", "cwd", "stem"]


class PlotBoxes(Dataset):
    """Cubes of points cut from forest plots, one class per point."""

    def __init__(self, n_boxes, n_points=256, seed=0):
        rng = np.random.default_rng(seed)
        self.boxes = []
        for _ in range(n_boxes):
            label = rng.choice(4, size=n_points, p=[0.35, 0.4, 0.05, 0.2])
            xyz = rng.uniform(-1, 1, size=(n_points, 3))
            xyz[label == 0, 2] = -0.9 + 0.05 * rng.normal(size=(label == 0).sum())
            xyz[label == 2, 2] = -0.7 + 0.05 * rng.normal(size=(label == 2).sum())
            stem = label == 3
            xyz[stem, :2] = rng.uniform(-0.6, 0.6, size=2) + 0.04 * rng.normal(size=(stem.sum(), 2))
            self.boxes.append((xyz.astype(np.float32), label))

    def __len__(self):
        return len(self.boxes)

    def __getitem__(self, i):
        xyz, label = self.boxes[i]
        return torch.from_numpy(xyz), torch.from_numpy(label)


class PointSeg(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.local = nn.Sequential(nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 64, 1), nn.ReLU())
        self.head = nn.Sequential(
            nn.Conv1d(128, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Conv1d(64, n_classes, 1)
        )

    def forward(self, points):
        x = self.local(points.transpose(1, 2))
        g = x.max(dim=2, keepdim=True).values.expand_as(x)
        return self.head(torch.cat([x, g], dim=1))


class TrainModel:
    def __init__(self, parameters):
        self.parameters = parameters
        self.model = PointSeg(len(CLASSES))
        self.training_history = []

    def run_training(self):
        p = self.parameters
        train_loader = DataLoader(PlotBoxes(p["train_boxes"], seed=1), batch_size=p["batch_size"], shuffle=True)
        validation_loader = DataLoader(PlotBoxes(p["val_boxes"], seed=2), batch_size=p["batch_size"])
        optimizer = torch.optim.Adam(self.model.parameters(), lr=p["learning_rate"])
        criterion = nn.CrossEntropyLoss()

        for epoch in range(p["num_epochs"]):
            self.model.train()
            running_loss, running_acc = 0.0, 0.0
            for points, label in train_loader:
                optimizer.zero_grad()
                outputs = self.model(points)
                loss = criterion(outputs, label)
                loss.backward()
                optimizer.step()
                running_loss += loss.item()
                running_acc += (outputs.argmax(1) == label).float().mean().item()
            epoch_loss = running_loss / len(train_loader)
            epoch_acc = running_acc / len(train_loader)

            self.model.eval()
            running_loss, running_acc = 0.0, 0.0
            with torch.no_grad():
                for points, label in validation_loader:
                    outputs = self.model(points)
                    running_loss += criterion(outputs, label).item()
                    running_acc += (outputs.argmax(1) == label).float().mean().item()
            val_epoch_loss = running_loss / len(validation_loader)
            val_epoch_acc = running_acc / len(validation_loader)
            self.training_history.append([epoch, epoch_loss, epoch_acc, val_epoch_loss, val_epoch_acc])

        columns = ["epoch", "loss", "acc", "val_loss", "val_acc"]
        return pd.DataFrame(self.training_history, columns=columns)


if __name__ == "__main__":
    torch.manual_seed(0)
    parameters = dict(train_boxes=64, val_boxes=16, batch_size=8, num_epochs=6, learning_rate=3e-3)
    history = TrainModel(parameters).run_training()
    print(history.round(3).to_string(index=False))
