import numpy as np
import torch
from torch import optim


def load_blobs(n=600, n_features=64, n_classes=10):
    rng = np.random.RandomState(3)
    centers = rng.randn(n_classes, n_features) * 0.5
    Y = rng.randint(0, n_classes, n)
    X = centers[Y] + rng.randn(n, n_features)
    split = int(n * 0.8)
    return X[:split], X[split:], Y[:split], Y[split:]


def build_model(input_dim, hidden_dim, output_dim):
    model = torch.nn.Sequential()
    model.add_module("linear_1", torch.nn.Linear(input_dim, hidden_dim, bias=False))
    model.add_module("sigmoid_1", torch.nn.Sigmoid())
    model.add_module("linear_2", torch.nn.Linear(hidden_dim, output_dim, bias=False))
    model.add_module("softmax", torch.nn.Softmax(dim=1))
    return model


def train(model, loss, optimizer, x, y):
    model.train()
    optimizer.zero_grad()
    fx = model.forward(x)
    output = loss.forward(fx, y)
    output.backward()
    optimizer.step()
    return output.item()


def predict(model, x):
    model.eval()
    with torch.no_grad():
        return model.forward(x).numpy().argmax(axis=1)


def main():
    torch.manual_seed(42)
    trX, teX, trY, teY = load_blobs()
    trX = torch.from_numpy(trX).float()
    teX = torch.from_numpy(teX).float()
    trY = torch.from_numpy(trY).long()

    n_examples, n_features = trX.size()
    n_classes = 10
    model = build_model(n_features, 128, n_classes)
    loss = torch.nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    batch_size = 100

    for i in range(10):
        cost = 0.
        num_batches = (n_examples + batch_size - 1) // batch_size
        for k in range(num_batches):
            start, end = k * batch_size, (k + 1) * batch_size
            cost += train(model, loss, optimizer, trX[start:end], trY[start:end])
        predY = predict(model, teX)
        print("Epoch %d, cost = %f, acc = %.2f%%" % (i + 1, cost / num_batches, 100. * np.mean(predY == teY)))


if __name__ == "__main__":
    main()
