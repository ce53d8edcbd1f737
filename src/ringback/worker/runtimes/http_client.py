"""One exchange with somebody else's server: bounded in time and size, and careful about where secrets go.

* A redirect, like any other link, leads to the profile's own origins or to those that it allows; anything else is refused.
* The profile's headers go to its own origins only. Elsewhere nothing is sent that the profile, a secret or a caller put there.
* An answer is read up to a limit and no further. TLS is verified, always. Cookies are neither kept nor sent.

Nothing is repeated here. An `ExchangeError` says whether the other side may have acted.
"""

import asyncio
import http.cookiejar
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urldefrag, urljoin

import httpx2

from ringback import __version__
from ringback.domain.http_request import HttpRequest
from ringback.domain.http_template import MISSING, origin_of
from ringback.domain.json_values import flaws_of

REDIRECTS_MAX: Final = 5
CONNECT_WITHIN_S: Final = 10.0
URL_MAX: Final = 16_000
NEVER_SENT: Final = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
    httpx2.InvalidURL,
    httpx2.LocalProtocolError,
    httpx2.ProxyError,
)
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_BARE: Final = {
    "accept": "application/json, */*;q=0.5",
    "accept-encoding": "identity",
    "user-agent": f"ringback/{__version__}",
}


class ExchangeError(Exception):
    """There is no answer that can be used.

    Attributes:
        was_sent: whether the other side may have acted on the request.
        is_forbidden: the answer led where the profile doesn't allow to go; asking again leads there again.
    """

    def __init__(self, message: str, *, was_sent: bool, is_forbidden: bool = False) -> None:
        super().__init__(message)
        self.was_sent, self.is_forbidden = was_sent, is_forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Where requests of one attempt may go, and what they may cost."""

    own: frozenset[str]
    others: frozenset[str]
    within_s: float
    bytes_max: int

    def resolved(self, link: str, base: str) -> str:
        """`link` as an absolute URL, seen from `base`.

        Raises:
            ExchangeError: it leads to an origin that the profile does not allow.
        """
        try:
            url = urldefrag(urljoin(base, link.strip())).url
            origin = origin_of(url) if len(url) <= URL_MAX else None
        except ValueError:
            origin = None
        if origin is None or origin not in self.own | self.others:
            place = origin or "something that is no http(s) address"
            raise ExchangeError(
                f"a link leads to {place}, which the tool does not allow", was_sent=True, is_forbidden=True
            )
        return url


@dataclass(frozen=True, slots=True, kw_only=True)
class WebAnswer:
    """What came back; the names of headers are in lower case."""

    status: int
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    document: Any = MISSING
    """The body as JSON; MISSING where it is none."""

    @property
    def is_success(self) -> bool:
        return 200 <= self.status <= 299

    @property
    def text(self) -> str | None:
        """The body as text; None when it is none that a ledger keeps."""
        try:
            text = self.body.decode()
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else text


class Fetcher:
    """Shares connections between the attempts of one worker."""

    def __init__(self) -> None:
        """Nothing is opened yet."""
        jar = http.cookiejar.CookieJar(policy=http.cookiejar.DefaultCookiePolicy(allowed_domains=[]))
        limits = httpx2.Limits(max_connections=200, max_keepalive_connections=20, keepalive_expiry=15.0)
        self._client = httpx2.AsyncClient(limits=limits, cookies=jar, follow_redirects=False)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def ask(self, request: HttpRequest, reach: Reach, *, keeps_see_other: bool = False) -> WebAnswer:
        """Send it, and what redirects ask for.

        Args:
            keeps_see_other: 303 is an answer of its own: the job is done, and its result is elsewhere.

        Raises:
            ExchangeError: no answer in time, one that is too large or no HTTP, or a link that may not be followed.
        """
        now, was_sent = request, False
        for _ in range(REDIRECTS_MAX + 1):
            answer = await self._exchange(now, reach, was_sent=was_sent)
            was_sent = True
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None or (answer.status == 303 and keeps_see_other):
                return answer
            now = _redirected(now, answer.status, reach.resolved(location, now.url))
        raise ExchangeError(f"more than {REDIRECTS_MAX} redirects", was_sent=True)

    async def _exchange(self, request: HttpRequest, reach: Reach, *, was_sent: bool) -> WebAnswer:
        headers = dict(_BARE)
        if origin_of(request.url) in reach.own:
            headers |= {name.lower(): value for name, value in request.headers.items()}
        if request.content_type is not None:
            headers["content-type"] = request.content_type
        timeout = httpx2.Timeout(reach.within_s, connect=min(CONNECT_WITHIN_S, reach.within_s))
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        try:
            async with asyncio.timeout(reach.within_s):
                sent = self._client.build_request(
                    request.method, request.url, headers=raw, content=request.body, timeout=timeout
                )
                response = await self._client.send(sent, stream=True)
                try:
                    return await _read(response, reach.bytes_max)
                finally:
                    await response.aclose()
        except NEVER_SENT as error:
            raise ExchangeError(_told(error), was_sent=was_sent) from None
        except TimeoutError:
            raise ExchangeError(f"no answer within {reach.within_s:g} s", was_sent=True) from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise ExchangeError(_told(error), was_sent=True) from None


def _redirected(request: HttpRequest, status: int, url: str) -> HttpRequest:
    """The next request. A body goes on only to the origin that it was meant for."""
    if status in (301, 302, 303) and request.method not in ("GET", "HEAD"):
        return HttpRequest(method="GET", url=url, headers=request.headers)
    if request.body is not None and origin_of(url) != origin_of(request.url):
        message = "a redirect would send the request's body to another origin"
        raise ExchangeError(message, was_sent=True, is_forbidden=True)
    return HttpRequest(
        method=request.method,
        url=url,
        headers=request.headers,
        body=request.body,
        content_type=request.content_type,
    )


async def _read(response: httpx2.Response, bytes_max: int) -> WebAnswer:
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > bytes_max:
            raise ExchangeError(f"the answer has more than {bytes_max} bytes", was_sent=True)
    headers = {name.lower(): value for name, value in response.headers.items()}
    return WebAnswer(
        status=response.status_code,
        url=str(response.url),
        headers=headers,
        body=bytes(body),
        document=document_of(bytes(body)),
    )


def document_of(body: bytes) -> Any:
    """`body` as JSON that a ledger keeps; MISSING when it is none."""
    if not body.strip():
        return MISSING
    try:
        value = json.loads(body, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return MISSING
    return MISSING if next(flaws_of(value), None) else value


def _refuse(constant: str) -> Any:
    raise ValueError(constant)


def _told(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
