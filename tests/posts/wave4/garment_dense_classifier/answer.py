# Fashion-MNIST classifier, exercise notebook
import torch
from torch import nn, optim
from torchvision import datasets, transforms

transform = transforms.Compose([
    transforms.ToTensor(),
    transforms.Normalize((0.5,), (0.5,)),
])

trainset = datasets.FakeData(size=150, image_size=(1, 28, 28), num_classes=10, transform=transform)
testset = datasets.FakeData(size=64, image_size=(1, 28, 28), num_classes=10, transform=transform,
                            random_offset=150)
trainloader = torch.utils.data.DataLoader(trainset, batch_size=64, shuffle=True)
testloader = torch.utils.data.DataLoader(testset, batch_size=64)

images, labels = next(iter(trainloader))
print(images.shape, labels.shape)

# ## build the network
model = nn.Sequential(nn.Linear(784, 256),
                      nn.ReLU(),
                      nn.Linear(256, 128),
                      nn.ReLU(),
                      nn.Linear(128, 64),
                      nn.ReLU(),
                      nn.Linear(64, 10),
                      nn.LogSoftmax(dim=1))

criterion = nn.NLLLoss()
optimizer = optim.Adam(model.parameters(), lr=0.003)

# ## train
for e in range(3):
    running_loss = 0
    for images, labels in trainloader:
        # one long vector for every image
        images = images.view(images.shape[0], -1)

        log_probs = model(images)
        loss = criterion(log_probs, labels)

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        running_loss += loss.item()
    print(f"Training loss: {running_loss / len(trainloader):.4f}")

# ## test
model.eval()
with torch.no_grad():
    for images, labels in testloader:
        ps = torch.exp(model(images.view(images.shape[0], -1)))
        top_p, top_class = ps.topk(1, dim=1)
        equals = top_class == labels.view(*top_class.shape)
        print(f"Accuracy: {equals.float().mean().item() * 100:.1f}%")
