import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def conv_block(in_channels, out_channels, stride=1):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, stride=stride, padding=1),
        nn.LeakyReLU(0.1, inplace=True),
    )


class FlowNet(nn.Module):
    """Small encoder that predicts optical flow at a quarter of the input size."""

    def __init__(self):
        super().__init__()
        self.conv1 = conv_block(6, 24, stride=2)
        self.conv2 = conv_block(24, 48, stride=2)
        self.conv3 = conv_block(48, 48)
        self.predict_flow = nn.Conv2d(48, 2, 3, padding=1)

    def forward(self, frame1, frame2):
        x = torch.cat([frame1, frame2], dim=1)
        x = self.conv3(self.conv2(self.conv1(x)))
        return self.predict_flow(x)


def resize_flow(flow, height, width):
    h, w = flow.shape[2:]
    u_scale = width / w
    v_scale = height / h
    flow = F.interpolate(flow, size=(height, width), mode="bilinear", align_corners=False)
    u, v = flow.chunk(2, dim=1)
    u *= u_scale
    v *= v_scale
    return torch.cat([u, v], dim=1)


def warp(image, flow):
    b, _, h, w = image.shape
    ys, xs = torch.meshgrid(
        torch.arange(h, device=image.device, dtype=image.dtype),
        torch.arange(w, device=image.device, dtype=image.dtype),
        indexing="ij",
    )
    grid_x = (xs + flow[:, 0]) * 2 / (w - 1) - 1
    grid_y = (ys + flow[:, 1]) * 2 / (h - 1) - 1
    grid = torch.stack([grid_x, grid_y], dim=-1)
    return F.grid_sample(image, grid, padding_mode="border", align_corners=True)


def photometric_loss(frame1, frame2, flow):
    return (warp(frame2, flow) - frame1).abs().mean()


def smoothness_loss(flow):
    dx = (flow[:, :, :, 1:] - flow[:, :, :, :-1]).abs().mean()
    dy = (flow[:, :, 1:] - flow[:, :, :-1]).abs().mean()
    return dx + dy


def make_batch(batch_size=4, size=64):
    coarse = torch.rand(batch_size, 3, 8, 8)
    frame1 = F.interpolate(coarse, size=(size, size), mode="bicubic", align_corners=False)
    frame2 = torch.roll(frame1, shifts=2, dims=3)
    return frame1.to(device), frame2.to(device)


def main():
    torch.manual_seed(0)
    model = FlowNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    for step in range(20):
        frame1, frame2 = make_batch()
        flow = model(frame1, frame2)
        flow = resize_flow(flow, frame1.shape[2], frame1.shape[3])
        loss = photometric_loss(frame1, frame2, flow) + 0.05 * smoothness_loss(flow)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
