import torch
import torch.nn as nn
import torch.nn.functional as F

N_STOPS = 140
N_ROUTES = 10
N_HOURS = 13


class RouteForecaster(nn.Module):
    """Sums the counts of all stops of a route, then forecasts the next hour per route."""

    def __init__(self, route_of_stop, n_routes, n_hours, hidden=32):
        super().__init__()
        self.n_routes = n_routes
        self.register_buffer("route_of_stop", route_of_stop.view(1, -1))
        self.net = nn.Sequential(
            nn.Linear(n_hours, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def pool(self, counts):
        """counts: (hours, stops) -> (hours, routes)"""
        pooled = counts.new_zeros(counts.size(0), self.n_routes)
        pooled.scatter_add_(dim=1, index=self.route_of_stop.expand_as(counts), src=counts)
        return pooled

    def forward(self, counts):
        per_route = self.pool(counts)
        return self.net(per_route.t() / 10.0).squeeze(1)


def simulate_day(route_of_stop, generator):
    level = torch.rand(N_ROUTES, generator=generator) * 1.5 + 0.2
    slope = torch.randn(N_ROUTES, generator=generator) * 0.06
    hours = torch.arange(N_HOURS + 1).float().unsqueeze(1)
    rate = (level * torch.exp(slope * hours))[:, route_of_stop]
    counts = torch.poisson(rate, generator=generator)
    history, upcoming = counts[:-1], rate[-1]
    target = torch.stack([upcoming[route_of_stop == r].sum() for r in range(N_ROUTES)])
    return history, target / 10.0


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = torch.Generator().manual_seed(11)
    route_of_stop = torch.randint(0, N_ROUTES, (N_STOPS,), generator=generator)

    days = [simulate_day(route_of_stop, generator) for _ in range(80)]
    train_days, test_days = days[:64], days[64:]

    model = RouteForecaster(route_of_stop, N_ROUTES, N_HOURS).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    for epoch in range(15):
        model.train()
        running = 0.0
        for history, target in train_days:
            prediction = model(history.to(device))
            loss = F.mse_loss(prediction, target.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: train mse {running / len(train_days):.4f}")

    model.eval()
    with torch.no_grad():
        error = sum(F.l1_loss(model(h.to(device)), t.to(device)).item() for h, t in test_days)
    print(f"mean absolute error on held-out days: {10 * error / len(test_days):.2f} passengers")


if __name__ == "__main__":
    main()
