import os
import tempfile
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AudioCNN(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(40, 64, 5, padding=2),
            nn.BatchNorm1d(64),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(64, 128, 5, padding=2),
            nn.BatchNorm1d(128),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(1),
        )
        self.classifier = nn.Linear(128, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def fit(model, loader, epochs, lr):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        print(f"  epoch {epoch} loss {loss.item():.4f}")


path = os.path.join(tempfile.mkdtemp(), "pretrained.pt")

# stage 1: pretraining on 35 keywords (MFCC features, 40 x 101 frames)
print("pretraining")
big = DataLoader(TensorDataset(torch.randn(128, 40, 101), torch.randint(0, 35, (128,))), batch_size=32, shuffle=True)
base = AudioCNN(n_classes=35)
fit(base, big, epochs=2, lr=1e-3)
torch.save({"model": base.state_dict(), "n_classes": 35}, path)

# stage 2: our own 6 commands
print("fine-tuning")
small = DataLoader(TensorDataset(torch.randn(48, 40, 101), torch.randint(0, 6, (48,))), batch_size=16, shuffle=True)
model = AudioCNN(n_classes=6)
state = torch.load(path)["model"]
missing = model.load_state_dict(state, strict=False)
print(missing)

for p in model.features.parameters():
    p.requires_grad = False

fit(model, small, epochs=2, lr=1e-3)
