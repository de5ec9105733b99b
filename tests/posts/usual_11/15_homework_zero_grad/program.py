# Deep Learning course, assignment 2: image classification with a CNN
# Part 3 - put everything together

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(231)
np.random.seed(231)

# ---- data: 10 kinds of little patterns, 3 x 32 x 32 ----
num_classes = 10
templates = np.random.randn(num_classes, 3, 32, 32).astype(np.float32)


def make_split(n):
    y = np.random.randint(num_classes, size=n)
    X = templates[y] + 1.0 * np.random.randn(n, 3, 32, 32).astype(np.float32)
    return X.astype(np.float32), y


X_train, y_train = make_split(1000)
X_val, y_val = make_split(200)

# zero-center with the training mean
mean_image = X_train.mean(axis=0)
X_train -= mean_image
X_val -= mean_image

train_set = TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train))
val_set = TensorDataset(torch.from_numpy(X_val), torch.from_numpy(y_val))
loader_train = DataLoader(train_set, batch_size=50, shuffle=True)
loader_val = DataLoader(val_set, batch_size=50)


class ThreeLayerConvNet(nn.Module):
    def __init__(self, in_channel, channel_1, channel_2, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channel, channel_1, 5, padding=2)
        self.conv2 = nn.Conv2d(channel_1, channel_2, 3, padding=1)
        nn.init.kaiming_normal_(self.conv1.weight)
        nn.init.kaiming_normal_(self.conv2.weight)
        self.fc = nn.Linear(channel_2 * 8 * 8, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = x.flatten(1)
        scores = self.fc(x)
        return scores


def check_accuracy(loader, model):
    num_correct = 0
    num_samples = 0
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            scores = model(x)
            _, preds = scores.max(1)
            num_correct += (preds == y).sum().item()
            num_samples += preds.size(0)
    acc = float(num_correct) / num_samples
    print('Got %d / %d correct (%.2f)' % (num_correct, num_samples, 100 * acc))
    return acc


def train(model, optimizer, epochs=1, print_every=10):
    loss_history = []
    for e in range(epochs):
        for t, (x, y) in enumerate(loader_train):
            model.train()
            scores = model(x)
            loss = F.cross_entropy(scores, y)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
            loss_history.append(loss.item())
            if t % print_every == 0:
                print('Epoch %d, iteration %d, loss = %.4f' % (e, t, loss.item()))
        check_accuracy(loader_val, model)
    return loss_history


model = ThreeLayerConvNet(3, 16, 8, num_classes)
optimizer = optim.SGD(model.parameters(), lr=3e-3, momentum=0.9, nesterov=True)
history = train(model, optimizer, epochs=2)
print('mean loss of the last 10 iterations: %.4f' % np.mean(history[-10:]))
