import torch
import torch.nn.functional as F


def camera_points(k=40, seed=0):
    g = torch.Generator().manual_seed(seed)
    pts = torch.rand(k, 2, generator=g) * 10
    true_shift = torch.tensor([3.0, -2.0])
    noise = 0.05 * torch.randn(k, 2, generator=g)
    return pts, pts * 1.5 + true_shift + noise


src, dst = camera_points()

# unknowns of the registration: a scale and a translation
scale = torch.tensor(1.0, requires_grad=True)
shift = torch.tensor([0.0, 0.0], requires_grad=True)

opt = torch.optim.Adam([scale, shift], lr=0.1)
history = []
for it in range(300):
    opt.zero_grad()
    moved = src * scale + shift
    loss = F.smooth_l1_loss(moved, dst)
    loss.backward()
    opt.step()
    history.append(loss.item())
    if it % 100 == 0:
        print(f"iter {it:4d} loss {loss.item():.4f}")

print("scale", round(scale.item(), 2), "shift", [round(v, 2) for v in shift.tolist()])
print("best", min(history))
