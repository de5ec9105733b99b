"""Turn human dates ("7 march 1998") into ISO dates ("1998-03-07") with an encoder-decoder."""
import argparse
import datetime
import random

import torch
import torch.nn as nn

MONTHS = ["january", "february", "march", "april", "may", "june", "july",
          "august", "september", "october", "november", "december"]
SRC_CHARS = ["<pad>"] + sorted(set("".join(MONTHS) + "0123456789 ,"))
TGT_CHARS = ["<s>"] + list("0123456789-")
SRC = {c: i for i, c in enumerate(SRC_CHARS)}
TGT = {c: i for i, c in enumerate(TGT_CHARS)}
SRC_LEN = 20


def random_pair():
    day = datetime.date(1950, 1, 1) + datetime.timedelta(days=random.randrange(365 * 80))
    month = MONTHS[day.month - 1]
    style = random.choice(["{d} {m} {y}", "{m} {d}, {y}", "{m} {d} {y}"])
    return style.format(d=day.day, m=month, y=day.year), day.isoformat()


def make_batch(n):
    pairs = [random_pair() for _ in range(n)]
    src = [[SRC[c] for c in text] + [SRC["<pad>"]] * (SRC_LEN - len(text)) for text, _ in pairs]
    tgt = [[TGT["<s>"]] + [TGT[c] for c in iso] for _, iso in pairs]
    return torch.tensor(src), torch.tensor(tgt)


class DateNet(nn.Module):
    def __init__(self, dim=32, hidden=64):
        super().__init__()
        self.src_embed = nn.Embedding(len(SRC_CHARS), dim, padding_idx=0)
        self.tgt_embed = nn.Embedding(len(TGT_CHARS), dim)
        self.encoder = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.decoder = nn.GRU(dim, 2 * hidden, batch_first=True)
        self.out = nn.Linear(4 * hidden, len(TGT_CHARS))

    def encode(self, src):
        memory, h = self.encoder(self.src_embed(src))
        h = torch.cat([h[0], h[1]], dim=1).unsqueeze(0)
        return memory, h

    def decode(self, inputs, memory, pad_mask, h):
        states, h = self.decoder(self.tgt_embed(inputs), h)
        scores = states @ memory.transpose(1, 2)
        scores = scores.masked_fill(pad_mask[:, None, :], float("-inf"))
        context = scores.softmax(dim=-1) @ memory
        return self.out(torch.cat([states, context], dim=-1)), h

    def forward(self, src, inputs):
        memory, h = self.encode(src)
        return self.decode(inputs, memory, src == 0, h)[0]

    @torch.no_grad()
    def translate(self, src, steps=10):
        memory, h = self.encode(src)
        token = torch.full((len(src), 1), TGT["<s>"])
        result = []
        for _ in range(steps):
            logits, h = self.decode(token, memory, src == 0, h)
            token = logits.argmax(dim=-1)
            result.append(token)
        return torch.cat(result, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-3)
    args = parser.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    net = DateNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        net.train()
        src, tgt = make_batch(args.batch)
        inputs, labels = tgt[:, :-1], tgt[:, 1:]
        logits = net(src, inputs)
        loss = criterion(logits.transpose(1, 2), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            net.eval()
            src, tgt = make_batch(200)
            guess = net.translate(src)
            chars = (guess == tgt[:, 1:]).float().mean().item()
            whole = (guess == tgt[:, 1:]).all(dim=1).float().mean().item()
            print(f"step {step} loss {loss.item():.3f} characters {chars:.3f} whole dates {whole:.3f}")


if __name__ == "__main__":
    main()
