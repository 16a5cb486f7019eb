"""Web programs on 127.0.0.1, filled with the history and the documentation of this repository.

The wiki has the manuals of Python's modules as well.

dokuwiki, cgit, gitweb, mediawiki (with php-sqlite3) and wordpress (with php-mysql,
mariadb-server and wordpress-theme-twentytwentyone) are Debian
packages, the wikis and blogs with php-cli; klaus, hgweb (mercurial), Trac, Roundup, HyperKitty and django-machina are
on PyPI, and their commands are looked for in the folders of ``--bin`` as well.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from benchmarks.rules.drawn import started

ROOT = Path(__file__).parent.parent.parent
# Commits, each this far behind the one before, and files of each; every second commit has a tag.
COMMITS, STEP, FILES = 10, 8, 5
# The same of programs in which a few commits are thousands of pages already.
FEW = 6
# Modules of Python whose manuals are in the wiki.
MODULES = 120
# Articles of the other wiki, posts of the blog.
ARTICLES, POSTS = 24, 40
# Mails of the archive of a list.
MAILS = 160


Start = Callable[[Path, int], AbstractContextManager[str]]
"""Runs a web program in a folder on a port, and yields the path to begin at."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _git(folder: Path, *arguments: str, **more: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", **more}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, check=True
    )
    return done.stdout.decode("utf-8", "replace")


def revisions(count: int) -> list[str]:
    """Return *count* of the commits of this repository, the oldest first."""
    every = _git(ROOT, "log", "--first-parent", f"-{count * STEP}", "--format=%H").split()
    return every[::-STEP][-count:]


def _write_revision(revision: str, folder: Path) -> None:
    """Write some of the files of a revision."""
    names = _git(ROOT, "ls-tree", "-r", "--name-only", revision, "docs", "dedup/values", "dedup/rule")
    texts = [name for name in names.split("\n") if name.endswith((".md", ".py"))]
    for name in texts[:: max(1, len(texts) // FILES)][:FILES]:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_git(ROOT, "show", f"{revision}:{name}"), "utf-8")


def _git_repository(folder: Path, commits: int = FEW) -> Path:
    repository = folder / "project"
    repository.mkdir()
    _git(repository, "init", "-q", "-b", "main")
    for number, revision in enumerate(revisions(commits)):
        _write_revision(revision, repository)
        _git(repository, "add", "-A")
        date = f"2026-01-{number + 1:02}T12:00:00"
        subject = _git(ROOT, "log", "-1", "--format=%s", revision).strip()
        who = ("-c", "user.name=A. Writer", "-c", "user.email=a@example.org")
        _git(
            *(repository, *who, "commit", "-q", "--allow-empty", "-m", subject),
            GIT_AUTHOR_DATE=date,
            GIT_COMMITTER_DATE=date,
        )
        if number % 2:
            _git(repository, "tag", f"v{number}")
    _git(repository, "branch", "stable", "HEAD~2")
    return repository


@contextmanager
def running(command: list[str], port: int, folder: Path, **environment: str) -> Iterator[None]:
    with (folder / "server.log").open("wb") as log:
        variables = {**os.environ, **environment}
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=variables)
        try:
            _wait_for(port)
            yield
        finally:
            process.terminate()
            process.wait()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as asked:
            if asked.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens on port {port}")


@contextmanager
def _cgi(program: str, port: int, name: str, environment: Mapping[str, str]) -> Iterator[None]:
    """Serve a CGI program at ``/name``."""

    # Four crawls ask for the same pages, and each takes Perl a fifth of a second.
    @cache
    def answered(asked: str) -> bytes:
        path, _, query = asked.partition("?")
        variables = {
            "PATH": os.environ["PATH"],
            "GATEWAY_INTERFACE": "CGI/1.1",
            "REQUEST_METHOD": "GET",
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": str(port),
            "HTTP_HOST": f"127.0.0.1:{port}",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SCRIPT_NAME": name,
            "PATH_INFO": path.removeprefix(name),
            "QUERY_STRING": query,
            **environment,
        }
        return subprocess.run([program], env=variables, capture_output=True, check=False).stdout

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if not self.path.startswith(name):
                self.send_error(404)
                return
            head, _, body = answered(self.path).replace(b"\r\n", b"\n").partition(b"\n\n")
            fields = [line.partition(b":")[::2] for line in head.split(b"\n") if line]
            status = next((value for field, value in fields if field.lower() == b"status"), b"200")
            self.send_response(int(status.split()[0]))
            for field, value in fields:
                if field.lower() not in (b"status", b"content-length"):
                    self.send_header(field.decode(), value.decode("latin-1").strip())
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _cgit(folder: Path, port: int) -> Iterator[str]:
    repository = _git_repository(folder)
    config = folder / "cgitrc"
    lines = (
        "virtual-root=/cgit",
        "enable-index-links=1",
        "snapshots=",
        "max-stats=year",
        "enable-blame=1",
    )
    repo = ("repo.url=project", f"repo.path={repository / '.git'}", "repo.desc=The project")
    config.write_text("\n".join((*lines, *repo)) + "\n")
    with _cgi("/usr/lib/cgit/cgit.cgi", port, "/cgit", {"CGIT_CONFIG": str(config)}):
        yield "/cgit/project/"


@contextmanager
def _gitweb(folder: Path, port: int) -> Iterator[str]:
    _git_repository(folder)
    config = folder / "gitweb.conf"
    config.write_text(f'$projectroot = "{folder}";\n$feature{{"snapshot"}}{{"default"}} = [];\n1;\n')
    with _cgi("/usr/share/gitweb/gitweb.cgi", port, "/gitweb", {"GITWEB_CONFIG": str(config)}):
        yield "/gitweb?p=project/.git;a=summary"


@contextmanager
def _klaus(folder: Path, port: int) -> Iterator[str]:
    repository = _git_repository(folder, 2 * COMMITS)
    command = [_found("klaus"), "--host", "127.0.0.1", "--port", str(port), str(repository)]
    with running(command, port, folder):
        yield "/project/"


@contextmanager
def _hgweb(folder: Path, port: int) -> Iterator[str]:
    repository = folder / "project"
    repository.mkdir()
    hg = [_found("hg"), "--config", "ui.username=A. Writer", "-q"]
    subprocess.run([*hg, "init"], cwd=repository, check=True)
    for number, revision in enumerate(revisions(2 * COMMITS)):
        _write_revision(revision, repository)
        subject = _git(ROOT, "log", "-1", "--format=%s", revision).strip()
        subprocess.run([*hg, "addremove"], cwd=repository, check=True)
        commit = [*hg, "commit", "-m", f"{subject} ({number})", "-d", f"2026-01-{number + 1:02}"]
        subprocess.run(commit, cwd=repository, check=False)  # 1 where nothing has changed
    command = [hg[0], "serve", "-R", str(repository), "-a", "127.0.0.1", "-p", str(port)]
    with running(command, port, folder):
        yield "/"


@contextmanager
def _dokuwiki(folder: Path, port: int) -> Iterator[str]:
    wiki, data = folder / "wiki", folder / "data"
    shutil.copytree("/usr/share/dokuwiki", wiki, symlinks=False, ignore_dangling_symlinks=True)
    shutil.copytree("/etc/dokuwiki", folder / "conf", ignore_dangling_symlinks=True)
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
    (wiki / "inc/preload.php").write_text(f"<?php define('DOKU_CONF', '{folder}/conf/');\n")
    local = {"title": "The project", "useacl": 0, "savedir": str(data), "indexdelay": 0}
    values = "".join(f"$conf['{name}'] = {value!r};\n" for name, value in local.items())
    (folder / "conf/local.php").write_text(f"<?php\n{values}")
    _write_wiki(data / "pages")
    command = ["php", "-d", "error_reporting=0", "-S", f"127.0.0.1:{port}", "-t", str(wiki)]
    with running(command, port, folder, PHP_CLI_SERVER_WORKERS="3"):
        yield "/doku.php?id=start"


def _write_wiki(pages: Path) -> None:
    """Write the documentation as pages that link to each other."""
    names: list[str] = []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = "".join(letter if letter.isalnum() else "_" for letter in path.stem.lower())
        place = path.parent.name if path.parent.name != "docs" else "main"
        place = "".join(letter for letter in place if letter.isalpha())
        target = pages / place / f"{name}.txt"
        target.parent.mkdir(exist_ok=True)
        links = "".join(f"  * [[{one}]]\n" for one in names[-3:])
        target.write_text(f"====== {name} ======\n\n{path.read_text('utf-8')}\n\n{links}", "utf-8")
        names.append(f"{place}:{name}")
    for name in sorted(sys.stdlib_module_names)[::2][:MODULES]:
        target = pages / "python" / f"{name.strip('_')}.txt"
        target.parent.mkdir(exist_ok=True)
        target.write_text(f"====== {name} ======\n\n{_manual(name)}\n", "utf-8")
        names.append(f"python:{target.stem}")
    start = "====== Start ======\n\n" + "".join(f"  * [[{name}]]\n" for name in names)
    (pages / "start.txt").write_text(start, "utf-8")


def _manual(module: str) -> str:
    """Return what Python says of a module, as far as the wiki shows it in a few pages."""
    command = [sys.executable, "-m", "pydoc", module]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return "<code>\n" + found[:20_000] + "\n</code>"


_TRAC = """
import json
import sys
from datetime import datetime, timedelta
from trac.env import open_environment
from trac.ticket import Ticket
from trac.util.datefmt import utc
from trac.wiki.model import WikiPage

environment = open_environment(sys.argv[1])
begin = datetime(2026, 1, 1, tzinfo=utc)
for number, (title, text) in enumerate(json.load(sys.stdin)):
    now, parts = begin + timedelta(days=number), text.split("\\n\\n")
    ticket = Ticket(environment)
    ticket.populate({"summary": title, "description": text, "reporter": f"r{number % 5}", "status": "new"})
    ticket["type"] = ("defect", "enhancement", "task")[number % 3]
    ticket["priority"] = ("major", "minor", "trivial")[number % 2]
    ticket["component"] = f"component{1 + number % 2}"
    ticket.insert(when=now)
    if number % 3:
        ticket["status"] = ("accepted", "closed")[number % 3 - 1]
        ticket["owner"] = f"owner{number % 4}"
        ticket.save_changes("writer", parts[-1], when=now + timedelta(hours=5))
    # Most pages have one version.
    page = WikiPage(environment, "".join(filter(str.isalnum, title.title())) + "Page")
    for version in range(1 + number % 5 // 3 * 2):
        page.text = "= " + title + " =\\n" + "\\n\\n".join(parts) + f" ({version})"
        page.save(f"writer{version}", f"version {version}", t=now + timedelta(hours=version))
"""


@contextmanager
def _trac(folder: Path, port: int) -> Iterator[str]:
    place, admin = folder / "trac", _found("trac-admin")
    subprocess.run(
        [admin, place, "initenv", "The project", "sqlite:db/trac.db"], check=True, stdout=sys.stderr
    )
    python, messages = Path(admin).parent / "python", json.dumps(_messages(POSTS))
    subprocess.run([python, "-c", _TRAC, place], input=messages.encode(), check=True)
    command = [_found("tracd"), "-s", "--hostname", "127.0.0.1", "-p", str(port), str(place)]
    with running(command, port, folder):
        yield "/wiki"


_ISSUES = """
import sys
from roundup import instance

database = instance.open(sys.argv[1]).open("admin")
for number, line in enumerate(sys.stdin):
    message = database.msg.create(content=line, author="1", summary=line[:60])
    priority = str(number % 5 + 1)
    database.issue.create(title=line[:80], messages=[message], priority=priority, status="1")
database.commit()
"""
# Its own server does not run for root.
_ROUNDUP = """
import sys
from wsgiref.simple_server import make_server
from roundup.cgi.wsgi_handler import RequestDispatcher

make_server("127.0.0.1", int(sys.argv[2]), RequestDispatcher(sys.argv[1])).serve_forever()
"""


@contextmanager
def _roundup(folder: Path, port: int) -> Iterator[str]:
    place, admin = folder / "tracker", Path(_found("roundup-admin"))
    values = f"tracker_web=http://127.0.0.1:{port}/,mail_domain=example.org"
    for command in (("install", "classic", "anydbm", values), ("initialise", "admin")):
        subprocess.run([admin, "-i", place, *command], check=True, stdout=sys.stderr)
    subjects = _git(ROOT, "log", "-40", "--format=%s. %b").replace("\n\n", "\n")
    python = admin.parent / "python"
    subprocess.run([python, "-c", _ISSUES, place], input=subjects.encode(), check=True)
    with running([str(python), "-c", _ROUNDUP, str(place), str(port)], port, folder):
        yield "/issue"


_HYPERKITTY = """
import os
from hyperkitty.tests.settings_test import *

ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = [name for name in INSTALLED_APPS if "providers" not in name and "fedora" not in name]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "archive.db"}}
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
Q_CLUSTER = {"orm": "default", "timeout": 300, "retry": 600, "sync": True}
MAILMAN_REST_API_URL = "http://127.0.0.1:9"
WSGI_APPLICATION = LOGGING_CONFIG = None
COMPRESS_ENABLED, COMPRESS_PRECOMPILERS = False, ()
"""


def _write_mbox(path: Path) -> None:
    """Write the messages of commits as threads of one to four mails."""
    whole = _git(ROOT, "log", f"-{MAILS}", "--format=%s%n%b%x00").split("\0")
    with path.open("w", encoding="utf-8") as box:
        for number, text in enumerate(filter(None, map(str.strip, whole))):
            first = number - number % 7 % 4
            subject, _, body = text.partition("\n")
            writer, day, hour = f"writer{number % 9}", number % 28 + 1, number // 28
            lines = [
                f"From {writer}@example.org Thu Jan  1 00:00:00 2026",
                f"From: Writer {number % 9} <{writer}@example.org>",
                f"Date: {day} {('Jan', 'Feb', 'Mar')[number % 3]} 2026 {hour:02}:00:00 +0000",
                f"Subject: {subject}",
                f"Message-ID: <{number}@example.org>",
                *([f"In-Reply-To: <{first}@example.org>"] if first != number else []),
                "",
                *(line.replace("From ", ">From ") for line in f"{subject}\n\n{body}".split("\n")),
                "",
            ]
            box.write("\n".join(lines) + "\n")


@contextmanager
def _hyperkitty(folder: Path, port: int) -> Iterator[str]:
    (folder / "archive_settings.py").write_text(_HYPERKITTY)
    _write_mbox(folder / "list.mbox")
    admin = _found("django-admin")
    environment = {"PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "archive_settings"}
    imported = ["hyperkitty_import", "-l", "project@example.org", "list.mbox", "--no-sync-mailman"]
    for arguments in (["migrate"], imported):
        variables = {**os.environ, **environment}
        subprocess.run([admin, *arguments], cwd=folder, env=variables, check=True, stdout=sys.stderr)
    command = [admin, "runserver", "--noreload", "--insecure", f"127.0.0.1:{port}"]
    with running(command, port, folder, **environment):
        yield "/list/project@example.org/"


_MEDIAWIKI = Path("/usr/share/mediawiki")
PHP = ("php", "-d", "error_reporting=0", "-d", "display_errors=0")


@contextmanager
def _mediawiki(folder: Path, port: int) -> Iterator[str]:
    environment = {"MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
    options = {
        "dbtype": "sqlite",
        "dbpath": folder,
        "confpath": folder,
        "pass": "only of this wiki",
        "server": f"http://127.0.0.1:{port}",
        "scriptpath": "",
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    install = [*PHP, str(_MEDIAWIKI / "maintenance/install.php"), *given, "The project", "Admin"]
    subprocess.run(install, check=True, stdout=sys.stderr)
    for revision in revisions(COMMITS // 2):
        texts = _write_articles(revision, folder / revision)
        write = [*PHP, str(_MEDIAWIKI / "maintenance/importTextFiles.php"), "--overwrite", "--rc"]
        variables = {**os.environ, **environment}
        subprocess.run([*write, *texts], env=variables, check=True, stdout=sys.stderr)
    command = [*PHP, "-S", f"127.0.0.1:{port}", "-t", str(_MEDIAWIKI)]
    with running(command, port, folder, PHP_CLI_SERVER_WORKERS="3", **environment):
        yield "/index.php/Main_Page"


def _write_articles(revision: str, folder: Path) -> list[Path]:
    """Write the how-tos of a revision as articles that link to each other, and a main page for them."""
    folder.mkdir()
    listed = _git(ROOT, "ls-tree", "-r", "--name-only", revision, "docs").split("\n")
    names = [name for name in listed if name.endswith(".md")][:ARTICLES]
    titles = [Path(name).stem.replace("-", " ").capitalize() for name in names]
    for number, (name, title) in enumerate(zip(names, titles, strict=True)):
        text = "\n".join(f" {line}" for line in _git(ROOT, "show", f"{revision}:{name}").split("\n"))
        kind = f"[[Category:{Path(name).parent.name}]]"
        links = "".join(f"* [[{one}]]\n" for one in titles[number + 1 : number + 4])
        (folder / f"{title}.txt").write_text(f"<nowiki>{text}</nowiki>\n{links}{kind}\n", "utf-8")
    (folder / "Main Page.txt").write_text("".join(f"* [[{title}]]\n" for title in titles), "utf-8")
    return sorted(folder.iterdir())


_WORDPRESS = """<?php
define('WP_INSTALLING', true);
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('The project', 'admin', 'a@example.org', true, '', 'only of this blog');
foreach (json_decode(stream_get_contents(STDIN)) as $number => $message) {
    $date = date('Y-m-d H:i:s', 1767225600 + 43200 * $number);
    $category = wp_create_category('Category ' . $number % 4);
    $post = wp_insert_post(['post_title' => $message[0], 'post_content' => $message[1],
        'post_status' => 'publish', 'post_date' => $date, 'post_author' => 1,
        'post_category' => [$category], 'tags_input' => ['tag' . $number % 7]]);
    for ($comment = 0; $comment < $number % 4; $comment++) {
        wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => "Reader $comment",
            'comment_content' => "Answer $comment to $message[0]", 'comment_approved' => 1]);
    }
}
"""


@contextmanager
def _wordpress(folder: Path, port: int) -> Iterator[str]:
    blog, socket_, base = folder / "blog", folder / "socket", folder / "base"
    shutil.copytree("/usr/share/wordpress", blog, ignore_dangling_symlinks=True)
    values = {
        "DB_NAME": "blog",
        "DB_USER": "root",
        "DB_PASSWORD": "",
        "DB_HOST": f"localhost:{socket_}",
        "WP_DEFAULT_THEME": "twentytwentyone",
    }
    values |= {"WP_HOME": f"http://127.0.0.1:{port}", "WP_SITEURL": f"http://127.0.0.1:{port}"}
    defined = "".join(f"define({name!r}, {value!r});\n" for name, value in values.items())
    load = "$table_prefix = 'wp_';\nrequire_once __DIR__ . '/wp-settings.php';\n"
    (blog / "wp-config.php").write_text(f"<?php\n{defined}{load}")
    (folder / "fill.php").write_text(_WORDPRESS)
    install = ["mariadb-install-db", f"--datadir={base}", "--auth-root-authentication-method=normal"]
    subprocess.run(install, check=True, stdout=sys.stderr)
    start = ["mariadbd", "--user=root", f"--datadir={base}", f"--port={free_port()}"]
    with running([*start, f"--socket={socket_}"], int(start[-1].partition("=")[2]), folder):
        create = ["mariadb", f"--socket={socket_}", "-e", "CREATE DATABASE blog CHARACTER SET utf8mb4"]
        subprocess.run(create, check=True)
        posts = _messages(POSTS)
        fill = [*PHP, str(folder / "fill.php"), str(blog)]
        subprocess.run(fill, input=json.dumps(posts).encode(), check=True, stdout=sys.stderr)
        command = [*PHP, "-S", f"127.0.0.1:{port}", "-t", str(blog)]
        with running(command, port, folder, PHP_CLI_SERVER_WORKERS="3"):
            yield "/"


_FORUM_SETTINGS = """
import machina

SECRET_KEY = "only of this forum"
DEBUG, ALLOWED_HOSTS, ROOT_URLCONF, SITE_ID, USE_TZ = True, ["*"], "forum_urls", 1, True
_PARTS = ("forum", "forum_conversation", "forum_conversation.forum_attachments",
    "forum_conversation.forum_polls", "forum_feeds", "forum_moderation", "forum_search",
    "forum_tracking", "forum_member", "forum_permission")
_DJANGO = ("auth", "contenttypes", "sessions", "messages", "staticfiles", "humanize")
INSTALLED_APPS = [*(f"django.contrib.{name}" for name in _DJANGO), "mptt", "haystack",
    "widget_tweaks", "machina", *(f"machina.apps.{name}" for name in _PARTS)]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "machina.apps.forum_permission.middleware.ForumPermissionMiddleware"]
_CONTEXT = ("django.template.context_processors.request", "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages", "machina.core.context_processors.metadata")
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True,
    "DIRS": [".", machina.MACHINA_MAIN_TEMPLATE_DIR], "OPTIONS": {"context_processors": _CONTEXT}}]
STATIC_URL = "/static/"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "forum.db"}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
_CACHE = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
CACHES = {"default": _CACHE, "machina_attachments": _CACHE}
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
"""
_FORUM_URLS = """
from django.contrib.auth.views import LoginView
from django.urls import include, path

login = LoginView.as_view(template_name="login.html")
urlpatterns = [path("login/", login, name="login"), path("", include("machina.urls"))]
"""
_FORUM_LOGIN = """<html><body><h1>Log in</h1><p>Only members of the forum may answer here. Please give your
name and the word that only you know, or ask the people who run this forum.</p>{{ form }}</body></html>
"""
_FORUM = """
import json
import sys

import django

django.setup()
from django.contrib.auth.models import User
from machina.apps.forum.models import Forum
from machina.apps.forum_conversation.models import Post, Topic
from machina.apps.forum_permission.models import ForumPermission, UserForumPermission

group = Forum.objects.create(name="The project", type=Forum.FORUM_CAT)
forums = [Forum.objects.create(name=f"Forum {n}", parent=group, type=Forum.FORUM_POST) for n in range(4)]
for permission in ForumPermission.objects.filter(codename__in=("can_see_forum", "can_read_forum")):
    UserForumPermission.objects.create(permission=permission, anonymous_user=True, has_perm=True)
writers = [User.objects.create_user(f"writer{number}") for number in range(6)]
for number, (subject, text) in enumerate(json.load(sys.stdin)):
    writer, forum = writers[number % 6], forums[number % 4]
    topic = Topic.objects.create(forum=forum, poster=writer, subject=subject,
        type=Topic.TOPIC_POST, status=Topic.TOPIC_UNLOCKED)
    for answer, part in enumerate(text.split("\\n\\n")[:25]):
        said = {"subject": subject, "content": part, "approved": True}
        Post.objects.create(topic=topic, poster=writers[(number + answer) % 6], **said)
"""


@contextmanager
def _machina(folder: Path, port: int) -> Iterator[str]:
    files = {"forum_settings.py": _FORUM_SETTINGS, "forum_urls.py": _FORUM_URLS}
    for name, text in {**files, "login.html": _FORUM_LOGIN, "fill.py": _FORUM}.items():
        (folder / name).write_text(text)
    admin = _found("django-admin")
    environment = {"PYTHONPATH": str(folder), "DJANGO_SETTINGS_MODULE": "forum_settings"}
    variables = {**os.environ, **environment}
    fill = [str(Path(admin).parent / "python"), "fill.py"]
    for command in ([admin, "migrate"], fill):
        posts = json.dumps(_messages(POSTS)).encode()
        subprocess.run(command, cwd=folder, env=variables, input=posts, check=True, stdout=sys.stderr)
    command = [admin, "runserver", "--noreload", "--insecure", f"127.0.0.1:{port}"]
    with running(command, port, folder, **environment):
        yield "/"


def _messages(count: int) -> list[tuple[str, str]]:
    """Return the titles and texts of *count* sections of the documentation."""
    texts = (path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    sections = (section.partition("\n") for text in texts for section in text.split("\n## ")[1:])
    return [(title[:60], body.strip()) for title, _, body in sections][:count]


_places: list[Path] = []


def look_in(places: list[Path]) -> None:
    """Look for commands in these folders, too."""
    _places.extend(places)


def _found(command: str) -> str:
    path = os.pathsep.join([*map(str, _places), os.environ["PATH"]])
    found = shutil.which(command, path=path)
    if not found:
        raise FileNotFoundError(f"{command} is not installed")
    return found


PROGRAMS: dict[str, Start] = {
    "dokuwiki": _dokuwiki,
    "cgit": _cgit,
    "gitweb": _gitweb,
    "hgweb": _hgweb,
    "klaus": _klaus,
    "trac": _trac,
    "roundup": _roundup,
    "hyperkitty": _hyperkitty,
    "mediawiki": _mediawiki,
    "wordpress": _wordpress,
    "machina": _machina,
}


def start_of(name: str) -> Start:
    """Return what starts the program of that *name*, or the site that is drawn for ``drawn-SEED``."""
    kind, _, seed = name.partition("-")
    return started(int(seed)) if kind == "drawn" and seed.isdecimal() else PROGRAMS[name]
