"""Who may do what: roles, tenants, users, other sites' pages."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from stagepost.caller import Caller
from stagepost.records import Scope
from stagepost.web import bootstrap
from stagepost.web.keyring import hash_of, new_text
from stagepost.web.roles import ROLES, SHARED, Role, highest
from web.kit import API, BASE, Engine, engine_in, http, settings_for

ACME = Caller("acme", "ann", Scope("acme"))
TASK = "00000000-0000-7000-8000-000000000000"

PROTECTED = [(*route, role) for route, role in ROLES.items() if role is not None]


def concrete(path: str) -> str:
    """A path of a template."""
    filled = {
        "{task_id}": TASK,
        "{type}": "echo",
        "{name}": "a",
        "{call_id}": TASK,
        "{key_id}": TASK,
        "{schedule_id}": TASK,
        "{lane}": "batch",
        "{tenant}": "acme",
    }
    for part, value in filled.items():
        path = path.replace(part, value)
    return path


class TestRoles:
    @pytest.mark.parametrize("role", list(Role))
    async def test_each_route_by_each_role(self, keyed: Engine, role: Role) -> None:
        headers = await keyed.key(role.word, tenant="default")
        async with http(keyed) as client:
            for method, path, least in PROTECTED:
                response = await client.request(method, concrete(path), headers=headers)
                allowed = response.status_code not in {401, 403}
                assert allowed is (role >= least), (method, path, response.text)
                if not allowed:
                    assert response.json()["type"] == "urn:stagepost:problem:forbidden"
                    assert least.word in response.json()["detail"]

    async def test_what_all_tenants_share_is_changed_by_the_first_tenant_alone(
        self, keyed: Engine
    ) -> None:
        headers = await keyed.key("admin", tenant="acme")
        async with http(keyed) as client:
            for method, path, _ in PROTECTED:
                response = await client.request(method, concrete(path), headers=headers)
                refused = response.status_code == 403
                assert refused is ((method, path) in SHARED), (method, path, response.text)
                if refused:
                    assert "the tenant default" in response.json()["detail"]
        assert len(SHARED) >= 11

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": "Bearer sp_live_" + "x" * 43},
            {"Authorization": "Bearer nonsense"},
            {"Authorization": "Basic dXNlcjpwYXNz"},
            {"Authorization": ""},
            {"X-Tenant-Id": "acme"},
        ],
    )
    async def test_each_route_without_a_key(self, keyed: Engine, headers: dict[str, str]) -> None:
        async with http(keyed) as client:
            for method, path, _ in PROTECTED:
                response = await client.request(method, concrete(path), headers=headers)
                assert response.status_code == 401, response.text
                assert response.headers["www-authenticate"] == "Bearer"
                assert response.json()["type"] == "urn:stagepost:problem:unauthorized"

    async def test_the_open_routes(self, keyed: Engine) -> None:
        async with http(keyed) as client:
            for route, role in ROLES.items():
                if role is None:
                    expected = 307 if route == ("GET", "/") else 200
                    assert (await client.request(*route)).status_code == expected

    def test_a_role_includes_the_ones_before_it(self) -> None:
        assert highest(["read", "operate"]) is Role.OPERATE
        assert highest(["unknown"]) is Role.READ

    async def test_the_body_of_a_stranger_is_not_read(self, keyed: Engine) -> None:
        read = False

        async def body() -> Any:
            nonlocal read
            read = True
            yield b"{}"

        async with http(keyed) as client:
            response = await client.post(
                f"{API}/tasks/echo", content=body(), headers={"content-type": "application/json"}
            )
        assert (response.status_code, read) == (401, False)


class TestTenants:
    async def test_a_key_sees_its_tenant_only(self, keyed: Engine) -> None:
        task_id = (await keyed.submit(caller=ACME)).task_id
        async with http(keyed) as client:
            for tenant, status in (("acme", 200), ("other", 404)):
                headers = await keyed.key("admin", tenant=tenant)
                for part in ("", "/status", "/events", "/steps", "/artifacts"):
                    response = await client.get(f"{API}/tasks/{task_id}{part}", headers=headers)
                    assert response.status_code == status
                listed = await client.get(f"{API}/tasks", headers=headers)
                assert len(listed.json()["items"]) == (1 if status == 200 else 0)
            response = await client.post(f"{API}/tasks/{task_id}/cancel", headers=headers)
            assert response.status_code == 404

    async def test_a_key_does_not_believe_headers(self, keyed: Engine) -> None:
        headers = {**await keyed.key("submit"), "X-Tenant-Id": "other", "X-User-Id": "bob"}
        async with http(keyed) as client:
            sent = await client.post(f"{API}/tasks/echo", json={}, headers=headers)
            task = (await client.get(sent.headers["location"], headers=headers)).json()

        assert (task["tenant"], task["user"]) == ("acme", "key:test")

    async def test_a_bound_key_sees_its_user_only(self, keyed: Engine) -> None:
        mine = await keyed.key("operate", user="ann")
        theirs = await keyed.key("operate", user="bob")
        async with http(keyed) as client:
            sent = await client.post(f"{API}/tasks/echo", json={}, headers=mine)
            task_id = sent.json()["taskId"]
            for headers, status, count in ((mine, 200, 1), (theirs, 404, 0)):
                one = await client.get(f"{API}/tasks/{task_id}", headers=headers)
                listed = await client.get(f"{API}/tasks", headers=headers)
                asked = await client.get(f"{API}/tasks?user=ann", headers=headers)
                assert one.status_code == status
                assert len(listed.json()["items"]) == len(asked.json()["items"]) == count
            refused = await client.post(f"{API}/tasks/{task_id}/cancel", headers=theirs)
            assert refused.status_code == 404

    async def test_keys_with_one_idempotency_key_are_apart(self, keyed: Engine) -> None:
        async with http(keyed) as client:
            ids = set()
            for tenant, user in (("acme", None), ("acme", "ann"), ("other", None)):
                headers = await keyed.key("submit", tenant=tenant, user=user)
                headers["Idempotency-Key"] = "same"
                sent = await client.post(f"{API}/tasks/echo", json={}, headers=headers)
                ids.add(sent.json()["taskId"])
        assert len(ids) == 3

    async def test_another_tenants_upload_is_not_there(self, keyed: Engine) -> None:
        acme, other = await keyed.key("submit"), await keyed.key("submit", tenant="other")
        async with http(keyed) as client:
            files = {"file": ("a.txt", b"x")}
            kept = await client.post(f"{API}/uploads", files=files, headers=acme)
            value = {"file": kept.json()["uploadId"]}
            answers = [
                await client.post(f"{API}/tasks/review", json=value, headers=headers)
                for headers in (acme, other)
            ]
        assert [answer.status_code for answer in answers] == [202, 422]


class TestLocal:
    async def test_headers_are_believed(self, engine: Engine, client: httpx.AsyncClient) -> None:
        headers = [(b"X-Tenant-Id", b"acme"), (b"X-User-Id", "änn".encode())]
        sent = await client.post(f"{API}/tasks/echo", json={}, headers=headers)
        task = (await client.get(sent.headers["location"])).json()

        assert (task["tenant"], task["user"]) == ("acme", "änn")

    async def test_without_them_a_task_is_local(self, client: httpx.AsyncClient) -> None:
        sent = await client.post(f"{API}/tasks/echo", json={})
        task = (await client.get(sent.headers["location"])).json()

        assert (task["tenant"], task["user"]) == ("local", "local")

    @pytest.mark.parametrize("value", [b"", b"x" * 129, b"a\x01b", b"\xff\xfe"])
    async def test_a_bad_header_is_refused(self, client: httpx.AsyncClient, value: bytes) -> None:
        response = await client.get(f"{API}/tasks", headers=[(b"X-Tenant-Id", value)])

        assert (response.status_code, response.json()["type"]) == (
            400,
            "urn:stagepost:problem:bad-request",
        )

    @pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:9", "127.1.2.3:1"])
    async def test_names_of_this_machine(self, client: httpx.AsyncClient, host: str) -> None:
        assert (await client.get("/healthz", headers={"Host": host})).status_code == 200

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost.evil.example:8080",
            "",
            "[",
            "10.0.0.1",
        ],
    )
    async def test_a_name_that_was_rebound_is_refused(
        self, client: httpx.AsyncClient, host: str
    ) -> None:
        for path in ("/healthz", f"{API}/tasks", "/nowhere"):
            response = await client.get(path, headers={"Host": host})
            assert response.status_code == 403
            assert response.json()["type"] == "urn:stagepost:problem:forbidden"

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "https://evil.example"},
            {"Origin": "http://127.0.0.1:9999"},
            {"Origin": "null"},
            {"Origin": ""},
            {"Origin": "http://[::1"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Origin": "null"},
        ],
    )
    async def test_pages_of_other_sites_are_kept_out(
        self, engine: Engine, client: httpx.AsyncClient, headers: dict[str, str]
    ) -> None:
        response = await client.post(f"{API}/tasks/echo", json={}, headers=headers)

        assert response.status_code == 403
        assert (await client.get(f"{API}/tasks")).json()["items"] == []

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": BASE},
            {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Origin": BASE},
            {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        ],
    )
    async def test_our_own_pages_and_links_to_them_work(
        self, client: httpx.AsyncClient, headers: dict[str, str]
    ) -> None:
        assert (await client.get("/docs", headers=headers)).status_code == 200

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
    def test_it_serves_this_machine_only(self, tmp_path: Path, host: str) -> None:
        settings = settings_for(tmp_path, {}, host=host)

        with pytest.raises(ValueError, match="STAGEPOST_AUTH=keys"):
            settings.check_exposure()
        settings.with_(auth=("keys",)).check_exposure()
        settings.with_(host="127.0.0.1").check_exposure()


class TestBoth:
    async def test_a_key_counts_where_it_is_sent(self, tmp_path: Path) -> None:
        async with engine_in(tmp_path, auth=("local", "keys")) as engine, http(engine) as client:
            headers = await engine.key("read")
            with_key = await client.post(f"{API}/tasks/echo", json={}, headers=headers)
            without = await client.post(f"{API}/tasks/echo", json={})
            wrong = await client.get(f"{API}/tasks", headers={"Authorization": "Bearer x"})
        statuses = [with_key.status_code, without.status_code, wrong.status_code]
        assert statuses == [403, 202, 401]


class TestKeys:
    async def test_one_is_made_shown_once_and_works(self, keyed: Engine) -> None:
        admin = await keyed.key("admin")
        async with http(keyed) as client:
            sent = {"name": "ci", "roles": ["read", "submit"], "user": "ann"}
            made = await client.post(f"{API}/keys", json=sent, headers=admin)
            assert made.status_code == 201
            body = made.json()
            assert set(body) == {"keyId", "key", "name", "roles", "user", "createdAt"}
            assert body["key"].startswith("sp_live_")
            new = {"Authorization": f"Bearer {body['key']}"}
            assert (await client.get(f"{API}/tasks", headers=new)).status_code == 200
            listed = await client.get(f"{API}/keys", headers=admin)
            assert body["key"] not in listed.text
            item = next(i for i in listed.json()["items"] if i["keyId"] == body["keyId"])
            assert item.pop("tenant") == "acme"
            assert item == {name: body[name] for name in item}
        stored = await keyed.store.keys("acme")
        assert hash_of(body["key"]) in {key.hash for key in stored}
        assert not any(body["key"] in repr(key) for key in stored)

    async def test_a_key_makes_none_of_another_tenant(self, keyed: Engine) -> None:
        admin = await keyed.key("admin")
        sent = {"name": "x", "roles": ["read"]}
        async with http(keyed) as client:
            for tenant, expected in (("other", 403), ("acme", 201)):
                headers = {**admin, "X-Tenant-Id": tenant}
                made = await client.post(f"{API}/keys", json=sent, headers=headers)
                assert made.status_code == expected, made.text
            refused = await client.get(f"{API}/keys", headers={**admin, "X-Tenant-Id": "other"})
            assert "of the tenant acme" in refused.json()["detail"]
            # Elsewhere the header does not count, as the contract has it.
            headers = {**admin, "X-Tenant-Id": "other"}
            assert (await client.get(f"{API}/tasks", headers=headers)).status_code == 200

    async def test_a_revoked_key_opens_nothing(self, keyed: Engine) -> None:
        admin = await keyed.key("admin")
        async with http(keyed) as client:
            made = await client.post(
                f"{API}/keys", json={"name": "x", "roles": ["read"]}, headers=admin
            )
            new = {"Authorization": f"Bearer {made.json()['key']}"}
            assert (await client.get(f"{API}/tasks", headers=new)).status_code == 200
            path = f"{API}/keys/{made.json()['keyId']}"
            answers = [await client.delete(path, headers=admin) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [204, 404]
            assert (await client.get(f"{API}/tasks", headers=new)).status_code == 401

    async def test_a_key_revoked_elsewhere_is_forgotten_soon(self, keyed: Engine) -> None:
        headers = await keyed.key("read")
        async with http(keyed) as client:
            assert (await client.get(f"{API}/tasks", headers=headers)).status_code == 200
            key = (await keyed.store.keys("acme"))[0]
            await keyed.store.revoke_key(key.id, "acme")
            status = 200
            for _ in range(600):
                status = (await client.get(f"{API}/tasks", headers=headers)).status_code
                if status == 401:
                    break
                await asyncio.sleep(0.05)
            assert status == 401

    async def test_another_tenants_key_is_not_there(self, keyed: Engine) -> None:
        await keyed.key("read", tenant="acme")
        other = await keyed.key("admin", tenant="other")
        key = (await keyed.store.keys("acme"))[0]
        async with http(keyed) as client:
            assert (await client.delete(f"{API}/keys/{key.id}", headers=other)).status_code == 404
            listed = await client.get(f"{API}/keys", headers=other)
            assert [item["name"] for item in listed.json()["items"]] == ["test"]
        assert await keyed.store.keys("acme") == [key]

    @pytest.mark.parametrize(
        "body",
        [
            None,
            {"name": "x"},
            {"name": "", "roles": ["read"]},
            {"name": "a\nb", "roles": ["read"]},
            {"name": "x", "roles": []},
            {"name": "x", "roles": ["root"]},
            {"name": "x", "roles": "read"},
            {"name": "x", "roles": ["read"], "tenant": "other"},
            {"name": "x", "roles": ["read"], "user": "key:x"},
            {"name": "x", "roles": ["read"], "user": ""},
            {"name": "x", "roles": ["read", "admin"], "user": "ann"},
        ],
    )
    async def test_a_bad_key_is_refused(
        self, engine: Engine, client: httpx.AsyncClient, body: Any
    ) -> None:
        response = await client.post(f"{API}/keys", json=body)

        assert response.status_code == 422
        assert await engine.store.keys(None) == []

    async def test_there_is_a_most(
        self, engine: Engine, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("stagepost.web.keys._KEYS_MOST", 2)
        sent = {"name": "x", "roles": ["read"]}
        answers = [await client.post(f"{API}/keys", json=sent) for _ in range(3)]

        assert [answer.status_code for answer in answers] == [201, 201, 409]


class TestBootstrap:
    async def test_a_store_without_keys_gets_one_admin_once(self, keyed: Engine) -> None:
        text = await bootstrap(keyed.store, keyed.settings)
        again = await bootstrap(keyed.store, keyed.settings)

        assert text is not None
        assert again is None
        async with http(keyed, Authorization=f"Bearer {text}") as client:
            sent = await client.post(f"{API}/keys", json={"name": "x", "roles": ["admin"]})
            assert sent.status_code == 201
        assert (await keyed.store.keys(None))[0].tenant == "default"

    async def test_the_operator_may_bring_it(self, keyed: Engine) -> None:
        text = "sp_live_" + "A1_-" * 10
        settings = keyed.settings.with_(bootstrap_key=text)

        assert await bootstrap(keyed.store, settings) is None
        async with http(keyed, Authorization=f"Bearer {text}") as client:
            assert (await client.get(f"{API}/keys")).status_code == 200

    @pytest.mark.parametrize("text", ["secret", "sp_live_short", "sp_live_" + "x" * 129])
    async def test_what_can_not_be_a_key_is_refused(self, keyed: Engine, text: str) -> None:
        with pytest.raises(ValueError, match="STAGEPOST_BOOTSTRAP_KEY"):
            await bootstrap(keyed.store, keyed.settings.with_(bootstrap_key=text))

    async def test_the_local_mode_needs_none(self, engine: Engine) -> None:
        assert await bootstrap(engine.store, engine.settings) is None
        assert await engine.store.keys(None) == []


async def test_of_two_processes_that_start_at_once_with_one_first_key_both_start(
    tmp_path: Path,
) -> None:
    async with engine_in(tmp_path, auth=("keys",), bootstrap_key=new_text()) as engine:

        class Beaten:
            """The store as the slower one sees it: empty when it looks, not when it writes."""

            looked = False

            async def keys(self, tenant: str | None) -> object:
                if not self.looked:
                    self.looked = True
                    assert await bootstrap(engine.store, engine.settings) is None
                    return ()
                return await engine.store.keys(tenant)

            async def add_key(self, key: Any) -> object:
                return await engine.store.add_key(key)

        beaten: Any = Beaten()
        assert await bootstrap(beaten, engine.settings) is None
        assert len(await engine.store.keys(None)) == 1
