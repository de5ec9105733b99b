import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader
from sklearn.preprocessing import MinMaxScaler
from sklearn.model_selection import train_test_split

rng = np.random.default_rng(0)
torch.manual_seed(0)

# Titanic-like data
n = 700
titanic = pd.DataFrame({
    'Pclass': rng.integers(1, 4, n),
    'Sex': rng.choice(['male', 'female'], n),
    'Age': np.where(rng.random(n) < 0.1, np.nan, rng.normal(30, 12, n)),
    'SibSp': rng.integers(0, 4, n),
    'Fare': rng.exponential(30, n),
})
p = 1 / (1 + np.exp(-(2.5 * (titanic.Sex == 'female') - 0.8 * titanic.Pclass + 0.5)))
titanic['Survived'] = (rng.random(n) < p).astype(int)

titanic['Sex'] = titanic['Sex'].map({'male': 0, 'female': 1})
titanic['Age'] = titanic['Age'].fillna(titanic['Age'].median())

features = ['Pclass', 'Sex', 'Age', 'SibSp', 'Fare']
X = MinMaxScaler().fit_transform(titanic[features])
y = titanic['Survived'].to_numpy()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=3)

X_train = torch.FloatTensor(X_train)
y_train = torch.FloatTensor(y_train)
X_test = torch.FloatTensor(X_test)
y_test = torch.FloatTensor(y_test)

train_loader = DataLoader(TensorDataset(X_train, y_train), batch_size=25, shuffle=True)


class BinaryClassifier(nn.Module):
    def __init__(self, input_size):
        super(BinaryClassifier, self).__init__()
        self.fc1 = nn.Linear(input_size, 24)
        self.fc2 = nn.Linear(24, 12)
        self.fc3 = nn.Linear(12, 1)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.sigmoid(self.fc3(x))


model = BinaryClassifier(len(features))
criterion = nn.BCELoss()
optimizer = optim.Adam(model.parameters(), lr=0.005)

for epoch in range(1, 11):
    model.train()
    losses = []
    for inputs, targets in train_loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if epoch % 5 == 0:
        print('Epoch', epoch, 'loss', round(np.mean(losses), 4))

model.eval()
with torch.no_grad():
    preds = (model(X_test).squeeze() > 0.5).float()
    acc = (preds == y_test).float().mean().item()
print('Test accuracy:', acc)
