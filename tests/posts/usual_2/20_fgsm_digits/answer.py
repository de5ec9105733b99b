import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

MEAN, STD = 0.1307, 0.3081
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.fc = nn.Linear(16 * 6 * 6, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.flatten(1))


def make_digits(n=256):
    labels = torch.randint(0, 10, (n,))
    images = 0.3 * torch.rand(n, 1, 28, 28)
    for i, k in enumerate(labels.tolist()):
        images[i, 0, 2 * k : 2 * k + 6, 4:24] += 0.6
    return images.clamp(0, 1), labels


def normalize(x):
    return (x - MEAN) / STD


def train(model, loader, epochs=3):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            loss = F.cross_entropy(model(normalize(data)), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def fgsm_attack(model, loader, epsilon):
    model.eval()
    correct = total = 0
    for data, target in loader:
        data, target = data.to(device), target.to(device)
        data.requires_grad = True
        output = model(normalize(data))

        loss = F.cross_entropy(output, target)
        model.zero_grad()
        loss.backward()

        perturbed = (data + epsilon * data.grad.sign()).clamp(0, 1)
        with torch.no_grad():
            adv_output = model(normalize(perturbed))
        correct += (adv_output.argmax(1) == target).sum().item()
        total += target.size(0)
    return correct / total


torch.manual_seed(0)
images, labels = make_digits()
loader = DataLoader(TensorDataset(images, labels), batch_size=64)
model = Net().to(device)
train(model, loader)
for eps in (0.0, 0.1, 0.3):
    print(f"eps {eps}: accuracy {fgsm_attack(model, loader, eps):.3f}")
