"""Links to reports that need no sign-in: what they show, and when they end; over real HTTP."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx2
import pytest

from console.client.audit import AuditLog
from console.web.people import Role
from console.web.report_pages import ShareLinks
from tests.console.api.conftest import Api
from tests.console.web.test_home import browse
from workflows.config.settings import Settings


def share(api: Api, job: str) -> str:
    """The address of a new link."""
    with browse(api, Role.RESEARCHER) as web:
        assert web.post(f"/jobs/{job}/share", data={"days": "7"}).status_code == 303
        found: list[str] = re.findall(
            r'href="(http://[^"]+/shared/[^"]+)"', web.get(f"/jobs/{job}/share").text
        )
    return found[0]


def test_a_link_shows_one_version_of_one_report_and_nothing_else(api: Api, finished: str) -> None:
    address = share(api, finished)
    shown = httpx2.get(address)
    assert shown.status_code == 200
    assert "<form" not in shown.text
    assert "/jobs/" not in shown.text
    assert "form-action 'none'" in shown.headers["content-security-policy"]
    assert shown.headers["cache-control"] == "no-store"
    assert not shown.cookies
    root = address.partition("/shared/")[0]
    for path in ("/", f"/jobs/{finished}", f"/jobs/{finished}/report", f"/jobs/{finished}/share"):
        assert httpx2.get(f"{root}{path}").status_code == 401
    assert httpx2.get(address.replace(finished, "another-job")).status_code == 410
    acts = [line["act"] for line in AuditLog(api.state.settings).read(finished)]
    assert {"share", "open link"} <= set(acts)
    with browse(api, Role.READER) as reader:
        assert reader.post(f"/jobs/{finished}/share", data={"days": "7"}).status_code == 403
        assert reader.get(f"/jobs/{finished}/share").status_code == 403
        assert "Share it" not in reader.get(f"/jobs/{finished}").text
    with browse(api, Role.RESEARCHER) as web:
        assert web.post(f"/jobs/{finished}/share", data={"days": "400"}).status_code == 422


def test_a_link_ends_when_it_expires_is_revoked_or_the_key_is_gone(
    api: Api, finished: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = share(api, finished)
    name = address.rpartition("/")[2].partition("-")[0]
    with browse(api, Role.RESEARCHER) as web:
        assert web.post(f"/jobs/{finished}/share", data={"revoke": name}).status_code == 303
    assert httpx2.get(address).status_code == 410
    links = ShareLinks(Settings.read({"RESEARCH_HOME": str(tmp_path)}))
    link = links.create("job", 1, 1, "anna")
    secret = links.sign(link)
    assert links.find("job", secret) == link
    assert (tmp_path / "share.key").stat().st_mode & 0o077 == 0
    later = time.time() + 25 * 3600
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: later)
        assert links.find("job", secret) is None
    (tmp_path / "share.key").unlink()
    assert links.find("job", secret) is None


def test_who_guesses_links_is_locked_out(api: Api, finished: str) -> None:
    address, other = share(api, finished), share(api, finished)
    answers = [httpx2.get(f"{address[:-8]}{n:08x}").status_code for n in range(8)]
    assert 429 in answers
    assert set(answers) <= {410, 429}
    assert httpx2.get(other).status_code == 429, "a right one that was not used from there waits"
