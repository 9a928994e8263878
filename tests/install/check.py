"""What a user gets: the wheel with the newest packages that its requirements allow, in an environment of its own.

There README's commands and its Python run as printed.

`make test` runs this, and continuous integration on every Python. It needs a package index; without one it is skipped.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        probe = [*PIP, "download", "--no-deps", "--retries=0", "--timeout=20", "-d", folder, "budoux"]
        if subprocess.run(probe, capture_output=True).returncode:
            print("test-install: skipped, because pip reaches no package index")
            return
        run([*PIP, "wheel", "--no-deps", "-w", folder, ROOT])
        (wheel,) = folder.glob("framesift-*.whl")
        venv.create(folder / "venv")
        commands = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        run([*PIP, "--python", commands / "python", "install", "--no-compile", f"{wheel}[offline]"])
        installed = run([*PIP, "--python", commands / "python", "list", "--format=freeze"])
        assert "torch==" not in installed, "framesift[offline] installs torch"
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FRAMESIFT"))
        }
        environment |= {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_CONFIG_HOME": str(folder / "config")}
        environment["FRAMESIFT_STORE"] = str(folder / "store" / "indexes")
        run([commands / "framesift", "doctor"], cwd=folder, env=environment)
        environment["PATH"] = f"{commands}{os.pathsep}{os.environ['PATH']}"
        install, shell, make = blocks("sh")
        assert "framesift[offline]" in install and "make test" in make
        for line in shell.splitlines():
            run(shlex.split(line, comments=True), cwd=folder, env=environment)
        (python,) = blocks("python")
        run([commands / "python", "-c", python], cwd=folder, env=environment)
        for report in ("demo", "sample-4-evidence", "evidence"):
            assert (folder / report / "report.html").exists(), report
        print("test-install: README's commands and Python run with the newest packages")


def blocks(language):
    """The blocks of code of README in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def run(command, **options):
    """The output of a command, which must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"test-install: {' '.join(map(str, command))} failed:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
