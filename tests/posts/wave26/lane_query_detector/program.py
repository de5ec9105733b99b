import torch
import torch.nn as nn
import torch.nn.functional as F

NUM_CLASSES = 1
NUM_QUERIES = 5
LANE_CATEGORY = 1
EOS_COEF = 1.0


class LaneDetector(nn.Module):
    """A few queries that each predict a class and the offset and slope of one lane."""

    def __init__(self, num_classes, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, dim, 3, stride=2, padding=1), nn.ReLU()
        )
        self.positions = nn.Parameter(torch.randn(64, dim) * 0.1)
        self.queries = nn.Parameter(torch.randn(NUM_QUERIES, dim))
        self.attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(dim, dim * 2), nn.ReLU(), nn.Linear(dim * 2, dim))
        self.class_embed = nn.Linear(dim, num_classes + 1)
        self.curve_embed = nn.Linear(dim, 2)

    def forward(self, images):
        memory = self.backbone(images).flatten(2).transpose(1, 2) + self.positions
        queries = self.queries.expand(images.size(0), -1, -1)
        hs = queries + self.attention(queries, memory, memory)[0]
        hs = hs + self.ffn(hs)
        return {"pred_logits": self.class_embed(hs), "pred_curves": self.curve_embed(hs)}


class SetCriterion(nn.Module):
    def __init__(self, num_classes, eos_coef):
        super().__init__()
        self.num_classes = num_classes
        empty_weight = torch.ones(num_classes + 1)
        empty_weight[-1] = eos_coef
        self.register_buffer("empty_weight", empty_weight)

    def forward(self, outputs, targets):
        src_logits = outputs["pred_logits"]
        target_classes = torch.full(src_logits.shape[:2], self.num_classes, dtype=torch.int64, device=src_logits.device)
        curve_losses = []
        for b, lanes in enumerate(targets):
            for lane in lanes:
                query = int(lane[3])
                target_classes[b, query] = int(lane[0])
                curve_losses.append(F.l1_loss(outputs["pred_curves"][b, query], lane[1:3]))
        loss_ce = F.cross_entropy(src_logits.transpose(1, 2), target_classes, self.empty_weight)
        return loss_ce, torch.stack(curve_losses).mean()


def make_roads(count, size=32):
    images = torch.randn(count, 1, size, size) * 0.1
    targets = []
    for b in range(count):
        slots = torch.randperm(NUM_QUERIES)[: torch.randint(1, 4, (1,)).item()]
        lanes = []
        for slot in slots.tolist():
            column = 3 + slot * 6
            images[b, 0, :, column : column + 2] += 2.0
            lanes.append([LANE_CATEGORY, column / size, 0.0, slot])
        targets.append(torch.tensor(lanes))
    return images, targets


def main():
    torch.manual_seed(0)
    model = LaneDetector(NUM_CLASSES)
    criterion = SetCriterion(NUM_CLASSES, EOS_COEF)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(300):
        images, targets = make_roads(16)
        loss_ce, loss_curve = criterion(model(images), targets)
        optimizer.zero_grad()
        (loss_ce + 5 * loss_curve).backward()
        optimizer.step()
        if (step + 1) % 75 == 0:
            print(f"step {step + 1}: loss_ce {loss_ce.item():.5f} loss_curve {loss_curve.item():.5f}")

    images, targets = make_roads(64)
    with torch.no_grad():
        found = (model(images)["pred_logits"].argmax(-1) == LANE_CATEGORY).sum().item()
    print("lanes found", found, "lanes on the roads", sum(len(lanes) for lanes in targets))


if __name__ == "__main__":
    main()
