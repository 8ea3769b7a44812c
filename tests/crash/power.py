"""A model of what a power cut may leave of files, after any of the system calls of a program.

`record_calls` runs a Python program under `strace` and reads the calls that change files below a
directory. `Disk` carries them out in memory and knows of each file and directory what is durable:
of a file, the bytes of its last `fsync`; of a directory, the names of its last `fsync`. All else
may be there or not after a power cut, in any order. `list_states` gives, for each moment, a bounded
choice of the states that POSIX allows:

- of the names that were not flushed: none, all, each alone, all but each;
- of the bytes that were not flushed: none, all, or the new length with zeros at the end.

Two names of one `rename` within a directory come together; between two directories, each alone.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_CALLS = (
    "openat,close,write,pwrite64,writev,pwritev,ftruncate,truncate,rename,renameat,renameat2,link,"
    "linkat,unlink,unlinkat,mkdir,mkdirat,rmdir,fsync,fdatasync,sendfile,copy_file_range,lseek,dup"
)
_LINE = re.compile(r"(\w+)\((.*)\) += (-?\d+|0x[0-9a-f]+)(?:<[^>]*>)?(?: .*)?")
_HEX = re.compile(r"(?:\\x[0-9a-f]{2})*")
_ARGUMENT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(?:\.\.\.)?|\[[^\]]*\]|[^,\s][^,]*')
_UNFINISHED = " <unfinished ...>"
_RESUMED = re.compile(r"<\.\.\. \w+ resumed>")
Tree = dict[str, bytes]
"""A state: the bytes of each file, by its path below the directory. A directory ends with `/`."""


@dataclass(eq=False)
class FileNode:
    durable: bytes = b""
    current: bytearray = field(default_factory=bytearray)


@dataclass(eq=False)
class DirectoryNode:
    durable: dict[str, Node] = field(default_factory=dict)
    current: dict[str, Node] = field(default_factory=dict)


Node = FileNode | DirectoryNode


@dataclass(eq=False)
class PendingChange:
    """Names that one call has set (or removed: None) in a directory."""

    directory: DirectoryNode
    names: dict[str, Node | None]


@dataclass
class Call:
    name: str
    arguments: list[str | bytes]
    """A text in quotes as bytes, anything else as it was printed."""
    result: int


def record_calls(program: str, arguments: Sequence[object], log: Path) -> list[Call]:
    """Run a program and list its system calls; those that failed are left out."""
    traced = ("strace", "-f", "-qq", "-xx", "-s", "99999999", "-e", f"trace={_CALLS}", "-o")
    subprocess.run(
        [*traced, str(log), sys.executable, "-c", program, *map(str, arguments)], check=True
    )
    calls = []
    for line in _join_threads(log.read_text("ascii").splitlines()):
        matched = _LINE.fullmatch(line)
        if matched and int(matched[3], 0) >= 0:
            calls.append(Call(matched[1], list(_read_arguments(matched[2])), int(matched[3], 0)))
    return calls


def _join_threads(lines: list[str]) -> Iterator[str]:
    """The calls of all threads in the order in which they ended."""
    begun: dict[str, str] = {}
    for line in lines:
        thread, _, call = line.partition(" ")
        call = call.strip()
        if call.endswith(_UNFINISHED):
            begun[thread] = call.removesuffix(_UNFINISHED)
        elif resumed := _RESUMED.match(call):
            yield begun.pop(thread) + call[resumed.end() :]
        else:
            yield call


def _read_arguments(text: str) -> Iterator[str | bytes]:
    for found in _ARGUMENT.finditer(text):
        if found[1] is None:
            yield found[0].strip()
        else:
            yield bytes.fromhex(found[1].replace("\\x", ""))


class Disk:
    """The files below a directory, and of each what is durable."""

    def __init__(self, top: Path) -> None:
        """All that is in the directory now is durable."""
        self._top = str(top)
        self.root = _load_directory(top)
        self.pending: list[PendingChange] = []
        self._open: dict[int, tuple[str, Node | None, int]] = {}

    # names
    # -----

    def _inside(self, path: str) -> list[str] | None:
        if path == self._top:
            return []
        if not path.startswith(f"{self._top}/"):
            return None
        return path[len(self._top) + 1 :].split("/")

    def _find(self, path: str) -> Node | None:
        names = self._inside(path)
        node: Node | None = self.root if names is not None else None
        for name in names or ():
            assert isinstance(node, DirectoryNode)
            node = node.current.get(name)
            if node is None:
                return None
        return node

    def _parent(self, path: str) -> tuple[DirectoryNode, str] | None:
        names = self._inside(path)
        if not names:
            return None
        found = self._find("/".join([self._top, *names[:-1]]))
        assert isinstance(found, DirectoryNode)
        return found, names[-1]

    def _set_names(self, *changes: tuple[str, Node | None]) -> None:
        """Set names; those of one directory come together."""
        together: dict[int, PendingChange] = {}
        for path, node in changes:
            place = self._parent(path)
            if place is None:
                continue
            directory, name = place
            if node is None:
                directory.current.pop(name, None)
            else:
                directory.current[name] = node
            one = together.setdefault(id(directory), PendingChange(directory, {}))
            one.names[name] = node
        self.pending += together.values()

    # calls
    # -----

    def carry_out(self, call: Call) -> bool:
        """Carry out a call. Return whether it changed anything that a power cut could show."""
        method = getattr(self, f"_call_{call.name}", None)
        assert method is not None, call.name
        return bool(method(call))

    def _path(self, at: str | bytes, path: str | bytes) -> str:
        assert isinstance(path, bytes)
        text = path.decode()
        if text.startswith("/") or at == "AT_FDCWD":
            return text
        return f"{self._open[int(at)][0]}/{text}"

    def _call_openat(self, call: Call) -> bool:
        path, flags = self._path(*call.arguments[:2]), str(call.arguments[2])
        place, node, changed = self._parent(path), self._find(path), False
        if place is not None and node is None and "O_CREAT" in flags:
            node, changed = FileNode(), True
            self._set_names((path, node))
        if isinstance(node, FileNode) and "O_TRUNC" in flags:
            changed = changed or bool(node.current)
            node.current = bytearray()
        self._open[call.result] = (path, node, 0)
        return changed

    def _call_close(self, call: Call) -> bool:
        self._open.pop(int(str(call.arguments[0])), None)
        return False

    def _call_dup(self, call: Call) -> bool:
        held = self._open.get(int(str(call.arguments[0])))
        if held is not None:
            self._open[call.result] = held
        return False

    def _call_lseek(self, call: Call) -> bool:
        self._seek(int(str(call.arguments[0])), call.result)
        return False

    def _seek(self, fd: int, place: int) -> None:
        if fd in self._open:
            path, node, _ = self._open[fd]
            self._open[fd] = (path, node, place)

    def _write(self, fd: int, data: bytes, place: int) -> bool:
        node = self._open[fd][1] if fd in self._open else None
        if not isinstance(node, FileNode) or not data:
            return False
        node.current.extend(bytes(max(place + len(data) - len(node.current), 0)))
        node.current[place : place + len(data)] = data
        return True

    def _call_write(self, call: Call) -> bool:
        fd, data = int(str(call.arguments[0])), call.arguments[1]
        assert isinstance(data, bytes)
        place = self._open[fd][2] if fd in self._open else 0
        self._seek(fd, place + call.result)
        return self._write(fd, data[: call.result], place)

    def _call_pwrite64(self, call: Call) -> bool:
        fd, data, place = int(str(call.arguments[0])), call.arguments[1], str(call.arguments[3])
        assert isinstance(data, bytes)
        return self._write(fd, data[: call.result], int(place))

    def _call_sendfile(self, call: Call) -> bool:
        """From a file with a stated place, as Python copies files."""
        to, source = int(str(call.arguments[0])), int(str(call.arguments[1]))
        begin = re.match(r"\[(\d+)\]", str(call.arguments[2]))
        assert begin is not None
        data = Path(self._open[source][0]).read_bytes()[int(begin[1]) :][: call.result]
        place = self._open[to][2]
        self._seek(to, place + call.result)
        return self._write(to, data, place)

    def _call_ftruncate(self, call: Call) -> bool:
        fd, length = (int(str(one)) for one in call.arguments)
        node = self._open[fd][1] if fd in self._open else None
        if isinstance(node, FileNode):
            node.current = node.current[:length].ljust(length, b"\0")
        return isinstance(node, FileNode)

    def _call_mkdir(self, call: Call) -> bool:
        self._set_names((self._path("AT_FDCWD", call.arguments[0]), DirectoryNode()))
        return True

    def _call_rename(self, call: Call) -> bool:
        before, after = (self._path("AT_FDCWD", one) for one in call.arguments)
        node = self._find(before)
        self._set_names((after, node), (before, None))
        return True

    def _call_link(self, call: Call) -> bool:
        before, after = (self._path("AT_FDCWD", one) for one in call.arguments[:2])
        self._set_names((after, self._find(before) or _load_file(Path(before))))
        return True

    def _call_linkat(self, call: Call) -> bool:
        at, before, to, after = call.arguments[:4]
        return self._call_link(
            Call("link", [self._path(at, before).encode(), self._path(to, after).encode()], 0)
        )

    def _call_unlink(self, call: Call) -> bool:
        self._set_names((self._path("AT_FDCWD", call.arguments[0]), None))
        return True

    _call_rmdir = _call_unlink

    def _call_unlinkat(self, call: Call) -> bool:
        self._set_names((self._path(*call.arguments[:2]), None))
        return True

    def _call_fsync(self, call: Call) -> bool:
        node = self._open.get(int(str(call.arguments[0])), ("", None, 0))[1]
        if isinstance(node, FileNode):
            node.durable = bytes(node.current)
        elif isinstance(node, DirectoryNode):
            node.durable = dict(node.current)
            self.pending = [one for one in self.pending if one.directory is not node]
        return False

    _call_fdatasync = _call_fsync

    # states
    # ------

    def list_states(self) -> Iterator[Tree]:
        """States that a power cut may leave now."""
        pending = self.pending
        chosen: list[list[PendingChange]] = [[], list(pending)]
        if len(pending) > 1:
            chosen += [[one] for one in pending]
            chosen += [[other for other in pending if other is not one] for one in pending]
        for kept in chosen:
            for kind in ("old", "new", "zeros"):
                yield self._make_tree(kept, kind)

    def _make_tree(self, kept: list[PendingChange], kind: str) -> Tree:
        names: dict[int, dict[str, Node]] = {}
        for change in kept:
            here = names.setdefault(id(change.directory), dict(change.directory.durable))
            for name, node in change.names.items():
                if node is None:
                    here.pop(name, None)
                else:
                    here[name] = node
        found: Tree = {}

        def walk(directory: DirectoryNode, above: str) -> None:
            for name, node in names.get(id(directory), directory.durable).items():
                if isinstance(node, DirectoryNode):
                    found[f"{above}{name}/"] = b""
                    walk(node, f"{above}{name}/")
                else:
                    found[f"{above}{name}"] = _choose_bytes(node, kind)

        walk(self.root, "")
        return found


def _choose_bytes(node: FileNode, kind: str) -> bytes:
    if kind == "old" or node.durable == node.current:
        return node.durable
    if kind == "new":
        return bytes(node.current)
    return node.durable[: len(node.current)].ljust(len(node.current), b"\0")


def _load_file(path: Path) -> FileNode:
    data = path.read_bytes()
    return FileNode(durable=data, current=bytearray(data))


def _load_directory(top: Path) -> DirectoryNode:
    found: dict[str, Node] = {}
    for path in top.iterdir():
        if path.is_dir():
            found[path.name] = _load_directory(path)
        elif path.is_file():
            found[path.name] = _load_file(path)
    return DirectoryNode(durable=found, current=dict(found))


def write_tree(tree: Tree, top: Path) -> Path:
    """Write a state into a directory that does not exist yet."""
    top.mkdir()
    for path, data in tree.items():  # a directory comes before its files
        if path.endswith("/"):
            (top / path).mkdir()
        else:
            (top / path).write_bytes(data)
    return top
