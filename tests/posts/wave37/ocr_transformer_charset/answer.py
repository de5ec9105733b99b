import string

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

config = {
    "vocab": string.ascii_lowercase + string.digits + " .,-ảáđườố",
    "image_height": 32,
    "image_width": 96,
    "d_model": 48,
    "nhead": 4,
    "max_seq_length": 20,
    "batch_size": 8,
    "iters": 20,
    "print_every": 5,
    "lr": 5e-4,
}

LINES = ["hoa don ban hang", "tong cong 45.000", "ngay 12-03", "ma so thue 0312", "so luong 2, gia 15.000",
         "giảm giá 10", "khach hang lan", "cam on quy khach", "thanh tien 90.000", "đường số 7"]


class Vocab:
    def __init__(self, chars):
        self.pad, self.go, self.eos = 0, 1, 2
        self.chars = chars
        self.c2i = {c: i + 3 for i, c in enumerate(chars)}

    def encode(self, text):
        ids = [self.c2i.setdefault(c, len(self.c2i) + 3) for c in text]
        return [self.go] + ids + [self.eos]

    def decode(self, ids):
        i2c = {i: c for c, i in self.c2i.items()}
        return "".join(i2c[i] for i in ids if i in i2c)

    def __len__(self):
        return len(self.chars) + 3


class LineDataset(Dataset):
    def __init__(self, lines, vocab, repeat=6):
        self.lines = [t for t in lines if len(t) <= config["max_seq_length"] - 2] * repeat
        self.vocab = vocab

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, i):
        text = self.lines[i]
        img = np.ones((config["image_height"], config["image_width"]), np.float32)
        for k, c in enumerate(text):
            x = 2 + k * 5
            img[4 + ord(c) % 20: 10 + ord(c) % 20, x: x + 4] = 0.1
        return torch.from_numpy(img).unsqueeze(0), self.vocab.encode(text)


def collate(batch):
    imgs = torch.stack([b[0] for b in batch])
    longest = max(len(b[1]) for b in batch)
    tokens = torch.zeros(len(batch), longest, dtype=torch.long)
    for row, (_, ids) in enumerate(batch):
        tokens[row, :len(ids)] = torch.tensor(ids)
    return imgs, tokens[:, :-1], tokens[:, 1:]


class OCRNet(nn.Module):
    def __init__(self, n_vocab, d_model, nhead):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, 24, 3, stride=2, padding=1), nn.BatchNorm2d(24), nn.ReLU(),
            nn.Conv2d(24, d_model, 3, stride=2, padding=1), nn.BatchNorm2d(d_model), nn.ReLU(),
            nn.AdaptiveAvgPool2d((1, 24)))
        self.embed_tgt = nn.Embedding(n_vocab, d_model, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(1, 64, d_model) * 0.02)
        self.transformer = nn.Transformer(d_model, nhead, 1, 1, 96, batch_first=True)
        self.fc = nn.Linear(d_model, n_vocab)

    def forward(self, img, tgt_inp):
        src = self.cnn(img).squeeze(2).permute(0, 2, 1)
        src = src + self.pos[:, :src.size(1)]
        tgt = self.embed_tgt(tgt_inp) + self.pos[:, :tgt_inp.size(1)]
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        out = self.transformer(src, tgt, tgt_mask=mask)
        return self.fc(out)


def train():
    torch.manual_seed(1)
    vocab = Vocab(config["vocab"])
    loader = DataLoader(LineDataset(LINES, vocab), batch_size=config["batch_size"], shuffle=True, collate_fn=collate)
    model = OCRNet(len(vocab), config["d_model"], config["nhead"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    criterion = nn.CrossEntropyLoss(ignore_index=vocab.pad)
    step = 0
    while step < config["iters"]:
        for img, tgt_inp, tgt_out in loader:
            step += 1
            logits = model(img, tgt_inp)
            loss = criterion(logits.flatten(0, 1), tgt_out.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
            if step % config["print_every"] == 0:
                print(f"iter {step:04d} loss {loss.item():.3f} | {vocab.decode(logits[0].argmax(-1).tolist())}")


if __name__ == "__main__":
    train()
