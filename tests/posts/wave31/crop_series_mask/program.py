import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

CONFIG = {
    "num_classes": 19,
    "img_res": 24,
    "max_seq_len": 12,
    "in_channels": 7,
    "batch_size": 8,
    "lr": 1e-3,
    "epochs": 1,
}


class SatelliteSeries(Dataset):
    """Patches of a season: (T, H, W, C) reflectances, (H, W) crop types, and where the label may be used."""

    def __init__(self, n, cfg, cloudy=0.2):
        self.n, self.cfg, self.cloudy = n, cfg, cloudy

    def __len__(self):
        return self.n

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(idx)
        T, S, C = self.cfg["max_seq_len"], self.cfg["img_res"], self.cfg["in_channels"]
        fields = torch.randint(0, self.cfg["num_classes"], (S // 8, S // 8), generator=g)
        labels = fields.repeat_interleave(8, 0).repeat_interleave(8, 1)
        phase = labels.float() / self.cfg["num_classes"] * 6.28
        t = torch.arange(T).view(T, 1, 1)
        inputs = torch.sin(t / T * 6.28 + phase)[..., None] + 0.3 * torch.randn(T, S, S, C, generator=g)
        unk_masks = torch.rand(S, self.cfg["num_classes"], generator=g) > self.cloudy
        return {"inputs": inputs, "labels": labels, "unk_masks": unk_masks}


class TemporalSpatialEncoder(nn.Module):
    def __init__(self, cfg, dim=32):
        super().__init__()
        self.num_classes = cfg["num_classes"]
        self.embed = nn.Linear(cfg["in_channels"], dim)
        self.pos = nn.Parameter(torch.randn(1, cfg["max_seq_len"], dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, dim * 2, batch_first=True, dropout=0.0)
        self.temporal = nn.TransformerEncoder(layer, 1)
        self.spatial = nn.Conv2d(dim, dim, 3, padding=1)
        self.head = nn.Conv2d(dim, self.num_classes, 1)

    def forward(self, x):
        B, T, H, W, C = x.shape
        x = x.permute(0, 2, 3, 1, 4).reshape(B * H * W, T, C)
        x = self.temporal(self.embed(x) + self.pos).mean(dim=1)
        x = x.view(B, H, W, -1).permute(0, 3, 1, 2)
        x = torch.relu(self.spatial(x))
        return self.head(x).permute(0, 2, 3, 1)


class MaskedCrossEntropyLoss(nn.Module):
    def __init__(self, mean=True):
        super().__init__()
        self.mean = mean

    def forward(self, logits, ground_truth):
        target, mask = ground_truth
        K = logits.shape[-1]
        logits = logits.reshape(-1, K)
        target = target.reshape(-1)
        keep = mask.reshape(-1, 1).repeat(1, K)
        masked_logits = logits[keep].reshape(-1, K)
        masked_target = target[mask.reshape(-1)]
        loss = nn.functional.cross_entropy(masked_logits, masked_target, reduction="none")
        return loss.mean() if self.mean else loss


def train_and_evaluate(cfg):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = TemporalSpatialEncoder(cfg).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=cfg["lr"])
    loss_fn = MaskedCrossEntropyLoss()
    loader = DataLoader(SatelliteSeries(32, cfg), batch_size=cfg["batch_size"], shuffle=True)

    for epoch in range(cfg["epochs"]):
        for step, sample in enumerate(loader):
            optimizer.zero_grad()
            outputs = net(sample["inputs"].to(device))
            ground_truth = sample["labels"].to(device), sample["unk_masks"].to(device)
            loss = loss_fn(outputs, ground_truth)
            loss.backward()
            optimizer.step()

            predicted = outputs.argmax(dim=-1).cpu()
            acc = (predicted == sample["labels"]).float().mean().item()
            print("epoch %d step %d loss %.4f pixel accuracy %.3f" % (epoch, step, loss.item(), acc))


if __name__ == "__main__":
    torch.manual_seed(0)
    train_and_evaluate(CONFIG)
