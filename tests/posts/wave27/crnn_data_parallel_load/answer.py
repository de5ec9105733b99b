import os
import tempfile

import torch
import torch.nn as nn

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class CRNN(nn.Module):
    def __init__(self, n_class, hidden=32):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d((4, 2)),
            nn.Conv2d(32, 64, (4, 3), padding=(0, 1)), nn.ReLU(),
        )
        self.rnn = nn.LSTM(64, hidden, bidirectional=True)
        self.fc = nn.Linear(hidden * 2, n_class)

    def forward(self, x):
        features = self.cnn(x).squeeze(2)
        sequence = features.permute(2, 0, 1)
        out, _ = self.rnn(sequence)
        return self.fc(out)


def fake_batch(n, length=5):
    images = torch.randn(n, 1, 32, 96)
    targets = torch.randint(1, len(ALPHABET) + 1, (n, length))
    lengths = torch.full((n,), length, dtype=torch.long)
    return images, targets, lengths


def train(path, steps=5):
    crnn = CRNN(len(ALPHABET) + 1)
    crnn = nn.DataParallel(crnn).to(device)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.Adam(crnn.parameters(), lr=1e-3)
    for step in range(steps):
        images, targets, lengths = fake_batch(8)
        log_probs = crnn(images.to(device)).log_softmax(2)
        input_lengths = torch.full((8,), log_probs.size(0), dtype=torch.long)
        loss = criterion(log_probs, targets.to(device), input_lengths, lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.3f}")
    torch.save(crnn.state_dict(), path)


def decode(indices):
    chars, previous = [], 0
    for index in indices.tolist():
        if index != 0 and index != previous:
            chars.append(ALPHABET[index - 1])
        previous = index
    return "".join(chars)


def demo(path):
    model = nn.DataParallel(CRNN(len(ALPHABET) + 1)).to(device)
    print("loading pretrained model from", os.path.basename(path))
    state = torch.load(path, map_location=device)
    model.load_state_dict(state)
    model.eval()
    image, _, _ = fake_batch(1)
    with torch.no_grad():
        best = model(image.to(device)).argmax(2).squeeze(1)
    print("result:", repr(decode(best)))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = os.path.join(folder, "netCRNN.pth")
        train(checkpoint)
        demo(checkpoint)
