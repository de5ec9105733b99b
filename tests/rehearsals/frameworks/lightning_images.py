"""An image classifier as a LightningModule, with callbacks, loggers and clipping."""

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import (
    EarlyStopping,
    LearningRateMonitor,
    ModelCheckpoint,
)
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Cells(L.LightningDataModule):
    def __init__(self, batch_size=32):
        super().__init__()
        self.batch_size = batch_size

    def setup(self, stage):
        images = torch.randn(1201, 1, 28, 28)
        labels = torch.randint(0, 10, (1201,))
        whole = TensorDataset(images, labels)
        self.train, self.val, self.test = random_split(whole, [903, 198, 100])

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True, num_workers=2)

    def val_dataloader(self):
        return DataLoader(self.val, self.batch_size)

    def test_dataloader(self):
        return DataLoader(self.test, batch_size=self.batch_size)

    def predict_dataloader(self):
        return DataLoader(self.test, batch_size=self.batch_size)


class Classifier(L.LightningModule):
    def __init__(self, width=16, rate=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(2 * width, 10)

    def forward(self, x):
        return self.head(self.drop(self.body(x)))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = F.cross_entropy(self(x), y)
        self.log("train_loss", loss, prog_bar=True, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        accuracy = (logits.argmax(1) == y).float().mean()
        self.log_dict({"val_loss": loss, "val_accuracy": accuracy}, prog_bar=True)

    def test_step(self, batch, batch_idx):
        x, y = batch
        self.log("test_accuracy", (self(x).argmax(1) == y).float().mean())

    def predict_step(self, batch, batch_idx):
        return self(batch[0]).softmax(1)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "epoch"},
        }


def main():
    L.seed_everything(7, workers=True)
    best = ModelCheckpoint(monitor="val_accuracy", mode="max", save_last=True)
    trainer = L.Trainer(
        max_epochs=100,
        callbacks=[
            best,
            EarlyStopping("val_loss", patience=10),
            LearningRateMonitor("epoch"),
        ],
        logger=CSVLogger("logs"),
        gradient_clip_val=1.0,
        accumulate_grad_batches=2,
        log_every_n_steps=5,
    )
    data = Cells()
    model = Classifier()
    trainer.fit(model, data)
    print(trainer.validate(model, data))
    print(trainer.test(model, data, ckpt_path="best"))
    predictions = torch.cat(trainer.predict(model, data))
    print(predictions.shape)
    again = Classifier.load_from_checkpoint(best.best_model_path)
    print(again.hparams.width)


if __name__ == "__main__":
    main()
