import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader


class SimpleNet(nn.Module):
    def __init__(self):
        super(SimpleNet, self).__init__()
        self.fc1 = nn.Linear(3 * 16 * 16, 84)
        self.fc2 = nn.Linear(84, 50)
        self.fc3 = nn.Linear(50, 2)

    def forward(self, x):
        x = x.view(-1, 3 * 16 * 16)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def fake_pets(n):
    targets = torch.randint(0, 2, (n,))
    images = torch.randn(n, 3, 16, 16) + 0.03 * (2.0 * targets.view(-1, 1, 1, 1) - 1.0)
    return TensorDataset(images, targets)


def train(model, optimizer, loss_fn, train_loader, val_loader, epochs=5):
    for epoch in range(epochs):
        training_loss = 0.0
        valid_loss = 0.0
        model.train()
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(inputs), targets)
            loss.backward()
            optimizer.step()
            training_loss += loss.item() * inputs.size(0)
        training_loss /= len(train_loader.dataset)

        model.eval()
        num_correct = 0
        num_examples = 0
        for inputs, targets in val_loader:
            output = model(inputs)
            valid_loss += loss_fn(output, targets).item() * inputs.size(0)
            correct = torch.eq(torch.max(F.softmax(output, dim=1), dim=1)[1], targets)
            num_correct += torch.sum(correct).item()
            num_examples += correct.shape[0]
        valid_loss /= len(val_loader.dataset)
        print("Epoch: {}, Training Loss: {:.2f}, Validation Loss: {:.2f}, accuracy = {:.2f}".format(
            epoch, training_loss, valid_loss, num_correct / num_examples))


torch.manual_seed(0)
simplenet = SimpleNet()
train(simplenet, optim.Adam(simplenet.parameters(), lr=0.001), nn.CrossEntropyLoss(),
      DataLoader(fake_pets(128), batch_size=32, shuffle=True), DataLoader(fake_pets(70), batch_size=32))

labels = ["cat", "fish"]
img = fake_pets(1)[0][0].unsqueeze(0)
prediction = simplenet(img).argmax()
print(labels[prediction])
