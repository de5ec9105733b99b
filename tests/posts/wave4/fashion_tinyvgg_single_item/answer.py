import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

torch.manual_seed(42)
class_names = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
               "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class FashionVGG(nn.Module):
    """Small VGG style network (two blocks), after the CNN explainer site."""

    def __init__(self, input_shape: int, hidden_units: int, output_shape: int):
        super().__init__()
        self.block_1 = nn.Sequential(
            nn.Conv2d(input_shape, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, kernel_size=3, stride=1, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(kernel_size=2, stride=2),
        )
        self.block_2 = nn.Sequential(
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden_units, hidden_units, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Flatten(),
            nn.Linear(in_features=hidden_units * 7 * 7, out_features=output_shape),
        )

    def forward(self, x: torch.Tensor):
        x = self.block_1(x)
        x = self.block_2(x)
        x = self.classifier(x)
        return x


train_data = datasets.FakeData(size=70, image_size=(1, 28, 28), num_classes=10,
                               transform=transforms.ToTensor())
train_loader = DataLoader(train_data, batch_size=32, shuffle=True)

model_2 = FashionVGG(input_shape=1, hidden_units=10, output_shape=len(class_names))

# what does one image look like on its way through the layers?
image, label = train_data[0]
print(f"image: {image.shape}, label: {class_names[label]}")
with torch.inference_mode():
    logits = model_2(image.unsqueeze(dim=0))
print(f"logits: {logits.shape}")

loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model_2.parameters(), lr=0.1)
for epoch in range(2):
    train_loss = 0.0
    model_2.train()
    for X, y in train_loader:
        y_pred = model_2(X)
        loss = loss_fn(y_pred, y)
        train_loss += loss.item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch: {epoch} | train loss: {train_loss / len(train_loader):.5f}")
