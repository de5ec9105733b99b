import torch
import torch.nn as nn
import torch.nn.functional as F


class VAEDecoder(nn.Module):
    """Variational decoder of the time to the next event, conditioned on the history embedding."""

    def __init__(self, embed_size, latent_size=8, hidden=32, kl_weight=0.1):
        super().__init__()
        self.kl_weight = kl_weight
        self.encoder = nn.Sequential(nn.Linear(embed_size + 1, hidden), nn.ReLU())
        self.fc_mean = nn.Linear(hidden, latent_size)
        self.fc_log_var = nn.Linear(hidden, latent_size)
        self.decoder = nn.Sequential(
            nn.Linear(embed_size + latent_size, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self.latent_size = latent_size

    def reparameterize(self, mean, log_var):
        return mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)

    def get_loss(self, log_dt, history, mask):
        h = self.encoder(torch.cat([history, log_dt.unsqueeze(-1)], dim=-1))
        mean, log_var = self.fc_mean(h), self.fc_log_var(h)
        z = self.reparameterize(mean, log_var)
        recon = self.decoder(torch.cat([history, z], dim=-1)).squeeze(-1)
        recon_loss = (recon - log_dt) ** 2 * mask
        kl_loss = (-0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp(), dim=-1)) * mask
        return recon_loss + self.kl_weight * kl_loss

    def sample(self, history):
        z = torch.randn(*history.shape[:-1], self.latent_size)
        return self.decoder(torch.cat([history, z], dim=-1)).squeeze(-1).exp()


class EventModel(nn.Module):
    def __init__(self, event_types, embed_size=16):
        super().__init__()
        self.mark = nn.Embedding(event_types + 1, embed_size, padding_idx=event_types)
        self.rnn = nn.GRU(embed_size + 1, embed_size, batch_first=True)
        self.prob_dec = VAEDecoder(embed_size)
        self.mark_dec = nn.Linear(embed_size, event_types)

    def forward(self, batch):
        dt, types, mask = batch
        log_dt = (dt + 1e-6).log()
        x = torch.cat([self.mark(types), log_dt.unsqueeze(-1)], dim=-1)
        history, _ = self.rnn(x[:, :-1])
        target_mask = mask[:, 1:]
        time_loss = self.prob_dec.get_loss(log_dt[:, 1:], history, target_mask)
        mark_loss = F.cross_entropy(
            self.mark_dec(history).transpose(1, 2), types[:, 1:].clamp(max=self.mark_dec.out_features - 1),
            reduction="none",
        ) * target_mask
        n = target_mask.sum()
        return time_loss.sum() / n, mark_loss.sum() / n, history


class Trainer:
    def __init__(self, model, lr=1e-3, event_types=5, batch_size=32):
        self.model = model
        self.event_types = event_types
        self.batch_size = batch_size
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def batch(self, max_len=24):
        lengths = torch.randint(8, max_len + 1, (self.batch_size,))
        mask = (torch.arange(max_len)[None] < lengths[:, None]).float()
        types = torch.randint(0, self.event_types, (self.batch_size, max_len))
        rate = (1.0 + types.float()).roll(1, 1)
        dt = torch.distributions.Exponential(rate).sample() * mask + (1 - mask)
        types[mask == 0] = self.event_types
        return dt, types, mask

    def train(self, epochs, steps=20):
        for epoch in range(epochs):
            self.model.train()
            time_sum, mark_sum = 0.0, 0.0
            for _ in range(steps):
                time_loss, mark_loss, _ = self.model(self.batch())
                loss = time_loss + mark_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.optimizer.step()
                time_sum += time_loss.item()
                mark_sum += mark_loss.item()
            print(f"epoch {epoch} | time {time_sum / steps:.4f} | mark {mark_sum / steps:.4f}")


if __name__ == "__main__":
    torch.manual_seed(2023)
    trainer = Trainer(EventModel(5))
    trainer.train(epochs=5)
