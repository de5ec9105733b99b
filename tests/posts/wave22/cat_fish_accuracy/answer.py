import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batch_size = 64
labels = ["cat", "fish"]


def make_images(n):
    targets = torch.randint(0, 2, (n,))
    images = torch.randn(n, 3, 32, 32) * 0.5
    images[targets == 1, 2] += 0.4
    images[targets == 0, 0] += 0.4
    return TensorDataset(images, targets)


train_data_loader = DataLoader(make_images(512), batch_size=batch_size, shuffle=True)
val_data_loader = DataLoader(make_images(128), batch_size=batch_size)


class SimpleNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3 * 32 * 32, 84)
        self.fc2 = nn.Linear(84, 50)
        self.fc3 = nn.Linear(50, 2)

    def forward(self, x):
        x = x.view(-1, 3 * 32 * 32)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def train(model, optimizer, loss_fn, train_loader, val_loader, epochs=5, device="cpu"):
    for epoch in range(1, epochs + 1):
        training_loss = 0.0
        valid_loss = 0.0
        model.train()
        for inputs, targets in train_loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            output = model(inputs)
            loss = loss_fn(output, targets)
            loss.backward()
            optimizer.step()
            training_loss += loss.item() * inputs.size(0)
        training_loss /= len(train_loader.dataset)

        model.eval()
        num_correct = 0
        num_examples = 0
        with torch.no_grad():
            for inputs, targets in val_loader:
                inputs, targets = inputs.to(device), targets.to(device)
                output = model(inputs)
                valid_loss += loss_fn(output, targets).item() * inputs.size(0)
                probs = F.softmax(output, dim=1)
                predicted = torch.max(probs, dim=1)[1]
                correct = torch.eq(predicted, targets)
                num_correct += correct.sum().item()
                num_examples += correct.shape[0]
        valid_loss /= len(val_loader.dataset)
        print(f"Epoch {epoch}: train {training_loss:.3f} valid {valid_loss:.3f} "
              f"accuracy {num_correct / num_examples:.3f}")


simplenet = SimpleNet().to(device)
optimizer = optim.Adam(simplenet.parameters(), lr=0.001)
train(simplenet, optimizer, nn.CrossEntropyLoss(), train_data_loader, val_data_loader, epochs=5, device=device)
