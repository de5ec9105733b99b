import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
print("Device being used:", device)

CLASSES = ["ApplyEyeMakeup", "Archery", "Basketball", "Biking"]


class ClipDataset(Dataset):
    """Clips of clip_len frames as (channels, frames, height, width) with the index of their class."""

    def __init__(self, split="train", clip_len=8, crop_size=32, per_class=10):
        self.clip_len = clip_len
        self.crop_size = crop_size
        self.rng = np.random.default_rng(0 if split == "train" else 1)
        names = [name for name in CLASSES for _ in range(per_class)]
        self.label2index = {label: index for index, label in enumerate(sorted(set(names)))}
        self.label_array = np.array([self.label2index[name] for name in names], dtype=np.int32)
        self.buffers = [self.load_frames(index) for index in self.label_array]

    def __len__(self):
        return len(self.buffers)

    def load_frames(self, index):
        frames = self.rng.integers(0, 120, size=(self.clip_len + 4, 40, 40, 3)).astype(np.float32)
        frames[:, 10 * index : 10 * index + 10] += 100
        return frames

    def crop(self, buffer):
        time_index = np.random.randint(buffer.shape[0] - self.clip_len)
        side = (buffer.shape[1] - self.crop_size) // 2
        return buffer[time_index : time_index + self.clip_len, side : side + self.crop_size, side : side + self.crop_size]

    def __getitem__(self, index):
        buffer = self.crop(self.buffers[index])
        buffer = (buffer - 90.0) / 128.0
        labels = np.array(self.label_array[index])
        buffer = np.ascontiguousarray(buffer.transpose((3, 0, 1, 2)))
        return torch.from_numpy(buffer), torch.from_numpy(labels)


class SmallC3D(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv3d(3, 16, 3, padding=1)
        self.pool1 = nn.MaxPool3d((1, 2, 2))
        self.conv2 = nn.Conv3d(16, 32, 3, padding=1)
        self.pool2 = nn.MaxPool3d((2, 2, 2))
        self.fc = nn.Linear(32 * 4 * 8 * 8, num_classes)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.pool1(self.relu(self.conv1(x)))
        x = self.pool2(self.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


def train_model(num_epochs=3, lr=1e-3):
    model = SmallC3D(len(CLASSES)).to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.1)
    train_dataloader = DataLoader(ClipDataset("train"), batch_size=8, shuffle=True)

    for epoch in range(num_epochs):
        running_loss, running_corrects = 0.0, 0
        model.train()
        for inputs, labels in train_dataloader:
            inputs = inputs.to(device)
            labels = labels.to(device)
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
            running_corrects += (outputs.argmax(1) == labels).sum().item()
        scheduler.step()
        size = len(train_dataloader.dataset)
        print(f"[train] Epoch {epoch + 1}/{num_epochs} Loss: {running_loss / size:.4f} Acc: {running_corrects / size:.4f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    np.random.seed(0)
    train_model()
