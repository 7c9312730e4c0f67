"""What the libraries export, what they need, and what the loader is asked to do."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_DT_FLAGS, ENUM_DT_FLAGS_1
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from benchmarks.published_peer import peer_library

# Debian 12 builds what has to run where glibc is this old.
NEWEST_GLIBC = (2, 34)

TENSORS = "std::vector<atb::Probe::Tensor> const&"
IO_TENSORS = f"unsigned long, std::string const&, std::string const&, {TENSORS}, {TENSORS}"
PROBE_FUNCTIONS = {
    "UpdateConfig()",
    "IsTensorNeedSave(std::vector<long> const&, std::string const&)",
    "IsExecuteCountInRange(unsigned long)",
    "IsSaveTensorInSpecificDir(std::string const&)",
    "IsSaveTensorBefore()",
    "IsSaveTensorAfter()",
    "IsSaveTensorData()",
    "IsSaveTensorDesc()",
    "IsSaveChild()",
    "IsSaveIntensor()",
    "IsSaveOuttensor()",
    "SaveTensor(std::string const&, std::string const&, std::string const&, void const*, unsigned long, "
    "std::string const&)",
    "IsSaveTiling()",
    "SaveTiling(unsigned char const*, unsigned long, std::string const&)",
    "IsSaveParam()",
    "SaveParam(std::string const&, std::string const&)",
    "ReportOperationGraphEnable()",
    "ReportOperationGraph(std::string const&, std::string const&)",
    "ReportOperationStatisticEnable()",
    "ReportOperationSetupStatistic(unsigned long, std::string const&, std::string const&)",
    "ReportOperationExecuteStatistic(unsigned long, std::string const&, std::string const&)",
    "ReportOperationIOTensorEnable()",
    f"ReportOperationIOTensor({IO_TENSORS})",
    "ReportKernelIOTensorEnable()",
    f"ReportKernelIOTensor({IO_TENSORS})",
    "IsOverflowCheck()",
    "IsOverflowStop()",
    "ReportOverflowKernel(std::string const&)",
}
MODEL_FUNCTIONS = {
    "IsReportModelTopoInfo(std::string const&)",
    "ReportModelTopoInfo(std::string const&, std::string const&)",
}
EXPECTED = {f"atb::Probe::{name}" for name in PROBE_FUNCTIONS} | {
    f"atb_speed::SpeedProbe::{name}" for name in MODEL_FUNCTIONS
}


def exported(library: Path) -> set[str]:
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        assert isinstance(symbols, SymbolTableSection)
        return {symbol.name for symbol in symbols.iter_symbols() if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name}


def demangled(names: set[str]) -> set[str]:
    """Both kinds of std::string, and vectors, as they are written in a program."""
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    text = re.sub(
        r"std::(__cxx11::)?basic_string<char, std::char_traits<char>, std::allocator<char> ?>", "std::string", text
    )
    return set(re.sub(r"(std::vector<([^<>]+)), std::allocator<\2> ?>", r"\1>", text).splitlines())


@pytest.fixture(params=[1, 0], ids=["abi1", "abi0"])
def abi(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture
def library(abi: int, native_file: Callable[[str], Path]) -> Path:
    return native_file(f"libatb_probe_abi{abi}.so")


@pytest.fixture
def elf(library: Path) -> Iterator[ELFFile]:
    with library.open("rb") as file:
        yield ELFFile(file)


@pytest.fixture
def dynamic(elf: ELFFile) -> DynamicSection:
    section = elf.get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    return section


@pytest.mark.needs_gcc
def test_exports_are_the_probe_functions_and_our_own(library: Path) -> None:
    names = exported(library)
    own = {name for name in names if name.startswith("atbprobe_")}
    assert own
    assert demangled(names - own) == EXPECTED


def test_each_abi_is_that_of_its_host(abi: int, library: Path, native_file: Callable[[str], Path]) -> None:
    """What takes the place of a host's function must have its name to the letter."""
    host = exported(native_file(f"libatb_standin_abi{abi}.so"))
    probe = {name for name in host if re.match(r"_ZN(3atb5Probe|9atb_speed10SpeedProbe)(?!6Tensor[CD])", name)}
    assert {name for name in exported(library) if not name.startswith("atbprobe_")} == probe


@pytest.mark.peer
def test_the_peer_defines_the_same_functions(abi: int, library: Path) -> None:
    assert {name for name in exported(library) if not name.startswith("atbprobe_")} <= exported(peer_library(abi))


def test_needed_libraries_are_those_of_every_process(dynamic: DynamicSection) -> None:
    needed = {tag.needed for tag in dynamic.iter_tags("DT_NEEDED")}
    loader = {name for name in needed if name.startswith("ld-linux-")}
    assert needed - loader == {"libc.so.6"}
    assert not list(dynamic.iter_tags("DT_RPATH")) + list(dynamic.iter_tags("DT_RUNPATH"))


def needed_glibc_symbols(elf: ELFFile) -> dict[tuple[int, ...], list[str]]:
    """The symbols that the library takes from glibc, by the version that they came with."""
    versions = elf.get_section_by_name(".gnu.version")
    needed = elf.get_section_by_name(".gnu.version_r")
    symbols = elf.get_section_by_name(".dynsym")
    assert isinstance(versions, GNUVerSymSection)
    assert isinstance(needed, GNUVerNeedSection)
    assert isinstance(symbols, SymbolTableSection)
    by_version = defaultdict(list)
    for symbol, version in zip(symbols.iter_symbols(), versions.iter_symbols(), strict=True):
        found = needed.get_version(version["ndx"]) if isinstance(version["ndx"], int) else None
        if found is not None and found[1].name.startswith("GLIBC_"):
            number = tuple(map(int, found[1].name.removeprefix("GLIBC_").split(".")))
            by_version[number].append(symbol.name)
    return by_version


@pytest.mark.parametrize(
    "name",
    ["libatb_probe_abi{}.so", "libatb_standin_abi{}.so", "standin_model_abi{}"],
    ids=["probe", "stand-in", "model"],
)
def test_glibc_may_be_as_old_as_promised(
    name: str, abi: int, native_file: Callable[[str], Path], glibc_needs: dict[str, str]
) -> None:
    path = native_file(name.format(abi))
    with path.open("rb") as file:
        by_version = needed_glibc_symbols(ELFFile(file))
    newest = max(by_version)
    number = ".".join(map(str, newest))
    glibc_needs[path.name] = (
        f"GLIBC_{number}, for {len(by_version[newest])} symbols: {', '.join(sorted(by_version[newest]))}"
    )
    assert newest <= NEWEST_GLIBC, glibc_needs[path.name]


def test_versions_of_symbols_are_all_seen(elf: ELFFile) -> None:
    """What the library says it needs and what its symbols need is the same."""
    section = elf.get_section_by_name(".gnu.version_r")
    assert isinstance(section, GNUVerNeedSection)
    names = {version.name for _, versions in section.iter_versions() for version in versions}
    listed = {f"GLIBC_{'.'.join(map(str, number))}" for number in needed_glibc_symbols(elf)}
    assert listed == {name for name in names if name.startswith("GLIBC_")}


def test_memory_is_protected_and_never_unmapped(elf: ELFFile, dynamic: DynamicSection) -> None:
    segments = {segment["p_type"]: segment for segment in elf.iter_segments()}
    executable, writable = 1, 2
    assert segments["PT_GNU_STACK"]["p_flags"] & executable == 0
    assert "PT_GNU_RELRO" in segments
    assert all(segment["p_flags"] & (executable | writable) != executable | writable for segment in elf.iter_segments())
    flags = {tag.entry.d_tag: tag["d_val"] for tag in dynamic.iter_tags()}
    assert "DT_TEXTREL" not in flags
    assert flags["DT_FLAGS"] & ENUM_DT_FLAGS["DF_BIND_NOW"]
    assert flags["DT_FLAGS_1"] & ENUM_DT_FLAGS_1["DF_1_NOW"]
    assert flags["DT_FLAGS_1"] & ENUM_DT_FLAGS_1["DF_1_NODELETE"]


def test_hardly_anything_runs_at_load(elf: ELFFile) -> None:
    """One entry is the compiler's own, the other registers the end of libstdc++'s error categories."""
    entries = elf.get_section_by_name(".init_array").data_size // (elf.elfclass // 8)
    assert entries <= 2


def test_thread_local_state_is_a_few_words(elf: ELFFile) -> None:
    """It is in initial-exec storage, of which a dlopen has little left to give."""
    (storage,) = (segment for segment in elf.iter_segments() if segment["p_type"] == "PT_TLS")
    assert storage["p_memsz"] <= 64
