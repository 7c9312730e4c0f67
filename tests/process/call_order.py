"""Is this a record of a host that calls the probe as ATB does?

A record is the list of a process's calls in order, each ``{"seq", "pid", "thr", "fn", "args", "ret"}`` (``ret`` only
for functions with a result). The order of calls is a grammar for each thread, which depends on the answers given and on
what is known of the operations from earlier calls:

    thread     = (context | topology | setup | execute)*
    setup      = [first] IsTensorNeedSave(top) IsSaveTensorDesc prepared* tiling* ReportOperationStatisticEnable …
    first      = IsTensorNeedSave(below, children first)* ReportOperationGraphEnable [ReportOperationGraph]
    prepared   = (kernel: [IsTensorNeedSave] [IsSaveTiling])* UpdateConfig           children before parents
    tiling     = IsExecuteCountInRange → IsSaveTiling → SaveTiling                   kernels that are to be saved
    execute    = before (execute | kernel)* after param ReportOperationIOTensorEnable → report
    before     = IsExecuteCountInRange → flag → IsSaveTensorInSpecificDir → IsSaveTensorBefore → tensors
    param      = IsExecuteCountInRange → flag → IsSaveTensorInSpecificDir → IsSaveParam → SaveParam
    kernel     = before' IsOverflowCheck (ReportKernelIOTensorEnable → report) after'
    before'    = flag → IsExecuteCountInRange → IsSaveTensorBefore → IsSaveTensorInSpecificDir → tensors
    tensors    = IsSaveTensorData → SaveTensor*            every input, then every output
    report     = IsSaveTensorBefore (ReportOperationIOTensor | ReportKernelIOTensor)     nothing of graphs

where an arrow is followed only after a yes, and `flag` is the cached answer of IsTensorNeedSave. Each thread is
parsed by a generator that is handed its calls one at a time; what one thread's setup tells of an operation is shared
by all.

A thread that only executes is taken to run what was set up last on another thread.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from host_operation import Kernel, Layer, Node, OperationTree, graph_mismatch
from saved_tensor import SavedTensor

Record = Mapping[str, Any]
# A parser yields to be sent the thread's next call, None at the end of the record.
Parser = Generator[None, "Record | None", None]


class CallOrderError(Exception):
    """A call that the grammar does not allow, and where it stands."""

    def __init__(self, record: Record | None, where: str, problem: str) -> None:
        self.record = record
        self.where = where
        self.problem = problem
        at = "at the end of the record" if record is None else f"call {record['seq']} of thread {record['thr']}"
        super().__init__(f"{at}, {where}: {problem}")


@dataclass
class Summary:
    """What a correct record contained."""

    setups: int = 0
    executes: int = 0
    saved_tensors: int = 0
    layers: list[str] = field(default_factory=list)


def check(records: Iterable[Record], *, complete: bool = True) -> Summary:
    """Raise CallOrderError at the first call that is out of order.

    With ``complete`` false the record may break off anywhere, as that of a killed process does.
    """
    host = _Host()
    parsers: dict[int, _Thread] = {}
    for record in records:
        thread = record["thr"]
        if thread not in parsers:
            parsers[thread] = _Thread(host)
        parsers[thread].feed(record)
    if complete:
        for parser in parsers.values():
            parser.feed(None)
        ids = sorted(host.layers)
        if ids != list(range(len(ids))):
            raise CallOrderError(None, "ids", f"the layer-level operations are not numbered from 0 on: {ids}")
    host.summary.layers = [f"{number}_{layer.tree.top.name}" for number, layer in sorted(host.layers.items())]
    return host.summary


class _Host:
    """What all threads of the process know."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.layers: dict[int, Layer] = {}
        self.set_up_last: Layer | None = None
        self.summary = Summary()


class _Thread:
    """The parser of one thread's calls."""

    def __init__(self, host: _Host) -> None:
        self.host = host
        self.where = "idle"
        self.has_context = False
        self.layer: Layer | None = None
        self._next: Record | None = None
        self._ended = False
        self._parser = self._thread()
        next(self._parser)

    def feed(self, record: Record | None) -> None:
        if record is not None:
            self.host.pid = record["pid"] if self.host.pid is None else self.host.pid
            if record["pid"] != self.host.pid:
                raise CallOrderError(record, self.where, f"a call of process {record['pid']}")
        self._parser.send(record)

    # Taking calls -------------------------------------------------------------------------------------------------

    def _peek(self) -> Generator[None, Record | None, str]:
        """The name of the next function, "" at the end of the record."""
        if self._next is None and not self._ended:
            self._next = yield
            self._ended = self._next is None
        return "" if self._next is None else str(self._next["fn"])

    def _take(self, function: str, **args: object) -> Generator[None, Record | None, Record]:
        """The next call, which must be of that function and have those arguments."""
        found = yield from self._peek()
        record, self._next = self._next, None
        if record is None or found != function:
            raise CallOrderError(record, self.where, f"expected {function}, not {found or 'the end'}")
        for name, value in args.items():
            if record["args"].get(name) != value:
                problem = f"{function}: {name} should be {value!r}, not {record['args'].get(name)!r}"
                raise CallOrderError(record, self.where, problem)
        return record

    def _ask(self, question: str, **args: object) -> Generator[None, Record | None, bool]:
        record = yield from self._take(question, **args)
        if not isinstance(record.get("ret"), bool):
            raise CallOrderError(record, self.where, f"{question} has no answer")
        return bool(record["ret"])

    def _fail(self, problem: str) -> None:
        raise CallOrderError(self._next, self.where, problem)

    # The grammar --------------------------------------------------------------------------------------------------

    def _thread(self) -> Parser:
        while function := (yield from self._peek()):
            assert self._next is not None
            self.where = "between operations"
            if function == "IsOverflowCheck":
                yield from self._ask("IsOverflowCheck")
                self.has_context = True
            elif function == "IsReportModelTopoInfo":
                yield from self._topology()
            elif function in ("IsTensorNeedSave", "ReportOperationGraphEnable"):
                if not self.has_context:
                    self._fail("a setup on a thread without a context")
                yield from self._setup()
            else:
                yield from self._execute()
        yield  # the end of the record was handed over; nothing comes after it

    def _topology(self) -> Parser:
        assert self._next is not None
        model = self._next["args"]["model"]
        if (yield from self._ask("IsReportModelTopoInfo")):
            yield from self._take("ReportModelTopoInfo", model=model)

    def _setup(self) -> Parser:
        self.where = "setup"
        assert self._next is not None
        ids = self._next["args"].get("ids")
        known = self.host.layers.get(ids[0]) if ids and len(ids) == 1 else None
        layer = known or (yield from self._first_setup())
        top = layer.tree.top
        self.where = f"setup of {top.path}"
        top.wanted = yield from self._ask("IsTensorNeedSave", ids=list(top.ids), opType=top.name)
        layer.dirs_known = yield from self._ask("IsSaveTensorDesc")
        for node in layer.tree.children_first():
            yield from self._prepare(node, first=known is None)
        for node in layer.tree.children_first():
            for kernel in node.kernels:
                yield from self._tiling(layer, kernel)
        if (yield from self._ask("ReportOperationStatisticEnable")):
            yield from self._take("ReportOperationSetupStatistic", executeCount=layer.executes, opName=top.name)
        layer.setups += 1
        self.host.summary.setups += 1
        self.layer = self.host.set_up_last = layer

    def _first_setup(self) -> Generator[None, Record | None, Layer]:
        tree = OperationTree()
        # The top one's own question comes after the report of the graph.
        while (yield from self._peek()) == "IsTensorNeedSave":
            record = yield from self._take("IsTensorNeedSave")
            try:
                tree.add(tuple(record["args"]["ids"]), record["args"]["opType"], bool(record["ret"]))
            except ValueError as error:
                raise CallOrderError(record, self.where, str(error)) from error
        graph = None
        if (yield from self._ask("ReportOperationGraphEnable")):
            graph = yield from self._take("ReportOperationGraph")
        yield from self._peek()
        if self._next is None or self._next["fn"] != "IsTensorNeedSave":
            self._fail("expected IsTensorNeedSave of the layer-level operation")
        assert self._next is not None
        ids = tuple(self._next["args"]["ids"])
        try:
            tree.close(ids, self._next["args"]["opType"])
        except ValueError as error:
            self._fail(str(error))
        if ids[0] in self.host.layers:
            self._fail(f"a second first setup of operation {ids[0]}")
        if graph is not None and (mismatch := graph_mismatch(tree, graph["args"])):
            raise CallOrderError(graph, f"setup of {tree.top.path}", mismatch)
        layer = self.host.layers[ids[0]] = Layer(tree)
        return layer

    def _prepare(self, node: Node, *, first: bool) -> Parser:
        if first and not node.children:
            while (yield from self._peek()) == "IsTensorNeedSave":
                kernel = Kernel((*node.ids, len(node.kernels)), node)
                kernel.wanted = yield from self._ask("IsTensorNeedSave", ids=list(kernel.ids), opType=node.name)
                node.kernels.append(kernel)
                yield from self._cached_tiling()
        else:
            for _ in node.kernels:
                yield from self._cached_tiling()
        yield from self._take("UpdateConfig")

    def _cached_tiling(self) -> Parser:
        if (yield from self._peek()) == "IsSaveTiling":
            yield from self._ask("IsSaveTiling")

    def _tiling(self, layer: Layer, kernel: Kernel) -> Parser:
        if (
            kernel.wanted
            and (yield from self._ask("IsExecuteCountInRange", executeCount=layer.executes))
            and (yield from self._ask("IsSaveTiling"))
        ):
            yield from self._take("SaveTiling")

    def _execute(self) -> Parser:
        layer = self.layer if self.has_context else self.host.set_up_last
        if layer is None:
            self._fail("nothing has been set up that could be executed")
        assert layer is not None
        yield from self._operation(layer, layer.tree.top)
        layer.executes += 1
        self.host.summary.executes += 1

    def _operation(self, layer: Layer, node: Node) -> Parser:
        self.where = f"before pass of {node.path}"
        before = yield from self._operation_pass(layer, node, "Before")
        for child in node.children:
            yield from self._operation(layer, child)
        for kernel in node.kernels:
            yield from self._kernel(layer, kernel)
        self.where = f"after pass of {node.path}"
        after = yield from self._operation_pass(layer, node, "After")
        self._same_tensors(before, after)
        self.where = f"op_param of {node.path}"
        yield from self._param(layer, node)
        self.where = f"report of {node.path}"
        if (yield from self._ask("ReportOperationIOTensorEnable")) and not node.children:
            yield from self._ask("IsSaveTensorBefore")
            name = "_".join([node.name, *map(str, node.ids)])
            yield from self._take("ReportOperationIOTensor", executeCount=layer.executes, opName=name)

    def _operation_pass(self, layer: Layer, node: Node, side: str) -> Generator[None, Record | None, list[SavedTensor]]:
        if (
            (yield from self._in_range(layer))
            and node.wanted
            and (yield from self._in_dir(layer, node.path))
            and (yield from self._ask(f"IsSaveTensor{side}"))
        ):
            return (yield from self._tensors(layer, node, node.path, side))
        return []

    def _kernel(self, layer: Layer, kernel: Kernel) -> Parser:
        self.where = f"before pass of the kernel of {kernel.parent.path}"
        kernel.path = ""
        before = yield from self._kernel_pass(layer, kernel, "Before")
        if (yield from self._ask("IsOverflowCheck")):
            while (yield from self._peek()) == "ReportOverflowKernel":
                yield from self._take("ReportOverflowKernel")
        if (yield from self._ask("ReportKernelIOTensorEnable")):
            yield from self._ask("IsSaveTensorBefore")
            yield from self._take("ReportKernelIOTensor", executeCount=layer.executes, opName=kernel.parent.name)
        self.where = f"after pass of the kernel of {kernel.parent.path}"
        after = yield from self._kernel_pass(layer, kernel, "After")
        self._same_tensors(before, after)

    def _kernel_pass(
        self, layer: Layer, kernel: Kernel, side: str
    ) -> Generator[None, Record | None, list[SavedTensor]]:
        if not (kernel.wanted and (yield from self._in_range(layer)) and (yield from self._ask(f"IsSaveTensor{side}"))):
            return []
        if not kernel.path and layer.dirs_known:
            kernel.path = yield from self._kernel_path(layer, kernel)
        if not (yield from self._in_dir(layer, kernel.path)):
            return []
        return (yield from self._tensors(layer, None, kernel.path, side))

    def _kernel_path(self, layer: Layer, kernel: Kernel) -> Generator[None, Record | None, str]:
        """A kernel's name is not told before its first directory."""
        if (yield from self._peek()) != "IsSaveTensorInSpecificDir":
            self._fail("expected IsSaveTensorInSpecificDir")
        assert self._next is not None
        name = str(self._next["args"]["tensorDir"]).rpartition("/")[2]
        if not name.startswith(f"{kernel.ids[-1]}_"):
            self._fail(f"a kernel's directory should end in {kernel.ids[-1]}_<name>, not {name!r}")
        return f"{kernel.parent.path}/{name}"

    def _param(self, layer: Layer, node: Node) -> Parser:
        if (
            (yield from self._in_range(layer))
            and node.wanted
            and (yield from self._in_dir(layer, node.path))
            and (yield from self._ask("IsSaveParam"))
            and node.kernels
        ):
            yield from self._take("SaveParam", filePath=f"{layer.dir_of(node.path)}/op_param.json")

    def _in_range(self, layer: Layer) -> Generator[None, Record | None, bool]:
        return (yield from self._ask("IsExecuteCountInRange", executeCount=layer.executes))

    def _in_dir(self, layer: Layer, path: str) -> Generator[None, Record | None, bool]:
        if (yield from self._peek()) == "IsSaveTensorInSpecificDir" and layer.dirs_known:
            assert self._next is not None
            problem = layer.learn_device(self._next["args"]["tensorDir"], self._next["pid"])
            if problem:
                self._fail(problem)
        return (yield from self._ask("IsSaveTensorInSpecificDir", tensorDir=layer.dir_of(path)))

    def _tensors(
        self, layer: Layer, node: Node | None, path: str, side: str
    ) -> Generator[None, Record | None, list[SavedTensor]]:
        """All tensors of a pass; ``node`` is None for a kernel, which has plain file names."""
        tensors: list[SavedTensor] = []
        if not (yield from self._ask("IsSaveTensorData")):
            return tensors
        folder = f"{layer.dir_of(path)}/{side.lower()}/"
        while (yield from self._peek()) == "SaveTensor":
            record = yield from self._take("SaveTensor")
            try:
                tensor = SavedTensor.of_call(record["args"], folder)
                tensor.check_follows(tensors, named=node is not None and bool(node.kernels))
            except ValueError as error:
                raise CallOrderError(record, self.where, str(error)) from error
            tensors.append(tensor)
        counted = (sum(tensor.is_input for tensor in tensors), sum(not tensor.is_input for tensor in tensors))
        if node is not None and node.tensor_counts is not None and counted != node.tensor_counts:
            self._fail(f"{counted} inputs and outputs were saved of {node.tensor_counts}")
        self.host.summary.saved_tensors += len(tensors)
        return tensors

    def _same_tensors(self, before: list[SavedTensor], after: list[SavedTensor]) -> None:
        if before and after and before != after:
            self._fail("the tensors saved after are not those saved before")
