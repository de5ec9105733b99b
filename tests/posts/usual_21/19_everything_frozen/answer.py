import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import efficientnet_b0

NUM_CLASSES = 4
BATCH_SIZE = 8
EPOCHS = 2


def get_model(num_classes):
    model = efficientnet_b0(weights=None)
    in_features = model.classifier[1].in_features
    for param in model.parameters():
        param.requires_grad = False
    model.classifier[1] = nn.Linear(in_features, num_classes)
    return model


def get_loader():
    torch.manual_seed(0)
    images = torch.randn(32, 3, 64, 64)
    labels = torch.randint(0, NUM_CLASSES, (32,))
    return DataLoader(TensorDataset(images, labels), batch_size=BATCH_SIZE, shuffle=True)


def train_step(model, images, labels, criterion, optimizer):
    outputs = model(images)
    loss = criterion(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), (outputs.argmax(1) == labels).sum().item()


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = get_model(NUM_CLASSES).to(device)
    loader = get_loader()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    model.train()
    for epoch in range(EPOCHS):
        epoch_loss, epoch_hits = 0.0, 0
        for images, labels in loader:
            loss, hits = train_step(model, images.to(device), labels.to(device), criterion, optimizer)
            epoch_loss += loss
            epoch_hits += hits
        print(f"[{epoch + 1}/{EPOCHS}] loss={epoch_loss / len(loader):.4f} "
              f"acc={epoch_hits / len(loader.dataset):.3f}")


if __name__ == "__main__":
    main()
