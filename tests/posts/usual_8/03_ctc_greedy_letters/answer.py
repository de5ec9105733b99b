import numpy as np
import torch
from torch import nn, optim

torch.manual_seed(3)
rng = np.random.RandomState(3)

WORDS = ["hello", "yellow", "letter", "book", "moon", "rabbit", "coffee", "summer",
         "apple", "pizza", "happy", "water", "green", "street", "night", "table"]
ALPHABET = sorted(set("".join(WORDS)))
BLANK = 0
c2i = {c: k + 1 for k, c in enumerate(ALPHABET)}
i2c = {v: k for k, v in c2i.items()}
n_feats = 24
letter_sound = {c: rng.randn(n_feats) * 1.5 for c in ALPHABET}


def speak(word):
    """Frames of a word: each letter lasts a few frames, a short pause follows."""
    frames = []
    for c in word:
        for _ in range(rng.randint(3, 6)):
            frames.append(letter_sound[c] + 0.25 * rng.randn(n_feats))
        for _ in range(rng.randint(1, 3)):
            frames.append(0.25 * rng.randn(n_feats))
    return np.array(frames, dtype=np.float32)


def make_batch(size):
    words = list(rng.choice(WORDS, size))
    xs = [speak(w) for w in words]
    lens = torch.tensor([len(x) for x in xs])
    X = torch.zeros(size, int(lens.max()), n_feats)
    for k, x in enumerate(xs):
        X[k, :len(x)] = torch.from_numpy(x)
    y = torch.tensor([c2i[c] for w in words for c in w])
    ylens = torch.tensor([len(w) for w in words])
    return X, lens, y, ylens, words


class Net(nn.Module):
    def __init__(self, n_out, h=96):
        super().__init__()
        self.inp = nn.Linear(n_feats, h)
        self.lstm = nn.LSTM(h, h // 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(h, n_out)

    def forward(self, x):
        x = torch.relu(self.inp(x))
        x, _ = self.lstm(x)
        return self.out(x).log_softmax(-1)


def decode(log_probs, lens):
    best = log_probs.argmax(-1)
    hyps = []
    for row, n in zip(best, lens):
        path = [int(i) for i in row[:n]]
        collapsed = [i for k, i in enumerate(path) if k == 0 or i != path[k - 1]]
        collapsed = [i for i in collapsed if i != BLANK]
        hyps.append("".join(i2c[i] for i in collapsed))
    return hyps


def edit_distance(a, b):
    d = np.arange(len(b) + 1)
    for i, ca in enumerate(a, 1):
        prev, d[0] = d[0], i
        for j, cb in enumerate(b, 1):
            prev, d[j] = d[j], min(d[j] + 1, d[j - 1] + 1, prev + (ca != cb))
    return int(d[-1])


net = Net(len(ALPHABET) + 1)
ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
opt = optim.Adam(net.parameters(), lr=5e-3)

for step in range(1, 161):
    X, lens, y, ylens, _ = make_batch(32)
    loss = ctc(net(X).permute(1, 0, 2), y, lens, ylens)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 40 == 0:
        print("step %d loss %.4f" % (step, loss.item()))

net.eval()
with torch.no_grad():
    X, lens, y, ylens, words = make_batch(128)
    hyps = decode(net(X), lens)
errors = sum(edit_distance(h, w) for h, w in zip(hyps, words))
print("CER  %.3f" % (errors / sum(len(w) for w in words)))
print("WER  %.3f" % np.mean([h != w for h, w in zip(hyps, words)]))
for w, h in list(zip(words, hyps))[:8]:
    print(f"{w:>8} -> {h}")
