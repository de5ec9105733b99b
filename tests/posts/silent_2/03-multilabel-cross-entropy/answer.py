import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

GENRES = ["action", "comedy", "drama", "horror", "romance", "scifi", "thriller", "western"]


class PosterGenres(Dataset):
    def __init__(self, count, seed=0):
        gen = torch.Generator().manual_seed(seed)
        self.posters = torch.randn(count, 3, 32, 32, generator=gen)
        tags = [torch.randperm(len(GENRES), generator=gen)[:3].tolist() for _ in range(count)]
        self.tags = tags

    def __len__(self):
        return len(self.tags)

    def __getitem__(self, index):
        target = torch.zeros(len(GENRES))
        for tag in self.tags[index]:
            target[tag] = 1.0
        return self.posters[index], target


class PosterNet(nn.Module):
    def __init__(self, out_features):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        )
        self.head = nn.Linear(32 * 16, out_features)

    def forward(self, x):
        return self.head(self.body(x))


def fit(model, loader, loss_fn, opt, device):
    model.train()
    total = 0.0
    for posters, target in loader:
        posters, target = posters.to(device), target.to(device)
        loss = loss_fn(model(posters), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * posters.size(0)
    return total / len(loader.dataset)


@torch.no_grad()
def predict(model, loader, device):
    model.eval()
    hits, claimed, true = 0, 0, 0
    for posters, target in loader:
        pred = (torch.sigmoid(model(posters.to(device))) > 0.5).float().cpu()
        hits += (pred * target).sum().item()
        claimed += pred.sum().item()
        true += target.sum().item()
    return hits / max(claimed, 1), hits / true


torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
model = PosterNet(len(GENRES)).to(device)
loss_fn = nn.BCEWithLogitsLoss()
opt = optim.AdamW(model.parameters(), lr=2e-3)
train_dl = DataLoader(PosterGenres(256), batch_size=32, shuffle=True)
test_dl = DataLoader(PosterGenres(64, seed=1), batch_size=32)
for epoch in range(4):
    train_loss = fit(model, train_dl, loss_fn, opt, device)
    precision, recall = predict(model, test_dl, device)
    print(f"{epoch} loss {train_loss:.4f} precision {precision:.3f} recall {recall:.3f}")
