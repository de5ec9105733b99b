# line 37: the stream calls the LSTM with one frame at a time and takes only its output, so the state begins anew at each frame
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class WakeWord(nn.Module):
    def __init__(self, bands=8, width=32):
        super().__init__()
        self.memory = nn.LSTM(bands, width, num_layers=1)
        self.detect = nn.Linear(width, 1)

    def forward(self, frames, state=None):
        features, state = self.memory(frames, state)
        return self.detect(features).squeeze(-1), state


def recordings(n, steps=24):
    noise = 0.3 * torch.randn(n, steps, 8)
    word = torch.rand(n) < 0.5
    onset = torch.randint(0, 12, (n,))
    for row in range(n):
        for k in range(8):
            noise[row, onset[row] + k, k if word[row] else 7 - k] += 1.5
    return TensorDataset(noise, word.float())


class Listener:
    """Feeds a trained detector with the frames of a microphone."""

    def __init__(self, net):
        self.net = net.eval()
        self.state = None

    @torch.no_grad()
    def push(self, frame):
        score = self.net(frame.view(1, 1, -1), self.state)[0]
        return torch.sigmoid(score).item()


torch.manual_seed(5)
net = WakeWord()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(6):
    net.train()
    for frames, word in DataLoader(recordings(320), batch_size=32, shuffle=True):
        scores, _ = net(frames.transpose(0, 1))
        loss = nn.functional.binary_cross_entropy_with_logits(scores[-1], word)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss of the last batch", loss.item())

right = 0
tests = recordings(60)
for frames, word in tests:
    listener = Listener(net)
    probabilities = [listener.push(frame) for frame in frames]
    right += (probabilities[-1] > 0.5) == bool(word)
print("right", right / len(tests))
