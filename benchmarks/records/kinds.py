"""Kinds of records as templates: its name, then its lines."""

from __future__ import annotations

from random import Random

from benchmarks.records.writing import Language, Load, filled, frame, in_lines, listed

FRAMES = (60, 130)
COPIES = 0.2
HOST = "http://records.example"

LISTS = {
    "first": listed(
        "Ada Ben Cleo Dan Eva Finn Gina Hugo Ines Jon Kara Leo Mona Nils Olga Paul Quinn Rosa Tara Uwe"
    ),
    "last": listed(
        "Adams Baker Clark Dubois Evans Foster Garcia Hansen Ito Jones Khan Lopez Meyer Novak Owens Rossi"
    ),
    "person": ["{first} {last}"],
    "role": listed("Clerk Director Engineer Inspector Planner Analyst Librarian Secretary"),
    "department": listed("Library|Public Works|Finance|Planning|Parks|Water|Human Resources|Housing"),
    "committee": listed("Finance Planning Housing Parks Schools Traffic Culture Water"),
    "place": listed("Town Hall|Library|Room 12|Fire Station|Old School|Council Chamber"),
    "month": listed(
        "January February March April May June July August September October November December"
    ),
    "date": ["{1..28} {month} {2015..2024}"],
    "quarter": listed("00 15 30 45"),
    "town": listed(
        "Aldham Barrow Carlow Dunford Elmley Farside Gorton Hexley Ilford Jarrow Kelby Lundy"
    ),
    "club": listed("United City Rovers Athletic"),
    "verb": listed("get set add find open read sort"),
    "thing": listed("chair lamp table bowl"),
    "cents": listed("00 50 95"),
    "hobby": listed("chess hiking music films football cooking books"),
    "colour": listed("red blue green black white grey brown yellow"),
    "shape": listed("round square oval long flat curved"),
    "material": listed("oak steel glass cotton paper leather clay wool"),
    "dye": listed("red blue"),
    "size": listed("S L"),
    "part": listed("full part"),
    "happening": listed("Concert|Reading|Exhibition|Flea market|Lecture|Workshop|Film"),
    "yes": listed("yes no"),
    "surname": list("王李张刘陈杨赵黄周吴徐孙胡朱高林何郭"),
    "given": list("伟芳娜敏静丽强磊军洋勇艳杰娟涛明超秀霞平刚桂"),
    "office": listed("办公室 财务处 人事处 教务处 科研处 后勤处 图书馆 信息中心"),
    "post": listed("主任 副主任 科长 工程师 会计 秘书 讲师 教授"),
    "goods": listed("水杯 台灯 书包 雨伞 键盘 耳机 毛巾 茶壶 风扇 背包 手表 沙发"),
    "quality": listed("便携 经典 加厚 静音 防水 轻便 智能 环保 简约 复古"),
    "claim": listed(
        "做工精细 经久耐用 使用方便 色彩鲜艳 手感舒适 适合送礼 性价比高 容易清洗 安全可靠 节能省电"
    ),
    "letter": list("ABCDEFGH"),
}
# {name} is the name that was drawn, {name0} its first word.
KINDS = {
    "staff": "{person} | # {name} | {role}, {department} | Phone (555) 555-{0000..9999}",
    "meetings": (
        "{committee} Committee, {date} | # {name} | {6..22}:{quarter}, {place} | Agenda and minutes"
    ),
    "matches": (
        "{town} {club} - {town} {club} | {name} | {0..4} : {0..4} | Spectators {80..4000} | Referee {person}"
    ),
    "functions": "{verb}_{word} | # {name} | {name}({word}, flags=0) | Returns the {word} of {word}.",
    "products": (
        "{Word} {material} {thing} | # {name} | Price {5..400}.{cents} | Item no. {10000..99999} | In stock"
    ),
    "profiles": (
        "{word}{1..99} | # {name} | From {town} | Age {16..80} | Joined {date} | Likes {hobby} and {hobby}"
    ),
    "three values": "{colour} {shape} {material} | {name0} | {name1} | {name2}",
    "two numbers": "Section {0..99} of {0..99} | Open {name1} | Closed {name3}",
    "colours and sizes": (
        "{last} {material} shirt {dye} {size} | # {name0} {name1} shirt | Colour: {name3} | Size: {name4}"
    ),
    "jobs": (
        "{role} ({part} time), {town} | # {name} | The department of {department} is looking for somebody "
        "who works with us. | Salary {28..90},000 a year | Apply until {date} to {person}."
    ),
    "events": "{happening}: {Word} | # {name} | {date}, {6..22}:{quarter} | {place}, {town}",
    "bus stops": (
        "{town}, {Word} Street | # {name} | Line {1..60} to {town}: {6..9}:{quarter}, {12..22}:{quarter} | "
        "Line {1..60} to {town}: {6..9}:{quarter}, {12..22}:{quarter}"
    ),
    "quotations": (
        "{person} on {word} | Who looks for {name3} in {word} will find {word} and lose {word}. | "
        "{name0} {name1}"
    ),
    "Chinese staff": "{surname}{given}{given} | # {name} | {office} {post} | 电话：0{10..99}-{20000000..89999999}",
    "Chinese products": (
        "{quality}{goods} {letter}{100..999} | # {name} | 价格：{9..999}.00元 | {claim}，{claim}。 | 货到付款"
    ),
}
# Told apart from the others: nobody can say what is one more record, and what an edit.
TWOS, FLAGS = "variants in twos", "flags"
APART = {
    TWOS: "Proposal {1..9999} | {text} | The proposal was {fate}.",
    FLAGS: "Flat {1..9999} | Wifi: {yes} | Parking: {yes} | Lift: {yes} | Garden: {yes} | Balcony: {yes} | "
    "Kitchen: {yes} | Pets: {yes} | Heating: {yes} | Cellar: {yes}",
}
# What changes at each loading.
COUNTERS = "Views: {20..5000} | {12..90} queries in 0.{020..900} seconds"


def records_of(kind: str, count: int, rng: Random) -> list[tuple[str, str]]:
    """Return the names and the HTML of so many records of a *kind* at most, no two of which say the same."""
    found: dict[str, str] = {}
    template, language = (KINDS | APART)[kind], Language(rng)
    text = language.sentence(language.vocabulary(), 30)
    for _ in range(20 * count):  # of some there are but 384
        if len(found) == count:
            break
        if kind == TWOS and len(found) % 2 == 0:
            text = language.sentence(language.vocabulary(), 30)
        fate = "rejected" if len(found) % 2 else "accepted"
        of_name, of_body = template.split(" | ", 1)
        name = filled(of_name, rng, LISTS)
        words = {f"name{place}": [word] for place, word in enumerate(name.split())}
        body = in_lines(of_body, rng, {**LISTS, **words, "name": [name], "text": [text], "fate": [fate]})
        found.setdefault(body, name)
    return [(name, body) for body, name in found.items()]


def record_loads(
    kind: str, count: int, rng: Random, *, words: int, titled: bool, counters: bool = False
) -> list[Load]:
    """Return the pages of a site of such records, one in five also at another address, in any order."""
    is_chinese = kind.startswith("Chinese")
    of_site, records = frame(rng, words, chinese=is_chinese), records_of(kind, count, rng)

    def load(number: int, url: str, header: str = "", turn: int = 0) -> Load:
        name, body = records[number]
        parts = [header, body, in_lines(COUNTERS if counters else "", rng, LISTS)]
        html = of_site.page("\n".join(filter(None, parts)), name if titled else "")
        return Load(url, html, number, turn)

    loads = [load(number, f"{HOST}/{number}") for number in range(len(records))]
    for number in rng.sample(range(len(records)), round(COPIES * len(records))):
        header = (
            f"<p>{'打印本页' if is_chinese else 'Print this page'}</p>" if rng.random() < 0.5 else ""
        )
        loads.append(load(number, f"{HOST}/{number}?from={rng.randrange(10**6)}", header, 1))
    rng.shuffle(loads)
    return loads
