"""XML and gzip that claim much with few bytes end in words, before they cost memory."""

import gzip
import xml.etree.ElementTree as ET
import zlib

import pytest

from eigenwerk.errors import InputError
from eigenwerk.io import bounded
from eigenwerk.io.bounded import gunzipped
from eigenwerk.io.bounded_xml import ALWAYS_EXPANDED, DEEPEST, xml_text, xml_tree
from eigenwerk.io.paw.xml_source import XmlSource
from eigenwerk.io.vasp.vasprun_reader import read_vasprun

LAUGHS = b'<!DOCTYPE m [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n<modeling>&b;</modeling>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_in_any_encoding(encoding):
    with pytest.raises(ValueError, match="it declares the entity 'a'"):
        xml_tree(LAUGHS.decode().encode(encoding))
    assert xml_tree(b"<!DOCTYPE paw_setup>\n<m>&lt;</m>").text == "<"


def test_elements_and_depth_are_bounded_by_the_text():
    with pytest.raises(ValueError, match="elements and attributes in"):
        xml_tree(b"<m>" + b"<a/>" * 200_000 + b"</m>")
    with pytest.raises(ValueError, match=f"more than {DEEPEST} elements in each other"):
        xml_tree(b"<a>" * 100_000 + b"</a>" * 100_000)
    tree = xml_tree(b"<m><big><a/><a>1</a></big><b>2</b></m>", {"big"})
    assert [one.tag for one in tree.iter()] == ["m", "big", "b"]


@pytest.mark.slow
def test_a_few_hundred_kilobytes_do_not_become_a_gigabyte(tmp_path):
    bomb = gzip.compress(b"<modeling>" + b" " * 300_000_000, 9)
    assert len(bomb) < 400_000
    with pytest.raises(OverflowError, match="more than 32 MB"):
        xml_text(bomb, 10**10)
    (tmp_path / "vasprun.xml.gz").write_bytes(bomb)
    with pytest.raises(InputError, match="more than 32 MB"):
        read_vasprun(tmp_path / "vasprun.xml.gz")
    with pytest.raises(InputError, match="more than 32 MB, which no such file has"):
        XmlSource(tmp_path / "vasprun.xml.gz", "PAW data set", "Take another.")
    assert ALWAYS_EXPANDED == 32_000_000


def test_gzip_files_side_by_side_with_zeros_between_them(monkeypatch):
    data = b"".join(gzip.compress(part) + b"\0" * 5 for part in (b"one", b"", b"x" * 100_000))
    assert gunzipped(data, 10**6) == b"one" + b"x" * 100_000
    with pytest.raises(OverflowError):
        gunzipped(data, 100_002)
    with pytest.raises(EOFError):
        gunzipped(data[:-20], 10**6)
    with pytest.raises(zlib.error):
        gunzipped(data + b"rest", 10**6)
    monkeypatch.setattr(bounded, "MOST_MEMBERS", 2)
    with pytest.raises(OverflowError, match="more than 2 files"):
        gunzipped(data, 10**6)


def test_what_is_no_xml_is_told_by_the_parser():
    for text in (b"", b"<a>", b"\xff\xfe<"):
        with pytest.raises((ET.ParseError, ValueError)):
            xml_tree(text)
