# line 23: the gradients are limited elementwise before the scaler has divided them by its scale
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.clip_grad import clip_grad_value_
from torch.utils.data import DataLoader, TensorDataset

OPTIONS = dict(lr=0.1, clip=0.5, epochs=3, accumulate=2)


class SpeechCommands(nn.Module):
    def __init__(self, mels=12, words=5):
        super().__init__()
        self.depth = nn.Conv1d(mels, mels, 5, groups=mels, padding=2)
        self.point = nn.Conv1d(mels, 24, 1)
        self.fc = nn.Linear(24, words)

    def forward(self, mel):
        return self.fc(F.relu(self.point(self.depth(mel))).mean(-1))


def optimise(scaler, optimizer, weights, clip):
    clip_grad_value_(weights, clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def main(options):
    torch.manual_seed(89)
    word = torch.randint(5, (160,))
    mel = torch.randn(160, 12, 20)
    mel[torch.arange(160), 2 * word] += 1
    loader = DataLoader(TensorDataset(mel, word), batch_size=16, shuffle=True)
    model = SpeechCommands()
    weights = list(model.parameters())
    optimizer = torch.optim.SGD(weights, lr=options["lr"])
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    for epoch in range(options["epochs"]):
        total = 0.0
        for i, (x, y) in enumerate(loader, 1):
            loss = F.cross_entropy(model(x), y)
            scaler.scale(loss / options["accumulate"]).backward()
            total += loss.item() * len(y)
            if i % options["accumulate"] == 0:
                optimise(scaler, optimizer, weights, options["clip"])
        print(epoch, total / len(loader.dataset))


main(OPTIONS)
