"""A GAN as a LightningModule: two optimizers, optimised by hand."""

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(pl.LightningModule):
    def __init__(self, latent=16, size=64):
        super().__init__()
        self.automatic_optimization = False
        self.latent = latent
        self.generator = nn.Sequential(
            nn.Linear(latent, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, size)
        )
        self.critic = nn.Sequential(
            nn.Linear(size, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def training_step(self, batch, batch_idx):
        (real,) = batch
        optimizer_g, optimizer_c = self.optimizers()
        noise = torch.randn(real.shape[0], self.latent, device=self.device)

        self.toggle_optimizer(optimizer_c)
        fake = self.generator(noise).detach()
        ones = torch.ones(real.shape[0], 1, device=self.device)
        loss_c = F.binary_cross_entropy_with_logits(self.critic(real), ones)
        loss_c = loss_c + F.binary_cross_entropy_with_logits(
            self.critic(fake), torch.zeros_like(ones)
        )
        optimizer_c.zero_grad()
        self.manual_backward(loss_c)
        self.clip_gradients(optimizer_c, gradient_clip_val=0.5)
        optimizer_c.step()
        self.untoggle_optimizer(optimizer_c)

        self.toggle_optimizer(optimizer_g)
        loss_g = F.binary_cross_entropy_with_logits(
            self.critic(self.generator(noise)), ones
        )
        optimizer_g.zero_grad()
        self.manual_backward(loss_g)
        optimizer_g.step()
        self.untoggle_optimizer(optimizer_g)
        self.log_dict({"generator": loss_g, "critic": loss_c})

    def on_train_epoch_end(self):
        self.lr_schedulers().step()

    def configure_optimizers(self):
        optimizer_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4)
        optimizer_c = torch.optim.Adam(self.critic.parameters(), lr=2e-4)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer_g, 20)
        return [optimizer_g, optimizer_c], [scheduler]


if __name__ == "__main__":
    pl.seed_everything(3)
    loader = DataLoader(
        TensorDataset(torch.randn(1003, 64)), batch_size=32, shuffle=True
    )
    trainer = pl.Trainer(max_epochs=60)
    trainer.fit(GAN(), loader)
    trainer.save_checkpoint("gan.ckpt")
