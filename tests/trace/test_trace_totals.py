"""What a run adds up to."""

import pytest

import traces
from shapewright.record import Fact
from shapewright.record.totals import count_parameters_under, count_storage_bytes


def test_gpt2_small_counts_tied_weights_once() -> None:
    totals = traces.gpt().totals
    assert totals.parameters == 124_439_808
    assert round(totals.multiply_adds / 1e9, 2) == 16.11
    assert totals.tied == (("lm_head.weight", "wte.weight"),)
    assert totals.parameter_bytes == 4 * 124_439_808


def test_lenet() -> None:
    totals = traces.lenet().totals
    assert totals.parameters == totals.trainable == 62_006
    assert totals.buffers == 0
    assert totals.largest is not None
    op, fact = totals.largest
    assert (op.name, op.index, fact.shape) == ("F.conv2d", 0, (1024, 6, 28, 28))
    assert totals.uncounted == (("F.relu", 4), ("F.max_pool2d", 2))
    new = [op.outputs[0].nbytes for op in traces.lenet().ops if op.kind == "new"]
    assert totals.activation_bytes == sum(new)
    assert totals.activations == len(new) == 11
    assert totals.real_bytes == sum(new) + 4 * 62_006
    assert traces.lenet().real_bytes == totals.real_bytes


def test_views_and_in_place_ops_allocate_nothing() -> None:
    totals = traces.nested().totals
    assert (totals.activation_bytes, totals.largest) == (0, None)
    assert dict(traces.twice().totals.uncounted) == {"+=": 1}


def test_buffers_frozen_and_unused_parameters() -> None:
    totals = traces.twice().totals
    assert (totals.buffers, totals.buffer_bytes) == (65, 8 + 64 * 4)
    assert totals.parameters - totals.trainable == 640
    assert totals.unused == ("aux.weight",)
    assert totals.unused_parameters == 4096


def test_a_run_that_broke_off_calls_nothing_unused() -> None:
    assert traces.failed().totals.unused == ()


def test_subtotals_of_modules() -> None:
    trace = traces.gpt()
    by_path = {
        call.path: subtotal
        for call, subtotal in zip(trace.calls, trace.totals.calls, strict=True)
    }
    assert by_path[""].parameters == 124_439_808
    assert by_path[""].flops == trace.totals.flops
    assert by_path["h.0"].parameters == 7_087_872
    assert by_path["h.0.mlp"].flops == 2 * 128 * 768 * 3072 * 2
    assert by_path["h.0.mlp"].written == 4 * 128 * (3072 + 3072 + 768)
    assert by_path["lm_head"].parameters == 50257 * 768
    assert by_path["lm_head"].elsewhere
    assert not by_path["wte"].elsewhere


def test_parameters_of_a_module_that_was_never_called() -> None:
    sizes = count_parameters_under(traces.twice().states)
    assert sizes["aux"] == (4096, 0)
    assert sizes["shadow"] == (0, 2048)
    assert sizes[""][1] == 0


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),
    [
        ((2, 3), (3, 1), 24),
        ((4096, 768), (0, 1), 3072),
        ((3, 2), (1, 3), 24),
        ((0, 5), (5, 1), 0),
        ((2, 3), None, 24),
        ((), (), 4),
    ],
)
def test_bytes_spanned(shape, stride, expected) -> None:
    assert count_storage_bytes(Fact(shape, "float32", stride)) == expected
