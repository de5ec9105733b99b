import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset


class LogisticRegression(nn.Module):
    """Multinomial logistic regression, trained on weighted samples."""

    def __init__(self, input_dim, num_classes):
        super().__init__()
        self.input_dim = input_dim
        self.num_classes = num_classes
        self.linear = nn.Linear(input_dim, num_classes)

    def forward(self, x):
        x = self.linear(x)
        x = torch.sigmoid(x)
        return x

    def fit(self, x_train, y_train, sample_weight=None, batch_size=32, epochs=30, lr=0.01):
        if sample_weight is None:
            sample_weight = torch.ones(len(x_train))
        optimizer = torch.optim.Adam(self.parameters(), lr=lr)
        dataset = TensorDataset(x_train, y_train, sample_weight)
        loader = DataLoader(dataset, batch_size=batch_size, shuffle=True)
        self.train()
        for epoch in range(epochs):
            total = 0.0
            for x_batch, y_batch, w_batch in loader:
                optimizer.zero_grad()
                outputs = self(x_batch)
                loss = F.cross_entropy(outputs, y_batch, reduction="none")
                loss = (loss * w_batch).mean()
                loss.backward()
                optimizer.step()
                total += loss.item() * len(x_batch)
            if (epoch + 1) % 10 == 0:
                print(f"epoch {epoch + 1}: loss {total / len(dataset):.4f}")
        return self

    @torch.no_grad()
    def predict_class(self, x):
        self.eval()
        return self(x).argmax(dim=1)


def load_expression_table():
    features, labels = make_classification(
        n_samples=900,
        n_features=40,
        n_informative=12,
        n_redundant=8,
        n_classes=5,
        n_clusters_per_class=1,
        class_sep=2.0,
        random_state=7,
    )
    x_train, x_test, y_train, y_test = train_test_split(
        features, labels, test_size=0.25, stratify=labels, random_state=7)
    scaler = StandardScaler().fit(x_train)
    x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)
    return (
        torch.tensor(x_train, dtype=torch.float32),
        torch.tensor(y_train, dtype=torch.long),
        torch.tensor(x_test, dtype=torch.float32),
        torch.tensor(y_test, dtype=torch.long),
    )


def leave_out_value(x_train, y_train, x_test, y_test, group, num_classes):
    """Drop in accuracy on the test part when a group of samples gets weight zero."""
    weight = torch.ones(len(x_train))
    weight[group] = 0.0
    model = LogisticRegression(x_train.shape[1], num_classes)
    model.fit(x_train, y_train, sample_weight=weight, epochs=10)
    return (model.predict_class(x_test) == y_test).float().mean().item()


def main():
    torch.manual_seed(0)
    np.random.seed(0)
    x_train, y_train, x_test, y_test = load_expression_table()
    num_classes = int(y_train.max()) + 1
    model = LogisticRegression(x_train.shape[1], num_classes)
    model.fit(x_train, y_train)
    accuracy = (model.predict_class(x_test) == y_test).float().mean().item()
    print(f"test accuracy {accuracy:.3f}")
    for k, group in enumerate(np.array_split(np.random.permutation(len(x_train)), 3)):
        left = leave_out_value(x_train, y_train, x_test, y_test, torch.as_tensor(group), num_classes)
        print(f"value of group {k}: {accuracy - left:+.3f}")


if __name__ == "__main__":
    main()
