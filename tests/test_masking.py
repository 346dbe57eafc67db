"""No message shows a password."""

import logging

import pytest

from stagepost.addresses import server_url
from stagepost.environment import from_environment
from stagepost.errors import StoreRefused
from stagepost.logs import JsonFormatter, TextFormatter
from stagepost.masking import masked
from stagepost.remote import Remote


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://user:secret@host/db", "postgresql://user:***@host/db"),
        ("redis://:secret@host:6379/0", "redis://:***@host:6379/0"),
        ("x://u:se/cr@et@host", "x://u:***@host"),
        ("x://u:12345secret@host", "x://u:***@host"),
        ('is "x://u:secret@h"; and "y://v:secret@h"', 'is "x://u:***@h"; and "y://v:***@h"'),
        ("x://host/db?user=u&password=secret&a=1", "x://host/db?user=u&password=***&a=1"),
        ("host=h password='se cret' dbname=d", "host=h password=*** dbname=d"),
        ("http://host:8080/path?mail=a@b", "http://host:8080/path?mail=a@b"),
        ("mail a:b@c, x://host:1/", "mail a:b@c, x://host:1/"),
    ],
)
def test_passwords_are_masked_and_nothing_else(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_log_lines_have_none(formatter: logging.Formatter) -> None:
    try:
        raise ValueError("no answer from x://u:secret@host")
    except ValueError as error:
        trace = (ValueError, error, error.__traceback__)
    arguments = ("y://u:secret@host",)
    record = logging.LogRecord("a", logging.INFO, "f", 1, "asked %s", arguments, trace)
    line = formatter.format(record)
    assert "y://u:***@host" in line
    assert "secret@" not in line


def test_addresses_in_refusals_have_none() -> None:
    with pytest.raises(ValueError, match=r"\*\*\*@") as refused:
        server_url("ftp://u:secret@host")
    assert "secret" not in str(refused.value)
    with pytest.raises(StoreRefused, match=r"\*\*\*@") as store:
        from_environment({"STAGEPOST_BLOBS": "s3://u:secret@host/b"}).blob_folder  # noqa: B018
    assert "secret" not in str(store.value)
    assert Remote("http://u:secret@host:1").url == "http://u:***@host:1"


def test_settings_do_not_show_them() -> None:
    address = "x://u:secret@host"
    names = ("STORE", "BROKER", "BUS", "BLOBS")
    settings = from_environment({f"STAGEPOST_{name}": address for name in names})
    assert "secret" not in repr(settings)
