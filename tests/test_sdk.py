"""The client SDK: typed results, actions checked before they are sent, and honest errors."""

from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest
from PIL import Image

from images.client import ActionError, ConnectionLost, EpisodeEnded, GatewayError, connect
from images.client.wire import encode, read_frame
from tests.gateway_harness import gateway


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    with gateway(level="L0", actions=10**6, simulated_s=1e6) as process:
        yield connect(process.path)


def test_describe_is_typed_and_asked_for_once(env):
    description = env.describe()
    assert description is env.describe()
    assert [control.name for control in description.controls] == ["force", "spare_0"]
    assert description.fields["encoder"].shape == (30,)
    assert description.cameras["side"].pose.shape == (4, 4)
    assert description.clauses[1].code == "LIMIT"
    assert description.document["protocol"] == "assay-gateway/1"


def test_observe_returns_arrays_and_pictures(env):
    everything = env.observe()
    assert set(everything.fields) == {"speed", "encoder"}
    assert everything["encoder"].dtype == np.float32
    seen = env.observe(fields=["speed"], pictures=["side", ("side", 160, 120), {"camera": "side", "height": 60}])
    assert set(seen.fields) == {"speed"}
    assert [picture.size for picture in seen.pictures] == [(320, 240), (160, 120), (80, 60)]
    assert all(isinstance(picture, Image.Image) and picture.mode == "RGB" for picture in seen.pictures)
    assert np.asarray(seen.pictures[0])[120, 160].tolist() == [255, 0, 0]
    assert env.observe(fields="speed", pictures="side").pictures[0].size == (320, 240)


@pytest.mark.parametrize(
    ("actions", "applied"),
    [([0.0, 0.1], 1), ((0, 0), 1), (np.zeros(2), 1), (np.zeros((4, 2), np.float32), 4), ([[0, 0], [0.1, 0]], 2)],
)
def test_step_takes_one_action_or_several(env, actions, applied):
    before = env.observe(fields=[]).actions
    result = env.step(actions, fields=["speed"])
    assert (result.applied, result.actions) == (applied, before + applied)
    assert result.simulated_s == pytest.approx(result.actions * 0.02)
    assert result.terminal is None
    assert result["speed"].shape == (1,)


def test_events_are_typed(env):
    events = env.step(np.zeros((10, 2))).events
    assert [event.kind for event in events] == ["tenth"]
    assert events[0].data["step"] % 10 == 0


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ([0.0], r"shape \(1,\); it must be \(2,\) or \(n, 2\): force, spare_0"),
        (0.0, r"shape \(\)"),
        (np.zeros((0, 2)), r"shape \(0, 2\)"),
        (np.zeros((1, 1, 2)), r"shape \(1, 1, 2\)"),
        ([1.5, 0.0], r"action\[0\] \(force\) = 1.5 N is outside \[-1.0, 1.0\]"),
        ([[0.0, 0.0], [0.0, -0.6]], r"actions\[1\]\[1\] \(spare_0\) = -0.6 1 is outside \[-0.5, 0.5\]"),
        ([float("nan"), 0.0], r"action\[0\] \(force\) = nan N is not finite; limits are -1.0 to 1.0 N"),
        ([0.0, float("-inf")], "is not finite"),
        (["fast", 0.0], "not an array of numbers"),
        ([[0.0, 0.0], [0.0]], "not an array of numbers"),
        ([1j, 0.0], "not an array of numbers"),
    ],
)
def test_a_wrong_action_is_an_exception_here_and_not_the_end_of_the_attempt(env, actions, text):
    before = env.observe(fields=[]).actions
    with pytest.raises(ActionError, match=text):
        env.step(actions)
    assert env.observe(fields=[]).actions == before


def test_a_refusal_of_the_gateway_is_an_exception_with_its_kind(env):
    with pytest.raises(GatewayError, match="needs level L3") as caught:
        env.observe(fields=["position"])
    assert caught.value.kind == "not_permitted"
    with pytest.raises(GatewayError, match="unknown_camera"):
        env.observe(pictures=["top"])


def test_threads_may_share_a_client(env):
    before = env.observe(fields=[]).actions
    threads = [threading.Thread(target=lambda: [env.step([0.0, 0.0]) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert env.observe(fields=[]).actions == before + 200


def test_an_ended_episode_takes_no_action_and_still_shows_itself():
    with gateway() as process:
        env = connect(process.path)
        result = env.step(np.tile([-1.0, 0.0], (200, 1)))
        assert result.terminal is not None
        assert (result.terminal.cause, result.terminal.clause) == ("violation", "S-02")
        assert not result.terminal.success
        with pytest.raises(EpisodeEnded, match="violation") as caught:
            env.step([0.0, 0.0])
        assert caught.value.terminal == result.terminal
        assert env.observe(pictures=["side"]).terminal == result.terminal
        assert env.finish() == result.terminal


def test_finish_says_how_it_ended():
    with gateway() as process:
        env = connect(process.path)
        assert env.finish().cause == "quit"
        assert env.finish().cause == "quit"


def test_the_socket_is_found_in_the_environment(monkeypatch):
    with gateway() as process:
        monkeypatch.setenv("ASSAY_SOCKET", process.path)
        assert connect().describe().title == "Slider"


def test_no_gateway_is_one_clear_error(tmp_path):
    with pytest.raises(ConnectionLost, match=f"no connection to the gateway at {tmp_path}/none: No such file"):
        connect(str(tmp_path / "none")).describe()


class FlakyGateway:
    """Stands between client and gateway and breaks connections: 'request' before it is passed on, 'reply' after."""

    def __init__(self, path: str, behind: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.behind = behind
        self.cut: str | None = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            front, _ = self.listener.accept()
            back = socket.socket(socket.AF_UNIX)
            back.connect(self.behind)
            files = front.makefile("rb"), back.makefile("rb")
            try:
                while True:
                    header, parts = read_frame(self._exactly(files[0]))
                    if self.cut == "request":
                        break
                    back.sendall(encode(header, parts))
                    header, parts = read_frame(self._exactly(files[1]))
                    if self.cut == "reply":
                        break
                    front.sendall(encode(header, parts))
            except EOFError:
                pass
            self.cut = None
            for thing in (*files, front, back):
                thing.close()

    @staticmethod
    def _exactly(file):
        def read(size: int) -> bytes:
            data = file.read(size)
            if len(data) < size:
                raise EOFError
            return data

        return read


def test_a_broken_connection_is_made_again_where_that_is_safe(tmp_path):
    with gateway() as process:
        flaky = FlakyGateway(str(tmp_path / "f"), process.path)
        env = connect(str(tmp_path / "f"))
        env.step([0.0, 0.0])
        for cut in ("request", "reply"):
            flaky.cut = cut
            assert env.observe().actions == 1  # reading again changes nothing
        flaky.cut = "reply"
        with pytest.raises(ConnectionLost):
            env.step([0.0, 0.0])  # it may have happened
        assert env.observe().actions == 2  # and the count says that it has
        flaky.cut = "request"
        with pytest.raises(ConnectionLost):
            env.step([0.0, 0.0])
        assert env.observe().actions == 2
        assert env.step([0.0, 0.0]).actions == 3


def test_a_step_on_a_connection_that_was_closed_meanwhile_is_sent_again(tmp_path):
    with gateway() as process:
        env = connect(process.path)
        env.describe()
        assert env._socket is not None
        env._socket.shutdown(socket.SHUT_RDWR)
        time.sleep(0.05)
        assert env.step([0.0, 0.0]).actions == 1


def test_an_interrupted_call_does_not_leave_its_reply_to_the_next_one():
    with gateway(parameters={"work": 40}) as process:
        env = connect(process.path)
        env.describe()
        timer = threading.Timer(0.3, lambda: signal_main())
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            env.step(np.zeros((3000, 2)))
        assert env.observe(fields=[]).actions == 3000
        assert env.step([0.0, 0.0]).actions == 3001


def signal_main() -> None:
    import os
    import signal

    os.kill(os.getpid(), signal.SIGINT)
