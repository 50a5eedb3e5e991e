"""How often and how fast an endpoint is asked, again after trouble, no more than allowed; and whatever it answers."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import count, pairwise
from time import monotonic, sleep
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.inference.backends.captioners import BackendDownError, Captioner, Decoding, FailedImage, GeneratedCaption
from research.inference.backends.endpoint_answers import NoAnswerError, content_of
from research.inference.backends.endpoint_calls import AdaptiveLimit, RateLimiter
from tests.inference.fake_endpoint import HANGS_S, Answer, FakeTime, completion

BUSY = b'{"error": {"message": "Slow down"}}'
NAMES = st.sampled_from(["choices", "message", "content", "refusal", "finish_reason", "type", "text", "error"])
WORD = "xqzv"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([WORD, "", "text", "stop", "length"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def ask(captioner: Captioner, *, images: int = 1) -> list[GeneratedCaption | FailedImage]:
    keys = [str(number) for number in range(images)]
    return captioner.caption(["data:image/jpeg;base64,AA=="] * images, keys=keys, language="en", decoding=Decoding())


@pytest.mark.long(reason="at least three others run each of its lines")
@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_an_answer_that_may_be_better_next_time_is_asked_for_again(server, load, fake_time, status):
    server.answers = [Answer(body=BUSY, status=status)] * 2

    assert ask(load()) == [GeneratedCaption("A red door.")]
    assert len(server.asked) == 3
    # Twice as long each time, by chance up to half of it less.
    assert len(fake_time.waits) == 2
    assert 0.5 <= fake_time.waits[0] <= 1 <= fake_time.waits[1] <= 2


@pytest.mark.parametrize("answer", [Answer(drops=True), Answer("A red door.", cuts=True)])
def test_a_broken_connection_is_made_anew(server, load, answer):
    server.answers = [answer]

    assert ask(load()) == [GeneratedCaption("A red door.")]
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_an_answer_that_will_not_be_better_is_not_asked_for_again(server, load, status, fake_time):
    server.answers = [Answer(body=BUSY, status=status)]

    (failed,) = ask(load())

    assert failed == FailedImage(f"The endpoint “lab” rejected the request ({status}, “Slow down”).")
    assert len(server.asked) == 1
    assert fake_time.waits == []


def test_pauses_differ_by_chance_so_that_workers_do_not_come_back_together(server, load, fake_time):
    pauses = []
    for seed in (1, 2):
        server.answers = [Answer(body=BUSY, status=500)] * 5
        ask(load(seed=seed))
        pauses.append(fake_time.waits)
        fake_time.waits = []
    first, second = pauses
    assert len(first) == len(second) == 5
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    ("status", "after", "least", "most"),
    [(429, "37", 37, 37), (503, "in a minute", 40, 60), (429, "soon", 0.5, 1)],
    ids=["seconds", "a date", "nonsense, which is as nothing"],
)
def test_as_long_is_waited_as_the_server_asks_for(server, load, fake_time, status, after, least, most):
    if after == "in a minute":
        after = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    server.answers = [Answer(body=BUSY, status=status, headers={"Retry-After": after})]
    assert ask(load()) == [GeneratedCaption("A red door.")]
    (waited,) = fake_time.waits
    assert least <= waited <= most


def test_a_server_that_wants_to_be_left_alone_for_long_ends_the_run(server, load, fake_time):
    server.answers = [Answer(body=BUSY, status=429, headers={"Retry-After": "3600"})]

    with pytest.raises(BackendDownError, match=r"too many requests .429, “Slow down”.* It asks for a wait of 3600 s"):
        ask(load())
    assert fake_time.waits == []


@pytest.mark.parametrize("status", [429, 503])
def test_limits_that_do_not_end_stop_the_batch_and_blame_no_image(server, load, status):
    server.always = lambda asked: Answer(body=BUSY, status=status)

    with pytest.raises(BackendDownError, match="It was asked 3 times"):
        ask(load(retries=2, concurrency=1), images=9)

    assert len(server.asked) == 3


def test_an_image_that_a_server_breaks_on_fails_alone(server, load):
    server.answers = [Answer("One."), *[Answer(body=BUSY, status=500)] * 3, Answer("Three.")]

    first, second, third = ask(load(retries=2, concurrency=1), images=3)

    assert (first, third) == (GeneratedCaption("One."), GeneratedCaption("Three."))
    assert second == FailedImage("The endpoint “lab” failed (500, “Slow down”). It was asked 3 times.")


def test_where_nothing_is_answered_an_easy_question_tells_whether_the_endpoint_is_down(server, load):
    captioner = load(retries=0)
    server.always = lambda asked: Answer(body=b"<html>Bad gateway", status=502)
    assert [type(one) for one in ask(captioner, images=2)] == [FailedImage, FailedImage]

    server.models = Answer(body=b"<html>Bad gateway", status=502)
    with pytest.raises(BackendDownError, match=r"The endpoint “lab” is down\. The endpoint “lab” failed .502."):
        ask(captioner, images=2)


def test_an_answer_that_trickles_in_for_ever_is_given_up(server, load):
    server.always = lambda asked: Answer("A red door.", trickles=True)

    (failed,) = ask(load(real=True, connect_s=0.1, read_s=0.3, retries=0))

    assert isinstance(failed, FailedImage)
    assert "did not answer within 0.3 s" in failed.reason


def test_as_many_are_asked_about_at_once_as_allowed_and_no_more(server, load):
    together = threading.Barrier(3, timeout=10)

    def meet(asked: Any) -> Answer:
        # Passed only where three are under way at the same time.
        together.wait()
        return Answer("A red door.")

    server.always = meet

    assert len(ask(load(concurrency=3), images=12)) == 12
    assert server.most_at_once == 3


def test_answers_stand_in_the_order_of_their_images(server, load):
    late = {"0": 0.3, "1": 0.0, "2": 0.15}
    server.always = lambda asked: Answer(asked.prompt, takes_s=late[asked.prompt])
    captioner = load(concurrency=3)
    contents = [(number, "") for number in late]

    answers = captioner.all(contents, keys=list(late), language="en", decoding=Decoding())

    assert answers == [GeneratedCaption("0"), GeneratedCaption("1"), GeneratedCaption("2")]


def test_no_more_are_asked_a_minute_than_allowed(server, load, fake_time):
    times: list[float] = []

    def answer(asked: Any) -> Answer:
        times.append(fake_time.clock())
        return Answer("A red door.")

    server.always = answer
    ask(load(per_minute=30, concurrency=1), images=8)

    assert [after - before for before, after in pairwise(times)] == pytest.approx([2.0] * 7)


def test_what_is_asked_again_counts_towards_the_limit(server, load, fake_time):
    server.answers = [Answer(body=BUSY, status=500)]

    ask(load(per_minute=0.5, concurrency=1))

    assert fake_time.now - 1000 == pytest.approx(120)


def test_threads_share_the_limit():
    time = FakeTime()
    gate = RateLimiter(60, clock=time.clock, wait=time.wait)
    with ThreadPoolExecutor(10) as threads:
        for entered in [threads.submit(gate.enter) for _ in range(10)]:
            entered.result(timeout=10)
    assert time.now - 1000 >= 9


def test_a_pause_for_one_is_a_pause_for_all():
    time = FakeTime()
    gate = RateLimiter(None, clock=time.clock, wait=time.wait)
    gate.enter()
    gate.close_for(20)
    gate.enter()

    assert time.waits == [20]


def test_one_that_finds_the_endpoint_down_wakes_those_that_wait(server, load):
    """With the machine's own time."""
    both = threading.Barrier(2, timeout=10)

    def answer(asked: Any) -> Answer:
        if both.wait() == 0:
            return Answer(body=BUSY, status=429, headers={"Retry-After": "100"})
        return Answer(body=b'{"message": "No tiny-1"}', status=404, takes_s=0.2)

    server.always = answer
    began = monotonic()

    with pytest.raises(BackendDownError, match="No tiny-1"):
        ask(load(real=True, concurrency=2), images=2)

    assert monotonic() - began < 50


def test_closing_ends_what_waits(server, load):
    server.always = lambda asked: Answer(body=BUSY, status=429, headers={"Retry-After": "100"})
    captioner = load(real=True)
    ended: list[BaseException] = []

    def run() -> None:
        try:
            ask(captioner)
        except BackendDownError as down:
            ended.append(down)

    thread = threading.Thread(target=run)
    thread.start()
    while not server.asked:
        thread.join(0.01)
    captioner.close()
    thread.join(HANGS_S / 2)

    assert not thread.is_alive()
    assert len(ended) == 1


class TestAdaptiveLimit:
    def test_a_wave_that_is_too_much_halves_it_once_and_answers_raise_it_again(self):
        limit = AdaptiveLimit(8)
        wave = [limit.enter(lambda: False) for _request in range(8)]
        for one in wave:
            limit.leave(one, is_too_much=True)
        assert limit.limit == 4
        for _answer in range(4):
            limit.leave(limit.enter(lambda: False), is_too_much=False)
        assert limit.limit == 5
        for _answer in range(100):
            limit.leave(limit.enter(lambda: False), is_too_much=False)
        assert limit.limit == 8

    def test_it_never_falls_below_one(self):
        limit = AdaptiveLimit(2)
        for _answer in range(5):
            limit.leave(limit.enter(lambda: False), is_too_much=True)
        assert limit.limit == 1

    def test_late_answers_of_an_earlier_wave_say_nothing_of_this_one(self):
        limit = AdaptiveLimit(4)
        old = [limit.enter(lambda: False) for _request in range(4)]
        limit.leave(old[0], is_too_much=True)
        for one in old[1:]:
            limit.leave(one, is_too_much=False)
        assert limit.limit == 2

    def test_whoever_is_halted_waits_no_longer(self):
        limit = AdaptiveLimit(1)
        limit.enter(lambda: False)
        assert limit.enter(lambda: True) == 0


def test_a_server_that_takes_two_at_once_is_soon_sent_no_more(server, load):
    lock, here, refused, arrived, first_wave = threading.Lock(), [0], [0], count(1), threading.Barrier(8)

    def answer(_asked):
        with lock:
            here[0] += 1
            is_too_much = here[0] > 2
            refused[0] += is_too_much
            is_of_first_wave = next(arrived) <= 8
        try:
            if is_of_first_wave:
                first_wave.wait(HANGS_S)
            sleep(0.02)
            return Answer(status=429, body=b"{}", headers={"Retry-After": "0"}) if is_too_much else Answer("A door.")
        finally:
            with lock:
                here[0] -= 1

    server.always = answer
    captioner = load(real=True, concurrency=8, retries=20)

    assert len(ask(captioner, images=8)) == 8
    first = refused[0]
    assert all(isinstance(one, GeneratedCaption) for one in ask(captioner, images=24))

    # Without adapting, six of eight would be refused again and again.
    assert first >= 6
    assert refused[0] - first <= 24


def read(answer: Any, *, keep_cut: bool = False) -> tuple[str | None, str]:
    """The text, if there is one, and otherwise why there is none."""
    try:
        return content_of(answer, keep_cut=keep_cut, max_tokens=40), ""
    except NoAnswerError as unanswered:
        return None, unanswered.reason


@given(VALUES)
def test_no_answer_breaks_the_reader(answer: Any):
    text, reason = read(answer)

    assert isinstance(text, str) != bool(reason)
    assert WORD not in reason


@given(VALUES, st.booleans())
def test_no_content_of_a_message_breaks_the_reader(content: Any, keep_cut: bool):
    text, reason = read(json.loads(completion(content, finish="length")), keep_cut=keep_cut)

    assert isinstance(text, str) != bool(reason)
    assert WORD not in reason
    assert text is None or keep_cut
    if isinstance(content, str) and keep_cut:
        assert text == content
