"""A model that moves to a GPU behind its optimizer, as torch does it."""

from __future__ import annotations

from pathlib import Path

from tests.rehearsing.rehearsed import rehearsed


def test_parameters_stay_the_objects_that_the_optimizer_holds(tmp_path: Path) -> None:
    script = """\
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
        before = [id(each) for each in model.parameters()]
        optimizer = torch.optim.AdamW(model.parameters())
        model.to("cuda")
        assert [id(each) for each in model.parameters()] == before
        for step in range(9):
            loss = model(torch.randn(4, 3, device="cuda")).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        states = torch.cuda.get_rng_state_all()
        torch.cuda.set_rng_state_all(states)
        torch.cuda.random.set_rng_state(torch.cuda.random.get_rng_state())
        """
    report = rehearsed(tmp_path, script, device="cuda")
    assert report.findings == ()
    assert report.complete


def test_what_a_moved_model_gives_in_inference_mode_is_where_the_model_is(
    tmp_path: Path,
) -> None:
    report = rehearsed(
        tmp_path,
        """
        import torch
        from torch import nn

        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)).to("cuda")
        with torch.inference_mode():
            out = model(torch.randn(2, 4).to("cuda"))
            assert out.device.type == "cuda", out.device
            assert (model[0].weight + 1).is_cuda
        """,
        device="H100 80GB",
    )
    assert report.findings == ()
    assert report.complete
