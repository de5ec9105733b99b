import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

CLIP_LEN = 6
NUM_ACTIONS = 4


class ClipDataset(Dataset):
    def __init__(self, n_clips):
        self.frames = torch.randn(n_clips, CLIP_LEN, 3, 16, 16) * 0.1
        self.action = torch.randint(NUM_ACTIONS, (n_clips,))
        for i in range(n_clips):
            a = self.action[i].item()
            for t in range(CLIP_LEN):
                self.frames[i, t, :, (a * 4 + t) % 16, :] += 1.0

    def __len__(self):
        return self.frames.shape[0]

    def __getitem__(self, i):
        return self.frames[i], self.action[i]


class FrameEncoder(nn.Module):
    def __init__(self, out_dim=32):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        )
        self.fc = nn.Linear(16 * 16, out_dim)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


class ActionRecognizer(nn.Module):
    def __init__(self, feat_dim=32, hidden=48):
        super().__init__()
        self.encoder = FrameEncoder(feat_dim)
        self.lstm = nn.LSTM(feat_dim, hidden)
        self.classifier = nn.Linear(hidden, NUM_ACTIONS)

    def forward(self, clips):
        b, t, c, h, w = clips.size()
        feats = self.encoder(clips.view(b * t, c, h, w))
        feats = feats.view(b, t, -1).transpose(0, 1)
        out, _ = self.lstm(feats)
        return self.classifier(out[-1])


def main():
    torch.manual_seed(11)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    train_loader = DataLoader(ClipDataset(192), batch_size=16, shuffle=True)
    val_loader = DataLoader(ClipDataset(48), batch_size=16)
    model = ActionRecognizer().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(5):
        model.train()
        epoch_loss = 0.0
        for clips, action in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(clips.to(device)), action.to(device))
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        model.eval()
        hits = 0
        with torch.no_grad():
            for clips, action in val_loader:
                hits += (model(clips.to(device)).argmax(1).cpu() == action).sum().item()
        print(f"epoch {epoch} loss {epoch_loss / len(train_loader):.4f} acc {hits / 48:.3f}")


if __name__ == "__main__":
    main()
