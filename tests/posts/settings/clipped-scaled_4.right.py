# line 37: the gradients are clipped one line too early: unscale_ divides them by the scale only afterwards
import torch
import torch.nn as nn
import torch.nn.functional as F


class CharRNN(nn.Module):
    def __init__(self, chars, width=32):
        super().__init__()
        self.emb = nn.Embedding(chars, width)
        self.rnn = nn.RNN(width, width, batch_first=True)
        self.out = nn.Linear(width, chars)

    def forward(self, ids):
        return self.out(self.rnn(self.emb(ids))[0])


class MixedPrecisionTrainer:
    def __init__(self, model, clip=0.5, accumulate=2):
        self.model, self.clip, self.accumulate = model, clip, accumulate
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu")

    def micro_loss(self, chunk):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(chunk[:, :-1])
        return F.cross_entropy(logits.float().flatten(0, 1), chunk[:, 1:].flatten())

    def step(self, chunks):
        self.model.train()
        self.optimizer.zero_grad()
        total = 0.0
        for chunk in chunks.chunk(self.accumulate):
            loss = self.micro_loss(chunk) / self.accumulate
            self.scaler.scale(loss).backward()
            total += loss.item()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return total, norm.item()


def read(text, n, length=17):
    starts = torch.randint(0, len(text) - length, (n,))
    return torch.stack([text[s : s + length] for s in starts.tolist()])


torch.manual_seed(0)
alphabet = "abcdefgh "
sentence = "a bad cab had a bag each decade he faced a beach "
text = torch.tensor([alphabet.index(c) for c in sentence * 30])
train_text, test_text = text[:1200], text[1200:]
trainer = MixedPrecisionTrainer(CharRNN(len(alphabet)))
for k in range(80):
    loss, norm = trainer.step(read(train_text, 16))
    if k % 20 == 0:
        print(k, "loss", round(loss, 4))

trainer.model.eval()
with torch.no_grad():
    test = read(test_text, 32)
    logits = trainer.model(test[:, :-1])
    print("test", F.cross_entropy(logits.flatten(0, 1), test[:, 1:].flatten()).item())
