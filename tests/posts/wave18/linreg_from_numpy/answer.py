import random

import numpy as np
import torch

def synthetic_data(num_inputs, num_examples, true_w, true_b):
    features = torch.from_numpy(np.random.normal(0, 1, (num_examples, num_inputs))).to(torch.float32)
    labels = true_b + sum(w * features[:, i] for i, w in enumerate(true_w))
    labels += torch.from_numpy(np.random.normal(0, 0.01, size=labels.size())).to(torch.float32)
    return features, labels


def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    random.shuffle(indices)
    for i in range(0, num_examples, batch_size):
        j = torch.LongTensor(indices[i:min(i + batch_size, num_examples)])
        yield features.index_select(0, j), labels.index_select(0, j)


def linreg(X, w, b):
    return torch.mm(X, w) + b


def squared_loss(y_hat, y):
    return (y_hat - y.view(y_hat.size())) ** 2 / 2


def sgd(params, lr, batch_size):
    for param in params:
        param.data -= lr * param.grad / batch_size


def train(num_epochs=5, lr=0.03, batch_size=10):
    true_w, true_b = [2, -3.4], 4.2
    features, labels = synthetic_data(2, 1000, true_w, true_b)
    w = torch.normal(0.0, 0.01, size=(2, 1))
    b = torch.zeros(1)
    w.requires_grad_()
    b.requires_grad_()
    for epoch in range(num_epochs):
        for X, y in data_iter(batch_size, features, labels):
            l = squared_loss(linreg(X, w, b), y).sum()
            l.backward()
            sgd([w, b], lr, batch_size)
            w.grad.zero_()
            b.grad.zero_()
        train_l = squared_loss(linreg(features, w, b), labels)
        print('epoch %d, loss %f' % (epoch + 1, train_l.mean().item()))
    print('w', true_w, w.detach().view(-1).tolist())
    print('b', true_b, b.item())


if __name__ == '__main__':
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    train()
