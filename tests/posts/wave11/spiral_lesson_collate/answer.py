import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam

SEED = 1234
np.random.seed(SEED)
torch.manual_seed(SEED)


def make_spiral(num_samples=300, num_classes=3):
    per_class = num_samples // num_classes
    X, y = [], []
    for c in range(num_classes):
        r = np.linspace(0.1, 1, per_class)
        theta = np.linspace(c * 4, (c + 1) * 4, per_class) + 0.2 * np.random.randn(per_class)
        X.append(np.stack([r * np.sin(theta), r * np.cos(theta)], axis=1))
        y += [f'c{c}'] * per_class
    return np.concatenate(X), np.array(y)


class LabelEncoder(object):
    def __init__(self, y):
        self.classes = np.unique(y)
        self.class_to_index = {c: i for i, c in enumerate(self.classes)}

    def encode(self, y):
        return np.array([self.class_to_index[item] for item in y])


class Dataset(torch.utils.data.Dataset):
    def __init__(self, X, y):
        self.X = X
        self.y = y

    def __len__(self):
        return len(self.y)

    def __str__(self):
        return f"<Dataset(N={len(self)})>"

    def __getitem__(self, index):
        X = self.X[index]
        y = self.y[index]
        return [X, y]

    def collate_fn(self, batch):
        """Processing on a batch."""
        # Get inputs
        batch = np.array(batch, dtype=object)
        X = np.stack(batch[:, 0], axis=0)
        y = np.stack(batch[:, 1], axis=0)

        # Cast
        X = torch.FloatTensor(X.astype(np.float32))
        y = torch.LongTensor(y.astype(np.int32))
        return X, y

    def create_dataloader(self, batch_size, shuffle=False, drop_last=False):
        return torch.utils.data.DataLoader(dataset=self, batch_size=batch_size, collate_fn=self.collate_fn,
                                           shuffle=shuffle, drop_last=drop_last)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, dropout_p, num_classes):
        super().__init__()
        self.fc1 = nn.Linear(input_dim, hidden_dim)
        self.dropout = nn.Dropout(dropout_p)
        self.fc2 = nn.Linear(hidden_dim, num_classes)

    def forward(self, inputs):
        x_in, = inputs
        z = F.relu(self.fc1(x_in))
        return self.fc2(self.dropout(z))


X, y = make_spiral()
label_encoder = LabelEncoder(y)
y = label_encoder.encode(y)
order = np.random.permutation(len(X))
X, y = X[order], y[order]
X = (X - X[:210].mean(0)) / X[:210].std(0)

train_dataset = Dataset(X=X[:210], y=y[:210])
val_dataset = Dataset(X=X[210:], y=y[210:])
print(train_dataset, val_dataset, train_dataset[0])

train_dataloader = train_dataset.create_dataloader(batch_size=64, shuffle=True)
val_dataloader = val_dataset.create_dataloader(batch_size=64)
batch_X, batch_y = next(iter(train_dataloader))
print(batch_X.shape, batch_y.shape)

model = MLP(input_dim=2, hidden_dim=100, dropout_p=0.1, num_classes=len(label_encoder.classes))
optimizer = Adam(model.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    for *inputs, targets in train_dataloader:
        optimizer.zero_grad()
        J = loss_fn(model(inputs), targets)
        J.backward()
        optimizer.step()
model.eval()
with torch.inference_mode():
    correct = sum((model(inputs).argmax(1) == targets).sum().item() for *inputs, targets in val_dataloader)
print(f'val accuracy {correct / len(val_dataset):.3f}')
