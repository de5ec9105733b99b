import numpy as np
import pandas as pd
import torch
import torch.nn as nn

VIEWS = ["CC", "MLO"]
LABELS = ["benign", "malignant"]


class ViewNetwork(nn.Module):
    def __init__(self, channels=8):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels * 2, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.head = nn.Linear(channels * 2, len(LABELS))

    def forward(self, image):
        return torch.sigmoid(self.head(self.features(image)))


class ScreeningModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.cc = ViewNetwork()
        self.mlo = ViewNetwork()

    def forward(self, batch):
        return {"CC": self.cc(batch["CC"]), "MLO": self.mlo(batch["MLO"])}


def make_exams(count):
    labels = torch.randint(0, 2, (count, len(LABELS))).float()
    exams = {}
    for view in VIEWS:
        image = torch.randn(count, 1, 32, 32) * 0.3
        image[:, 0, :16] += labels[:, 0].view(-1, 1, 1)
        image[:, 0, 16:] += 2 * labels[:, 1].view(-1, 1, 1)
        exams[view] = image
    return exams, labels


def average_views(outputs):
    frames = []
    for view in VIEWS:
        frame = pd.DataFrame(outputs[view].detach().cpu().numpy(), columns=LABELS)
        frame["exam"] = np.arange(len(frame))
        frames.append(frame)
    table = pd.concat(frames).groupby("exam")[LABELS].mean()
    return torch.tensor(table.values, requires_grad=True)


def train(model, exams, labels, epochs=15, batch_size=16):
    criterion = nn.BCELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        running = 0.0
        order = torch.randperm(len(labels))
        for chunk in order.split(batch_size):
            batch = {view: exams[view][chunk] for view in VIEWS}
            optimizer.zero_grad()
            predictions = average_views(model(batch))
            loss = criterion(predictions, labels[chunk])
            loss.backward()
            optimizer.step()
            running += loss.item() * len(chunk)
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1}: loss {running / len(labels):.4f}")


if __name__ == "__main__":
    torch.manual_seed(1)
    exams, labels = make_exams(128)
    train(ScreeningModel(), exams, labels)
