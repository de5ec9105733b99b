import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset
from torchvision import models


def get_data(n=96, n_classes=3):
    y = torch.randint(0, n_classes, (n,))
    x = torch.randn(n, 3, 48, 48)
    x[:, 0] += y.view(-1, 1, 1) - 1.0
    split = int(0.75 * n)
    return {
        "train": DataLoader(TensorDataset(x[:split], y[:split]), batch_size=12, shuffle=True),
        "val": DataLoader(TensorDataset(x[split:], y[split:]), batch_size=24),
    }


class Trainer:
    def __init__(self, model, lr=1e-2, step_size=3):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        trainable = [p for p in model.parameters() if p.requires_grad]
        self.optimizer = optim.SGD(trainable, lr=lr, momentum=0.9)
        self.scheduler = lr_scheduler.StepLR(self.optimizer, step_size=step_size, gamma=0.1)

    def run(self, loaders, epochs):
        for epoch in range(epochs):
            for phase in ["train", "val"]:
                self.model.train(phase == "train")
                loss_sum, correct, n = 0.0, 0, 0
                for inputs, labels in loaders[phase]:
                    self.optimizer.zero_grad()
                    with torch.set_grad_enabled(phase == "train"):
                        outputs = self.model(inputs)
                        loss = self.criterion(outputs, labels)
                        if phase == "train":
                            loss.backward()
                            self.optimizer.step()
                    loss_sum += loss.item() * inputs.size(0)
                    correct += (outputs.argmax(1) == labels).sum().item()
                    n += inputs.size(0)
                print(f"epoch {epoch} {phase:5s} loss {loss_sum / n:.4f} acc {correct / n:.3f}")
            self.scheduler.step()


torch.manual_seed(0)
loaders = get_data()

model = models.resnet18(weights=None)
for name, p in model.named_parameters():
    if not name.startswith(("layer4", "fc")):
        p.requires_grad = False

num_ftrs = model.fc.in_features
model.fc = nn.Linear(num_ftrs, 3)

trainer = Trainer(model, lr=1e-2)

trainer.run(loaders, epochs=2)
