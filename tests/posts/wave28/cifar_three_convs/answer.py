import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.sampler import SubsetRandomSampler

batch_size = 20
valid_size = 0.2
classes = ['airplane', 'automobile', 'bird', 'cat', 'deer',
           'dog', 'frog', 'horse', 'ship', 'truck']


def make_images(n, seed):
    rng = np.random.RandomState(seed)
    labels = rng.randint(0, len(classes), size=n)
    images = rng.uniform(0, 1, size=(n, 3, 32, 32)).astype(np.float32)
    images += 0.05 * labels[:, None, None, None]
    images = (images - 0.5) / 0.5
    return TensorDataset(torch.from_numpy(images.astype(np.float32)), torch.from_numpy(labels))


train_data = make_images(400, 0)
test_data = make_images(100, 1)

# split the training indices for validation
num_train = len(train_data)
indices = list(range(num_train))
np.random.shuffle(indices)
split = int(np.floor(valid_size * num_train))
train_idx, valid_idx = indices[split:], indices[:split]

train_loader = DataLoader(train_data, batch_size=batch_size, sampler=SubsetRandomSampler(train_idx))
valid_loader = DataLoader(train_data, batch_size=batch_size, sampler=SubsetRandomSampler(valid_idx))
test_loader = DataLoader(test_data, batch_size=batch_size)


class CifarNet(nn.Module):
    def __init__(self):
        super(CifarNet, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.conv3 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, 120)
        self.fc2 = nn.Linear(120, len(classes))

    def forward(self, x):
        # three blocks of convolution and max pooling
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = self.pool(F.relu(self.conv3(x)))
        # flatten image input
        x = x.view(-1, 32 * 4 * 4)
        x = self.dropout(x)
        x = F.relu(self.fc1(x))
        x = self.dropout(x)
        x = self.fc2(x)
        return x


model = CifarNet()
print(model)

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(model.parameters(), lr=0.01)

n_epochs = 2
valid_loss_min = np.inf
best_state = None

for epoch in range(1, n_epochs + 1):
    train_loss = 0.0
    valid_loss = 0.0

    model.train()
    for data, target in train_loader:
        optimizer.zero_grad()
        output = model(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)

    model.eval()
    with torch.no_grad():
        for data, target in valid_loader:
            output = model(data)
            loss = criterion(output, target)
            valid_loss += loss.item() * data.size(0)

    train_loss = train_loss / len(train_idx)
    valid_loss = valid_loss / len(valid_idx)
    print('Epoch: {} \tTraining Loss: {:.6f} \tValidation Loss: {:.6f}'.format(epoch, train_loss, valid_loss))

    if valid_loss <= valid_loss_min:
        best_state = {k: v.clone() for k, v in model.state_dict().items()}
        valid_loss_min = valid_loss

model.load_state_dict(best_state)
model.eval()
class_correct = np.zeros(len(classes))
class_total = np.zeros(len(classes))
with torch.no_grad():
    for data, target in test_loader:
        pred = model(data).argmax(1)
        for p, t in zip(pred.tolist(), target.tolist()):
            class_correct[t] += int(p == t)
            class_total[t] += 1
print('Test Accuracy (Overall): %2d%%' % (100. * class_correct.sum() / class_total.sum()))
