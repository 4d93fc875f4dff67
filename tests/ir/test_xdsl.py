"""xDSL, which is another implementation of MLIR's syntax and rules, reads the IR."""

from __future__ import annotations

import re

import pytest
from tests.ir.staged_kernels import each_kernel, elaborated

from weft import Float32, Kernel, Pointer, kernel, math

pytest.importorskip("xdsl", reason="xdsl, of weft[test], is not installed")

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.func import Func
from xdsl.dialects.math import Math
from xdsl.parser import Parser


@each_kernel
@pytest.mark.parametrize("target", ["sm_90", "x86-64"])
def test_xdsl_reads_the_ir(kernel: Kernel[...], comptime: dict[str, object], target: str) -> None:
    text = elaborated(kernel, comptime, target).ir(locations=True)
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    names = [op.name if op.name != "builtin.unregistered" else "" for op in module.walk()]
    assert names.count("func.func") == len(re.findall('"func.func"', text))


@kernel
def rounds(x: Pointer[Float32]):
    y = math.fma(math.sqrt(x[0]), abs(x[1]), math.copysign(x[2], x[3]))
    x[0] = math.min(math.floor(y), math.ceil(y)) + math.max(math.trunc(y), math.round(y))


def test_functions_of_floats_are_mlirs() -> None:
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func, Math):
        context.load_dialect(dialect)
    module = Parser(context, elaborated(rounds, {}, "sm_90").ir()).parse_module()
    module.verify()
    names = {op.name for op in module.walk()}  # those that are not known have another name here
    assert names >= {f"math.{n}" for n in "fma sqrt absf copysign floor ceil trunc roundeven".split()}
    assert names >= {"arith.minnumf", "arith.maxnumf"}
