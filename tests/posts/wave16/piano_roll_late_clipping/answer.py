import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset

N_MELS, N_KEYS, FRAMES = 40, 16, 48


class ToyPiano(Dataset):
    """mel frames of random notes; some recordings are far too loud"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        timbre = torch.rand(N_KEYS, N_MELS, generator=torch.Generator().manual_seed(50)) ** 3
        self.items = []
        for i in range(n):
            frame = torch.zeros(FRAMES, N_KEYS)
            onset = torch.zeros(FRAMES, N_KEYS)
            for _ in range(14):
                key = int(torch.randint(0, N_KEYS, (1,), generator=g))
                start = int(torch.randint(0, FRAMES - 16, (1,), generator=g))
                length = int(torch.randint(6, 16, (1,), generator=g))
                frame[start:start + length, key] = 1
                onset[start, key] = 1
            mel = frame @ timbre + 2 * onset @ timbre + 0.05 * torch.randn(FRAMES, N_MELS, generator=g)
            gain = 600.0 if i % 16 == 7 else 1.0
            self.items.append({'mel': gain * mel, 'onset': onset, 'frame': frame})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class OnsetsAndFrames(nn.Module):
    def __init__(self, size=48):
        super().__init__()
        self.onset_stack = nn.Sequential(nn.Linear(N_MELS, size), nn.ReLU(), nn.Linear(size, N_KEYS))
        self.frame_stack = nn.Sequential(nn.Linear(N_MELS, size), nn.ReLU(), nn.Linear(size, N_KEYS))
        self.lstm = nn.LSTM(2 * N_KEYS, size // 2, batch_first=True, bidirectional=True)
        self.combined = nn.Linear(size, N_KEYS)

    def forward(self, mel):
        onset = self.onset_stack(mel)
        activation = self.frame_stack(mel)
        h, _ = self.lstm(torch.cat([torch.sigmoid(onset).detach(), torch.sigmoid(activation)], dim=-1))
        return onset, activation, self.combined(h)

    def run_on_batch(self, batch):
        onset, activation, frame = self(batch['mel'])
        losses = {
            'loss/onset': F.binary_cross_entropy_with_logits(onset, batch['onset']),
            'loss/activation': F.binary_cross_entropy_with_logits(activation, batch['frame']),
            'loss/frame': F.binary_cross_entropy_with_logits(frame, batch['frame']),
        }
        return torch.sigmoid(frame), losses


@torch.no_grad()
def evaluate(loader, model):
    model.eval()
    losses = [model.run_on_batch(batch)[1] for batch in loader]
    model.train()
    return {k: sum(l[k].item() for l in losses) / len(losses) for k in losses[0]}


def main():
    torch.manual_seed(0)
    clip_gradient_norm = 3
    loader = DataLoader(ToyPiano(128, 1), batch_size=8, shuffle=True)
    validation = DataLoader(ToyPiano(7, 2), batch_size=8)
    model = OnsetsAndFrames()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=200, gamma=0.98)
    for epoch in range(8):
        totals = []
        for batch in loader:
            _, losses = model.run_on_batch(batch)
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(model.parameters(), clip_gradient_norm)
            optimizer.step()
            scheduler.step()
            totals.append(loss.item())
        metrics = evaluate(validation, model)
        print('epoch %d loss %.3f (largest %.3f)' % (epoch, sum(totals) / len(totals), max(totals)),
              ' '.join('%s %.3f' % item for item in metrics.items()))


if __name__ == '__main__':
    main()
