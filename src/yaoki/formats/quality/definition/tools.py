"""Tools that checks run: those that only read files, and the settings files of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yaoki.core.lazy_pattern import lazy_compile

# Programs that read files and do not run them: their inputs are the work, not the check.
READERS = frozenset(
    {
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "cat",
        "test",
        "[",
        "[[",
        "diff",
        "cmp",
        "wc",
        "head",
        "tail",
        "ls",
    }
    | {
        "stat",
        "sed",
        "awk",
        "jq",
        "sort",
        "uniq",
        "echo",
        "printf",
        "cp",
        "mv",
        "rm",
        "mkdir",
        "touch",
    }
    | {
        "git",
        "chmod",
        "file",
        "shasum",
        "sha256sum",
        "md5sum",
        "ruff",
        "mypy",
        "eslint",
        "black",
        "yq",
    }
    | {
        "flake8",
        "pylint",
        "tsc",
        "shellcheck",
        "prettier",
        "isort",
        "bandit",
        "pyright",
        "yamllint",
    }
    | {
        "markdownlint",
        "rustfmt",
        "gofmt",
        "clang-format",
        "gcc",
        "cc",
        "g++",
        "clang",
        "javac",
        "comm",
    }
    | {
        "basedpyright",
        "ty",
        "pyflakes",
        "pycodestyle",
        "pydocstyle",
        "vulture",
        "codespell",
        "xmllint",
    }
    | {
        "rubocop",
        "stylelint",
        "biome",
        "hadolint",
        "actionlint",
        "tidy",
        "column",
        "cut",
        "tr",
        "tee",
    }
)
# Programs that run tests, so that every test file of the repository may be part of the check.
RUNNERS = frozenset(
    {
        "pytest",
        "py.test",
        "unittest",
        "nose2",
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tox",
        "nox",
        "rspec",
        "make",
    }
    | {
        "phpunit",
        "cargo",
        "go",
        "gradle",
        "gradlew",
        "mvn",
        "mvnw",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "rake",
    }
    | {
        "just",
        "deno",
        "behave",
        "ctest",
        "playwright",
        "cypress",
        "karma",
        "bats",
        "dotnet",
        "ward",
        "prove",
    }
)
_WRAPPERS = frozenset(
    {
        "env",
        "timeout",
        "nice",
        "time",
        "nohup",
        "exec",
        "command",
        "builtin",
        "sudo",
        "stdbuf",
        "setsid",
    }
    | {
        "ionice",
        "xvfb-run",
        "uv",
        "uvx",
        "poetry",
        "pipenv",
        "pdm",
        "hatch",
        "rye",
        "npx",
        "bunx",
        "pnpx",
    }
    | {
        "bundle",
        "run",
        "exec",
        "coverage",
        "conda",
        "busybox",
        "retry",
        "chronic",
        "-m",
        "python",
        "python3",
    }
)
_VALUE = lazy_compile(r"[\d.]+[smhd]?|\w+=.*")


def program_of(words: Sequence[str]) -> str:
    """The program that a command finally runs, after all wrappers."""
    rest = [word.rsplit("/", 1)[-1] or word for word in words]
    while len(rest) > 1 and (
        rest[0] in _WRAPPERS or rest[0].startswith("-") or _VALUE.fullmatch(rest[0])
    ):
        rest.pop(0)
    return rest[0] if rest else ""


_PYTHON = ("pyproject.toml", "setup.cfg", "tox.ini")
# The files in which pytest looks for its settings.
PYTEST_SETTINGS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", *_PYTHON)
_PYTEST = (*PYTEST_SETTINGS, ".coveragerc", "conftest.py")
_JEST = (
    "jest.config.*",
    "jest.setup.*",
    "babel.config.*",
    ".babelrc*",
    "package.json",
    "setupTests.*",
)
_COMPOSE = (
    *("compose.yaml", "compose.yml", "compose.override.y*ml"),
    *("docker-compose.y*ml", "docker-compose.override.y*ml", ".env"),
)
SETTINGS_OF: Mapping[str, tuple[str, ...]] = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "coverage": _PYTEST,
    "mypy": ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"),
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "flake8": (".flake8", "setup.cfg", "tox.ini"),
    "pylint": ("pylintrc", ".pylintrc", "pyproject.toml", "setup.cfg"),
    "pyright": ("pyrightconfig.json", "pyproject.toml"),
    "black": ("pyproject.toml",),
    "isort": (".isort.cfg", "pyproject.toml", "setup.cfg"),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg"),
    "nox": ("noxfile.py",),
    "jest": _JEST,
    "vitest": ("vitest.config.*", "vite.config.*", "vitest.setup.*", "vitest.workspace.*"),
    "mocha": (".mocharc*", "package.json", "test/mocha.opts"),
    "ava": ("ava.config.*", "package.json"),
    "playwright": ("playwright.config.*",),
    "cypress": ("cypress.config.*",),
    "karma": ("karma.conf.*",),
    "eslint": ("eslint.config.*", ".eslintrc*", ".eslintignore", "package.json"),
    "prettier": (".prettierrc*", ".prettierignore", "prettier.config.*"),
    "stylelint": (".stylelintrc*", ".stylelintignore"),
    "biome": ("biome.json*",),
    "tsc": ("tsconfig*.json",),
    "prove": (".proverc",),
    "rspec": (".rspec", ".rspec-local", "spec/spec_helper.rb", "spec/rails_helper.rb"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb", "lib/tasks/*.rake"),
    "rubocop": (".rubocop.yml",),
    "phpunit": ("phpunit.xml", "phpunit.xml.dist", "tests/bootstrap.php"),
    "composer": ("composer.json",),
    "cargo": (".cargo/config.toml", ".cargo/config", "Cargo.toml", "clippy.toml", "rustfmt.toml"),
    "golangci-lint": (".golangci.*",),
    "gradle": ("build.gradle*", "settings.gradle*", "gradle.properties"),
    "gradlew": ("build.gradle*", "settings.gradle*", "gradle.properties"),
    "mvn": ("pom.xml", ".mvn/*"),
    "mvnw": ("pom.xml", ".mvn/*"),
    "task": ("Taskfile.yml", "Taskfile.yaml", "taskfile.yml"),
    "invoke": ("tasks.py",),
    "pre-commit": (".pre-commit-config.yaml",),
    "ctest": ("CMakeLists.txt", "CTestTestfile.cmake", "CTestCustom.cmake"),
    "dotnet": ("Directory.Build.props", "Directory.Build.targets", ".runsettings"),
    "deno": ("deno.json", "deno.jsonc"),
    "bun": ("bunfig.toml", ".env*"),
    "just": (".env",),
    "docker": _COMPOSE,
    "docker-compose": _COMPOSE,
    "pipenv": (".env",),
    "dotenv": (".env*",),
    "dotenvx": (".env*",),
    "env-cmd": (".env*",),
    "honcho": (".env",),
    "foreman": (".env",),
    "npm": (".npmrc",),
    "pnpm": (".npmrc", "pnpm-workspace.yaml"),
    "yarn": (".yarnrc", ".yarnrc.yml"),
    "behave": ("behave.ini", ".behaverc", "features/environment.py"),
    "shellcheck": (".shellcheckrc",),
    "yamllint": (".yamllint*",),
    "markdownlint": (".markdownlint*",),
    "bats": ("test/test_helper.bash", "test/setup_suite.bash", "tests/setup_suite.bash"),
}
# Settings that are found by name, in any folder.
CONFIGURED = lazy_compile(
    r"(?:^|/)(?:babel\.config\.\w+|\.babelrc[\w.]*|vite\.config\.\w+|ava\.config\.\w+|\.pylintrc|pylintrc"
    r"|\.rubocop\.yml|biome\.jsonc?|deno\.jsonc?|bunfig\.toml|\.pre-commit-config\.yaml|behave\.ini"
    r"|\.stylelintrc[\w.]*|\.nycrc[\w.]*|\.c8rc[\w.]*|\.cargo/config(?:\.toml)?|\.shellcheckrc|\.isort\.cfg"
    r"|\.yarnrc[\w.]*|[Tt]askfile\.ya?ml|Rakefile|Gruntfile\.\w+|gulpfile\.\w+|vitest\.workspace\.\w+"
    r"|\.yamllint[\w.]*|\.markdownlint[\w.]*|(?:jest|vitest|test)\.setup\.\w+|setupTests\.\w+)$"
)
# Ignore lists of linters: a new line checks less.
IGNORES = lazy_compile(r"(?:^|/)\.(?:eslint|prettier|stylelint|markdownlint)ignore$")
