"""Names on the wire: accepted by every provider, all different, and stable."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.nodes import wire
from plait.nodes.wire import given_names, wire_name, wire_names

AWKWARD = ["Refund Agent", "规划", "a.b/c", "a?b/c", "x" * 80, "search"]
FINE = re.compile(r"[A-Za-z0-9_-]{1,64}")


def test_awkward_names_become_fine_ones_that_differ():
    on_wire = wire_names(AWKWARD)

    assert list(on_wire) == AWKWARD
    assert all(FINE.fullmatch(name) for name in on_wire.values())
    assert len(set(on_wire.values())) == len(AWKWARD)


@pytest.mark.parametrize("name", ["search", "delegate_to_a-b", "x" * 64, "7", "_"])
def test_a_fine_name_stays_itself(name):
    assert wire_names([name]) == {name: name}


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("Refund Agent", "Refund_Agent_"),
        ("规划", "tool_"),
        ("a.b/c", "a_b_c_"),
        ("fine\n", "fine_"),
        ("", "tool_"),
    ],
)
def test_what_can_be_read_of_a_name_is_kept(name, start):
    assert wire_names([name])[name].startswith(start)


def test_the_given_name_comes_back():
    on_wire = wire_names(AWKWARD)
    back = given_names(on_wire)

    assert [back[on_wire[name]] for name in AWKWARD] == AWKWARD


def test_the_order_and_the_company_of_names_do_not_matter():
    assert wire_names(AWKWARD) == wire_names(AWKWARD[::-1])
    assert [wire_names(AWKWARD)[name] for name in AWKWARD] == [wire_name(name) for name in AWKWARD]


def test_every_process_makes_the_same_names():
    code = "from plait.nodes.wire import wire_name; print(wire_name('规划'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert other.stdout.strip() == wire_name("规划")


def test_a_name_that_looks_like_a_made_one_keeps_its_place():
    rival = wire_name("规划")
    names = wire_names(["规划", rival])

    assert names[rival] == rival
    assert names["规划"] != rival
    assert names == wire_names([rival, "规划"])


@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=100), max_size=8))
def test_any_names_can_be_sent_and_told_apart(names):
    on_wire = wire_names(names)

    assert all(FINE.fullmatch(name) for name in on_wire.values())
    assert len(set(on_wire.values())) == len(set(names)) == len(given_names(on_wire))
    assert wire.LONGEST == 64
