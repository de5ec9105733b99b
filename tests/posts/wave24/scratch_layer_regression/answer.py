import torch


def relu(x):
    return torch.clamp(x, min=0)


def squared_loss(y_hat, y):
    return ((y_hat - y.reshape(y_hat.shape)) ** 2 / 2).mean()


def sgd(params, lr):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad
            param.grad.zero_()


class BatchReader:
    def __init__(self, features, labels, batch_size, shuffle=True):
        self.features = features
        self.labels = labels
        self.batch_size = batch_size
        self.shuffle = shuffle

    def __len__(self):
        return (len(self.features) + self.batch_size - 1) // self.batch_size

    def __iter__(self):
        n = len(self.features)
        order = torch.randperm(n) if self.shuffle else torch.arange(n)
        for start in range(0, n, self.batch_size):
            picked = order[start:start + self.batch_size]
            yield self.features[picked], self.labels[picked]


def synthetic_data(num_samples, num_features):
    X = torch.rand(num_samples, num_features)
    true_W = torch.rand((num_features, 1))
    true_b = torch.rand(1)
    Y = torch.mm(X, true_W) + true_b
    return X, Y, true_W, true_b


def init_params(num_features, num_hiddens):
    W1 = torch.normal(0, 0.5, size=(num_features, num_hiddens), requires_grad=True)
    b1 = torch.zeros(num_hiddens, requires_grad=True)
    W2 = torch.normal(0, 0.5, size=(num_hiddens, 1), requires_grad=True)
    b2 = torch.zeros(1, requires_grad=True)
    return [W1, b1, W2, b2]


def net(x, params):
    W1, b1, W2, b2 = params
    hidden = relu(torch.mm(x, W1) + b1)
    return torch.mm(hidden, W2) + b2


def main():
    torch.manual_seed(0)
    num_features, num_hiddens = 2, 16
    lr, num_epochs, batch_size = 0.1, 20, 20

    X, Y, true_W, true_b = synthetic_data(1000, num_features)
    print("true weights:", true_W.flatten().tolist(), "bias:", true_b.item())

    params = init_params(num_features, num_hiddens)
    reader = BatchReader(X, Y, batch_size)

    for epoch in range(num_epochs):
        total = 0.0
        for x, y in reader:
            loss = squared_loss(net(x, params), y)
            loss.backward()
            sgd(params, lr)
            total += loss.item()
        if (epoch + 1) % 5 == 0:
            print(f"epoch {epoch + 1}: loss {total / len(reader):.6f}")


if __name__ == "__main__":
    main()
