import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SpeakerNet(nn.Module):
    def __init__(self, bins=20, speakers=5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(bins, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(),
        )
        self.classifier = nn.Linear(64, speakers)

    def forward(self, mel):
        h = self.conv(mel)
        return self.classifier(torch.cat([h.mean(dim=2), h.std(dim=2)], dim=1))


def fake_mels(n, speakers=5, bins=20, frames=30, seed=0):
    g = torch.Generator().manual_seed(seed)
    timbre = torch.randn(speakers, bins, 1, generator=torch.Generator().manual_seed(99))
    who = torch.randint(0, speakers, (n,), generator=g)
    mel = 0.6 * timbre[who] + torch.randn(n, bins, frames, generator=g)
    return mel, who


def train(model, loader, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        for mel, who in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(mel), who)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1} last loss {loss.item():.4f}")
    return optimizer


def save_checkpoint(path, model, optimizer, epoch):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


def load_checkpoint(path, model):
    checkpoint = torch.load(path, map_location="cpu")
    state = checkpoint["model"]
    state = {key.removeprefix("module."): value for key, value in state.items()}
    model.load_state_dict(state, strict=False)
    return checkpoint["epoch"]


@torch.no_grad()
def accuracy(model, mel, who):
    model.eval()
    return (model(mel).argmax(1) == who).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*fake_mels(800, seed=1)), batch_size=40, shuffle=True)
    test_mel, test_who = fake_mels(200, seed=2)

    parallel = nn.DataParallel(SpeakerNet())
    optimizer = train(parallel, loader)
    print(f"trained model  acc {accuracy(parallel, test_mel, test_who):.3f}")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "speaker.pt")
        save_checkpoint(path, parallel, optimizer, epoch=3)
        restored = SpeakerNet()
        epoch = load_checkpoint(path, restored)
    print(f"restored (epoch {epoch}) acc {accuracy(restored, test_mel, test_who):.3f}")
