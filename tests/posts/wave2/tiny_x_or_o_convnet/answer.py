import numpy as np
import torch
from torch import nn
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

device = 'cpu'

# two 4 x 4 pictures and their classes
X_train = torch.tensor([[[[1, 2, 3, 4], [2, 3, 4, 5], [5, 6, 7, 8], [1, 3, 4, 5]]],
                        [[[-1, 2, 3, -4], [2, -3, 4, 5], [-5, 6, -7, 8], [-1, -3, -4, -5]]]]).to(device).float()
X_train /= 8
y_train = torch.tensor([0, 1]).to(device).float().unsqueeze(1)


def get_model():
    model = nn.Sequential(
        nn.Conv2d(1, 1, kernel_size=3),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(1, 1),
        nn.Sigmoid(),
    ).to(device)
    loss_fn = nn.BCELoss()
    optimizer = Adam(model.parameters(), lr=1e-2)
    return model, loss_fn, optimizer


def train_batch(x, y, model, opt, loss_fn):
    model.train()
    prediction = model(x)
    batch_loss = loss_fn(prediction, y)
    batch_loss.backward()
    opt.step()
    opt.zero_grad()
    return batch_loss.item()


model, loss_fn, optimizer = get_model()
trn_dl = DataLoader(TensorDataset(X_train, y_train))
losses = []
for epoch in range(100):
    for ix, batch in enumerate(iter(trn_dl)):
        x, y = batch
        batch_loss = train_batch(x, y, model, optimizer, loss_fn)
    losses.append(batch_loss)
print('first %.4f last %.4f' % (losses[0], losses[-1]))
print(model(X_train[:1]))

(cnn_w, cnn_b), (lin_w, lin_b) = [(layer.weight.data, layer.bias.data) for layer in list(model.children())
                                  if hasattr(layer, 'weight')]
h_im, w_im = X_train.shape[2:]
h_conv, w_conv = cnn_w.shape[2:]
sumprod = torch.zeros((h_im - h_conv + 1, w_im - w_conv + 1))
for i in range(h_im - h_conv + 1):
    for j in range(w_im - w_conv + 1):
        img_subset = X_train[0, 0, i:(i + 3), j:(j + 3)]
        sumprod[i, j] = torch.sum(img_subset * cnn_w.reshape(3, 3)) + cnn_b
pooled = sumprod.clamp_min_(0).max()
sigmoid_output = 1 / (1 + np.exp(-(pooled * lin_w + lin_b).item()))
print(sigmoid_output)
