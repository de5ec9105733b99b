import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

N_MELS = 32
FRAMES = 20
EVENTS = ["background", "dog", "siren", "glass"]
COUNTS = [1400, 240, 120, 60]


def synth_clips(counts, seed):
    g = torch.Generator().manual_seed(seed)
    freq = torch.linspace(0, 1, N_MELS).view(1, N_MELS, 1)
    clips, labels = [], []
    for k, n in enumerate(counts):
        center = 0.2 + 0.2 * k + 0.05 * torch.randn(n, 1, 1, generator=g)
        bump = torch.exp(-((freq - center) ** 2) / 0.01)
        start = torch.rand(n, 1, 1, generator=g)
        gate = (torch.linspace(0, 1, FRAMES).view(1, 1, FRAMES) > 0.6 * start).float()
        clips.append(1.6 * bump * gate + torch.randn(n, N_MELS, FRAMES, generator=g))
        labels.append(torch.full((n,), k))
    x, y = torch.cat(clips), torch.cat(labels)
    order = torch.randperm(len(y), generator=g)
    return x[order], y[order]


class EventTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(N_MELS, 32, 3, padding=1), nn.ReLU(),
            nn.Conv1d(32, 32, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(32, len(EVENTS))

    def forward(self, spectrogram):
        return self.head(self.conv(spectrogram).mean(dim=-1))


def recall_per_class(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(dim=1)
    return [(pred[y == k] == k).float().mean().item() for k in range(len(EVENTS))]


def main():
    torch.manual_seed(0)
    train_x, train_y = synth_clips(COUNTS, seed=0)
    test_x, test_y = synth_clips([100] * 4, seed=1)

    class_count = torch.bincount(train_y, minlength=len(EVENTS))
    class_weight = 1.0 / class_count.float()
    sampler = WeightedRandomSampler(class_weight[train_y], num_samples=len(train_y), replacement=True)
    loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, sampler=sampler)

    model = EventTagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    for epoch in range(8):
        model.train()
        running = 0.0
        for clips, labels in loader:
            loss = criterion(model(clips), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        recalls = recall_per_class(model, test_x, test_y)
        text = "  ".join(f"{name} {r:.2f}" for name, r in zip(EVENTS, recalls))
        print(f"epoch {epoch + 1}  loss {running / len(loader):.4f}  recall: {text}")


if __name__ == "__main__":
    main()
