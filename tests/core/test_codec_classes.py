"""Stored values and the classes of today: changed, missing, edited, in a new process."""

import dataclasses
import enum
import json
import os
import subprocess
import sys
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    create_model,
    field_validator,
    model_validator,
)

from plait.core.codec import decode, encode, same
from plait.core.errors import ClassChanged

NAME = "shop:Thing"


def placed(cls):
    """The class as if the module `shop`, which does not exist, defined it as `Thing`."""
    cls.__module__, cls.__qualname__ = NAME.split(":")
    return cls


def model(config=None, **fields):
    return placed(create_model("Thing", __config__=config, **fields))


def dataclass(*fields):
    return placed(dataclasses.make_dataclass("Thing", fields))


def enumeration(kind=enum.Enum, **members):
    return placed(kind("Thing", members))


def named_tuple(**fields):
    return placed(NamedTuple("Thing", list(fields.items())))


def later(value, today):
    """`value` as it comes back when `today` is the class of its name."""
    plain = json.loads(json.dumps(encode(value, "basket", {NAME: type(value)})))
    return decode({"items": [plain]}, "basket", {NAME: today})["items"][0]


size, unit = ("size", int), ("unit", str)
late = ("size", int, dataclasses.field(init=False))
Right = enumeration(enum.Flag, READ=1, WRITE=2)

CHANGED = {
    "field gone": (model(size=int, unit=str)(size=1, unit="m"), model(size=int), "'unit'"),
    "field required": (model(size=int)(size=1), model(size=int, unit=str), "'unit'"),
    "field of another type": (model(size=int)(size=1), model(size=str), "'size'.* int"),
    "field with a constraint": (model(size=int)(size=1), model(size=(int, Field(gt=1))), "'size'"),
    "field of a stricter list": (model(size=list[int])(size=[1]), model(size=list[str]), "'size'"),
    "text for a number": (model(size=str)(size="1"), model(size=int), "'size'.* str"),
    "extras no longer allowed": (model(ConfigDict(extra="allow"))(more=1), model(), "'more'"),
    "private attribute gone": (model(_n=(int, PrivateAttr(1)))(), model(), "'_n'"),
    "default factory fails": (model()(), model(size=(int, Field(default_factory=lambda: 1 // 0))), "zero"),
    "model with extras is a dataclass now": (
        model(ConfigDict(extra="allow"))(a=1),
        dataclass(),
        "no pydantic",
    ),
    "model is a dataclass now": (model(size=int)(size=1), dataclass(("size", str)), "'size'"),
    "model is an enum now": (model(size=int)(size=1), enumeration(A=1), "no member"),
    "model is a plain class now": (model()(), placed(type("Thing", (), {})), "no pydantic model"),
    "dataclass is a tuple now": (dataclass(late)(), named_tuple(size=int), "size"),
    "dataclass field gone": (dataclass(size, unit)(1, "m"), dataclass(size), "'unit'"),
    "dataclass field required": (dataclass(size)(1), dataclass(size, unit), "'unit'"),
    "dataclass field of another type": (dataclass(size)(1), dataclass(("size", str)), "'size'"),
    "tuple field gone": (named_tuple(size=int, unit=str)(1, "m"), named_tuple(size=int), "'unit'"),
    "tuple field of another type": (named_tuple(size=int)(1), named_tuple(size=bytes), "'size'"),
    "member gone": (enumeration(RED=1, BLUE=2).RED, enumeration(BLUE=2), "'RED'"),
    "flag gone": (Right.READ | Right.WRITE, enumeration(enum.Flag, READ=1), "flags"),
}


@pytest.mark.parametrize(("value", "today", "why"), CHANGED.values(), ids=CHANGED.keys())
def test_data_that_no_longer_fits_its_class_stops_naming_key_and_class(value, today, why):
    with pytest.raises(ClassChanged, match=why) as changed:
        later(value, today)
    assert changed.value.key == "basket.items[0]"
    assert changed.value.class_name == NAME


def test_new_fields_with_defaults_get_them():
    new = model(size=int, unit=(str, "m"), tags=(list, Field(default_factory=list)), _n=(int, PrivateAttr(7)))
    back = later(model(size=int)(size=1), new)
    assert (back.size, back.unit, back.tags, back._n) == (1, "m", [], 7)
    assert back.model_fields_set == {"size"}
    assert later(dataclass(size)(1), dataclass(size, ("unit", str, "m"))).unit == "m"


@pytest.mark.parametrize("wider", [int | str, float, Any, object])
def test_a_wider_type_still_takes_the_value_as_it_was(wider):
    today = model(size=wider)
    assert same(later(model(size=int)(size=1), today), today.model_construct(_fields_set={"size"}, size=1))


def test_a_field_is_known_by_its_name_whatever_its_alias():
    before = model(size=(int, Field(alias="a")))
    assert later(before(a=1), model(size=(int, Field(validation_alias="b")))).size == 1


def test_a_value_that_did_not_fit_when_it_was_written_is_no_change():
    loose = model(size=(int, None), unit=str)
    value = loose(unit="m")
    value.unit = 3
    assert same(later(value, loose), value)


class Shouting(BaseModel):
    words: Annotated[list[str], BeforeValidator(lambda words: [word + "!" for word in words])]
    total: int = 0

    @field_validator("words")
    @classmethod
    def twice(cls, words):
        words.append("again")
        return words

    @model_validator(mode="after")
    def count(self):
        self.total += 1
        return self

    def model_post_init(self, context):
        self.total += 10


def test_no_validator_alters_a_value_on_its_way():
    value = Shouting(words=["a"])
    back = decode(encode(value, "key"), "key")
    assert same(back, value)
    assert (back.words, back.total) == (["a!", "again"], 11)


def test_a_missing_class_is_named():
    with pytest.raises(ClassChanged, match=r"basket\.items\[0\]: stored as shop:Gone, .*imported"):
        decode({"items": [{"$type": "shop:Gone", "$value": {}}]}, "basket")


@pytest.mark.parametrize(
    "name", ["os:system", "subprocess:Popen", "builtins:eval", "json:decoder", "typing:Any"]
)
def test_nothing_but_classes_of_data_is_ever_taken_from_a_module(name):
    with pytest.raises(ClassChanged):
        decode({"$type": name, "$value": {}, "$arguments": ["true"]}, "key")


@pytest.mark.parametrize(
    "odd",
    [
        {"$type": "Decimal", "$value": "a"},
        {"$type": "set", "$value": "abc"},
        {"$type": "tuple"},
        {"$type": "dict", "$value": [[[1], 2]]},
        {"$type": "unheard-of", "$value": 1},
        {"$type": ["set"], "$value": []},
        {"$type": f"{__name__}:Shouting", "$value": ["a"]},
        {"$type": f"{__name__}:Shouting", "$value": {}, "$arguments": ["builtins:int"]},
    ],
)
def test_data_that_was_edited_into_nonsense_is_an_error_with_its_place(odd):
    with pytest.raises(ClassChanged, match=r"^key\.a\[1\]: stored as "):
        decode({"a": [None, odd]}, "key")


SHOP = """
import dataclasses, datetime, decimal, enum, json, sys
from pydantic import BaseModel
from plait.core.codec import decode, encode, same

class Item(BaseModel):
    class Size(enum.Enum):
        SMALL = "s"
    name: str
    size: Size = Size.SMALL

class Gift(Item):
    wrapping: TEXT = "red"

@dataclasses.dataclass
class Basket:
    items: list[Item]
    total: int = dataclasses.field(init=False)
    def __post_init__(self):
        self.total = 7

def basket():
    made = Basket([Gift(name="tea")])
    made.total = 8
    zone = datetime.timezone(datetime.timedelta(hours=2))
    return [made, decimal.Decimal("1.10"), datetime.datetime(2026, 11, 30, tzinfo=zone), {1, (2,)}, 2**70]
"""


def in_new_process(folder, code, fed=""):
    (folder / "run.py").write_text(code)
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(folder / "run.py")]
    return subprocess.run(command, input=fed, capture_output=True, text=True, env=env, timeout=60)


def test_values_come_back_the_same_in_a_new_process_and_a_changed_class_stops_it(tmp_path):
    shop = tmp_path / "shop.py"
    shop.write_text(SHOP.replace("TEXT", "str"))
    wrote = in_new_process(tmp_path, "from shop import *\nprint(json.dumps(encode(basket(), 'key')))")
    reader = "from shop import *\nassert same(decode(json.load(sys.stdin), 'key'), basket())"
    read = in_new_process(tmp_path, reader, wrote.stdout)
    assert (read.returncode, read.stderr) == (0, "")

    shop.write_text(SHOP.replace("TEXT", "bytes"))
    changed = in_new_process(tmp_path, reader, wrote.stdout)
    assert "ClassChanged: key[0].items[0]: stored as shop:Gift, whose field 'wrapping'" in changed.stderr
