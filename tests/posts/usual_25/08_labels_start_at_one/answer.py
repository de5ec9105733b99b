import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

SAMPLE_RATE = 8000
NUM_CLASSES = 5


class DroneSoundDataset(Dataset):
    """One second clips, the class is written in the file name: clip_0012_class3.wav"""

    def __init__(self, n):
        self.files = [f"clip_{i:04d}_class{i % NUM_CLASSES + 1}.wav" for i in range(n)]

    def __len__(self):
        return len(self.files)

    def _read(self, name, label):
        g = torch.Generator().manual_seed(int(name[5:9]))
        t = torch.arange(SAMPLE_RATE) / SAMPLE_RATE
        wave = torch.sin(2 * torch.pi * 300 * label * t)
        return wave + 0.3 * torch.randn(SAMPLE_RATE, generator=g)

    def __getitem__(self, idx):
        name = self.files[idx]
        label = int(name.split("class")[1].split(".")[0])
        wave = self._read(name, label)
        spec = torch.stft(wave, n_fft=256, hop_length=128, window=torch.hann_window(256),
                          return_complex=True).abs()
        return torch.log1p(spec).unsqueeze(0), label - 1


class AudioCNN(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.head = nn.Linear(16 * 16, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.relu(self.bn2(self.conv2(x)))
        x = F.adaptive_avg_pool2d(x, (16, 1)).flatten(1)
        return self.head(x)


def main():
    torch.manual_seed(0)
    dataset = DroneSoundDataset(120)
    train_set, val_set = torch.utils.data.random_split(dataset, [100, 20])
    train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=20)
    model = AudioCNN(NUM_CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

    for epoch in range(3):
        model.train()
        for spec, label in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(spec), label)
            loss.backward()
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for spec, label in val_loader:
                correct += (model(spec).argmax(1) == label).sum().item()
        print(f"epoch {epoch} loss {loss.item():.3f} val acc {correct / len(val_set):.2f}")


if __name__ == "__main__":
    main()
