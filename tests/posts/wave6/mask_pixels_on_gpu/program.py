import torch
import torch.nn as nn

torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def collate_image_dataset_batch(batch, num_rays_per_batch):
    num_images, height, width, _ = batch["image"].shape
    if "mask" in batch:
        nonzero_indices = torch.nonzero(batch["mask"][..., 0], as_tuple=False)
        chosen = torch.randint(0, len(nonzero_indices), (num_rays_per_batch,), device=nonzero_indices.device)
        indices = nonzero_indices[chosen]
    else:
        size = torch.tensor([num_images, height, width])
        indices = torch.floor(torch.rand(num_rays_per_batch, 3) * size).long()
    c, y, x = (i.flatten() for i in torch.split(indices, 1, dim=-1))
    collated = {key: value[c, y, x] for key, value in batch.items() if key != "image_idx"}
    collated["indices"] = indices
    return collated


class Field(nn.Module):
    def __init__(self, num_images, hidden=64):
        super().__init__()
        self.appearance = nn.Embedding(num_images, 8)
        self.mlp = nn.Sequential(nn.Linear(2 + 8, hidden), nn.ReLU(), nn.Linear(hidden, 3), nn.Sigmoid())

    def forward(self, indices):
        where = indices[:, 1:].float() / 32
        return self.mlp(torch.cat([where, self.appearance(indices[:, 0])], dim=-1))


def load_images(num_images=6, size=32):
    image = torch.rand(num_images, size, size, 3)
    mask = torch.zeros(num_images, size, size, 1, dtype=torch.bool)
    mask[:, 8:24, 8:24] = True
    return {"image_idx": torch.arange(num_images), "image": image, "mask": mask.to(device)}


batch = load_images()
model = Field(num_images=6).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    rays = collate_image_dataset_batch(batch, num_rays_per_batch=256)
    rgb = model(rays["indices"].to(device))
    loss = ((rgb - rays["image"].to(device)) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print("step", step, "loss", loss.item())
