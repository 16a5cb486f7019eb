"""``dedup places``."""

from __future__ import annotations

import click
from rich.text import Text

from dedup.cli.options import index_option, json_option, opened
from dedup.cli.output import console, print_json
from dedup.index.notes import SiteNoise, all_noise, put_noise
from dedup.reading.noise import Evidence, Gap, told
from dedup.values.errors import DedupError
from dedup.values.printable import printable


@click.command()
@index_option
@click.option("--host", default="", help="Only this host.")
@click.option("--off", "off", type=int, multiple=True, help="Never leave out the place of this number.")
@json_option
def places(*, path: str | None, host: str, off: tuple[int, ...], as_json: bool) -> None:
    """List the places of sites whose content changes by itself: counters, clocks, links drawn at random.

    Crawls ask for some pages twice. What differs then is left out of the pages of the host before they
    are compared. "#" stands for what is left out. Each place has a number, on how many pages it has
    changed and stayed, and an example. If a place tells pages apart, switch it off.

    \b
    Examples:
      dedup places --host news.example
      dedup places --off 2
    """
    with opened(path, read_only=not off) as index:
        store = index.store
        found = _listed(all_noise(store), host)
        for number in off:
            if not 1 <= number <= len(found):
                raise DedupError(f"there is no place {number}; see `dedup places`")
            site, gap, _ = found[number - 1]
            narrow = [one for one in site.gaps if one == gap or one not in told([gap, one])]
            site.gaps.update({one: site.gaps[one]._replace(is_off=True) for one in narrow})
            put_noise(store, site)
            click.echo(f"{printable(site.host)}: {printable(gap.shown())} is not left out any more")
    if off:
        return
    if as_json:
        print_json([_record(*one) for one in found])
        return
    screen = console()
    for number, (site, gap, evidence) in enumerate(found, 1):
        state = " (off)" if evidence.is_off else ""
        screen.print(
            Text(f"{number:>3}  {printable(site.host)}: {printable(gap.shown())}{state}", "bold")
        )
        pages = f"changed on {evidence.moved:.0f} pages, stayed on {evidence.stayed:.0f}"
        screen.print(Text(f"     {pages}; in {printable(gap.place)}"))
        screen.print(Text(f"     {printable(evidence.example)}"))
    if not found:
        screen.print(Text("no places are known whose content changes by itself"))


def _listed(sites: list[SiteNoise], host: str) -> list[tuple[SiteNoise, Gap, Evidence]]:
    """Return the gaps of *sites*, or of one *host*, that are left out, or were switched off."""
    return [
        (site, gap, site.gaps[gap])
        for site in sites
        if host in ("", site.host)
        for gap in told(gap for gap, one in site.gaps.items() if one.acts(gap) or one.is_off)
    ]


def _record(site: SiteNoise, gap: Gap, evidence: Evidence) -> dict[str, object]:
    return {
        "host": site.host,
        "what": gap.shown(),
        **gap._asdict(),
        **evidence._asdict(),
        "left_out": evidence.acts(gap),
    }
