import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
NUM_ACTIVITIES = 12


class ActivityNet(nn.Module):
    """Activity of a person from consecutive windows of features of a wrist sensor."""

    def __init__(self, num_features=256, hidden=512, num_classes=NUM_ACTIVITIES):
        super().__init__()
        self.normalise = nn.LayerNorm(num_features)
        self.recurrent = nn.LSTM(num_features, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.3)
        self.classifier = nn.Linear(hidden, num_classes)

    def forward(self, windows):
        _, (h_n, _) = self.recurrent(self.normalise(windows))
        summary = h_n[:, -1]
        return self.classifier(self.dropout(summary))


features = torch.randn(200, 8, 256)
activity = torch.randint(0, NUM_ACTIVITIES, (200,))
train_loader = DataLoader(TensorDataset(features, activity), batch_size=60, shuffle=True)

model = ActivityNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)

for epoch in range(2):
    correct, seen = 0, 0
    for windows, labels in train_loader:
        optimizer.zero_grad()
        logits = model(windows)
        loss = criterion(logits, labels)
        loss.backward()
        optimizer.step()
        correct += (logits.argmax(dim=1) == labels).sum().item()
        seen += labels.size(0)
    print(f'epoch {epoch}: loss {loss.item():.3f} accuracy {correct / seen:.3f}')
