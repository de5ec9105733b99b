import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

use_gpu = torch.cuda.is_available()
device = torch.device("cuda:0" if use_gpu else "cpu")


class SharedNet(nn.Module):
    """Shared convolutional trunk with one classification head per task."""

    def __init__(self, n_classes_per_task):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(32 * 4 * 4, 64),
            nn.ReLU(),
        )
        self.heads = nn.ModuleList(nn.Linear(64, n) for n in n_classes_per_task)

    def forward(self, x, task):
        x = self.features(x).flatten(1)
        return self.heads[task](self.classifier(x))


def create_freeze_layers(model, prefixes=("features.",)):
    """Collect the names of the parameters that stay fixed, and set the gradient flags."""
    freeze_layers = []
    for name, param in model.named_parameters():
        if name.startswith(tuple(prefixes)):
            freeze_layers.append(name)
            param.requires_grad = False
        else:
            param.requires_grad = True
    return freeze_layers


def make_task(n_classes, seed):
    g = torch.Generator().manual_seed(seed)
    prototypes = torch.randn(n_classes, 3, 16, 16, generator=g)
    labels = torch.randint(0, n_classes, (320,), generator=g)
    images = prototypes[labels] + 0.8 * torch.randn(320, 3, 16, 16, generator=g)
    return TensorDataset(images, labels)


def train_task(model, dataset, task, freeze_layers, epochs=4, lr=0.01):
    print(f"task {task}: {len(freeze_layers)} tensors are kept fixed")
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(params, lr=lr, momentum=0.9)
    loader = DataLoader(dataset, batch_size=32, shuffle=True)
    model.train()
    for epoch in range(epochs):
        running_loss, running_corrects = 0.0, 0
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            optimizer.zero_grad()
            output = model(images, task)
            loss = F.cross_entropy(output, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * images.size(0)
            running_corrects += (output.argmax(1) == labels).sum().item()
        n = len(dataset)
        print(f"  epoch {epoch}: loss {running_loss / n:.4f}, acc {running_corrects / n:.4f}")


@torch.no_grad()
def compute_accuracy(model, dataset, task):
    model.eval()
    correct = 0
    for images, labels in DataLoader(dataset, batch_size=64):
        output = model(images.to(device), task)
        correct += (output.argmax(1).cpu() == labels).sum().item()
    return correct / len(dataset)


def main():
    torch.manual_seed(0)
    classes = [5, 5]
    model = SharedNet(classes).to(device)
    tasks = [make_task(n, seed=t) for t, n in enumerate(classes)]
    freeze_layers = create_freeze_layers(model)
    for t, dataset in enumerate(tasks):
        train_task(model, dataset, t, freeze_layers)
    for t, dataset in enumerate(tasks):
        print(f"accuracy on task {t}: {compute_accuracy(model, dataset, t):.3f}")


if __name__ == "__main__":
    main()
