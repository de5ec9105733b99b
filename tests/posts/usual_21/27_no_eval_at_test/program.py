import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)

# ---- data -----------------------------------------------------------
N = 600
labels = torch.randint(0, 4, (N,))
images = 0.5 * torch.randn(N, 1, 28, 28)
for i, k in enumerate(labels.tolist()):
    r, c = divmod(k, 2)
    images[i, 0, 14 * r + 3:14 * r + 9, 14 * c + 3:14 * c + 9] += 0.6

dataset = TensorDataset(images, labels)
train_set, test_set = random_split(dataset, [500, 100])
train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
test_loader = DataLoader(test_set, batch_size=10)

# ---- model ----------------------------------------------------------
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.5),
    nn.Linear(32 * 7 * 7, 64),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(64, 4),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

# ---- training -------------------------------------------------------
for epoch in range(4):
    running = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
    print(f"epoch {epoch}: loss {running / len(train_set):.4f}")

# ---- test -----------------------------------------------------------
correct = 0
with torch.no_grad():
    for x, y in test_loader:
        outputs = model(x)
        correct += (outputs.argmax(dim=1) == y).sum().item()
print(f"test accuracy: {correct / len(test_set):.3f}")


def predict(image):
    with torch.no_grad():
        probs = model(image.unsqueeze(0)).softmax(dim=1)
    return probs.squeeze(0)


print([round(p, 3) for p in predict(test_set[0][0]).tolist()])
print([round(p, 3) for p in predict(test_set[0][0]).tolist()])
