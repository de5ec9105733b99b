# %% [markdown]
# Exercise 3: recognise small digit images with a convolutional network.

# %%
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim import Adam
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(42)


# %%
class DigitsDataset(Dataset):
    """8x8 digits as (image, target) pairs."""

    def __init__(self):
        bunch = load_digits()
        self.images = torch.tensor(bunch.images, dtype=torch.float32).unsqueeze(1) / 16.0
        self.targets = torch.tensor(bunch.target, dtype=torch.long)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, idx):
        return self.images[idx], self.targets[idx]


data = DigitsDataset()
train_set, valid_set = random_split(data, [1400, len(data) - 1400])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=64)


# %%
class DigitCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(24 * 2 * 2, 32),
            nn.ReLU(),
            nn.Linear(32, 10),
        )

    def forward(self, batch):
        return self.classifier(self.features(batch))


# %%
model = DigitCNN()
loss_func = nn.CrossEntropyLoss()
optimiser = Adam(model.parameters(), lr=2e-3)


def train_model(model, loader, optimiser, loss_func):
    model.train()
    losses = []
    for batch, targets in loader:
        optimiser.zero_grad()
        preds = model(batch)
        loss = loss_func(preds, targets)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def validate_model(model, loader, loss_func):
    model.eval()
    total, right = 0.0, 0
    for batch, targets in loader:
        preds = model(batch)
        total += loss_func(preds, targets).item() * len(targets)
        right += (preds.argmax(dim=1) == targets).sum().item()
    return total / len(loader.dataset), right / len(loader.dataset)


# %%
for epoch in range(6):
    train_loss = train_model(model, train_loader, optimiser, loss_func)
    valid_loss, valid_acc = validate_model(model, valid_loader, loss_func)
    print(f"epoch {epoch}: train {train_loss:.3f}, valid {valid_loss:.3f}, accuracy {valid_acc:.3f}")

# %% Look at a few single predictions
model.eval()
for idx in range(8):
    image, target = valid_set[idx]
    with torch.no_grad():
        prediction = model(image.unsqueeze(0)).squeeze(0)
    guess = torch.argmax(prediction).item()
    truth = torch.argmax(target).item()
    verdict = "ok" if guess == truth else "WRONG"
    print(f"item {idx}: prediction {guess}, target {truth} -> {verdict}")
