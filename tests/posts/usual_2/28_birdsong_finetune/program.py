import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SongEncoder(nn.Module):
    """Encoder of mel spectrograms, trained elsewhere on a big corpus."""

    def __init__(self, dim=64):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, stride=2, padding=1)
        self.conv3 = nn.Conv2d(32, dim, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = torch.relu(self.conv3(x))
        return self.pool(x).flatten(1)


class BirdClassifier(nn.Module):
    def __init__(self, encoder, dim, n_species):
        super().__init__()
        self.encoder = encoder
        self.fc = nn.Linear(dim, n_species)

    def forward(self, x):
        return self.fc(self.encoder(x))


def pretrained_encoder():
    torch.manual_seed(42)
    return SongEncoder()


def build_model(n_species, finetune_encoder=False):
    encoder = pretrained_encoder()
    if not finetune_encoder:
        for param in encoder.parameters():
            param.require_grad = False
    return BirdClassifier(encoder, 64, n_species)


def train(model, loader, epochs=3, lr=1e-2):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        running, correct = 0.0, 0
        for mel, species in loader:
            optimizer.zero_grad()
            logits = model(mel)
            loss = criterion(logits, species)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(species)
            correct += (logits.argmax(1) == species).sum().item()
        n = len(loader.dataset)
        print(f"epoch {epoch}: loss {running / n:.4f} acc {correct / n:.3f}")


if __name__ == "__main__":
    model = build_model(n_species=6, finetune_encoder=False)
    torch.manual_seed(0)
    species = torch.randint(0, 6, (120,))
    mels = torch.rand(120, 1, 32, 48)
    for i, s in enumerate(species.tolist()):
        mels[i, 0, 5 * s : 5 * s + 5] += 0.5
    loader = DataLoader(TensorDataset(mels, species), batch_size=24, shuffle=True)
    train(model, loader)
