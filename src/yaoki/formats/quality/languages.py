"""The languages a scanner knows: comments, strings, and which brackets to balance."""

from __future__ import annotations

from yaoki.core.lazy_dataclass import dataclass, replace

Delimiters = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Quote:
    """A string.  `hole` opens code inside it, as `${` does; `lines`: it may span several lines."""

    open: str
    close: str
    escape: str = "\\"
    multiline: bool = False
    hole: str = ""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The lexical rules of one language.  `pairs` are the brackets whose balance is judged, if any.

    `char`: an apostrophe opens one character only, as in Rust.  `regex`: a slash may open one.
    """

    name: str
    line_comments: tuple[str, ...] = ()
    block_comments: tuple[Delimiters, ...] = ()
    nested_comments: bool = False
    quotes: tuple[Quote, ...] = ()
    pairs: str = ""
    has_char_literals: bool = False
    has_regex_literals: bool = False
    heredoc: str = ""
    is_prose: bool = False


ALL = "(){}[]"
SLASHES: tuple[str, ...] = ("//",)
STARS: tuple[Delimiters, ...] = (("/*", "*/"),)
MARKUP: tuple[Delimiters, ...] = (("<!--", "-->"),)
PLAIN = (Quote('"', '"'), Quote("'", "'"))
TRIPLE = (Quote('"""', '"""', multiline=True),)
DOLLAR = (Quote('"', '"', hole="${"), Quote("'", "'"))
HASH = Grammar("hash", line_comments=("#",), quotes=PLAIN)
BRACES = Grammar("braces", line_comments=SLASHES, block_comments=STARS, quotes=PLAIN, pairs=ALL)

_SHELL_HEREDOC = r"<<-?\s{0,4}\\?(['\"]?)([A-Za-z_]\w{0,60})\1"
_RUBY_HEREDOC = r"<<[-~]?(['\"`]?)([A-Z_][A-Z0-9_]{0,60})\1"
_PHP_HEREDOC = r"<<<\s{0,4}(['\"]?)([A-Za-z_]\w{0,60})\1"

GRAMMARS = {
    "python": replace(
        HASH, name="python", quotes=(*TRIPLE, Quote("'''", "'''", multiline=True), *PLAIN)
    ),
    # Cells contain notebook commands besides Python, so they are not parsed.
    "notebook": replace(
        HASH, name="notebook", quotes=(*TRIPLE, Quote("'''", "'''", multiline=True), *PLAIN)
    ),
    "javascript": replace(
        BRACES,
        name="javascript",
        has_regex_literals=True,
        quotes=(*PLAIN, Quote("`", "`", multiline=True, hole="${")),
    ),
    "go": replace(BRACES, name="go", quotes=(*PLAIN, Quote("`", "`", escape="", multiline=True))),
    "rust": replace(
        BRACES,
        name="rust",
        nested_comments=True,
        has_char_literals=True,
        quotes=(Quote('"', '"', multiline=True),),
    ),
    "java": replace(BRACES, name="java", quotes=(*TRIPLE, *PLAIN)),
    "c": replace(BRACES, name="c"),
    "csharp": replace(
        BRACES,
        name="csharp",
        quotes=(
            Quote('$"""', '"""', escape="", multiline=True),
            *TRIPLE,
            Quote('$@"', '"', escape='"', multiline=True, hole="{"),
            Quote('@$"', '"', escape='"', multiline=True, hole="{"),
            Quote('@"', '"', escape='"', multiline=True),
            Quote('$"', '"', hole="{"),
            *PLAIN,
        ),
    ),
    "kotlin": replace(
        BRACES,
        name="kotlin",
        nested_comments=True,
        quotes=(Quote('"""', '"""', escape="", multiline=True, hole="${"), *DOLLAR),
    ),
    "swift": replace(
        BRACES,
        name="swift",
        nested_comments=True,
        has_regex_literals=True,
        quotes=(
            Quote("#/", "/#", escape="", multiline=True),
            Quote('#"', '"#', escape=""),
            Quote('"""', '"""', multiline=True, hole="\\("),
            Quote('"', '"', hole="\\("),
        ),
    ),
    "dart": replace(
        BRACES,
        name="dart",
        nested_comments=True,
        quotes=(
            Quote('"""', '"""', multiline=True, hole="${"),
            Quote("'''", "'''", multiline=True, hole="${"),
            Quote('"', '"', hole="${"),
            Quote("'", "'", hole="${"),
        ),
    ),
    "php": replace(
        BRACES,
        name="php",
        line_comments=("//", "#"),
        heredoc=_PHP_HEREDOC,
        quotes=(Quote('"', '"', multiline=True, hole="{$"), Quote("'", "'", multiline=True)),
    ),
    "css": replace(BRACES, name="css", line_comments=(), pairs="{}"),
    "scss": replace(BRACES, name="scss", pairs="{}"),
    "scala": replace(
        BRACES, name="scala", nested_comments=True, pairs="", quotes=(*TRIPLE, Quote('"', '"'))
    ),
    "slashes": replace(BRACES, name="slashes", pairs=""),
    "shell": replace(HASH, name="shell", heredoc=_SHELL_HEREDOC),
    "ruby": replace(
        HASH,
        name="ruby",
        block_comments=(("\n=begin", "\n=end"),),
        heredoc=_RUBY_HEREDOC,
        quotes=(Quote('"', '"', hole="#{"), Quote("'", "'")),
    ),
    "hash": HASH,
    "hcl": replace(
        BRACES, name="hcl", line_comments=("#", "//"), pairs="", quotes=(Quote('"', '"'),)
    ),
    "sql": Grammar(
        "sql",
        line_comments=("--",),
        block_comments=STARS,
        quotes=(Quote("'", "'", escape="'", multiline=True),),
    ),
    "lua": Grammar(
        "lua",
        line_comments=("--",),
        block_comments=(("--[[", "]]"),),
        quotes=(*PLAIN, Quote("[[", "]]", escape="", multiline=True)),
    ),
    "haskell": Grammar(
        "haskell",
        line_comments=("--",),
        block_comments=(("{-", "-}"),),
        nested_comments=True,
        quotes=(Quote('"', '"'),),
    ),
    "lisp": Grammar("lisp", line_comments=(";",), quotes=(Quote('"', '"', multiline=True),)),
    "markup": Grammar("markup", block_comments=MARKUP),
    "prose": Grammar("prose", block_comments=MARKUP, is_prose=True),
    "json": Grammar("json", line_comments=("//",), block_comments=STARS, quotes=(Quote('"', '"'),)),
    "yaml": replace(HASH, name="yaml"),
    "toml": replace(
        HASH, name="toml", quotes=(*TRIPLE, Quote("'''", "'''", escape="", multiline=True), *PLAIN)
    ),
}

ENDINGS_OF_LANGUAGE = {
    "python": "py pyi pyw",
    "javascript": "js mjs cjs jsx ts mts cts tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h cc cpp cxx hh hpp hxx ino m mm cu",
    "csharp": "cs",
    "kotlin": "kt kts",
    "swift": "swift",
    "dart": "dart",
    "php": "php",
    "css": "css",
    "scss": "scss less",
    "scala": "scala sc groovy gradle",
    "slashes": "proto zig sol thrift v sv odin",
    "shell": "sh bash zsh ksh",
    "ruby": "rb rake gemspec",
    "hash": "pl pm r ex exs cr nim jl fish ps1 cmake mk cfg ini conf graphql nix bzl",
    "hcl": "tf hcl",
    "sql": "sql",
    "lua": "lua",
    "haskell": "hs elm",
    "lisp": "clj cljs lisp el scm",
    "markup": "html htm xml svg vue svelte astro xhtml",
    "prose": "md markdown mdx txt rst adoc",
    "json": "json jsonc webmanifest geojson ipynb",
    "yaml": "yml yaml",
    "toml": "toml",
}
LANGUAGE_OF_NAME = {
    "Makefile": "hash",
    "Dockerfile": "hash",
    "Containerfile": "hash",
    "CMakeLists.txt": "hash",
    "Rakefile": "ruby",
    "Gemfile": "ruby",
    "BUILD": "hash",
    "Jenkinsfile": "scala",
}
_BY_ENDING = {
    ending: name for name, endings in ENDINGS_OF_LANGUAGE.items() for ending in endings.split()
}
# Third-party, generated or deliberately odd files: not the task's own code.
_THIRD_PARTY_FOLDERS = frozenset(
    {"node_modules", "vendor", "third_party", "thirdparty", "dist"}
    | {".venv", "venv", "site-packages"}
)
_FOREIGN_FOLDERS = _THIRD_PARTY_FOLDERS | frozenset(
    {"fixtures", "__fixtures__", "testdata", "mocks", "__mocks__", "corpus", "golden"}
    | {"snapshots", "__snapshots__"}
)
_FOREIGN_ENDINGS = (".min.js", ".min.css", ".lock", "-lock.json", "-lock.yaml", ".snap", ".map")


def language_of(path: str) -> Grammar | None:
    """The language by name, then by suffix.  None: unknown, so it is not judged."""
    name = path.rsplit("/", 1)[-1]
    known = LANGUAGE_OF_NAME.get(name) or _BY_ENDING.get(ending_of(path))
    return GRAMMARS[known] if known else None


def ending_of(path: str) -> str:
    return path.rsplit("/", 1)[-1].rpartition(".")[2].lower()


def is_foreign(path: str) -> bool:
    """Is this file third-party, generated, or test data?"""
    folders = path.split("/")[:-1]
    return bool(_FOREIGN_FOLDERS & set(folders)) or path.lower().endswith(_FOREIGN_ENDINGS)


def is_third_party(path: str) -> bool:
    """Is it in a folder of other people's code, whoever imports it?"""
    return bool(_THIRD_PARTY_FOLDERS & set(path.split("/")[:-1]))


def may_be_judged(path: str) -> bool:
    """Could the content matter to a criterion?  A name without a suffix may be a script."""
    script = "." not in path.rsplit("/", 1)[-1].strip(".")
    return not is_foreign(path) and (script or language_of(path) is not None)
