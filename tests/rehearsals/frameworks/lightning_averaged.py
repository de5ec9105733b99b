"""A segmentation model in bf16: averaged weights, checks within an epoch, resumed."""

import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import (
    EarlyStopping,
    EMAWeightAveraging,
    LearningRateMonitor,
    ModelCheckpoint,
)
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchmetrics import JaccardIndex


class Fields(Dataset):
    def __init__(self, count, size=32):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        image = torch.rand(3, self.size, self.size, generator=generator)
        mask = torch.randint(0, 4, (self.size, self.size), generator=generator)
        return {"image": image, "mask": mask}


class Segmenter(L.LightningModule):
    def __init__(self, width=8, classes=4, rate=1e-2):
        super().__init__()
        self.save_hyperparameters()
        self.down = nn.Sequential(
            nn.Conv2d(3, width, 3, stride=2, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
        )
        self.up = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.head = nn.Conv2d(width, classes, 1)
        self.iou = JaccardIndex(task="multiclass", num_classes=classes)

    def forward(self, x):
        return self.head(F.relu(self.up(self.down(x))))

    def training_step(self, batch, batch_idx):
        loss = F.cross_entropy(self(batch["image"]), batch["mask"])
        self.log("loss", loss)
        if self.global_step % 50 == 0:
            self.log("largest", self.head.weight.abs().max())
        return loss

    def validation_step(self, batch, batch_idx):
        logits = self(batch["image"])
        self.log("val_loss", F.cross_entropy(logits, batch["mask"]))
        self.iou(logits, batch["mask"])
        self.log("val_iou", self.iou, on_step=False, on_epoch=True)

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(
            optimizer, T_max=self.trainer.estimated_stepping_batches
        )
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]


def trainer_for(epochs, folder):
    return L.Trainer(
        max_epochs=epochs,
        precision="bf16-mixed",
        accumulate_grad_batches=2,
        gradient_clip_val=0.5,
        gradient_clip_algorithm="value",
        val_check_interval=25,
        log_every_n_steps=50,
        logger=CSVLogger(folder),
        callbacks=[
            EMAWeightAveraging(decay=0.99),
            ModelCheckpoint(monitor="val_iou", mode="max", save_top_k=2),
            ModelCheckpoint(
                dirpath=f"{folder}/steps",
                every_n_train_steps=40,
                save_last=True,
                save_top_k=-1,
            ),
            EarlyStopping("val_loss", patience=50, check_finite=True),
            LearningRateMonitor("step"),
        ],
    )


def main():
    L.seed_everything(1)
    train = DataLoader(Fields(403), 8, shuffle=True, drop_last=True)
    val = DataLoader(Fields(61), 16)
    model = Segmenter()
    trainer_for(4, "first").fit(model, train, val)
    trainer = trainer_for(8, "second")
    trainer.fit(Segmenter(), train, val, ckpt_path="first/steps/last.ckpt")
    print(trainer.validate(model, val))
    print(trainer.callback_metrics["val_iou"].item())


if __name__ == "__main__":
    main()
