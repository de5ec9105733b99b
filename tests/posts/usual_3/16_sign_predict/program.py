import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.transforms as transforms
from PIL import Image
from torch.utils.data import Dataset, DataLoader

classes = ("stop", "yield", "limit30", "limit50", "no_entry", "priority")

transform = transforms.Compose([
    transforms.Resize((32, 32)),
    transforms.ToTensor(),
    transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
])


def fake_photo(rng):
    h, w = rng.integers(30, 60, size=2)
    return Image.fromarray(rng.integers(0, 256, (h, w, 3), dtype=np.uint8))


class Signs(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(n)
        self.photos = [fake_photo(rng) for _ in range(n)]
        self.labels = rng.integers(0, len(classes), n)

    def __len__(self):
        return len(self.photos)

    def __getitem__(self, i):
        return transform(self.photos[i]), int(self.labels[i])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, len(classes))

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def predict(net, image):
    net.eval()
    tensor = transform(image.convert("RGB"))
    with torch.no_grad():
        output = net(tensor)
    prob = F.softmax(output, dim=1)
    top_p, top_class = prob.topk(1, dim=1)
    return classes[top_class.item()], top_p.item()


torch.manual_seed(0)
trainloader = DataLoader(Signs(120), batch_size=8, shuffle=True)
net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

for epoch in range(2):
    running_loss = 0.0
    for inputs, labels in trainloader:
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    print(f"[{epoch + 1}] loss: {running_loss / len(trainloader):.3f}")

photo = fake_photo(np.random.default_rng(99))
label, p = predict(net, photo)
print(f"{label} ({100 * p:.1f}%)")
