import math
from typing import Iterator, Tuple

import numpy as np
import torch
from torch import Tensor, nn


class RunoffTask:
    """Rainfall of the last hours (mm) and the total run-off to predict from it."""

    def __init__(self, length: int, batch_size: int, seed: int):
        self.length, self.batch_size = length, batch_size
        self.rng = np.random.default_rng(seed)

    def batches(self, n: int) -> Iterator[Tuple[Tensor, Tensor]]:
        for _ in range(n):
            rain = self.rng.gamma(0.8, 2.0, (self.batch_size, self.length))
            x = torch.tensor(rain[..., None], dtype=torch.float32)
            y = torch.tensor(0.6 * rain.sum(1, keepdims=True), dtype=torch.float32)
            yield x, y


class RunoffRNN(nn.Module):
    def __init__(self, hidden: int = 64):
        super().__init__()
        self.rnn = nn.RNN(1, hidden, nonlinearity="relu", batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        out, _ = self.rnn(x)
        return self.head(out[:, -1])


class Trainer:
    def __init__(self, model: nn.Module, lr: float, max_norm: float):
        self.model = model
        self.loss_fn = nn.MSELoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.max_norm = max_norm

    def train_step(self, x: Tensor, y: Tensor) -> float:
        self.model.train()
        self.opt.zero_grad()
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
        self.opt.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, task: RunoffTask, n: int) -> float:
        self.model.eval()
        return float(np.mean([self.loss_fn(self.model(x), y).item() for x, y in task.batches(n)]))


def main() -> None:
    torch.manual_seed(0)
    train = RunoffTask(24, 64, seed=0)
    trainer = Trainer(RunoffRNN(), lr=0.01, max_norm=1.0)
    history = []
    for step, (x, y) in enumerate(train.batches(400), 1):
        history.append(trainer.train_step(x, y))
        if step % 80 == 0:
            rmse = math.sqrt(trainer.evaluate(RunoffTask(24, 64, seed=1), 5))
            print(f"step {step} train mse {np.mean(history[-80:]):.3f} max {max(history[-80:]):.3f} val rmse {rmse:.3f}")


if __name__ == "__main__":
    main()
