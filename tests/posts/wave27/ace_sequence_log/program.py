import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

NUM_DIGITS = 5
NUM_LETTERS = 5
NUM_CLASSES = 1 + NUM_DIGITS + NUM_LETTERS


def glyphs():
    gen = torch.Generator().manual_seed(3)
    return (torch.rand(NUM_CLASSES - 1, 16, 12, generator=gen) > 0.5).float()


class FormFields(Dataset):
    def __init__(self, length, max_chars=5):
        self.length = length
        self.max_chars = max_chars
        self.glyphs = glyphs()

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        gen = torch.Generator().manual_seed(i)
        numeric = torch.rand(1, generator=gen).item() < 0.5
        allowed = torch.zeros(NUM_CLASSES, dtype=torch.bool)
        allowed[0] = True
        first = 0 if numeric else NUM_DIGITS
        allowed[1 + first:1 + first + 5] = True

        image = torch.zeros(16, 96)
        label = torch.zeros(NUM_CLASSES)
        count = torch.randint(2, self.max_chars + 1, (1,), generator=gen).item()
        for slot in range(count):
            char = first + torch.randint(0, 5, (1,), generator=gen).item()
            left = slot * 18 + torch.randint(0, 6, (1,), generator=gen).item()
            image[:, left:left + 12] += self.glyphs[char]
            label[char + 1] += 1
        image += 0.1 * torch.randn(16, 96, generator=gen)
        return image.unsqueeze(0), label, allowed


class ACE(nn.Module):
    def forward(self, probs, label):
        bs, t, _ = probs.shape
        target = label.clone()
        target[:, 0] = t - target.sum(1)
        input = torch.sum(probs, 1) / t
        target = target / t
        return -torch.sum(torch.log(input) * target) / bs


class FieldRecognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(inplace=True), nn.MaxPool2d((2, 1)),
            nn.Conv2d(32, 64, (4, 5), padding=(0, 2)), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
        )
        self.fc = nn.Linear(64, NUM_CLASSES)

    def forward(self, x, allowed):
        feat = self.cnn(x).squeeze(2).permute(0, 2, 1)
        logits = self.fc(feat).masked_fill(~allowed.unsqueeze(1), float("-inf"))
        return torch.softmax(logits, dim=2)


def count_error(probs, label):
    expected = probs.sum(1)[:, 1:]
    return (expected - label[:, 1:]).abs().sum(1).mean().item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(FormFields(512), batch_size=32, shuffle=True)
    model = FieldRecognizer()
    ace = ACE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        total, error = 0.0, 0.0
        for images, label, allowed in loader:
            probs = model(images, allowed)
            loss = ace(probs, label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            error += count_error(probs.detach(), label)
        print(f"epoch {epoch} loss {total / len(loader):.4f} count error {error / len(loader):.3f}")


if __name__ == "__main__":
    main()
