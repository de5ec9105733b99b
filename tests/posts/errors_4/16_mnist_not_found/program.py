import os
import tempfile
import torch
from PIL import Image
from torchvision import datasets, transforms
from torch.utils.data import DataLoader


def write_digits(root, per_class=6):
    g = torch.Generator().manual_seed(0)
    for split in ("train", "test"):
        for digit in range(3):
            folder = os.path.join(root, "MNIST", split, str(digit))
            os.makedirs(folder)
            for k in range(per_class):
                arr = (torch.rand(28, 28, generator=g) * 255).byte().numpy()
                Image.fromarray(arr).save(os.path.join(folder, f"{k:03d}.png"))


root = tempfile.mkdtemp()
write_digits(root)
tf = transforms.Compose([transforms.Grayscale(), transforms.ToTensor()])
train_set = datasets.MNIST(root, train=True, transform=tf)
loader = DataLoader(train_set, batch_size=6, shuffle=True)

model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for images, labels in loader:
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(train_set), "images,", "last loss", loss.item())
