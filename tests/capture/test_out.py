"""`out=` grows to the result where it is empty, and keeps its strides where it fits."""

import pytest
import torch

import shapewright as sw

INT, FLOAT = torch.int64, torch.float32
GROWING = {
    "add": (lambda x, o: torch.add(x, x, out=o), (FLOAT,)),
    "sum": (lambda x, o: torch.sum(x, 0, out=o), (FLOAT,)),
    "take": (lambda x, o: torch.take(x, torch.tensor([1, 2]), out=o), (FLOAT,)),
    "cat": (lambda x, o: torch.cat([x, x], out=o), (FLOAT,)),
    "gather": (
        lambda x, o: torch.gather(x, 0, torch.zeros(2, 3, dtype=INT), out=o),
        (FLOAT,),
    ),
    "kthvalue": (lambda x, *o: torch.kthvalue(x, 2, out=o), (FLOAT, INT)),
    "sort": (lambda x, *o: torch.sort(x, out=o), (FLOAT, INT)),
    "qr": (lambda x, *o: torch.linalg.qr(x, out=o), (FLOAT, FLOAT)),
    "zeros": (lambda x, o: torch.zeros(2, 3, device="cpu", out=o), (FLOAT,)),
    "arange": (lambda x, o: torch.arange(5, out=o), (INT,)),
    "multinomial": (lambda x, o: torch.multinomial(x.abs() + 1, 2, out=o), (INT,)),
}  # fmt: skip


def grown(write, x, outs):
    write(x, *outs)
    return [tuple(out.shape) for out in outs], [out + 0 for out in outs], outs


@pytest.mark.parametrize("whose", ["the user's", "the program's", "known"])
@pytest.mark.parametrize("name", GROWING)
def test_an_empty_out_grows_for_all_that_follows(name, whose):
    write, dtypes = GROWING[name]
    x = torch.randn(4, 3)
    make = torch.zeros if whose == "known" else torch.empty
    read, real, outs = grown(write, x, [make(0, dtype=dtype) for dtype in dtypes])
    seen = []

    def program(x, given):
        outs = given or [make(0, dtype=dtype) for dtype in dtypes]
        shapes, *rest = grown(write, x, outs)
        seen.append(shapes)
        return rest

    given = [torch.empty(0, dtype=dtype) for dtype in dtypes]
    mine = given if whose == "the user's" else []
    trace = sw.options(values=False).trace(program, x, mine)
    assert trace.complete, trace.findings
    assert seen[0] == read
    after, itself = trace.output
    assert [(o.shape, o.stride) for o in after] == [
        (tuple(o.shape), o.stride()) for o in real
    ]
    assert [o.stride for o in itself] == [o.stride() for o in outs]
    assert all(out.shape == (0,) for out in mine)


@pytest.mark.parametrize("name", ["sort", "solve", "matmul"])
def test_an_out_that_fits_is_laid_as_the_cpu_lays_it(name):
    def program(x):
        out = torch.empty(3, 4).t()
        if name == "matmul":
            return torch.matmul(x[:, 0], x, out=torch.empty(6)[::2])
        if name == "sort":
            torch.sort(x, dim=0, out=(out, torch.empty(4, 3, dtype=INT)))
        else:
            torch.linalg.solve(torch.eye(4), x, out=out)
        return out

    real = program(torch.randn(4, 3))
    out = sw.options(values=False).trace(program, torch.randn(4, 3)).output
    assert (out.shape, out.stride) == (tuple(real.shape), real.stride())


@pytest.mark.parametrize("name", ["nonzero", "masked_select"])
def test_an_unknown_number_of_elements_is_written_into_out(name):
    def program(x, out):
        if name == "nonzero":
            torch.nonzero(x, out=out)
        else:
            torch.masked_select(x, x > 0, out=out)
        return out

    dtype = INT if name == "nonzero" else torch.float32
    given = torch.empty(0, dtype=dtype)
    out = sw.options(values=False).trace(program, torch.ones(4), given).output
    assert out.shape == ((2, 1) if name == "nonzero" else (2,))
