"""Check the names and the English of this project, as far as a program can.

Names: a function is a verb with its object, so at most 40 % of all function names and 25 % of those
at module level may be a single word (dunder methods aside); a public class name stands once. A
function has at most 60 lines. A module has at most 400, or a reason in tools/long_modules.toml; no
reason is good enough for more than 800.

Schemes: outside `ids`, code asks the scheme of a name for its facts; it asks for its class in fewer
than 20 places.

English: the patterns below stay out of docstrings, comments, messages and documentation. Each is a
habit that makes a sentence hard to read: a clause used as a noun, "where" for "if", persons for
programs, words that say only that something "lies" or "stands" somewhere.

Places: only a store knows where it keeps records and bytes, and what its database says. Other code
does not write the names of its files, or read the error numbers of SQLite; it asks the port.

Errors: each reason has a class, so no sentence is given to the constructor of an error: no string
with two spaces in it, whether written there or in the function around it. Fields that hold a
phrase by their definition are in `PHRASES`.

    python tools/check_style.py            everything; exits with 1 if anything is found
    python tools/check_style.py PATH …     the English of these files or directories only
"""

import ast
import io
import itertools
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src/perdure"
PROSE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs")
GIVEN = {ROOT / "docs/reference/rulings.md"}
"""Pages with texts that are not ours to reword."""

MOST_ONE_WORD = {"all functions": 0.40, "functions at module level": 0.25}

MOST_LINES = 60
"""Lines of a function."""
MOST_MODULE_LINES, MOST_ARGUED_LINES = 400, 800
"""Lines of a module: without a reason, and with one in `LONG_MODULES`."""
LONG_MODULES = ROOT / "tools/long_modules.toml"

MOST_KINDS_ASKED = 19
KINDS = {"Pdi", "Urn", "Urn1993", "Pwid", "Handle", "Ark"}
"""The classes of names, one for each scheme."""

PATTERNS = {
    "begin with the subject or the verb, not with a clause": re.compile(
        r"\A(What|Whether|Where|Who|Whoever|Whom|Whose|How|Which|Those|That which)\b"
    ),
    "write 'no one', 'anyone', or the program that does it": re.compile(
        r"\b(nobody|somebody|everybody|anybody|whoever|whomever|whosoever)\b", re.IGNORECASE
    ),
    "write 'if' or 'when'": re.compile(
        r"\bwhere (there (is|are|was|were)|nothing|none|no|not|it (is|has|was|does|can)|"
        r"that (is|was|has)|they (are|have))\b",
        re.IGNORECASE,
    ),
    "write 'that is not', or name the thing": re.compile(
        r"\b(what|who|that which) (is|are|was|were|has|have) (no|none|not)\b", re.IGNORECASE
    ),
    "name the person or the program": re.compile(
        r"\b(for|of|to|by|from) who\b|\b(for|of|to|by|from) (him|them) (that|who)\b", re.IGNORECASE
    ),
    "write 'reports', 'says', 'is available', 'is'": re.compile(
        r"\b(is|are|was|were|be|been|not) told\b|\b(can|could|may) be had\b|"
        r"\b(is|are|was|were) to be had\b",
        re.IGNORECASE,
    ),
    "name the thing": re.compile(
        r"\bwhat (is|was|are|were) (held|said|known|kept|stored|meant|recorded|named|done)\b",
        re.IGNORECASE,
    ),
    "write 'if it has none', or what happens then": re.compile(
        r"\bnone if there is none\b|\bif there is none at all\b|\bto every(one|body) who asks\b",
        re.IGNORECASE,
    ),
    "write 'n' or the number": re.compile(r"\b(so|that) many (bytes|characters|lines|seconds)\b"),
    "write 'is'": re.compile(
        r"\b(lies|lie|lay|stands|stand|stood) (in|on|at|beside|behind|before|there|here|alone)\b",
        re.IGNORECASE,
    ),
    "write 'is not a', or say what happens": re.compile(
        r"(?<!there )\b(is|are|was|were)\s+no\s+(?!(longer|more|less|other|different)\b|\w+er\b)",
        re.IGNORECASE,
    ),
    "write 'differs', or 'a different one'": re.compile(
        r"\b(is|are|was|were|be)\s+another\s+one\b", re.IGNORECASE
    ),
    "write 'will', 'must' or 'should'": re.compile(
        r"\b(is|are|was|were)\s+to\s+be\s+\w+(ed|en)\b", re.IGNORECASE
    ),
    "write a word of today": re.compile(
        r"\b(of old|anew|thereof|therein|whence|wherein|whereof|hitherto|yonder)\b", re.IGNORECASE
    ),
}


PHRASES = {"expected", "rule", "extent", "task", "under_way", "file"}
"""Fields of errors with a grammar's own terms, or with the name of a rule, of what exists ("3
pages"), of a task, or of a file."""


COUNTED = re.compile(
    " (?:more )?(?:alternative|archive|asterisk|bit|byte|capture|change|channel|character|chunk"
    "|column|copie|day|delegation|digest|digit|document|element|entrie|file|flaw|frame|hour|identifier|level"
    "|line|location|member|minute|node|object|octet|offset|page|piece|problem|range|record"
    "|repetition|representation|revision|row|sample|second|segment|tag|token|type|value|version)s"
    r"\b"
)
"""Nouns that messages count."""

FORMS = {("extractors/film/video.py", "frames"), ("extractors/pdf/objects.py", "objects")}
"""Texts that are kept with a digest, as `Decoded.form`, and so keep their form."""


STORE_FILES = re.compile(r"\A(segments|registry\.sqlite)\Z|(\A|/)segments/|/archive/|\.warc\Z")
"""Names of files and directories that belong to a store."""
SEALED = re.compile(r"\Aarchive(/|\Z)")
"""The name of such a directory, which has other meanings except in a path."""
STORES_ASKED = {"system_errno"}
"""Attributes by which a database of a store says what happened."""


class Finding(NamedTuple):
    """One place where the text is against the style."""

    path: Path
    line: int
    advice: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.advice}: {self.text}"


def main(arguments: list[str]) -> int:
    """Print all findings; 1 if there are any."""
    roots = [Path(argument) for argument in arguments]
    findings = list(find_in_prose(roots or [SOURCES, *(ROOT / path for path in PROSE)]))
    complaints = [str(finding) for finding in findings]
    if not roots:
        complaints += [*check_names(SOURCES), *check_errors(SOURCES), *check_counts(SOURCES)]
        complaints += [*check_lengths(SOURCES), *check_kinds(SOURCES), *check_places(SOURCES)]
        complaints += check_modules(SOURCES, LONG_MODULES)
    sys.stdout.writelines(f"{complaint}\n" for complaint in complaints)
    return 1 if complaints else 0


class Module(NamedTuple):
    """A module as it was parsed, and all nodes of its tree."""

    tree: ast.Module
    nodes: tuple[ast.AST, ...]


@cache
def read_module(path: Path) -> Module:
    """Parse a module, once for all checks."""
    tree = ast.parse(path.read_text())
    return Module(tree, tuple(ast.walk(tree)))


def check_names(root: Path) -> list[str]:
    """The rules of names that the package breaks."""
    every: list[str] = []
    at_module_level: list[str] = []
    classes: Counter[str] = Counter()
    for path in sorted(root.rglob("*.py")):
        tree, nodes = read_module(path)
        for node in nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name] += 1
            elif isinstance(node, _FUNCTIONS) and not node.name.startswith("__"):
                every.append(node.name.strip("_"))
        at_module_level += [n.name.strip("_") for n in tree.body if isinstance(n, _FUNCTIONS)]
    complaints = []
    for what, names in zip(MOST_ONE_WORD, (every, at_module_level), strict=True):
        share = sum("_" not in name for name in names) / len(names)
        if share > MOST_ONE_WORD[what]:
            complaints.append(
                f"{share:.1%} of {what} have a name of one word; "
                f"at most {MOST_ONE_WORD[what]:.0%} may: write a verb with its object"
            )
    for name, count in sorted(classes.items()):
        if count > 1:
            complaints.append(f"{count} public classes are called {name}: a class name stands once")
    return complaints


def check_lengths(root: Path) -> Iterator[str]:
    """The functions that are too long to be one idea."""
    for path in sorted(root.rglob("*.py")):
        for node in read_module(path).nodes:
            if isinstance(node, _FUNCTIONS):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > MOST_LINES:
                    shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                    yield (
                        f"{shown}:{node.lineno}: {node.name} has {lines} lines; "
                        f"write functions of at most {MOST_LINES}, one idea each"
                    )


def check_modules(root: Path, argued: Path) -> Iterator[str]:
    """The modules that are too long, and those in the list of long ones that are not long."""
    listed = [
        module
        for kind in tomllib.loads(argued.read_text("utf-8"))["kind"]
        for module in kind["modules"]
        if kind["reason"].strip()
    ]
    for path in sorted(root.rglob("*.py")):
        module, lines = path.relative_to(root).as_posix(), len(path.read_text("utf-8").splitlines())
        if lines > MOST_ARGUED_LINES or (lines > MOST_MODULE_LINES and module not in listed):
            yield (
                f"{module} has {lines} lines: is it still one idea? Part it at a seam, or say in "
                f"{argued.name} why it has none (at most {MOST_ARGUED_LINES} lines)"
            )
        if lines <= MOST_MODULE_LINES and module in listed:
            yield f"{argued.name}: {module} has only {lines} lines: remove it from the list"
    for module, count in Counter(listed).items():
        if count > 1 or not (root / module).is_file():
            yield f"{argued.name}: {module} needs one reason and must exist"


def check_kinds(root: Path) -> Iterator[str]:
    """The places that ask for the class of a name, if there are too many of them."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0] == "ids":
            continue
        for node in read_module(path).nodes:
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "isinstance":
                continue
            if {getattr(one, "id", "") for one in ast.walk(node.args[1])} & KINDS:
                found.append(f"{path.relative_to(root)}:{node.lineno}")
    if len(found) > MOST_KINDS_ASKED:
        yield (
            f"{len(found)} places ask for the class of a name, at most {MOST_KINDS_ASKED} may: "
            f"ask its scheme (perdure.ids.scheme_of): {', '.join(found)}"
        )


def check_places(root: Path) -> Iterator[str]:
    """The places outside of the stores that know the files of a store, or its database."""
    for path in sorted(root.rglob("*.py")):
        if len(path.relative_to(root).parts) > 2 and path.relative_to(root).parts[0] == "storage":
            continue
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for node in read_module(path).nodes:
            if isinstance(node, ast.Attribute) and node.attr in STORES_ASKED:
                yield f"{shown}:{node.lineno}: only its store knows this: {node.attr}"
            for text in _list_path_texts(node):
                if STORE_FILES.search(str(text.value)) or (
                    isinstance(node, ast.BinOp | ast.Call) and SEALED.search(str(text.value))
                ):
                    yield f"{shown}:{text.lineno}: only its store knows this: {text.value!r}"


_PATH_METHODS = {"Path", "PurePath", "PurePosixPath", "glob", "joinpath", "join", "rglob"}


def _list_path_texts(node: ast.AST) -> Iterator[ast.Constant]:
    """The texts that a node makes part of a path, or lists."""
    found: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        found = [node.left, node.right]
    elif isinstance(node, ast.Call) and _name_called(node) in _PATH_METHODS:
        found = node.args
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        found = node.elts
    for one in found:
        parts = one.values if isinstance(one, ast.JoinedStr) else [one]
        yield from (
            part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
        )


def check_errors(root: Path) -> Iterator[str]:
    """The places where a sentence is given to an error, instead of a class with fields."""
    paths = sorted(root.rglob("*.py"))
    kinds = {
        node.name
        for path in paths
        if path.parent.name == "errors"
        for node in read_module(path).tree.body
        if isinstance(node, ast.ClassDef)
    }
    for path in paths:
        for line, kind, field in sorted(_find_sentences_given(read_module(path), kinds)):
            if field not in PHRASES:
                shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                yield f"{shown}:{line}: a class for each reason: {kind}({field}=…) gets a sentence"


def check_counts(root: Path) -> Iterator[str]:
    """The places where a text counts without `count_things`: "1 problems"."""
    for path in sorted(root.rglob("*.py")):
        for node in read_module(path).nodes:
            for noun in _find_counted(node):
                if (path.relative_to(root).as_posix(), noun) in FORMS:
                    continue
                shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                yield f"{shown}:{node.lineno}: count with count_things: {noun}"  # type: ignore[attr-defined]  # texts have one


def _find_counted(node: ast.AST) -> Iterator[str]:
    """The plural nouns of an f-string that follow a number which may be 1."""
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    for before, after in itertools.pairwise(parts):
        if not (isinstance(before, ast.FormattedValue) and isinstance(after, ast.Constant)):
            continue
        value = before.value
        name = getattr(value, "id", "") or getattr(value, "attr", "")
        is_bound = name.isupper()  # more than 1
        is_decimal = _read_format(before) not in ("", ",", "g")  # "1.000 seconds"
        if not (is_bound or is_decimal) and (found := COUNTED.match(str(after.value))):
            yield found[0].strip()


def _read_format(field: ast.FormattedValue) -> str:
    """The format of a field of an f-string, if it is plain text."""
    spec = field.format_spec
    parts = spec.values if isinstance(spec, ast.JoinedStr) else []
    return "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))


def _find_sentences_given(module: Module, kinds: set[str]) -> set[tuple[int, str, str]]:
    """The line, class and field of each sentence that is given to the constructor of an error."""
    found = set()
    for scope in module.nodes:
        if not isinstance(scope, _FUNCTIONS):
            continue
        nodes = list(ast.walk(scope))
        calls = [
            node for node in nodes if isinstance(node, ast.Call) and _name_called(node) in kinds
        ]
        assigned: dict[str, list[ast.expr]] = {}
        for node in nodes if calls else ():
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node.value)
        for call in calls:
            kind = _name_called(call)
            for keyword in call.keywords:
                names = {one.id for one in ast.walk(keyword.value) if isinstance(one, ast.Name)}
                values = [
                    keyword.value,
                    *(value for name in names for value in assigned.get(name, ())),
                ]
                if any(_count_spaces(part) > 1 for value in values for part in ast.walk(value)):
                    found.add((keyword.value.lineno, kind, keyword.arg or ""))
    return found


def _name_called(node: ast.Call) -> str:
    return str(getattr(node.func, "id", "") or getattr(node.func, "attr", ""))


def _count_spaces(node: ast.AST) -> int:
    """Count the spaces of a string, or of an f-string outside its fields."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.count(" ")
    parts = node.values if isinstance(node, ast.JoinedStr) else ()
    return sum(map(_count_spaces, parts))


def find_in_prose(roots: list[Path]) -> Iterator[Finding]:
    """Every place in these files and directories where a pattern stands."""
    for root in roots:
        paths = [root] if root.is_file() else sorted(root.rglob("*"))
        for path in paths:
            if path.suffix not in {".py", ".md"} or path in GIVEN:
                continue
            read = _find_sentences if path.suffix == ".py" else _find_paragraphs
            for line, text in read(path):
                for advice, pattern in PATTERNS.items():
                    if match := pattern.search(text):
                        at = line + text.count("\n", 0, match.start())
                        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
                        yield Finding(shown, at, advice, match[0])


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DOCUMENTED = (ast.Module, ast.ClassDef, *_FUNCTIONS)


def _find_sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and comments with the line at which each begins.

    A message is a string with a space in it, without the fields of an f-string. That a docstring
    begins with a clause is looked for in docstrings only: the others begin with a line feed here.
    """
    nodes = read_module(path).nodes
    docstrings = set()
    for node in nodes:
        if isinstance(node, _DOCUMENTED) and node.body and isinstance(node.body[0], ast.Expr):
            docstrings.add(id(node.body[0].value))
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            if id(node) in docstrings:
                yield node.lineno, node.value
            else:
                yield node.lineno - 1, "\n" + node.value
    source = path.read_text()
    if "#" in source:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0] - 1, "\n" + token.string


def _find_paragraphs(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page outside its blocks of code and quotations, each with its number."""
    in_code = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.startswith((">", "    ")):
            yield number - 1, "\n" + line


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
