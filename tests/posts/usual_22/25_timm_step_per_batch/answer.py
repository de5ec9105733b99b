import timm
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset


class LeafDataset(Dataset):
    def __init__(self, n, num_classes=3, size=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, num_classes, (n,), generator=g)
        self.images = 0.5 * torch.randn(n, 3, size, size, generator=g)
        for i, label in enumerate(self.labels.tolist()):
            self.images[i, label] += 1.0

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


def get_model(num_classes):
    return timm.create_model("resnet10t", pretrained=False, num_classes=num_classes)


def train(num_epochs=4, batch_size=8):
    torch.manual_seed(0)
    train_loader = DataLoader(LeafDataset(96, seed=1), batch_size=batch_size, shuffle=True)
    val_loader = DataLoader(LeafDataset(24, seed=2), batch_size=batch_size)

    model = get_model(num_classes=3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    scheduler = StepLR(optimizer, step_size=2, gamma=0.1)

    for epoch in range(num_epochs):
        model.train()
        train_loss = 0.0
        for images, labels in train_loader:
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
        scheduler.step()

        model.eval()
        hits = 0
        with torch.no_grad():
            for images, labels in val_loader:
                hits += (model(images).argmax(1) == labels).sum().item()
        print(f"epoch {epoch}: loss {train_loss / len(train_loader):.4f} "
              f"val acc {hits / len(val_loader.dataset):.3f} lr {optimizer.param_groups[0]['lr']:.2e}")


if __name__ == "__main__":
    train()
