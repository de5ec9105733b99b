"""Who wrote it? Triplet embedding of signature scans, checked with nearest neighbours."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.neighbors import KNeighborsClassifier
from torch.utils.data import DataLoader, Dataset

WRITERS = 6
PER_WRITER = 30


def draw_signatures(seed):
    rng = np.random.default_rng(seed)
    style = np.random.default_rng(100).normal(0, 1, (WRITERS, 4))
    images, writers = [], []
    for w in range(WRITERS):
        for _ in range(PER_WRITER):
            a, b, c, d = style[w] + rng.normal(0, 0.15, 4)
            t = np.linspace(0, 1, 300)
            col = (4 + 40 * t).astype(int)
            row = (12 + 4 * np.sin(6 * (a + 2) * t) + 3 * np.cos(9 * (b + 2) * t + c) + d).astype(int)
            img = np.zeros((24, 48), dtype=np.float32)
            img[row.clip(0, 23), col] = 1.0
            images.append(img)
            writers.append(w)
    return torch.from_numpy(np.stack(images)).unsqueeze(1), np.array(writers)


class TripletDataset(Dataset):
    def __init__(self, images, writers, seed=0):
        self.images = images
        self.writers = writers
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        same = np.flatnonzero(self.writers == self.writers[idx])
        pos = idx
        while pos == idx:
            pos = self.rng.choice(same)
        neg = idx
        while self.writers[neg] == self.writers[idx]:
            neg = self.rng.integers(len(self.images))
        return self.images[idx], self.images[pos], self.images[neg]


class SignatureNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.project = nn.Linear(32 * 6 * 12, dim)

    def forward(self, img):
        h = self.features(img).flatten(1)
        return F.normalize(self.project(h), dim=1)


@torch.no_grad()
def embed_all(model, images, batch_size=64):
    model.eval()
    parts = [model(images[i:i + batch_size]) for i in range(0, len(images), batch_size)]
    return torch.cat(parts).numpy()


def main():
    torch.manual_seed(0)
    images, writers = draw_signatures(1)
    test_images, test_writers = draw_signatures(2)
    loader = DataLoader(TripletDataset(images, writers), batch_size=30, shuffle=True)

    model = SignatureNet()
    criterion = nn.TripletMarginLoss(margin=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for epoch in range(6):
        model.train()
        total = 0.0
        for anchor, positive, negative in loader:
            emb_a, emb_p, emb_n = model(anchor), model(positive), model(negative)
            loss = criterion(emb_a, emb_p, emb_n)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: triplet loss {total / len(loader):.4f}")

    knn = KNeighborsClassifier(n_neighbors=3)
    knn.fit(embed_all(model, images), writers)
    score = knn.score(embed_all(model, test_images), test_writers)
    print(f"writer found for {100 * score:.1f}% of the new signatures")


if __name__ == "__main__":
    main()
