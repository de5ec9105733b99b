import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(42)

# customers: age, months, monthly charge, number of calls, ... and whether they left
n = 600
features = torch.randn(n, 12)
left = (features[:, 0] - 0.5 * features[:, 3] + 0.3 * torch.randn(n) > 0).long()

dataset = TensorDataset(features, left)
train_set, val_set = random_split(dataset, [480, 120])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=32)


class ChurnNet(nn.Module):
    def __init__(self, n_features, hidden=64):
        super().__init__()
        self.layer_1 = nn.Linear(n_features, hidden)
        self.layer_2 = nn.Linear(hidden, hidden)
        self.layer_out = nn.Linear(hidden, 1)
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(p=0.1)
        self.batchnorm1 = nn.BatchNorm1d(hidden)
        self.batchnorm2 = nn.BatchNorm1d(hidden)

    def forward(self, inputs):
        x = self.batchnorm1(self.relu(self.layer_1(inputs)))
        x = self.batchnorm2(self.relu(self.layer_2(x)))
        return self.layer_out(self.dropout(x))


def binary_acc(y_pred, y_test):
    y_pred_tag = torch.round(torch.sigmoid(y_pred))
    return (y_pred_tag == y_test).float().mean() * 100


device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
model = ChurnNet(features.shape[1]).to(device)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.001)

for e in range(1, 6):
    model.train()
    epoch_loss, epoch_acc = 0, 0
    for X, y in train_loader:
        X, y = X.to(device), y.to(device)
        optimizer.zero_grad()
        y_pred = model(X)
        loss = criterion(y_pred.squeeze(), y)
        acc = binary_acc(y_pred.squeeze(), y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    print(f'Epoch {e:02}: | Loss: {epoch_loss / len(train_loader):.5f} | Acc: {epoch_acc / len(train_loader):.3f}')

model.eval()
correct = 0
with torch.no_grad():
    for X, y in val_loader:
        pred = torch.sigmoid(model(X.to(device)).squeeze()) > 0.5
        correct += (pred.cpu() == y).sum().item()
print('validation accuracy', correct / len(val_set))
