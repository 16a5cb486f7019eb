"""Are there known vulnerabilities in what scrapy-dedup needs?  Exits with 1 if there are.

Asks pip-audit.  A mirror of PyPI may know nothing of single versions; then the newest version of a
package is asked about, and what is installed in an older one is listed as not audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "scrapy-dedup"
EXTRAS = ("fast",)


def needed(name: str, extras: tuple[str, ...], found: dict[str, str]) -> dict[str, str]:
    """Add to *found* what *name* needs, itself included: installed versions by name."""
    for line in requires(name) or ():
        requirement = Requirement(line)
        wanted = requirement.marker is None or any(
            requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        key = canonicalize_name(requirement.name)
        if wanted and key not in found:
            try:
                found[key] = version(requirement.name)
            except PackageNotFoundError:
                continue
            needed(requirement.name, tuple(requirement.extras), found)
    return found


def audited() -> dict[str, Any]:
    """Return what pip-audit says of each installed package, by name; nothing if it cannot ask."""
    command = [sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        found = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip-audit said nothing")
        return {}
    return {canonicalize_name(one["name"]): one for one in found if "skip_reason" not in one}


def newest(name: str) -> tuple[str, list[str]]:
    """Return the newest version of *name* and its known vulnerabilities."""
    with urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as answer:
        found = json.load(answer)
    known = [one["id"] for one in found["vulnerabilities"] if not one.get("withdrawn")]
    return found["info"]["version"], known


def main() -> int:
    """Print a line for each package, and return the exit code."""
    told = audited()
    vulnerable, unknown = 0, 0
    for name, installed in sorted(needed(NAME, EXTRAS, {}).items()):
        if name in told:
            latest, known = installed, [one["id"] for one in told[name]["vulns"]]
        else:
            try:
                latest, known = newest(name)
            except (URLError, ValueError) as error:
                latest, known = f"unknown: {error}", []
        if latest != installed:
            unknown += 1
            print(
                f"?    {name} {installed} not audited, newest is {latest}: {', '.join(known) or 'none'}"
            )
        else:
            vulnerable += bool(known)
            print(f"{'BAD' if known else 'ok '}  {name} {installed} {', '.join(known)}".rstrip())
    print(f"{vulnerable} vulnerable, {unknown} not audited")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
