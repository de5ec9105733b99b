# fit a body mesh to a target while keeping it free of self contact
import torch
import torch.nn as nn


class SelfContact(nn.Module):
    """Finds the vertices of a mesh that touch a far away part of the same mesh."""

    def __init__(self, n_verts, n_segments=4, euclthres=0.05, geothres=0.3):
        super().__init__()
        self.euclthres = euclthres
        template = torch.rand(n_verts, 3, generator=torch.Generator().manual_seed(2))
        geodist = torch.cdist(template, template)
        self.register_buffer("geomask", geodist > geothres)
        self.register_buffer("segments", torch.arange(n_verts) % n_segments)
        self.n_segments = n_segments

    def segment_vertices(self, vertices, test_segments=True):
        verts_dist = torch.cdist(vertices, vertices)
        verts_dist = verts_dist + 1e3 * (~self.geomask).float()
        v2v_min, idx = verts_dist.min(dim=-1)
        incontact = v2v_min < self.euclthres
        if test_segments:
            incontact = incontact & (self.segments[None] != self.segments[idx])
        return v2v_min, incontact


class SelfContactLoss(nn.Module):
    def __init__(self, contact_module, inside_loss_weight=0.5, outside_loss_weight=0.1, align_w=1.0, device="cuda"):
        super().__init__()
        self.contact_module = contact_module
        self.inside_w = torch.tensor(inside_loss_weight, device=device)
        self.outside_w = torch.tensor(outside_loss_weight, device=device)
        self.align_w = torch.tensor(align_w, device=device)
        self.device = device

    def forward(self, vertices):
        v2v_min, incontact = self.contact_module.segment_vertices(vertices)
        inside = torch.where(incontact, torch.tanh(v2v_min / 0.04) ** 2, torch.zeros_like(v2v_min))
        outside = torch.where(incontact, torch.zeros_like(v2v_min), torch.tanh(v2v_min / 0.07) ** 2)
        return self.align_w * (self.inside_w * inside.mean() + self.outside_w * outside.mean())


device = "cuda"
n_verts = 500
self_contact_module = SelfContact(n_verts).to(device)
criterion = SelfContactLoss(self_contact_module, device=device)

torch.manual_seed(0)
target = torch.rand(2, n_verts, 3, device=device)
offsets = nn.Parameter(torch.zeros(2, n_verts, 3, device=device))
optimizer = torch.optim.Adam([offsets], lr=0.01)

for it in range(5):
    vertices = target + offsets
    loss = criterion(vertices) + offsets.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{it}: {loss.item():.5f}")
