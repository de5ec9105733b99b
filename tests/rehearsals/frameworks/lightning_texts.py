"""A text classifier in 16-mixed: padded batches, an average of weights by hand."""

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import Callback, ModelCheckpoint
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, Dataset
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score


class Lines(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(count)
        lengths = torch.randint(4, 30, (count,), generator=generator).tolist()
        self.texts = [
            torch.randint(1, 500, (each,), generator=generator) for each in lengths
        ]
        self.labels = torch.randint(0, 6, (count,), generator=generator)

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index], self.labels[index]


def padded(items):
    texts, labels = zip(*items, strict=True)
    return pad_sequence(texts, batch_first=True), torch.stack(labels)


class Average(Callback):
    def on_fit_start(self, trainer, pl_module):
        self.average = AveragedModel(
            pl_module.net, multi_avg_fn=get_ema_multi_avg_fn(0.99)
        )

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.average.update_parameters(pl_module.net)

    def on_validation_epoch_end(self, trainer, pl_module):
        pl_module.log("updates", float(self.average.n_averaged))


class Net(nn.Module):
    def __init__(self, words=500, width=32, classes=6):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, classes)

    def forward(self, texts):
        hidden, _ = self.rnn(self.words(texts))
        mask = (texts > 0).unsqueeze(-1)
        return self.head((hidden * mask).sum(1) / mask.sum(1))


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
        metrics = MetricCollection(
            [MulticlassAccuracy(6), MulticlassF1Score(6, average="macro")]
        )
        self.train_metrics = metrics.clone(prefix="train_")
        self.val_metrics = metrics.clone(prefix="val_")
        self.outputs = []

    def training_step(self, batch, batch_idx):
        texts, labels = batch
        logits = self.net(texts)
        self.train_metrics.update(logits, labels)
        return F.cross_entropy(logits, labels, label_smoothing=0.1)

    def on_train_epoch_end(self):
        self.log_dict(self.train_metrics.compute())
        self.train_metrics.reset()

    def validation_step(self, batch, batch_idx):
        texts, labels = batch
        logits = self.net(texts)
        self.val_metrics.update(logits, labels)
        self.outputs.append(logits.argmax(1))

    def on_validation_epoch_end(self):
        self.log_dict(self.val_metrics.compute(), prog_bar=True)
        self.val_metrics.reset()
        guesses = torch.cat(self.outputs)
        self.log("share", (guesses == 0).float().mean())
        self.outputs.clear()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {
                "scheduler": scheduler,
                "monitor": "share",
                "frequency": 3,
            },
        }


if __name__ == "__main__":
    average = Average()
    trainer = L.Trainer(
        max_epochs=12,
        precision="16-mixed" if torch.cuda.is_available() else "bf16-mixed",
        gradient_clip_val=1.0,
        check_val_every_n_epoch=3,
        num_sanity_val_steps=0,
        callbacks=[average, ModelCheckpoint(monitor="val_MulticlassF1Score")],
    )
    train = DataLoader(Lines(503), 32, shuffle=True, collate_fn=padded)
    val = DataLoader(Lines(99), 32, collate_fn=padded)
    trainer.fit(Classifier(), train, val)
    torch.save(average.average.module.state_dict(), "average.pt")
