import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR


class WarmupLinearScheduler:
    """Linear warmup, then linear decay to zero over max_lr_steps updates."""

    def __init__(self, optimizer, warmup_updates, warmup_rate, max_lr_steps):
        self.optimizer = optimizer
        self.warmup_updates = warmup_updates
        self.warmup_rate = warmup_rate
        self.max_lr_steps = max_lr_steps
        self._number_training_updates = 0
        self.warmup_scheduler = None
        if warmup_updates > 0:
            self.warmup_scheduler = LambdaLR(optimizer, self._warmup_lr)
        self.scheduler = LambdaLR(optimizer, self._linear_lr)
        if self.warmup_scheduler is not None:
            self._set_lr(self._warmup_lr(0))

    def _set_lr(self, factor):
        for group in self.optimizer.param_groups:
            group["lr"] = group["initial_lr"] * factor

    def _warmup_lr(self, step):
        start = self.warmup_rate
        return start + (1.0 - start) * min(1.0, step / self.warmup_updates)

    def _linear_lr(self, step):
        return max(0.0, 1.0 - step / self.max_lr_steps)

    def get_last_lr(self):
        return self.optimizer.param_groups[0]["lr"]

    def _is_warming_up(self):
        return self.warmup_scheduler is not None and (
            self._number_training_updates < self.warmup_updates or self.get_last_lr() < 1.0)

    def step(self, num_updates):
        self._number_training_updates = num_updates
        if self._is_warming_up():
            self._set_lr(self._warmup_lr(num_updates))
        else:
            self._set_lr(self._linear_lr(num_updates - self.warmup_updates))


class ReplyModel(nn.Module):
    def __init__(self, vocab=120, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.out = nn.Linear(dim, vocab)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1))
        return self.out(self.encoder(self.embed(tokens), mask=mask))


def dialogs(n, length=14, vocab=120):
    first = torch.randint(0, vocab, (n, 1))
    return (first + 3 * torch.arange(length)) % vocab


def main():
    opt = {"learningrate": 5e-4, "warmup_updates": 10, "warmup_rate": 0.01, "max_lr_steps": 100, "bs": 16}
    torch.manual_seed(5)
    model = ReplyModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=opt["learningrate"])
    scheduler = WarmupLinearScheduler(
        optimizer, opt["warmup_updates"], opt["warmup_rate"], opt["max_lr_steps"])
    criterion = nn.CrossEntropyLoss()
    data = dialogs(320)

    for update in range(1, opt["warmup_updates"] + opt["max_lr_steps"] + 1):
        rows = torch.randint(0, len(data), (opt["bs"],))
        batch = data[rows]
        scores = model(batch[:, :-1])
        loss = criterion(scores.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        scheduler.step(update)
        if update % 10 == 0:
            print(f"update {update:4d} | loss {loss.item():.3f} | lr {scheduler.get_last_lr():.2e}")


if __name__ == "__main__":
    main()
