import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CLASS_NAMES = ['T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat',
               'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Ankle boot']


def synthetic_fashion(n, prototypes, seed):
    """28 x 28 grey images, each a noisy and shifted version of its class prototype"""
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, len(CLASS_NAMES), (n,), generator=g)
    images = prototypes[labels].clone()
    for i in range(n):
        dy, dx = torch.randint(-2, 3, (2,), generator=g).tolist()
        images[i] = images[i].roll((dy, dx), dims=(1, 2))
    images += 1.2 * torch.randn(images.shape, generator=g)
    return TensorDataset(images, labels)


class FashionCNN(nn.Module):
    def __init__(self, input_shape, hidden_units, output_shape):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, 3, padding=1), nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2))
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1), nn.ReLU(),
            nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(hidden_units * 7 * 7, output_shape))

    def forward(self, x):
        return self.classifier(self.block_2(self.block_1(x)))


def accuracy_fn(y_true, y_pred):
    return 100 * (y_true == y_pred).float().mean().item()


def train_step(model, loader, loss_fn, optimizer):
    model.train()
    total, acc = 0.0, 0.0
    for X, y in loader:
        y_logits = model(X)
        loss = loss_fn(y_logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        acc += accuracy_fn(y, y_logits.argmax(dim=1))
    print('train loss %.4f acc %.1f%%' % (total / len(loader), acc / len(loader)))


def make_predictions(model, loader):
    y_preds = []
    model.eval()
    with torch.inference_mode():
        for X, y in loader:
            y_logit = model(X)
            y_pred = torch.softmax(y_logit, dim=1).argmax(dim=1)
            y_preds.append(y_pred)
    return torch.cat(y_preds)


def confusion_matrix(preds, target, num_classes):
    index = target * num_classes + preds
    return torch.bincount(index, minlength=num_classes ** 2).view(num_classes, num_classes)


def main():
    torch.manual_seed(42)
    coarse = torch.randn(len(CLASS_NAMES), 1, 7, 7)
    prototypes = nn.functional.interpolate(coarse, size=28, mode='bilinear', align_corners=False)
    train_data = synthetic_fashion(1200, prototypes, seed=1)
    test_data = synthetic_fashion(640, prototypes, seed=2)
    train_dataloader = DataLoader(train_data, batch_size=32, shuffle=True)
    test_dataloader = DataLoader(test_data, batch_size=32, shuffle=False)

    model_2 = FashionCNN(1, 10, len(CLASS_NAMES))
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model_2.parameters(), lr=0.1)
    for epoch in range(4):
        train_step(model_2, train_dataloader, loss_fn, optimizer)

    y_pred_tensor = make_predictions(model_2, test_dataloader)
    targets = test_data.tensors[1]
    print('test acc %.1f%%' % accuracy_fn(targets, y_pred_tensor))
    confmat = confusion_matrix(y_pred_tensor, targets, len(CLASS_NAMES))
    for name, row in zip(CLASS_NAMES, confmat.tolist()):
        print('%12s %s' % (name, ' '.join('%3d' % v for v in row)))


if __name__ == '__main__':
    main()
