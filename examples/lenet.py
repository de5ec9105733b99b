"""A small convolutional network for images of 32 x 32, in the manner of LeNet-5.

shapewright trace -i "f32[B=1024, 3, 32, 32]" examples/lenet.py:Net
"""

from torch import Tensor, nn
from torch.nn import functional as F


class Net(nn.Module):
    """Two convolutions, each halved by pooling, then three linear layers."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, classes)

    def forward(self, images: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(images)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.flatten(start_dim=1)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
