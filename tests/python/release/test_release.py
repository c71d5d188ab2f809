"""The parts of a release, and its statements about itself.

`ROAMLAB_RELEASE` names the folder that `make release` has made; without it the tests of that folder are skipped.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
import tomli
from click.testing import CliRunner

import finish
import notices
import roamlab as rl
from conftest import ROOT, only_deep
from packaged import packaged
from roamlab import _roamlab
from roamlab.cli import cli
from roamlab.kernel import cache

BIN = Path(sys.executable).parent
LARGEST = 12_000_000
"""Bytes of a wheel."""


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_file_that_names_a_version_names_this_one() -> None:
    cited = re.findall(r"^version: (.*)$", _text("CITATION.cff"), re.MULTILINE)
    package = tomli.loads(_text("Cargo.toml"))["workspace"]["package"]["version"]
    archived = json.loads(_text(".zenodo.json"))["version"]
    assert [rl.__version__] == cited
    assert {package, archived, finish.versions()[0]} == {rl.__version__}


def test_citation_and_archive_have_the_address_of_the_package_if_it_has_one() -> None:
    """A person who publishes writes it into `pyproject.toml`; the two other files need the same."""
    for url in tomli.loads(_text("pyproject.toml"))["project"].get("urls", {}).values():
        assert f"{url}\n" in _text("CITATION.cff")
        assert url in json.dumps(json.loads(_text(".zenodo.json"))["related_identifiers"])


def test_the_changelog_is_short_and_each_version_has_its_parts() -> None:
    changelog = _text("CHANGELOG.md")
    assert changelog.count("\n") <= 150
    newest = changelog.partition(f"## {rl.__version__}")[2].partition("\n## ")[0]
    assert re.findall(r"^### (.*)$", newest, re.MULTILINE) == ["Added", "Changed", "Fixed"]


def test_the_number_of_behaviour_is_that_of_the_recorded_runs() -> None:
    """After a change of `tests/recorded` that did not come from `make record`: `make behaviour`."""
    recorded = b"".join(path.read_bytes() for path in sorted((ROOT / "tests/recorded").glob("*.txt")))
    assert _text("crates/python/behaviour").strip() == hashlib.sha256(recorded).hexdigest()[:8]
    assert _roamlab.behaviour() == _text("crates/python/behaviour").strip()


def test_the_version_names_the_behaviour_and_the_built_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROAMLAB_KERNELS", str(tmp_path))
    first = f"roamlab {rl.__version__}, engine behaviour {_roamlab.behaviour()}, "
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"{first}no Linux kernel built\n"
    folder = tmp_path / "6.12-1000-0123456789ab"
    folder.mkdir()
    for name in cache.PROGRAMS:
        (folder / name).touch()
    (tmp_path / "6.12").symlink_to(folder.name)
    assert CliRunner().invoke(cli, ["--version"]).stdout == f"{first}Linux kernel {folder.name}\n"


def test_the_notices_have_a_licence_of_every_crate_and_of_the_editor() -> None:
    text = notices.notices()
    parts = [*notices.crates(), *notices.editor()]
    names = {part.name for part in parts}
    assert {"pyo3", "quinn-proto", "wasm-bindgen", "@codemirror/view"} <= names
    assert not names & {"proptest", "insta", "esbuild", "syn"}, "they are not in the wheel"
    for part in parts:
        assert f"{part.name} {part.version}: {part.licence}\n" in text
    # Each crate is named above its licence too.
    for part in notices.crates():
        assert re.search(rf"\b{re.escape(part.name)} {re.escape(part.version)}(, .*)?$", text, re.MULTILINE)
    bundled = re.findall(r"@[\w-]+/[\w-]+ [\d.]+", _text("python/roamlab/playground/vendor/LICENSE"))
    assert {f"{part.name} {part.version}" for part in notices.editor()} >= set(bundled)
    assert "Rust's standard library\n\n" in text


def test_the_page_in_front_of_the_sites_leads_to_the_newest_version() -> None:
    pages = finish.pages()
    assert f"url={rl.__version__}/index.html" in pages["index.html"]
    assert all(f'href="{each}/index.html"' in pages["versions.html"] for each in finish.versions())


@only_deep
def test_the_source_distribution_builds_from_its_locks_and_the_registries(tmp_path: Path) -> None:
    """In a new environment, with no crate fetched before. Its engine is that of the checkout, by the hash."""
    source = _source(tmp_path)
    with tarfile.open(source) as content:
        content.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if (path / "PKG-INFO").is_file())
    assert [name for name in packaged() if not (unpacked / "python" / name).is_file()] == []
    venv.create(tmp_path / "venv", with_pip=True)
    pip = [tmp_path / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    setting = {
        name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUSTC", "MAKE"))
    }
    # The optimised engine takes minutes more; what is built from which sources is the same.
    setting |= {"CARGO_HOME": str(tmp_path / "cargo"), "MATURIN_PEP517_ARGS": "--profile quick"}
    setting["PATH"] = f"{tmp_path / 'venv/bin'}{os.pathsep}{os.environ['PATH']}"
    for words in (
        ["--require-hashes", "--requirement", unpacked / "requirements.lock"],
        ["--no-deps", "--no-index", "--no-build-isolation", unpacked],
    ):
        done = subprocess.run(
            [*pip, *words], cwd=tmp_path, env=setting, capture_output=True, text=True, check=False
        )
        if "onnection" in done.stderr or "download of config.json failed" in done.stderr:
            pytest.skip(f"a registry cannot be reached here: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
    program = "from roamlab import _roamlab; print(_roamlab.build_hash(), _roamlab.behaviour())"
    call = [tmp_path / "venv/bin/python", "-c", program]
    built = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    assert built == [_roamlab.build_hash(), _roamlab.behaviour()]
    subprocess.run([tmp_path / "venv/bin/roamlab", "demo"], cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "out/demo/demo.png").exists()


def _source(folder: Path) -> Path:
    """The released source distribution, or one of this checkout."""
    if "ROAMLAB_RELEASE" in os.environ:
        (released,) = Path(os.environ["ROAMLAB_RELEASE"]).glob("*.tar.gz")
        return released
    call = [BIN / "maturin", "sdist", "--quiet", "--out", folder / "dist"]
    subprocess.run(call, cwd=ROOT, capture_output=True, check=True)
    (made,) = (folder / "dist").glob("*.tar.gz")
    return made


@pytest.fixture(scope="module")
def release() -> Path:
    """The folder that `make release` has made."""
    if "ROAMLAB_RELEASE" not in os.environ:
        pytest.skip("`make release` tests what it has made")
    return Path(os.environ["ROAMLAB_RELEASE"])


def test_all_parts_are_there_and_have_their_sums(release: Path) -> None:
    sums = dict(reversed(line.split("  ")) for line in (release / finish.SUMS).read_text().splitlines())
    files = {path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()}
    assert sums.keys() == files - {finish.SUMS}
    for name, digest in sums.items():
        assert hashlib.sha256((release / name).read_bytes()).hexdigest() == digest, name
    assert set(finish.COPIES.values()) <= files
    assert len([name for name in files if name.endswith((".whl", ".tar.gz"))]) == 2


def test_the_wheel_loads_with_an_old_c_library_and_is_small(release: Path) -> None:
    """By its name, and by auditwheel, which reads the versions of the symbols that the engine asks for."""
    (wheel,) = release.glob("*.whl")
    assert wheel.name == f"roamlab-{rl.__version__}-cp311-abi3-manylinux_2_28_x86_64.whl"
    assert wheel.stat().st_size < LARGEST
    shown = subprocess.run(
        [BIN / "auditwheel", "show", wheel], capture_output=True, text=True, check=True
    ).stdout
    (tag,) = re.findall(r'following platform tag: "manylinux_2_(\d+)_x86_64"', " ".join(shown.split()))
    assert int(tag) <= 28, shown


def test_licences_and_parts_are_in_the_wheel_and_in_the_source(release: Path) -> None:
    (wheel,), (source,) = release.glob("*.whl"), release.glob("*.tar.gz")
    licences = {"LICENSE-APACHE", "LICENSE-MIT", "LICENSE-THIRD-PARTY.txt"}
    with zipfile.ZipFile(wheel) as content:
        names = content.namelist()
        assert licences <= {Path(name).name for name in names if ".dist-info/licenses/" in name}
        parts = [json.loads(content.read(name)) for name in names if ".dist-info/sboms/" in name]
    assert "roamlab/playground/playground.html" in names
    with tarfile.open(source) as content:
        inside = {name.partition("/")[2] for name in content.getnames()}
    assert licences <= inside
    assert {"Cargo.lock", "requirements.lock", "python/roamlab/playground/playground.html"} <= inside
    assert {each["bomFormat"] for each in parts} == {"CycloneDX"}
    listed = {part["name"] for each in parts for part in each["components"]}
    engine = {name for name, _ in notices.linked(*notices.BUILDS[0])}
    assert engine | {part.name for part in notices.editor()} <= listed | {"roamlab-python"}


def test_every_page_of_the_site_has_the_version_and_leads_to_the_others(release: Path) -> None:
    site = release / "site" / rl.__version__
    pages = [
        page for page in site.rglob("*.html") if "_static" not in page.parts and page.name != "play.html"
    ]
    assert len(pages) > 50
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert f"Roamlab {rl.__version__}" in text, page
        (link,) = re.findall(r'href="([^"]*)">Other versions', text)
        assert (page.parent / link).resolve() == (release / "site/versions.html").resolve()
    assert (release / "site/versions.html").is_file()
    assert (site / "play.html").stat().st_size > 1_000_000
