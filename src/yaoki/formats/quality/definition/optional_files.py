"""New files that a check of the base reads if they exist: environments, settings, scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set

from yaoki.core.lazy_pattern import lazy_compile
from yaoki.formats.quality.definition.file_index import FileIndex
from yaoki.formats.quality.definition.product import Product
from yaoki.formats.quality.definition.reached_files import FileRole, ReachedFiles
from yaoki.formats.quality.model import Change

# Many programs read these without an option: just, docker compose, pipenv, bun, vite, mise.
_ENVIRONMENT = lazy_compile(
    r"(?:^|/)(?:\.env(?:\.[\w.-]+)?|[\w-]+\.env|\.envrc|\.flaskenv|\.?mise(?:\.local)?\.toml"
    r"|(?:docker-)?compose\.override\.ya?ml)$"
)
# Files that a runner of tests reads without an option, where it starts or in any other folder.
_OF_RUNNER = (
    (("prove",), r"(?:^|/)\.proverc$"),
    (("rspec", "rake"), r"(?:^|/)\.rspec(?:-local)?$"),
    (("mvn", "mvnw"), r"(?:^|/)\.mvn/(?:maven\.config|jvm\.config|extensions\.xml)$"),
    (
        ("gradle", "gradlew"),
        r"(?:^|/)(?:gradle\.properties|buildSrc/(?:build|settings)\.gradle(?:\.kts)?)$",
    ),
    (("phpunit", "pest", "paratest", "composer", "artisan"), r"(?:^|/)phpunit(?:\.dist)?\.xml$"),
    (("bats",), r"(?:^|/)setup_suite\.(?:bash|sh)$"),
    (("ctest", "cmake"), r"(?:^|/)CTest(?:Custom|Config|TestfileCustom)\.(?:cmake|ctest)$"),
    (
        ("dotnet", "msbuild"),
        r"(?:^|/)(?:Directory\.Build\.(?:props|targets|rsp)|Directory\.Solution\.(?:props|targets)"
        r"|\.runsettings|xunit\.runner\.json|testconfig\.json)$",
    ),
    (("go",), r"(?:^|/)go\.work$"),
    (("cargo",), r"(?:^|/)(?:\.cargo/config(?:\.toml)?|\.config/nextest\.toml)$"),
    (("bun",), r"(?:^|/)bunfig\.toml$"),
    (("deno",), r"(?:^|/)deno\.jsonc?$"),
    (("pnpm",), r"(?:^|/)\.pnpmfile\.c?js$"),
    (("yarn",), r"(?:^|/)\.yarnrc(?:\.yml)?$"),
    (("behave",), r"(?:^|/)(?:behave\.ini|\.behaverc|environment\.py)$"),
    (("nose2",), r"(?:^|/)(?:unittest|nose2)\.cfg$"),
    (("busted",), r"(?:^|/)\.busted$"),
    (("dart", "flutter"), r"(?:^|/)(?:dart_test\.yaml|flutter_test_config\.dart)$"),
    (("bazel", "bazelisk"), r"(?:^|/)(?:user)?\.bazelrc$"),
    (("sbt",), r"(?:^|/)\.(?:sbtopts|jvmopts)$"),
    (("Rscript", "R"), r"(?:^|/)\.Rprofile$"),
)
# Without any test there is nothing that such a file could weaken.
_HAS_TESTS = lazy_compile(r"test|spec|\.t$|(?:^|/)CMakeLists\.txt$", re.IGNORECASE)
# People copy these; no program reads them.
_TEMPLATE = lazy_compile(r"\.(?:example|sample|template|dist)$")
_READING = frozenset(FileRole) - {FileRole.DATA, FileRole.PROGRAM}


def find_optional_files(
    changes: Sequence[Change], before: ReachedFiles, after: ReachedFiles, product: Product
) -> Iterator[str]:
    """Without them the check must pass, too.  A file that the goal names is the work itself."""
    has_tests = any(map(_HAS_TESTS.search, product.base.paths))
    settings = _settings_of(before.tools) if has_tests else None
    for change in changes:
        path = change.path
        if change.before is not None or product.is_named(path, literally=True):
            continue
        environment = _ENVIRONMENT.search(path) and not _TEMPLATE.search(path)
        is_setting = settings is not None and settings.search(path)
        if (
            environment
            or is_setting
            or (path in after.sourced_files and _reads(path, before, product.base))
        ):
            yield path


def _settings_of(tools: Set[str]) -> re.Pattern[str] | None:
    patterns = [pattern for names, pattern in _OF_RUNNER if not tools.isdisjoint(names)]
    return re.compile("|".join(patterns)) if patterns else None


def _reads(path: str, before: ReachedFiles, base: FileIndex) -> bool:
    """Do the commands or scripts of the base name the file, which they do not have?"""
    name = path.rsplit("/", 1)[-1]
    files = (base.text(one) for one, role in before.roles.items() if role in _READING)
    return any(name in text for text in (*before.commands, *files))
