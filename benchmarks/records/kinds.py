"""Kinds of records: each a function that draws one, as its name and its HTML."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from benchmarks.records.writing import Language, Load, frame, listed, name_word

Record = tuple[str, str]
Draw = Callable[[Random], Record]

_FIRST = listed(
    "Ada Ben Cleo Dan Eva Finn Gina Hugo Ines Jon Kara Leo Mona Nils Olga Paul Quinn Rosa Sam Tara Uwe "
    "Vera Will"
)
_LAST = listed(
    "Adams Baker Clark Dubois Evans Foster Garcia Hansen Ito Jones Khan Lopez Meyer Novak Owens Patel "
    "Rossi Smith"
)
_ROLES = ["Clerk", "Director", "Engineer", "Inspector", "Planner", "Analyst", "Librarian", "Secretary"]
_DEPARTMENTS = listed("Library|Public Works|Finance|Planning|Parks|Water|Human Resources|Housing")
_COMMITTEES = ["Finance", "Planning", "Housing", "Parks", "Schools", "Traffic", "Culture", "Water"]
_PLACES = ["Town Hall", "Library", "Room 12", "Fire Station", "Old School", "Council Chamber"]
_MONTHS = listed("January February March April May June July August September October November December")
_TOWNS = listed("Aldham Barrow Carlow Dunford Elmley Farside Gorton Hexley Ilford Jarrow Kelby Lundy")
_CLUBS = ["United", "City", "Rovers", "Athletic"]
_COLOURS = ["red", "blue", "green", "black", "white", "grey", "brown", "yellow"]
_SHAPES = ["round", "square", "oval", "long", "flat", "curved"]
_MATERIALS = ["oak", "steel", "glass", "cotton", "paper", "leather", "clay", "wool"]
_SURNAMES = "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭"
_GIVEN = "伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂"
_OFFICES = ["办公室", "财务处", "人事处", "教务处", "科研处", "后勤处", "图书馆", "信息中心"]
_POSTS = ["主任", "副主任", "科长", "工程师", "会计", "秘书", "讲师", "教授"]
_GOODS = ["水杯", "台灯", "书包", "雨伞", "键盘", "耳机", "毛巾", "茶壶", "风扇", "背包", "手表", "沙发"]
_QUALITIES = ["便携", "经典", "加厚", "静音", "防水", "轻便", "智能", "环保", "简约", "复古"]
_CLAIMS = listed(
    "做工精细 经久耐用 使用方便 色彩鲜艳 手感舒适 适合送礼 性价比高 容易清洗 安全可靠 节能省电"
)


def lines(*cells: object) -> str:
    """Return HTML with each of *cells* on its line."""
    return "\n".join(f"<p>{cell}</p>" for cell in cells)


def _person(rng: Random) -> str:
    return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"


def _date(rng: Random) -> str:
    return f"{rng.randint(1, 28)} {rng.choice(_MONTHS)} {rng.randint(2015, 2024)}"


def _clock(rng: Random) -> str:
    return f"{rng.randint(6, 22)}:{rng.choice((0, 15, 30, 45)):02}"


def _staff(rng: Random) -> Record:
    name = _person(rng)
    role = f"{rng.choice(_ROLES)}, {rng.choice(_DEPARTMENTS)}"
    return name, f"<h1>{name}</h1>\n{lines(role, f'Phone (555) 555-{rng.randrange(10_000):04}')}"


def _meeting(rng: Random) -> Record:
    name = f"{rng.choice(_COMMITTEES)} Committee, {_date(rng)}"
    return (
        name,
        f"<h1>{name}</h1>\n{lines(f'{_clock(rng)}, {rng.choice(_PLACES)}', 'Agenda and minutes')}",
    )


def _match(rng: Random) -> Record:
    home, guest = (f"{town} {rng.choice(_CLUBS)}" for town in rng.sample(_TOWNS, 2))
    score = f"{rng.randint(0, 4)} : {rng.randint(0, 4)}"
    seen = f"Spectators {rng.randint(80, 4_000)}"
    return f"{home} v {guest}", lines(f"<b>{home} - {guest}</b>", score, seen, f"Referee {_person(rng)}")


def _function(rng: Random) -> Record:
    verb, noun = (
        rng.choice(("get", "set", "add", "find", "open", "read", "sort")),
        name_word(rng).lower(),
    )
    other = name_word(rng).lower()
    does = {"get": "Returns", "set": "Changes", "add": "Adds"}.get(verb, "Looks for")
    name = f"{verb}_{noun}"
    return (
        name,
        f"<h2>{name}</h2>\n{lines(f'{name}({other}, flags=0)', f'{does} the {noun} of {other}.')}",
    )


def _product(rng: Random) -> Record:
    name = f"{name_word(rng)} {rng.choice(_MATERIALS)} {rng.choice(('chair', 'lamp', 'table', 'bowl'))}"
    price = f"{rng.randint(5, 400)}.{rng.choice(('00', '50', '95'))}"
    code = f"Item no. {rng.randint(10_000, 99_999)}"
    return name, f"<h1>{name}</h1>\n{lines(f'Price {price}', code, 'In stock, 2 to 3 days')}"


def _profile(rng: Random) -> Record:
    name = f"{name_word(rng).lower()}{rng.randint(1, 99)}"
    likes = ", ".join(
        rng.sample(("chess", "hiking", "music", "films", "football", "cooking", "books"), 2)
    )
    facts = (
        f"From {rng.choice(_TOWNS)}",
        f"Age {rng.randint(16, 80)}",
        f"Joined {_date(rng)}",
        f"Likes {likes}",
    )
    return name, f"<h2>{name}</h2>\n{lines(*facts)}"


def _three_values(rng: Random) -> Record:
    values = (rng.choice(_COLOURS), rng.choice(_SHAPES), rng.choice(_MATERIALS))
    return " ".join(values), lines(*values)


def _two_numbers(rng: Random) -> Record:
    one, two = rng.randrange(100), rng.randrange(100)
    return f"Section {one}, part {two}", lines(f"Open {one}", f"Closed {two}")


def _variant(rng: Random) -> Record:
    # One of 400 articles in two colours and two sizes: a drawn one often has a variant among the others.
    name = f"{_LAST[(of := rng.randrange(400)) % 18]} {_MATERIALS[of // 18 % 8]} shirt {of // 144 + 1}"
    colour, size = rng.choice(_COLOURS[:2]), rng.choice(("S", "L"))
    return f"{name}, {colour}, {size}", f"<h1>{name}</h1>\n{lines(f'Colour: {colour}', f'Size: {size}')}"


def _job(rng: Random) -> Record:
    name = f"{rng.choice(_ROLES)} ({rng.choice(('full time', 'part time'))}), {rng.choice(_TOWNS)}"
    pay = f"Salary {rng.randint(28, 90)},000 a year"
    until = f"Apply until {_date(rng)} to {_person(rng)}."
    text = f"The department of {rng.choice(_DEPARTMENTS)} is looking for somebody who works with us."
    return name, f"<h1>{name}</h1>\n{lines(text, pay, until)}"


def _event(rng: Random) -> Record:
    what = rng.choice(("Concert", "Reading", "Exhibition", "Flea market", "Lecture", "Workshop", "Film"))
    name = f"{what}: {name_word(rng)}"
    when = f"{_date(rng)}, {_clock(rng)}"
    return name, f"<h1>{name}</h1>\n{lines(when, f'{rng.choice(_PLACES)}, {rng.choice(_TOWNS)}')}"


def _stop(rng: Random) -> Record:
    name = f"{rng.choice(_TOWNS)}, {name_word(rng)} Street"
    rows = (
        f"Line {rng.randint(1, 60)} to {rng.choice(_TOWNS)}: {', '.join(sorted(_clock(rng) for _ in range(4)))}"
        for _ in range(2)
    )
    return name, f"<h2>{name}</h2>\n{lines(*rows)}"


def _quotation(rng: Random) -> Record:
    author = _person(rng)
    subject = [name_word(rng).lower() for _ in range(4)]
    said = f"Who looks for {subject[0]} in {subject[1]} will find {subject[2]} and lose {subject[3]}."
    return f"{author} on {subject[0]}", f"<blockquote>{said}</blockquote>\n{lines(author)}"


def _chinese_staff(rng: Random) -> Record:
    name = rng.choice(_SURNAMES) + "".join(rng.sample(_GIVEN, rng.choice((1, 2))))
    phone = f"电话：0{rng.randint(10, 99)}-{rng.randint(2_000_0000, 8_999_9999)}"
    role = f"{rng.choice(_OFFICES)} {rng.choice(_POSTS)}"
    return name, f"<h1>{name}</h1>\n{lines(role, phone)}"


def _chinese_product(rng: Random) -> Record:
    name = (
        f"{rng.choice(_QUALITIES)}{rng.choice(_GOODS)} {rng.choice('ABCDEFGH')}{rng.randint(100, 999)}"
    )
    price = f"价格：{rng.randint(9, 999)}.00元"
    return name, f"<h1>{name}</h1>\n{lines(price, '，'.join(rng.sample(_CLAIMS, 2)) + '。', '货到付款')}"


def _flags(rng: Random) -> Record:
    names = ("Wifi", "Parking", "Lift", "Garden", "Balcony", "Kitchen", "Pets", "Heating", "Cellar")
    told = [f"{name}: {rng.choice(('yes', 'no'))}" for name in names]
    return f"Flat {rng.randint(1, 9_999)}", lines(*told)


KINDS: dict[str, Draw] = {
    "staff": _staff,
    "meetings": _meeting,
    "matches": _match,
    "functions": _function,
    "products": _product,
    "profiles": _profile,
    "three values": _three_values,
    "two numbers": _two_numbers,
    "colours and sizes": _variant,
    "jobs": _job,
    "events": _event,
    "bus stops": _stop,
    "quotations": _quotation,
    "Chinese staff": _chinese_staff,
    "Chinese products": _chinese_product,
}
TWOS = "variants in twos"
# Told apart from the others: nobody can say what is one more record, and what an edit.
APART = (TWOS, "flags")
FRAMES = (60, 130)
COPIES = 0.2
HOST = "http://records.example"


def records_of(kind: str, count: int, rng: Random) -> list[Record]:
    """Return so many records of a *kind*, no two of which say the same."""
    if kind == TWOS:
        return _twos(count, rng)
    draw = KINDS.get(kind, _flags)
    found: dict[str, str] = {}
    for _ in range(100 * count):
        name, body = draw(rng)
        found.setdefault(body, name)
        if len(found) == count:
            break
    return [(name, body) for body, name in found.items()]


def _twos(count: int, rng: Random) -> list[Record]:
    language, found = Language(rng), []
    for number in range((count + 1) // 2):
        text = language.sentence(language.subject(), 30)
        fates = [lines(text, f"The proposal was {fate}.") for fate in ("accepted", "rejected")]
        found += [(f"Proposal {number}", body) for body in fates]
    return found[:count]


def record_loads(
    kind: str, count: int, rng: Random, *, words: int, titled: bool, counters: bool = False
) -> list[Load]:
    """Return the pages of a site of such records, one in five also at another address, in any order."""
    is_chinese = kind.startswith("Chinese")
    of_site = frame(rng, words, chinese=is_chinese)
    records = records_of(kind, count, rng)

    def load(number: int, url: str, header: str = "", turn: int = 0) -> Load:
        name, body = records[number]
        body = f"{header}{body}{_counters(rng) if counters else ''}"
        return Load(url, of_site.page(body, name if titled else ""), number, turn)

    made = [load(number, f"{HOST}/{number}") for number in range(len(records))]
    for number in rng.sample(range(len(records)), round(COPIES * len(records))):
        header = (
            f"<p>{'打印本页' if is_chinese else 'Print this page'}</p>\n" if rng.random() < 0.5 else ""
        )
        made.append(load(number, f"{HOST}/{number}?from={rng.randrange(10**6)}", header, 1))
    rng.shuffle(made)
    return made


def _counters(rng: Random) -> str:
    """Return what changes at each loading."""
    queries = f"{rng.randint(12, 90)} queries in 0.{rng.randint(20, 900):03} seconds"
    return "\n" + lines(f"Views: {rng.randint(20, 5_000)}", queries)
