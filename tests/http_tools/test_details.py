"""When a job is looked at again, which deliveries count as signed, and whose certificate is believed."""

import base64
import datetime
import hashlib
import hmac
import shutil
import ssl
import subprocess
from email.utils import format_datetime
from pathlib import Path

import pytest

from ringback.services.callbacks import Delivery, is_signed
from ringback.worker.runtimes.http_pace import Pace, retry_after_s
from tests.http_tools.attempt import tried
from tests.http_tools.other_side import OtherSide, Say

NOW_S = 1_800_000_000
KEY = b"a key of the job api"
SECRET = "whsec_" + base64.b64encode(KEY).decode()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("0", 0.0),
        (" 7 ", 7.0),
        ("99999999999999999999", 3600.0),
        ("Tue, 01 Jan 2019 00:00:00 GMT", 0.0),
        ("Tue, 01 Jan 2999 00:00:00 GMT", 3600.0),
        ("Tue, 99 Jan 2019 00:00:00 GMT", None),
    ],
)
def test_retry_after(value: str | None, seconds: float | None) -> None:
    assert retry_after_s(value) == seconds


def test_retry_after_as_a_date() -> None:
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60)
    found = retry_after_s(format_datetime(at, usegmt=True))
    assert found is not None
    assert 30 < found <= 60


def test_waits_grow_to_their_limit_and_are_never_shorter_than_asked_for() -> None:
    pace = Pace(1.0, 4.0)
    for least in (1.0, 1.5, 2.25, 3.375, 4.0, 4.0):
        assert least <= pace.wait_s() <= least * 1.25
    assert 10.0 <= pace.wait_s(10.0) <= 12.5
    assert 4.0 <= pace.wait_s() <= 5.0
    pace.reset()
    assert pace.wait_s() <= 1.25
    assert len({pace.wait_s(5.0) for _ in range(20)}) > 1  # not in step


def signature(body: bytes, *, at_s: int = NOW_S, name: str = "msg_1") -> str:
    mac = hmac.new(KEY, f"{name}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(mac).decode()}"


@pytest.mark.parametrize(
    ("delivery", "is_good"),
    [
        (Delivery(body=b"x", webhook_id="msg_1", timestamp=str(NOW_S), signature=signature(b"x")), True),
        (
            Delivery(body=b"x", webhook_id="msg_1", timestamp=str(NOW_S), signature=f"v1a,zz v1,AA {signature(b'x')}"),
            True,
        ),
        (
            Delivery(
                body=b"x",
                webhook_id="msg_1",
                timestamp=str(NOW_S - 300),
                signature=signature(b"x", at_s=NOW_S - 300),
            ),
            True,
        ),
        (
            Delivery(
                body=b"x",
                webhook_id="msg_1",
                timestamp=str(NOW_S - 301),
                signature=signature(b"x", at_s=NOW_S - 301),
            ),
            False,
        ),
        (Delivery(body=b"y", webhook_id="msg_1", timestamp=str(NOW_S), signature=signature(b"x")), False),
        (Delivery(body=b"x", webhook_id="msg_2", timestamp=str(NOW_S), signature=signature(b"x")), False),
        (Delivery(body=b"x", webhook_id=None, timestamp=str(NOW_S), signature=signature(b"x")), False),
        (Delivery(body=b"x", webhook_id="msg_1", timestamp=None, signature=signature(b"x")), False),
        (Delivery(body=b"x", webhook_id="msg_1", timestamp="now", signature=signature(b"x")), False),
        (Delivery(body=b"x", webhook_id="msg_1", timestamp=str(NOW_S), signature=None), False),
        (Delivery(body=b"x", webhook_id="msg_1", timestamp=str(NOW_S), signature="v1,"), False),
    ],
)
def test_signatures(delivery: Delivery, is_good: bool) -> None:
    assert is_signed(delivery, SECRET, now_s=NOW_S) is is_good
    assert not is_signed(delivery, "whsec_", now_s=NOW_S)
    assert not is_signed(delivery, "no base64 at all!", now_s=NOW_S)


async def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl here to make a certificate with")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, "req", "-x509", *made, *subject], check=True, capture_output=True)  # noqa: ASYNC221 - once
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with OtherSide(lambda _: Say(200, {}), tls=context) as api:
        assert api.url.startswith("https://")
        async with tried() as it:
            outcome = await it.run({"url": f"{api.url}/jobs"})
            assert outcome.kind == "failed"
            assert "CERTIFICATE_VERIFY_FAILED" in (outcome.error_message or "").upper().replace(" ", "_")
            assert it.server.checkpoints[-1] == {"phase": "new", "start": 1}  # nothing was sent
        assert api.seen == []
