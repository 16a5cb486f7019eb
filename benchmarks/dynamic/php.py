"""Programs in PHP, from Debian: a blog and two wikis."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.dynamic.place import Place, call, revisions, threads
from benchmarks.dynamic.running import PHP, free_port, running


@contextmanager
def wordpress(place: Place, language: str, theme: str, posts: int) -> Iterator[str]:
    blog, base, mysql = place.folder / "blog", place.folder / "base", place.folder / "mysql"
    shutil.copytree("/usr/share/wordpress", blog, ignore_dangling_symlinks=True)
    (blog / "wp-content/mu-plugins").mkdir(exist_ok=True)
    shutil.copy(place.fill("widgets.php"), blog / "wp-content/mu-plugins/widgets.php")
    values = {
        "DB_NAME": "blog",
        "DB_USER": "root",
        "DB_PASSWORD": "",
        "DB_HOST": f"localhost:{mysql}",
        "WP_DEFAULT_THEME": theme,
        "WPLANG": "zh_CN" if language == "zh" else "",
        "DISABLE_WP_CRON": "1",
        "WP_HOME": f"http://127.0.0.1:{place.port}",
        "WP_SITEURL": f"http://127.0.0.1:{place.port}",
    }
    defined = "".join(f"define({name!r}, {value!r});\n" for name, value in values.items())
    load = "$table_prefix = 'wp_';\nrequire_once __DIR__ . '/wp-settings.php';\n"
    (blog / "wp-config.php").write_text(f"<?php\n{defined}{load}")
    install = ["mariadb-install-db", f"--datadir={base}", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    port = free_port()
    start = ["mariadbd", "--user=root", f"--datadir={base}", f"--port={port}", f"--socket={mysql}"]
    with running(start, port, place.folder):
        call(["mariadb", f"--socket={mysql}", "-e", "CREATE DATABASE blog CHARACTER SET utf8mb4"])
        job = {"language": language, "posts": threads(language, posts, 10)}
        call([*PHP, place.fill("wordpress.php"), blog], given=job)
        serve = [*PHP, "-S", f"127.0.0.1:{place.port}", "-t", str(blog)]
        with running(serve, place.port, place.folder):
            yield "/"


_MEDIAWIKI = Path("/usr/share/mediawiki")


@contextmanager
def mediawiki(place: Place, pages: int) -> Iterator[str]:
    """A wiki with a history: each page has versions, redirects, categories, and counts who reads it."""
    folder, environment = place.folder, {"MW_CONFIG_FILE": str(place.folder / "LocalSettings.php")}
    options = {
        "dbtype": "sqlite",
        "dbpath": folder,
        "confpath": folder,
        "pass": "only of this wiki",
        "server": f"http://127.0.0.1:{place.port}",
        "scriptpath": "",
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    call([*PHP, _MEDIAWIKI / "maintenance/install.php", *given, "Programmers", "Admin"])
    with (folder / "LocalSettings.php").open("a") as settings:
        settings.write(place.fill("mediawiki.php").read_text().removeprefix("<?php"))
    written = revisions("en", pages)
    for version in range(max(len(one.versions) for one in written)):
        texts = folder / f"texts{version}"
        texts.mkdir()
        for number, one in enumerate(written):
            name = one.title.replace("/", " ").replace("#", "")
            links = "".join(f"* [[{other.title}]]\n" for other in written[number + 1 : number + 4])
            kind = f"[[Category:Part {number % 6}]]"
            if version < len(one.versions):
                (texts / f"{name}.txt").write_text(f"{one.versions[version]}\n\n{links}{kind}\n")
            if version == 0 and number % 3 == 0:
                (texts / f"Notes on {name}.txt").write_text(f"#REDIRECT [[{one.title}]]\n")
        listed = "".join(f"* [[{one.title}]], [[Notes on {one.title}]]\n" for one in written)
        (texts / "Main Page.txt").write_text(listed)
        load = [
            *PHP,
            _MEDIAWIKI / "maintenance/importTextFiles.php",
            "--overwrite",
            "--rc",
            "-u",
            "Admin",
        ]
        call([*load, *sorted(texts.iterdir())], variables=environment)
    with running(
        [*PHP, "-S", f"127.0.0.1:{place.port}", "-t", str(_MEDIAWIKI)], place.port, folder, **environment
    ):
        yield "/index.php/Main_Page"


@contextmanager
def dokuwiki(place: Place, pages: int) -> Iterator[str]:
    """A wiki in Chinese with old versions, exports and a trace of the pages that were visited."""
    wiki, data, config = place.folder / "wiki", place.folder / "data", place.folder / "conf"
    shutil.copytree("/usr/share/dokuwiki", wiki, symlinks=False, ignore_dangling_symlinks=True)
    shutil.copytree("/etc/dokuwiki", config, ignore_dangling_symlinks=True)
    for name in (
        "pages",
        "attic",
        "media",
        "meta",
        "cache",
        "index",
        "locks",
        "tmp",
        "log",
        "media_attic",
    ):
        (data / name).mkdir(parents=True, exist_ok=True)
    (data / "media_meta").mkdir()
    (wiki / "inc/preload.php").write_text(f"<?php define('DOKU_CONF', '{config}/');\n")
    local = {
        "title": "自由軟體手冊",
        "lang": "zh-tw",
        "useacl": 0,
        "savedir": str(data),
        "indexdelay": 0,
    }
    values = "".join(f"$conf['{name}'] = {value!r};\n" for name, value in local.items())
    (config / "local.php").write_text(f"<?php\n{values}")
    call(
        [*PHP, place.fill("dokuwiki.php"), wiki],
        given=[(one.title, one.versions) for one in revisions("zh", pages)],
    )
    with running([*PHP, "-S", f"127.0.0.1:{place.port}", "-t", str(wiki)], place.port, place.folder):
        yield "/doku.php?id=start"
