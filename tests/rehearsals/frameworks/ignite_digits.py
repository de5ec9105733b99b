"""A classifier with the engines of pytorch-ignite."""

import torch
from ignite.engine import (
    Events,
    create_supervised_evaluator,
    create_supervised_trainer,
)
from ignite.handlers import EarlyStopping, ModelCheckpoint
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def loader(count, batch, shuffle):
    data = TensorDataset(torch.randn(count, 64), torch.randint(0, 10, (count,)))
    return DataLoader(data, batch, shuffle=shuffle)


def main():
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    train, val = loader(1003, 32, True), loader(203, 64, False)
    trainer = create_supervised_trainer(model, optimizer, criterion)
    metrics = {"accuracy": Accuracy(), "nll": Loss(criterion)}
    evaluator = create_supervised_evaluator(model, metrics=metrics)

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def log(engine):
        print(f"{engine.state.epoch}: {engine.state.output:.3f}")

    @trainer.on(Events.EPOCH_COMPLETED)
    def validate(engine):
        evaluator.run(val)
        print(evaluator.state.metrics)

    checkpoint = ModelCheckpoint("checkpoints", "digits", n_saved=2)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, checkpoint, {"model": model})
    stopping = EarlyStopping(5, lambda e: e.state.metrics["accuracy"], trainer)
    evaluator.add_event_handler(Events.COMPLETED, stopping)
    trainer.run(train, max_epochs=40)


if __name__ == "__main__":
    main()
