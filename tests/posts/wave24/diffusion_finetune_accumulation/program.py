import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FlowTransformer(nn.Module):
    def __init__(self, channels=4, dim=48, text_dim=16, patches=16):
        super().__init__()
        self.patchify = nn.Linear(channels, dim)
        self.position = nn.Parameter(torch.randn(1, patches, dim) * 0.02)
        self.time_mlp = nn.Sequential(nn.Linear(1, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.text_proj = nn.Linear(text_dim, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, channels)

    def forward(self, latents, timesteps, text):
        x = self.patchify(latents) + self.position
        x = x + self.time_mlp(timesteps[:, None])[:, None]
        x = torch.cat([self.text_proj(text), x], dim=1)
        x = self.blocks(x)
        return self.out(x[:, text.size(1):])


def make_dataset(n=256):
    g = torch.Generator().manual_seed(0)
    text = torch.randn(n, 3, 16, generator=g)
    latents = text.mean(dim=1, keepdim=True)[:, :, :4].expand(n, 16, 4)
    return TensorDataset(latents + 0.1 * torch.randn(n, 16, 4, generator=g), text)


def flow_loss(model, latents, text):
    noise = torch.randn_like(latents)
    t = torch.sigmoid(torch.randn(latents.size(0), device=latents.device))
    sigma = t[:, None, None]
    noisy = (1 - sigma) * latents + sigma * noise
    return F.mse_loss(model(noisy, t, text), noise - latents)


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train_batch_size", type=int, default=4)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=4)
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(make_dataset(), batch_size=args.train_batch_size, shuffle=True, drop_last=True)
    model = FlowTransformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate)
    updates = args.epochs * len(loader) // args.gradient_accumulation_steps
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates)

    global_step, running = 0, 0.0
    model.train()
    for epoch in range(args.epochs):
        for step, (latents, text) in enumerate(loader):
            optimizer.zero_grad()
            latents, text = latents.to(device), text.to(device)
            loss = flow_loss(model, latents, text)
            (loss / args.gradient_accumulation_steps).backward()
            running += loss.item() / args.gradient_accumulation_steps

            if (step + 1) % args.gradient_accumulation_steps == 0:
                nn.utils.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                scheduler.step()
                global_step += 1
                if global_step % 8 == 0:
                    lr = scheduler.get_last_lr()[0]
                    print(f"step {global_step}: loss {running:.4f} lr {lr:.2e}")
                running = 0.0


if __name__ == "__main__":
    main()
