# Sign language letters from hand landmarks (21 points, x and y)
import torch
import torch.nn as nn
import torch.optim as optim
from sklearn.metrics import classification_report
from torch.utils.data import DataLoader, TensorDataset

LETTERS = "ABCDEF"
torch.manual_seed(42)


def landmarks(n, seed):
    gen = torch.Generator().manual_seed(seed)
    shapes = torch.rand(len(LETTERS), 42, generator=torch.Generator().manual_seed(7))
    y = torch.randint(len(LETTERS), (n,), generator=gen)
    x = shapes[y] + 0.15 * torch.randn(n, 42, generator=gen)
    return TensorDataset(x, y)


class SignNet(nn.Module):
    def __init__(self, hidden_size=64, num_classes=len(LETTERS)):
        super(SignNet, self).__init__()
        self.fc1 = nn.Linear(42, hidden_size)
        self.fc2 = nn.Linear(hidden_size, hidden_size)
        self.fc3 = nn.Linear(hidden_size, num_classes)
        self.dropout = nn.Dropout(0.1)
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.relu(self.fc1(x))
        out = self.dropout(out)
        out = self.relu(self.fc2(out))
        out = self.fc3(out)
        return out


trainloader = DataLoader(landmarks(600, 0), batch_size=32, shuffle=True)
testloader = DataLoader(landmarks(150, 1), batch_size=64)

net = SignNet()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(6):
    net.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(trainloader):
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print("[%d] loss: %.3f" % (epoch + 1, running_loss / (i + 1)))

net.eval()
y_true, y_pred = [], []
with torch.no_grad():
    for inputs, labels in testloader:
        outputs = net(inputs)
        _, predicted = torch.max(outputs, 1)
        y_true.extend(labels.tolist())
        y_pred.extend(predicted.tolist())
print(classification_report(y_true, y_pred, target_names=list(LETTERS), zero_division=0))
