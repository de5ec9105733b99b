# coding: utf-8
# # Film reviews: GRU in PyTorch (one of a series, same net in every framework)
import time

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

print("PyTorch:", torch.__version__)

# Hyperparams
EPOCHS = 2
BATCHSIZE = 64
EMBEDSIZE = 40
NUMHIDDEN = 50
MAXLEN = 150
MAXFEATURES = 3000
LR = 0.003


def imdb_like(n, seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 2, size=n)
    x = rng.randint(50, MAXFEATURES, size=(n, MAXLEN))
    for i in range(n):
        spots = rng.choice(MAXLEN, 40, replace=False)
        x[i, spots] = rng.randint(3, 20, size=40) + 20 * y[i]
    return x.astype(np.int32), y.astype(np.int32)


def shuffle_data(X, y):
    s = np.arange(len(X))
    np.random.shuffle(s)
    return X[s], y[s]


def yield_mb(X, y, batchsize=64, shuffle=False):
    if shuffle:
        X, y = shuffle_data(X, y)
    # Only complete batches are submitted
    for i in range(len(X) // batchsize):
        yield X[i * batchsize:(i + 1) * batchsize], y[i * batchsize:(i + 1) * batchsize]


class SymbolModule(nn.Module):
    def __init__(self):
        super(SymbolModule, self).__init__()
        self.embedding = nn.Embedding(num_embeddings=MAXFEATURES, embedding_dim=EMBEDSIZE)
        self.gru = nn.GRU(input_size=EMBEDSIZE, hidden_size=NUMHIDDEN, num_layers=1, batch_first=True)
        self.l_out = nn.Linear(in_features=NUMHIDDEN, out_features=2)

    def forward(self, x):
        x = self.embedding(x)
        h0 = Variable(torch.zeros(1, BATCHSIZE, NUMHIDDEN))
        x, h = self.gru(x, h0)
        # just the last output
        x = x[:, -1, :].squeeze()
        x = self.l_out(x)
        return x


def init_model(m):
    opt = optim.Adam(m.parameters(), lr=LR, betas=(0.9, 0.999))
    criterion = nn.CrossEntropyLoss()
    return opt, criterion


np.random.seed(42)
torch.manual_seed(42)

# Data into format for library
x_train, y_train = imdb_like(1024, 0)
x_test, y_test = imdb_like(256, 1)
print(x_train.shape, x_test.shape, y_train.shape, y_test.shape)

sym = SymbolModule()
optimizer, criterion = init_model(sym)

# Main training loop
for j in range(EPOCHS):
    tic = time.time()
    for data, target in yield_mb(x_train, y_train, BATCHSIZE, shuffle=True):
        data = Variable(torch.LongTensor(data.astype(np.int64)))
        target = Variable(torch.LongTensor(target.astype(np.int64)))
        optimizer.zero_grad()
        output = sym(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
    print(j, "loss %.4f, %.1f s" % (loss.item(), time.time() - tic))

# Main evaluation loop
sym.eval()
n_samples = (y_test.shape[0] // BATCHSIZE) * BATCHSIZE
y_guess = np.zeros(n_samples, dtype=np.int32)
y_truth = y_test[:n_samples]
c = 0
for data, target in yield_mb(x_test, y_test, BATCHSIZE):
    data = Variable(torch.LongTensor(data.astype(np.int64)))
    pred = sym(data).data.max(1)[1].numpy().squeeze()
    y_guess[c * BATCHSIZE:(c + 1) * BATCHSIZE] = pred
    c += 1
print("Accuracy: ", sum(y_guess == y_truth) / float(len(y_guess)))
