import torch
from torch import nn
from torch.utils.data import Dataset, DataLoader


class MotionClips(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.labels = torch.randint(0, 2, (n,), generator=g)
        noise = torch.randint(-6, 7, (n, 6, 20, 20), generator=g)
        clips = 100 + noise
        for i, label in enumerate(self.labels.tolist()):
            row = int(torch.randint(2, 16, (1,), generator=g))
            for t in range(6):
                col = 2 + (2 * t if label else 0)
                clips[i, t, row:row + 3, col:col + 3] += 40
        self.clips = clips.to(torch.uint8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        frames = self.clips[i]
        motion = (frames[1:] - frames[:-1]).float() / 255.0
        return motion, self.labels[i]


train_set, test_set = MotionClips(300, seed=0), MotionClips(200, seed=1)
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
test_loader = DataLoader(test_set, batch_size=50)
model = nn.Sequential(
    nn.Conv2d(5, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(16, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
print("mean of the motion map", train_set[0][0].abs().mean().item())
for epoch in range(8):
    model.train()
    for motion, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(motion), label)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(m).argmax(1) == y).sum().item() for m, y in test_loader)
    print(f"epoch {epoch}: test accuracy {hits / len(test_set):.3f}")
