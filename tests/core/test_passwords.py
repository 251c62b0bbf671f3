"""Passwords are hashed a few at a time, by separate threads."""

import os
import signal
import sys
import threading
import time
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password
from django.test import Client as Browser

from accounts.models import Account
from core import passwords
from core.http.error_pages import ServiceBusy
from core.serving import work_pool
from core.serving.work_pool import WorkPool
from tests.factories import PASSWORD

GUESSES = 5  # of one account, from one address (GUESSES_PER_ACCOUNT_AND_ADDRESS)


@pytest.fixture
def bounded(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PASSWORD_HASHERS = ["core.passwords.BoundedPBKDF2PasswordHasher"]
    monkeypatch.setattr(PBKDF2PasswordHasher, "iterations", 10)


@pytest.fixture
def closed(bounded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that takes nobody."""
    pool = WorkPool("passwords", 1, most=0, seconds=1)
    monkeypatch.setattr(passwords, "hashing_pool", lambda: pool)


def test_all_ways_of_hashing_go_through_the_pool(bounded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    real = PBKDF2PasswordHasher.encode

    def encode(self: Any, *given: Any) -> str:
        threads.append(threading.current_thread().name)
        return str(real(self, *given))

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    encoded = make_password("secret")
    assert encoded.startswith("pbkdf2_sha256$10$")
    assert check_password("secret", encoded)
    assert not check_password("another", encoded)
    assert not check_password("secret", "!unusable")  # takes as long as a password
    assert len(threads) == 4
    assert {name.partition(" ")[0] for name in threads} == {"passwords"}


def test_requests_of_one_ip_address_that_wait_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[bool] = []

    def sleep(seconds: float) -> None:
        """While a request waits, let another one begin to wait."""
        if seconds:
            waiting.append(True)
            if not passwords.pause(1, "one"):
                assert passwords.pause(0, "another")

    monkeypatch.setattr(time, "sleep", sleep)
    for _ in range(2):
        assert passwords.pause(1, "one")
    assert len(waiting) == 2 * passwords.MOST_PAUSED_TOGETHER


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives a thread a separate priority")
def test_threads_that_hash_leave_the_processor_to_others() -> None:
    pool = WorkPool("passwords", 1, most=1, seconds=5)
    assert pool.run(lambda: str(os.getpriority(os.PRIO_PROCESS, 0))) == str(work_pool.NICENESS)
    assert os.getpriority(os.PRIO_PROCESS, 0) == 0


def test_so_many_hash_at_once_and_so_many_wait() -> None:
    pool = WorkPool("passwords", 1, most=2, seconds=5)
    gate = threading.Event()
    running = []

    def hash_password() -> str:
        running.append(threading.get_ident())
        gate.wait(5)
        return "hash"

    both = [threading.Thread(target=pool.run, args=(hash_password,)) for _ in range(2)]
    for one in both:
        one.start()
    time.sleep(0.1)
    assert len(running) == 1
    with pytest.raises(ServiceBusy):
        pool.run(hash_password)
    gate.set()
    for one in both:
        one.join()
    assert len(running) == 2
    assert pool.run(lambda: "again") == "again"


def test_a_password_that_waited_too_long_is_not_hashed() -> None:
    pool = WorkPool("passwords", 1, most=4, seconds=0.1)
    gate = threading.Event()

    def hold() -> None:
        with pytest.raises(ServiceBusy):
            pool.run(lambda: str(gate.wait(5)))

    holding = threading.Thread(target=hold)
    holding.start()
    time.sleep(0.02)
    hashed: list[str] = []

    def late() -> str:
        hashed.append("late")
        return "late"

    with pytest.raises(ServiceBusy):
        pool.run(late)
    gate.set()
    holding.join()
    assert pool.run(lambda: "next") == "next"
    assert hashed == []


def test_an_error_reaches_its_caller_and_the_thread_goes_on() -> None:
    pool = WorkPool("passwords", 1, most=1, seconds=5)

    def fail() -> str:
        raise ValueError("salt")

    with pytest.raises(ValueError, match="salt"):
        pool.run(fail)
    assert pool.run(lambda: "next") == "next"


@pytest.mark.parametrize("login", ["ada@example.com", "nobody@example.com"])
def test_beyond_the_limit_a_sign_in_gets_503(person: Account, closed: None, login: str) -> None:
    response = Browser().post("/account/login/", {"login": login, "password": PASSWORD})
    assert response.status_code == 503
    assert 1 <= int(response["Retry-After"]) <= 60
    assert "be back shortly" in response.content.decode()
    assert "openport_session" not in response.cookies


def test_a_sign_in_that_was_sent_away_is_not_a_wrong_guess(person: Account, closed: None) -> None:
    form = {"login": person.email, "password": PASSWORD}
    browser = Browser()
    for _ in range(GUESSES + 1):
        assert browser.post("/account/login/", form).status_code == 503


@pytest.mark.parametrize("address", ["ada@example.com", "nobody@example.com"])
def test_so_is_a_sign_up(person: Account, closed: None, address: str) -> None:
    form = {"email": address, "given_name": "Eve", "family_name": "", "password1": "a quiet evening 42"}
    assert Browser().post("/account/signup/", form).status_code == 503
    assert Account.objects.count() == 1


def test_a_process_that_is_forked_hashes_with_threads_of_its_own(bounded: None) -> None:
    """`serve --demo` hashes the passwords of the demo, and makes its workers after that."""
    hashed = make_password("violet")
    child = os.fork()
    if child == 0:  # pragma: no cover
        os._exit(0 if check_password("violet", hashed) else 1)
    deadline = time.monotonic() + 10
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    if ended == (0, 0):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert ended == (child, 0)
