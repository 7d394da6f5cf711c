"""The official runtime: two hardened containers and one tmpfs volume for each attempt, removed with it."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker.errors

from manifests.records import ImageIdentity
from runner.errors import AssayError
from runner.images import builder
from runner.runtimes import engine, hardening, heartbeat
from runner.runtimes.base import (
    EngineGone,
    Pair,
    PairRequest,
    Role,
    RuntimeFacts,
    RuntimeUnavailable,
    StartFailed,
)
from runner.runtimes.commands import EntryPoints, entry_points
from runner.runtimes.container import Container
from runner.runtimes.engine import calling
from runner.runtimes.hello import await_hello
from runner.runtimes.owner import OWNER, RUN, Owner, abandoned
from runner.runtimes.pair import StartedPair
from runner.runtimes.pool import DEADMAN_SPARE_S, Pool

ROLES: tuple[Role, Role] = ("environment", "sandbox")
REMOVE_TRIES = 20  # a volume stays busy for a moment after its containers are gone


class DockerRuntime:
    """``jobs`` is the number of attempts in parallel and of pairs that wait; ``locks`` the run-lock folder."""

    def __init__(
        self, *, jobs: int, locks: Path, why: str, build: bool = True, say: Callable[[str], None] = print
    ) -> None:
        self._api = engine.connect()
        details = engine.check(self._api)
        self._cpus = int(details["cpus"])
        self.facts = RuntimeFacts("docker", True, why, {**details, "seccomp": hardening.seccomp_digest()})
        self._build, self._say = build, say
        self._owner = Owner(locks)
        self._images: dict[str, ImageIdentity] = {}
        self._pool = Pool(self._start, jobs)
        self._closed = False
        self._containers: set[Container] = set()  # that run now
        self._lost: EngineGone | None = None
        pinged = engine.connect(heartbeat.PING_S)
        self._heartbeat = heartbeat.Heartbeat(lambda: engine.ping(pinged), self._lose)

    def prepare(self, request: PairRequest) -> tuple[ImageIdentity, ...]:
        """Raises RuntimeUnavailable when an image cannot be had or a GPU was asked for and cannot be used."""
        points = entry_points(request)
        for role in self._missing(request):
            self._images[role] = self._image(role)
        if request.gpus:
            self._probe_gpu(self._images[points.environment_role].id)
        return tuple(self._images[role] for role in points.images)

    def pin(self, wanted: Mapping[str, str]) -> list[str]:
        """Start pairs from the images with these canonical contents (by role) instead of those of this checkout.

        Returns the roles whose image is not here; they stay those of this checkout.
        """
        found = {role: builder.with_content(self._api, role, content) for role, content in wanted.items()}
        self._images |= {role: image for role, image in found.items() if image is not None}
        return [role for role, image in found.items() if image is None]

    def open(self, request: PairRequest) -> Pair:
        if self._lost is not None:
            raise self._lost
        if self._missing(request):
            self.prepare(request)
        return self._pool.take(request)

    def reap(self) -> list[str]:
        """Containers first: a volume cannot be removed while one uses it."""
        lines: list[str] = []
        with calling("looking for leftovers"):
            containers = self._api.containers(all=True, filters={"label": OWNER})
            volumes = self._api.volumes(filters={"label": OWNER})["Volumes"] or []
        for item in containers:
            if abandoned(item["Labels"]):
                self._remove_container(item["Id"])
                lines.append(f"removed container {item['Id'][:12]} of run {item['Labels'].get(RUN, '?')}")
        for item in volumes:
            if abandoned(item["Labels"]):
                self._remove_volume(item["Name"])
                lines.append(f"removed volume {item['Name']} of run {item['Labels'].get(RUN, '?')}")
        self._owner.sweep()
        return lines

    def close(self) -> None:
        """Also ends every pair that is still open."""
        if self._closed:
            return
        self._closed = True
        self._heartbeat.stop()
        self._pool.close()
        if self._lost is not None:  # the next start finds what is left
            return
        own = {"label": f"{OWNER}={self._owner.id}"}
        with contextlib.suppress(EngineGone, docker.errors.APIError), calling("ending its containers"):
            for item in self._api.containers(all=True, filters=own):
                self._remove_container(item["Id"])
            for item in self._api.volumes(filters=own)["Volumes"] or []:
                self._remove_volume(item["Name"])
            self._owner.release()  # not reached when the Engine is gone: the next start finds what is left

    def _missing(self, request: PairRequest) -> list[str]:
        return [role for role in entry_points(request).images if role not in self._images]

    def _lose(self, error: EngineGone) -> None:
        """The Engine hangs: end every wait for it."""
        self._lost = error
        self._api.timeout = heartbeat.PING_S  # of the calls from now on
        for container in list(self._containers):
            container.lose(error)

    # ---- starting ---------------------------------------------------------------------------------------------------
    def _start(self, request: PairRequest) -> StartedPair:
        began = time.monotonic()
        points = entry_points(request)
        labels = self._owner.labels(request.run)
        volume = f"assay-{uuid.uuid4().hex[:16]}"
        deadman_s = 2 * request.environment_limits.wall_s + 2 * DEADMAN_SPARE_S
        containers: dict[Role, Container] = {}

        def discard() -> None:
            self._remove(list(containers.values()), volume)

        try:
            with calling("creating a volume"):
                self._api.create_volume(name=volume, driver_opts=hardening.volume_options(), labels=labels)
            roles = ROLES[: len(points.images)]
            # Leaving the block waits for both: nothing may still be starting while its pair is removed.
            with ThreadPoolExecutor(len(roles)) as both:
                launches = [
                    both.submit(self._launch, role, request, points, volume, labels, deadman_s, containers)
                    for role in roles
                ]
            for launch in launches:
                launch.result()
            images = tuple(self._images[role] for role in points.images)
            pair = StartedPair(containers, images, began + deadman_s, discard)
            pair.environment_hello, pair.sandbox_hello = await_hello(pair)
        except docker.errors.APIError as error:
            discard()
            raise StartFailed(f"the Docker Engine refused: {' '.join(str(error.explanation).split())}") from None
        except BaseException:
            discard()
            raise
        pair.start_s = time.monotonic() - began
        return pair

    def _launch(
        self,
        role: Role,
        request: PairRequest,
        points: EntryPoints,
        volume: str,
        labels: dict[str, str],
        deadman_s: float,
        containers: dict[Role, Container],
    ) -> None:
        environment = role == "environment"
        image = points.images[ROLES.index(role)]
        limits = request.environment_limits if environment else request.sandbox_limits
        assert limits is not None
        arguments = points.environment(hardening.SOCKET) if environment else points.sandbox(hardening.SOCKET)
        settings = hardening.host_config(role, limits, volume, self._cpus, request.gpus and environment)
        with calling("creating a container"):
            created = self._api.create_container(
                self._images[image].id,
                hardening.command(arguments, deadman_s),
                user=hardening.identity(role)["user"],
                hostname=role,
                stdin_open=True,
                labels=labels,
                host_config=self._api.create_host_config(**settings),
            )
        containers[role] = Container(self._api, role, created["Id"])
        self._containers.add(containers[role])
        containers[role].start()

    def _image(self, role: str) -> ImageIdentity:
        try:
            if self._build:
                return builder.ensure(self._api, [role], self._say)[0]
            found = builder.find(self._api, role)
        except AssayError as error:
            raise RuntimeUnavailable(str(error)) from None
        if found is None:
            raise RuntimeUnavailable(f"docker: the image {role} is missing or out of date; run `make images`")
        return found

    def _probe_gpu(self, image: str) -> None:
        """The Engine accepts a GPU request and fails at start: find out before the first attempt."""
        with calling("probing for a GPU"):
            settings = self._api.create_host_config(network_mode="none", device_requests=[hardening.gpu_request()])
            created = self._api.create_container(
                image, ["true"], labels=self._owner.labels("probe"), host_config=settings
            )
            try:
                self._api.start(created["Id"])
            except docker.errors.APIError as error:
                reason = " ".join(str(error.explanation).split())
                if "could not select device driver" in reason:
                    fix = "install nvidia-container-toolkit and restart the Engine"
                else:
                    fix = "check the NVIDIA driver on the host with `nvidia-smi`"
                raise RuntimeUnavailable(f"docker: GPUs cannot be used: {reason}; {fix}") from None
            finally:
                self._remove_container(created["Id"])

    # ---- removing ---------------------------------------------------------------------------------------------------
    def _remove(self, containers: list[Container], volume: str) -> None:
        """Remove a pair; never raises."""
        with ThreadPoolExecutor(len(ROLES)) as both:
            for container in containers:
                both.submit(container.remove)
        self._containers.difference_update(containers)
        if self._lost is None:
            self._remove_volume(volume)

    def _remove_container(self, identifier: str) -> None:
        with contextlib.suppress(EngineGone, docker.errors.APIError), calling("removing a container"):
            self._api.remove_container(identifier, force=True, v=True)

    def _remove_volume(self, name: str) -> None:
        for _ in range(REMOVE_TRIES):
            try:
                with calling("removing a volume"):
                    self._api.remove_volume(name)
                return
            except docker.errors.NotFound:
                return
            except docker.errors.APIError:  # still in use
                time.sleep(0.05)
            except EngineGone:
                return
