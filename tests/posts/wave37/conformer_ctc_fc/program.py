import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class FeedForwardModule(nn.Module):
    def __init__(self, dim, expansion=4, p=0.1):
        super().__init__()
        self.sequential = nn.Sequential(
            nn.LayerNorm(dim),
            nn.Linear(dim, dim * expansion),
            nn.SiLU(),
            nn.Dropout(p),
            nn.Linear(dim * expansion, dim),
            nn.Dropout(p),
        )

    def forward(self, x):
        return self.sequential(x)


class ConvModule(nn.Module):
    def __init__(self, dim, kernel_size=15, p=0.1):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.pointwise_in = nn.Conv1d(dim, dim * 2, 1)
        self.depthwise = nn.Conv1d(dim, dim, kernel_size, padding=kernel_size // 2, groups=dim)
        self.bn = nn.BatchNorm1d(dim)
        self.pointwise_out = nn.Conv1d(dim, dim, 1)
        self.dropout = nn.Dropout(p)

    def forward(self, x):
        x = self.norm(x).transpose(1, 2)
        x = F.glu(self.pointwise_in(x), dim=1)
        x = F.silu(self.bn(self.depthwise(x)))
        return self.dropout(self.pointwise_out(x)).transpose(1, 2)


class SpeechBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ff1 = FeedForwardModule(dim)
        self.att_norm = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, dropout=0.1, batch_first=True)
        self.conv = ConvModule(dim)
        self.ff2 = FeedForwardModule(dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        h = self.att_norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.norm(x)


class SpeechEncoder(nn.Module):
    def __init__(self, n_mels, dim, depth, heads):
        super().__init__()
        self.subsample = nn.Sequential(
            nn.Conv1d(n_mels, dim, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv1d(dim, dim, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.blocks = nn.ModuleList([SpeechBlock(dim, heads) for _ in range(depth)])

    def forward(self, mels, mel_lengths):
        x = self.subsample(mels.transpose(1, 2)).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x, (mel_lengths - 1) // 4 + 1


class SpeechRecognizer(nn.Module):
    """Encoder plus a projection onto the character inventory, trained with CTC."""

    def __init__(self, num_classes, n_mels=80, dim=96, depth=2, heads=4):
        super().__init__()
        self.encoder = SpeechEncoder(n_mels, dim, depth, heads)
        self.fc = nn.Linear(dim, num_classes, bias=False)

    def forward(self, mels, mel_lengths):
        encoded, out_lengths = self.encoder(mels, mel_lengths)
        log_probs = F.log_softmax(encoded, dim=-1)
        return log_probs, out_lengths


def fake_batch(batch, frames, n_mels, num_classes):
    mels = torch.randn(batch, frames, n_mels)
    mel_lengths = torch.randint(frames // 2, frames + 1, (batch,))
    mel_lengths[0] = frames
    target_lengths = torch.randint(5, 11, (batch,))
    targets = torch.randint(1, num_classes, (batch, 10))
    return mels, mel_lengths, targets, target_lengths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocab", type=int, default=30)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = SpeechRecognizer(num_classes=args.vocab).to(device)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)

    model.train()
    for step in range(args.steps):
        mels, mel_lengths, targets, target_lengths = fake_batch(args.batch_size, 160, 80, args.vocab)
        log_probs, out_lengths = model(mels.to(device), mel_lengths.to(device))
        loss = criterion(log_probs.transpose(0, 1), targets.to(device), out_lengths, target_lengths)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} ctc {loss.item():.3f}")


if __name__ == "__main__":
    main()
