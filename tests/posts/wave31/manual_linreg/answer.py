import numpy as np
import torch

# Study notes, part 1: fitting a straight line by hand, with autograd only

np.random.seed(10)
torch.manual_seed(10)

hours = np.random.uniform(0, 8, size=(60, 1)).astype(np.float32)
score = 6.5 * hours + 21 + np.random.normal(0, 2.0, size=(60, 1)).astype(np.float32)

x_train = torch.from_numpy(hours)
y_train = torch.from_numpy(score.astype(np.float32))

w = torch.randn(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)


def linear_model(x):
    return x * w + b


def get_loss(y_, y):
    return torch.mean((y_ - y) ** 2)


y_ = linear_model(x_train)
loss = get_loss(y_, y_train)
print('before training: loss {:.3f}'.format(loss.item()))

loss.backward()
print('grad of w:', w.grad)
print('grad of b:', b.grad)

lr = 1e-2
w.data = w.data - lr * w.grad.data
b.data = b.data - lr * b.grad.data
print('after one update: loss {:.3f}'.format(get_loss(linear_model(x_train), y_train).item()))

history = []
for epoch in range(200):
    y_ = linear_model(x_train)
    loss = get_loss(y_, y_train)
    w.grad.zero_(), b.grad.zero_()
    loss.backward()

    w.data = w.data - lr * w.grad.data
    b.data = b.data - lr * b.grad.data

    history.append(loss.item())
    if (epoch + 1) % 20 == 0:
        print('epoch: {}, loss: {:.4f}'.format(epoch + 1, loss.item()))

print('w = {:.3f}, b = {:.3f}'.format(w.item(), b.item()))
print('lowest loss {:.3f} at epoch {}'.format(min(history), int(np.argmin(history)) + 1))

with torch.no_grad():
    for h in (1.0, 4.0, 7.5):
        print('{:.1f} h -> {:.1f} points'.format(h, linear_model(torch.tensor([h])).item()))
