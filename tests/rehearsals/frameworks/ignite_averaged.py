"""A regression with ignite: its own step, a scaler, an average of weights, events."""

import torch
from ignite.engine import Engine, Events
from ignite.handlers import (
    Checkpoint,
    DiskSaver,
    EMAHandler,
    LRScheduler,
    TerminateOnNan,
    global_step_from_engine,
)
from ignite.metrics import MeanSquaredError, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    inputs = torch.randn(1003, 10)
    targets = inputs.pow(2).sum(1, keepdim=True)
    train = DataLoader(TensorDataset(inputs[:803], targets[:803]), 32, shuffle=True)
    test = DataLoader(TensorDataset(inputs[803:], targets[803:]), 64)
    model = nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")

    def step(engine, batch):
        model.train()
        x, y = (each.to(device) for each in batch)
        with torch.autocast(device.type, torch.bfloat16):
            guess = model(x)
        loss = nn.functional.mse_loss(guess.float(), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        return {"loss": loss.item(), "guess": guess.detach(), "y": y}

    ema = EMAHandler(model, momentum=0.01)

    def evaluate(engine, batch):
        ema.ema_model.eval()
        with torch.no_grad():
            x, y = (each.to(device) for each in batch)
            return ema.ema_model(x), y

    trainer, evaluator = Engine(step), Engine(evaluate)
    ema.attach(trainer, name="momentum", event=Events.ITERATION_COMPLETED)
    RunningAverage(output_transform=lambda out: out["loss"]).attach(trainer, "loss")
    MeanSquaredError().attach(evaluator, "mse")
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    trainer.add_event_handler(Events.EPOCH_COMPLETED, LRScheduler(schedule))
    trainer.add_event_handler(
        Events.ITERATION_COMPLETED,
        TerminateOnNan(output_transform=lambda out: out["loss"]),
    )

    @trainer.on(Events.ITERATION_COMPLETED(every=100))
    def validate(engine):
        evaluator.run(test)
        print(engine.state.iteration, evaluator.state.metrics["mse"])

    @trainer.on(Events.EPOCH_COMPLETED(every=5) | Events.COMPLETED)
    def report(engine):
        print(engine.state.epoch, engine.state.metrics["loss"])

    saver = Checkpoint(
        {"model": model, "ema": ema.ema_model, "optimizer": optimizer},
        DiskSaver("saved", create_dir=True),
        n_saved=2,
        score_function=lambda engine: -engine.state.metrics["mse"],
        score_name="mse",
        global_step_transform=global_step_from_engine(trainer),
    )
    evaluator.add_event_handler(Events.COMPLETED, saver)
    trainer.run(train, max_epochs=20)
    state = torch.load(saver.last_checkpoint, weights_only=True)
    Checkpoint.load_objects({"model": model, "ema": ema.ema_model}, state)


if __name__ == "__main__":
    main()
