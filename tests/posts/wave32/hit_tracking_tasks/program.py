import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class HitFilterTask(nn.Module):
    name = "hit_filter"

    def __init__(self, dim):
        super().__init__()
        self.net = nn.Linear(dim, 1)

    def forward(self, x):
        return {"hit_logit": self.net(x["hit_embed"]).squeeze(-1)}

    def loss(self, outputs, targets):
        return {"bce": F.binary_cross_entropy_with_logits(outputs["hit_logit"], targets["hit_valid"])}


class TrackMaskTask(nn.Module):
    name = "track_mask"

    def __init__(self, dim, weights):
        super().__init__()
        self.weights = weights
        self.net = nn.Linear(dim, dim)

    def forward(self, x):
        return {"mask_logit": torch.einsum("bnc,bhc->bnh", self.net(x["query_embed"]), x["hit_embed"])}

    def loss(self, outputs, targets):
        logit, mask = outputs["mask_logit"], targets["mask"]
        bce = F.binary_cross_entropy_with_logits(logit, mask)
        p = logit.sigmoid()
        dice = 1 - (2 * (p * mask).sum(-1) + 1) / (p.sum(-1) + mask.sum(-1) + 1)
        return {"mask_bce": self.weights["mask_bce"] * bce, "mask_dice": self.weights["mask_dice"] * dice.mean()}


class TrackRegressionTask(nn.Module):
    name = "track_regression"
    fields = ("pt", "eta", "phi")

    def __init__(self, dim):
        super().__init__()
        self.net = nn.Linear(dim, len(self.fields))

    def forward(self, x):
        return {"track_params": self.net(x["query_embed"])}

    def loss(self, outputs, targets):
        err = F.smooth_l1_loss(outputs["track_params"], targets["params"], reduction="none").mean(dim=(0, 1))
        return {field: err[i] for i, field in enumerate(self.fields)}


class Tracker(nn.Module):
    def __init__(self, dim=32, num_queries=4, num_layers=2):
        super().__init__()
        self.embed = nn.Linear(3, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.queries = nn.Parameter(torch.randn(num_queries, dim))
        self.decoder = nn.ModuleList(
            nn.TransformerDecoderLayer(dim, 4, 64, dropout=0.0, batch_first=True) for _ in range(num_layers)
        )
        self.tasks = nn.ModuleList(
            [HitFilterTask(dim), TrackMaskTask(dim, {"mask_bce": 5.0, "mask_dice": 1.0}), TrackRegressionTask(dim)]
        )

    def forward(self, hits):
        h = self.encoder(self.embed(hits))
        q = self.queries.expand(hits.size(0), -1, -1)
        outputs = {}
        for i, layer in enumerate(self.decoder):
            q = layer(q, h)
            x = {"hit_embed": h, "query_embed": q}
            outputs[f"layer_{i}"] = {task.name: task(x) for task in self.tasks}
        return outputs

    def loss(self, outputs, targets):
        return {
            layer: {task.name: task.loss(out[task.name], targets) for task in self.tasks}
            for layer, out in outputs.items()
        }


class ModelWrapper:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.history = {}

    def log(self, key, value):
        self.history.setdefault(key, []).append(float(value))

    def aggregate(self, losses, stage):
        combined = 0.0
        for layer, by_task in losses.items():
            for task, terms in by_task.items():
                for term, value in terms.items():
                    self.log("/".join([stage, layer, task, term]), value)
                combined += value
        self.log(f"{stage}/loss", combined)
        return combined

    def training_step(self, hits, targets):
        losses = self.model.loss(self.model(hits), targets)
        loss = self.aggregate(losses, "train")
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    torch.manual_seed(0)
    n, hits, tracks = 128, 20, 4
    owner = torch.randint(0, tracks + 1, (n, hits))
    mask = F.one_hot(owner, tracks + 1)[..., :tracks].float().transpose(1, 2)
    data = TensorDataset(torch.randn(n, hits, 3) + owner[..., None], (owner < tracks).float(), mask, torch.randn(n, tracks, 3))
    wrapper = ModelWrapper(Tracker())
    for epoch in range(4):
        for x, valid, m, params in DataLoader(data, batch_size=16, shuffle=True):
            wrapper.training_step(x, {"hit_valid": valid, "mask": m, "params": params})
        print(f"epoch {epoch}")
        for key, values in wrapper.history.items():
            if "layer_1" in key or key == "train/loss":
                print(f"  {key}: {sum(values[-8:]) / 8:.4f}")


if __name__ == "__main__":
    main()
