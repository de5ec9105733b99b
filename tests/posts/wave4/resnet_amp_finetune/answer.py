import time
import torch
import torchvision as tv
from torch.utils.data import DataLoader

device = torch.device('cuda')
torch.backends.cudnn.benchmark = True

model = tv.models.resnet18(weights=None)
model.fc = torch.nn.Linear(512, 10)
model = model.to(device)

loss_fn = torch.nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
scaler = torch.amp.GradScaler('cuda')

transform = tv.transforms.Compose([
    tv.transforms.ColorJitter(0.1, 0.1, 0.1, 0.1),
    tv.transforms.RandomHorizontalFlip(),
    tv.transforms.ToTensor(),
    tv.transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
])
images = tv.datasets.FakeData(size=160, image_size=(3, 32, 32), num_classes=10, transform=transform)
loader = DataLoader(images, batch_size=64, shuffle=True)


def train(data, amp=True, epochs=2):
    start = time.time()
    for epoch in range(epochs):
        running, seen = 0.0, 0
        for x, y in data:
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            if amp:
                with torch.amp.autocast('cuda'):
                    output = model(x)
                    loss = loss_fn(output, y)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                output = model(x)
                loss = loss_fn(output, y)
                loss.backward()
                optimizer.step()
            running += loss.item() * y.size(0)
            seen += y.size(0)
        print(f'epoch {epoch} loss {running / seen:.4f}')
    return time.time() - start


if __name__ == '__main__':
    model.train()
    print('with amp: %.1f s' % train(loader, amp=True))
    print('without amp: %.1f s' % train(loader, amp=False))
