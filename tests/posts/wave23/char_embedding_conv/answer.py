import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextConv(nn.Module):
    """Convolution over windows of word vectors."""

    def __init__(self, embed_dim=100, num_filters=32, num_classes=4):
        super().__init__()
        self.conv2 = nn.Conv2d(1, num_filters, kernel_size=(2, embed_dim))
        self.conv3 = nn.Conv2d(1, num_filters, kernel_size=(3, embed_dim))
        self.dropout = nn.Dropout(0.3)
        self.fc = nn.Linear(2 * num_filters, num_classes)

    def forward(self, x):
        features = []
        for conv in (self.conv2, self.conv3):
            h = F.relu(conv(x)).squeeze(3)
            features.append(h.max(dim=2).values)
        return self.fc(self.dropout(torch.cat(features, dim=1)))


def load_sentences(n_sentences=256, n_words=64, embed_dim=100, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.uniform(-0.25, 0.25, size=(1000, embed_dim))
    ids = rng.integers(0, 1000, size=(n_sentences, n_words))
    vectors = table[ids][:, None, :, :]
    classes = ids[:, 0] % 4
    return vectors, classes


def batches(x, y, batch_size, rng):
    order = rng.permutation(len(x))
    for start in range(0, len(order), batch_size):
        idx = order[start:start + batch_size]
        yield torch.from_numpy(x[idx]).float(), torch.from_numpy(y[idx])


def evaluate(model, x, y, rng):
    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in batches(x, y, 64, rng):
            correct += (model(inputs).argmax(dim=1) == targets).sum().item()
    return correct / len(x)


def main():
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    x, y = load_sentences()
    x_train, y_train = x[:192], y[:192]
    x_test, y_test = x[192:], y[192:]
    print("train", x_train.shape, "test", x_test.shape)

    model = TextConv()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        total = 0.0
        for inputs, targets in batches(x_train, y_train, 32, rng):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(targets)
        print(f"epoch {epoch}: loss {total / len(x_train):.4f}, test acc {evaluate(model, x_test, y_test, rng):.3f}")


if __name__ == "__main__":
    main()
