import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms

torch.manual_seed(12)
classes = ['daisy', 'dandelion', 'roses', 'sunflowers', 'tulips']

data_transform = transforms.Compose([transforms.RandomResizedCrop(64), transforms.ToTensor()])
train_data = datasets.FakeData(40, (3, 96, 96), len(classes), transform=data_transform)
test_data = datasets.FakeData(20, (3, 96, 96), len(classes), transform=data_transform, random_offset=500)
train_loader = DataLoader(train_data, batch_size=16, shuffle=True)
test_loader = DataLoader(test_data, batch_size=16)

net = models.mobilenet_v2(weights=None)

# only the new head is trained
for param in net.features.parameters():
    param.requires_grad = False

n_inputs = net.classifier[1].in_features
net.classifier[1] = nn.Linear(n_inputs, len(classes))

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.001)

first_filter = net.features[0][0].weight.detach().clone()
n_epochs = 2
for epoch in range(1, n_epochs + 1):
    train_loss = 0.0
    for batch_i, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        output = net(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * data.size(0)
    print('Epoch %d, training loss %.6f' % (epoch, train_loss / len(train_data)))

net.eval()
class_correct, class_total = [0] * len(classes), [0] * len(classes)
with torch.no_grad():
    for data, target in test_loader:
        pred = net(data).argmax(dim=1)
        for t, p in zip(target.tolist(), pred.tolist()):
            class_correct[t] += int(t == p)
            class_total[t] += 1
for name, right, total in zip(classes, class_correct, class_total):
    print('Test accuracy of %10s: %d / %d' % (name, right, total))
print('change of the first filters:', (net.features[0][0].weight - first_filter).abs().max().item())
