"""A vendor is data: targets that weft does not ship compile with the compiler as it is."""

from __future__ import annotations

import re

import pytest

from made_up_targets import AMD, SPIRV
from weft import CompileError, Float32, Int, Kernel, Pointer, func, kernel
from weft.atomic import Atomic
from weft.compiler.llvm.emit import check
from weft.compiler.pipeline import Compilation, elaborate_kernel
from weft.gpu import barrier, block_idx, global_idx, thread_idx
from weft.lang.accept import spec_of_annotation
from weft.lang.signature import parameters
from weft.layout import Layout
from weft.memory import AddressSpace, stack_allocation
from weft.targets import Target


@func
def halved(x: Float32) -> Float32:
    assert x < 100, f"{x} is too much"
    return x / 2


@kernel
def everything(x: Pointer[Float32], n: Int):
    tile = stack_allocation(Float32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    own = stack_allocation(Float32, Layout.row_major(500))
    i = global_idx.x
    total = Float32(0)
    for j in range(n):
        own[j % 500] = x[i + j]
        total += halved(own[(j * 7) % 500])
    tile[thread_idx.x] = total
    barrier()
    assert total > 0, f"the total is {total}"
    x[i] = tile[63 - thread_idx.x]
    print("total", total)
    Atomic.fetch_add(x, total, ordering="acq_rel")


@kernel
def spaces(x: Pointer[Float32], n: Int):
    tile = stack_allocation(Float32, Layout.row_major(64), address_space=AddressSpace.SHARED)
    own = stack_allocation(Float32, Layout.row_major(8))
    i = thread_idx.x
    total = Float32(0)
    for j in range(n):
        own[j % 8] = x[j]
        total += own[(j * 5) % 8]
    tile[i] = total
    barrier()
    anywhere = x.address_space_cast(AddressSpace.GENERIC)
    anywhere[i] = tile[63 - i]


def elaborated(k: Kernel[...], target: Target) -> Compilation:
    return elaborate_kernel(
        k, {p.name: spec_of_annotation(p.annotation) for p in parameters(k.definition)}, target
    )


def test_a_kernel_with_all_kinds_of_memory_becomes_code_for_amd() -> None:
    made = elaborated(everything, AMD)
    text = made.llvm()
    allocas = re.findall(r"= alloca .*", text)
    assert len(allocas) >= 3  # the total, the array, what a helper gives whose thread has ended
    assert all("addrspace(5)" in line for line in allocas)
    code = made.emit("asm")
    assert isinstance(code, str)
    assert re.search(r"\.group_segment_fixed_size:\s*256$", code, re.MULTILINE)  # 64 of 4 bytes
    assert re.search(r"\.private_segment_fixed_size:\s*20\d\d$", code, re.MULTILINE)  # 500 of 4 bytes
    for word in (
        "s_barrier",
        "ds_write_b32",
        "ds_read_b32",
        "buffer_store_dword",
        "global_atomic_cmpswap",
    ):
        assert word in code
    assert made.emit("object")[:4] == b"\x7fELF"


def test_a_thread_whose_assertion_fails_returns_where_no_instruction_ends_it() -> None:
    text = elaborated(everything, AMD).llvm()
    helper = text[text.index("@func$halved(") :].partition("\n}")[0]
    assert text.count("{ float, i1 } @func$halved") == 2  # it says whether its thread has ended
    assert "call void @weft.failed." in helper
    assert "unreachable" not in text


def test_every_pointer_of_spirv_has_its_storage_class() -> None:
    text = elaborated(spaces, SPIRV).llvm()
    assert check(text, SPIRV, "check") is None
    assert re.search(r"define dso_local spir_kernel void @\S+\(ptr addrspace\(1\) %a0, i64 %a1\)", text)
    assert "addrspacecast ptr addrspace(1) %a0 to ptr addrspace(4)" in text
    assert re.search(r"@global\$shared\S* = internal addrspace\(3\) global", text)
    own = set(re.findall(r"(%\w+) = alloca (?!.*addrspace)", text))
    own |= set(re.findall(r"(%\w+) = getelementptr inbounds float, ptr %", text))
    assert set(re.findall(r"\bptr (?!addrspace)(\S+?)[,\s]", text)) <= own


def test_what_a_target_has_no_word_or_memory_for_is_refused() -> None:
    @kernel
    def blocks(x: Pointer[Float32]):
        x[block_idx.x] = 1

    @kernel
    def clusters(x: Pointer[Float32]):
        x.address_space_cast(AddressSpace.SHARED_CLUSTER)[0] = 1

    with pytest.raises(CompileError, match="block_id is not known on spirv64"):
        elaborated(blocks, SPIRV)
    with pytest.raises(CompileError, match=r"gfx90a has no memory of AddressSpace\.SHARED_CLUSTER"):
        elaborated(clusters, AMD)
