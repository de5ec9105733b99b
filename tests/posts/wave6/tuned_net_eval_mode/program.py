import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
random.seed(0)
CLASSES, EPOCHS, BATCHSIZE = 10, 4, 64


def make_split(n):
    y = torch.randint(0, CLASSES, (n,))
    centers = torch.randn(CLASSES, 64, generator=torch.Generator().manual_seed(3))
    return TensorDataset((centers[y] + 1.5 * torch.randn(n, 64)).view(n, 1, 8, 8), y)


train_loader = DataLoader(make_split(640), batch_size=BATCHSIZE, shuffle=True)
valid_loader = DataLoader(make_split(256), batch_size=BATCHSIZE)


def suggest():
    n_layers = random.randint(1, 3)
    return {
        "units": [random.choice([16, 32, 64]) for _ in range(n_layers)],
        "dropouts": [random.uniform(0.2, 0.5) for _ in range(n_layers)],
        "optimizer": random.choice(["Adam", "RMSprop", "SGD"]),
        "lr": 10 ** random.uniform(-3, -1.5),
    }


def define_model(params):
    layers = []
    in_features = 8 * 8
    for units, p in zip(params["units"], params["dropouts"]):
        layers += [nn.Linear(in_features, units), nn.BatchNorm1d(units), nn.ReLU(), nn.Dropout(p)]
        in_features = units
    layers += [nn.Linear(in_features, CLASSES), nn.LogSoftmax(dim=1)]
    return nn.Sequential(*layers)


def objective(params):
    model = define_model(params)
    optimizer = getattr(torch.optim, params["optimizer"])(model.parameters(), lr=params["lr"])

    model.train()
    accuracy = 0.0
    for epoch in range(EPOCHS):
        for data, target in train_loader:
            data = data.view(data.size(0), -1)
            optimizer.zero_grad()
            output = model(data)
            loss = F.nll_loss(output, target)
            loss.backward()
            optimizer.step()

        model.eval()
        correct = 0
        with torch.no_grad():
            for data, target in valid_loader:
                output = model(data.view(data.size(0), -1))
                pred = output.argmax(dim=1, keepdim=True)
                correct += pred.eq(target.view_as(pred)).sum().item()
        accuracy = correct / len(valid_loader.dataset)
    return accuracy


best, best_params = -1.0, None
for trial in range(4):
    params = suggest()
    value = objective(params)
    print("Trial %d finished with value: %.4f and parameters: %s" % (trial, value, params))
    if value > best:
        best, best_params = value, params
print("Best trial:", best, best_params)
