import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(12, 64)
        self.layer_2 = nn.Linear(64, 64)
        self.layer_out = nn.Linear(64, 1)
        self.batchnorm1 = nn.BatchNorm1d(64)

    def forward(self, inputs):
        x = self.batchnorm1(torch.relu(self.layer_1(inputs)))
        x = torch.relu(self.layer_2(x))
        return self.layer_out(x)


def binary_acc(y_pred, y_test):
    y_pred_tag = torch.round(torch.sigmoid(y_pred))
    correct = (y_pred_tag == y_test).sum().float()
    return correct / y_test.shape[0] * 100


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.clf = Classifier()
        self.criterion = nn.BCEWithLogitsLoss()

    def forward(self, X_batch, y_batch):
        y_pred = self.clf(X_batch)
        loss = self.criterion(y_pred, y_batch.unsqueeze(1))
        acc = binary_acc(y_pred, y_batch)
        return loss, acc


def example_inputs():
    y = (torch.rand(32) > 0.5).float()
    return torch.randn(32, 12), y
