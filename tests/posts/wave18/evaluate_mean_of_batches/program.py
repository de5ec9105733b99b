import argparse
import logging

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, num_channels=8, dropout_rate=0.2):
        super().__init__()
        self.dropout_rate = dropout_rate
        self.conv1 = nn.Conv2d(3, num_channels, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(num_channels)
        self.conv2 = nn.Conv2d(num_channels, num_channels * 2, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(num_channels * 2)
        self.fc1 = nn.Linear(num_channels * 2 * 16, 64)
        self.fc2 = nn.Linear(64, 6)

    def forward(self, s):
        s = F.relu(F.max_pool2d(self.bn1(self.conv1(s)), 2))
        s = F.relu(F.max_pool2d(self.bn2(self.conv2(s)), 2))
        s = F.dropout(F.relu(self.fc1(s.flatten(1))), p=self.dropout_rate, training=self.training)
        return F.log_softmax(self.fc2(s), dim=1)


def loss_fn(outputs, labels):
    return F.nll_loss(outputs, labels)


def accuracy(outputs, labels):
    return np.sum(np.argmax(outputs, axis=1) == labels) / float(labels.size)


metrics = {'accuracy': accuracy}


def evaluate(model, loss_fn, dataloader, metrics):
    model.eval()
    summ = []
    with torch.no_grad():
        for data_batch, labels_batch in dataloader:
            output_batch = model(data_batch)
            loss = loss_fn(output_batch, labels_batch)
            output_batch, labels = output_batch.numpy(), labels_batch.numpy()
            summary_batch = {name: metrics[name](output_batch, labels) for name in metrics}
            summary_batch['loss'] = loss.item()
            summ.append(summary_batch)
    metrics_mean = {name: np.mean([x[name] for x in summ]) for name in summ[0]}
    logging.info('- Eval metrics : ' + ' ; '.join(f'{k}: {v:05.4f}' for k, v in metrics_mean.items()))
    return metrics_mean


def signs(n, seed):
    protos = torch.randn(6, 3, 16, 16, generator=torch.Generator().manual_seed(5))
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 6, (n,), generator=g).sort().values
    return TensorDataset(protos[y] * 0.5 + torch.randn(n, 3, 16, 16, generator=g), y)


def train(model, optimizer, loader):
    model.train()
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--batch_size', type=int, default=32)
    parser.add_argument('--num_epochs', type=int, default=3)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format='%(message)s')
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    train_dl = DataLoader(signs(800, 0), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(signs(133, 1), batch_size=args.batch_size)
    best = 0.0
    for epoch in range(args.num_epochs):
        train(model, optimizer, train_dl)
        result = evaluate(model, loss_fn, val_dl, metrics)
        best = max(best, result['accuracy'])
    print(f'best validation accuracy {best:.4f}')
