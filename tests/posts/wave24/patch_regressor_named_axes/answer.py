import torch
import torch.nn as nn
import torch.nn.functional as F
from einops import einsum, rearrange


class EinLinear(nn.Module):
    """Linear layer written with named axes."""

    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out_dim, in_dim) * in_dim ** -0.5)
        self.bias = nn.Parameter(torch.zeros(out_dim))

    def forward(self, x):
        y = einsum(self.weight, x, "out_dim in_dim, batch in_dim -> batch out_dim")
        return y + self.bias


class PatchRegressor(nn.Module):
    def __init__(self, patch, hidden):
        super().__init__()
        self.patch = patch
        self.embed = EinLinear(patch * patch, hidden)
        self.hidden = EinLinear(hidden, hidden)
        self.head = EinLinear(hidden, 1)

    def forward(self, image):
        x = rearrange(image, "b (h p1) (w p2) -> (b h w) (p1 p2)", p1=self.patch, p2=self.patch)
        x = F.gelu(self.embed(x))
        x = F.gelu(self.hidden(x))
        x = self.head(x)
        n = image.shape[0]
        return rearrange(x, "(b n) 1 -> b n", b=n)


def make_images(n, size, patch, kernel):
    images = torch.randn(n, size, size)
    patches = rearrange(images, "b (h p1) (w p2) -> b (h w) (p1 p2)", p1=patch, p2=patch)
    targets = torch.tanh(einsum(patches, kernel, "b n d, d -> b n"))
    return images, targets


def evaluate(model, images, targets):
    model.eval()
    with torch.no_grad():
        residual = model(images) - targets
        return 1 - residual.pow(2).mean() / targets.var()


def main():
    torch.manual_seed(0)
    patch = 4
    kernel = torch.randn(patch * patch) * 0.4
    kernel = kernel - kernel.mean()
    images, targets = make_images(256, 16, patch, kernel)
    val_images, val_targets = make_images(64, 16, patch, kernel)

    model = PatchRegressor(patch, hidden=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

    for epoch in range(15):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(images)).split(32):
            loss = F.mse_loss(model(images[idx]), targets[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        if (epoch + 1) % 5 == 0:
            r2 = evaluate(model, val_images, val_targets)
            print(f"epoch {epoch + 1}: train mse {total / len(images):.4f}  val r2 {r2:.3f}")


if __name__ == "__main__":
    main()
