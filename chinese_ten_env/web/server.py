"""The local server: what it is asked, what it refuses, and what it answers.

A request is read and checked here; `session` plays, `told` says what the person may know. The
database alone knows the games, so a restart, a reload and a second tab find the same. Playing
happens in threads: kernels run without Python's lock, so a search keeps no other game waiting.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chinese_ten_env.engine import IllegalActionError
from chinese_ten_env.game import Game
from chinese_ten_env.policies import (
    PRETRAINED,
    SEARCHES,
    Policy,
    PolicyError,
    make_policy,
)
from chinese_ten_env.policies.pimc import SOLVER, Pimc
from chinese_ten_env.render import board
from chinese_ten_env.rules import CHOICES, VARIANTS, Rules, make_rules
from chinese_ten_env.web import told
from chinese_ten_env.web.session import Session, after
from chinese_ten_env.web.share import share
from chinese_ten_env.web.steps import steps
from chinese_ten_env.web.store import Kept, Store

OFFERED = ("greedy", "random", PRETRAINED, "pimc:64", "pimc:256", "ismcts:1000")
"""The policies that the page offers as opponents; the command line can add others."""

ADVISERS = ("greedy", "pimc:64", PRETRAINED)
"""The policies that give hints."""

_REVIEWED = 512
"""Deals by which a search reviews a decision, where the solver cannot."""

LOCAL = ("127.0.0.1", "localhost")
"""The names under which this machine knows itself."""

MOST_BYTES = 65_536
"""The size of a body; a match of three hundred deals as JSON is smaller."""

MOST_WORDS = 500
"""The length of an error: what it quotes may be as long as the body."""

_QUICK_THREADS = 8

_FILES = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "messages.json": "application/json",
}

_HEADERS = {
    # Nothing but what this server sends; pictures of the board carry styles of their own.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def answer(content: Any, status: int = 200) -> Response:
    """Return JSON; in ASCII, since an error may quote what is no Unicode."""
    return Response(json.dumps(content), status, media_type="application/json")


@dataclass
class Server:
    """What requests share."""

    store: Store
    opponents: dict[str, Any] = field(default_factory=dict)
    """Policies that the page offers besides `OFFERED`, by name."""
    defaults: dict[str, Any] = field(default_factory=dict)
    """What the page proposes for a new game: the fields of a request for one."""

    def __post_init__(self) -> None:
        offered = {name: name for name in OFFERED} | self.opponents
        self.policies: dict[str, Policy] = {
            name: make_policy(policy) for name, policy in offered.items()
        }
        self.reviewer = Pimc(_REVIEWED)
        self._quick = CapacityLimiter(_QUICK_THREADS)
        # Searches have threads of their own, so that however many there are, others go on.
        self._searching = CapacityLimiter(max(1, (os.cpu_count() or 1) - 1))

    async def work(self, function: Callable[..., Any], *arguments: Any, slow: bool = False) -> Any:
        """Run a function in a thread."""
        limiter = self._searching if slow else self._quick
        return await to_thread.run_sync(function, *arguments, limiter=limiter)

    def is_slow(self, opponents: list[str]) -> bool:
        """Tell whether one of these policies searches."""
        return any(name.split(":")[0] in SEARCHES for name in opponents)

    # --- new games --------------------------------------------------------------------------

    def begin(self, wish: dict[str, Any]) -> tuple[str, Session]:
        """Begin and keep a game; ValueError says what is wrong with a wish."""
        rules = make_rules(
            wish.get("variant", "mainland"),
            wish.get("num_players"),
            match=wish.get("match") or CHOICES["match"][0],
            target=wish.get("target"),
        )
        opponents = self.seated(wish.get("opponents") or ["greedy"], rules)
        seat = wish.get("seat")
        if seat is not None and not 0 <= seat < rules.num_players:
            raise ValueError(f"seat: one from 0 to {rules.num_players - 1}, not {seat}")
        seed = wish.get("seed")
        session = Session.begin(
            rules,
            opponents,
            self.policies,
            seed=secrets.randbits(63) if seed is None else seed,
            seat=seat,
            practice=bool(wish.get("practice")),
        )
        return self.store.add(session), session

    def seated(self, opponents: list[str], rules: Rules) -> list[str]:
        """Return a policy for each other seat; one name is that of all."""
        others = rules.num_players - 1
        for name in opponents:
            if name not in self.policies:
                raise ValueError(
                    f"opponents: {name!r} is not offered; choose from {', '.join(self.policies)}"
                )
            if name == PRETRAINED:
                make_policy(name, rules)  # says so if there is none for these rules
        if len(opponents) == 1:
            return opponents * others
        if len(opponents) != others:
            raise ValueError(f"opponents: one for all, or {others}, not {len(opponents)}")
        return opponents

    def advisers(self, rules: Rules) -> dict[str, Policy]:
        """Return the policies that can give hints in a game of these rules."""
        found = {name: self.policies[name] for name in ADVISERS}
        try:
            make_policy(PRETRAINED, rules)
        except ValueError:
            del found[PRETRAINED]
        return found

    # --- finding ----------------------------------------------------------------------------

    def kept(self, key: str) -> Kept:
        """Return what is kept under an id, or answer 404."""
        found = self.store.find(key)
        if found is None:
            raise HTTPException(404, "no game has this id")
        return found

    def session(self, key: str) -> Session:
        """Return a session, or answer 404."""
        found = self.kept(key)
        if not found.facts:
            raise HTTPException(404, "this game can only be looked at")
        session = Session.read(found.game, found.facts, found.undone)
        missing = set(session.opponents) - set(self.policies)
        if missing:
            names = ", ".join(sorted(missing))
            raise HTTPException(409, f"this server was started without the opponents {names}")
        return session

    def open_game(self, key: str) -> tuple[Game, Session | None]:
        """Return a game whose cards may all be shown, or answer 404 or 409."""
        found = self.kept(key)
        if not found.facts:
            return Game.from_json(found.game), None
        session = Session.read(found.game, found.facts, found.undone)
        if not session.game.is_over:
            raise HTTPException(409, "this can be had when the game is over")
        return session.game, session

    # --- playing ----------------------------------------------------------------------------

    def move(self, key: str, move: dict[str, Any]) -> Session:
        """Play the person's card and all that follows."""
        session = self.current(key, move)
        if session.game.is_over:
            raise HTTPException(409, "the game is over")
        session.play(move["card"], self.policies)
        return self.save(key, move, session)

    def undo(self, key: str, move: dict[str, Any]) -> Session:
        """Take the person's last decision back."""
        session = self.current(key, move)
        if not session.practice:
            raise HTTPException(409, "only a practice game lets one take back")
        if not session.undo():
            raise HTTPException(409, "there is nothing to take back")
        return self.save(key, move, session)

    def current(self, key: str, move: dict[str, Any]) -> Session:
        """Return a session if a move was meant for the position in which it is; else answer 409."""
        session = self.session(key)
        if (session.actions, session.undone) != (move["actions"], move.get("undone", 0)):
            raise HTTPException(
                409,
                f"stale: the move is for a position after {move['actions']} actions, and the game "
                f"is at {session.actions}",
            )
        return session

    def save(self, key: str, move: dict[str, Any], session: Session) -> Session:
        """Keep what a move led to, unless another was quicker."""
        if not self.store.change(key, move["actions"], move.get("undone", 0), session):
            raise HTTPException(409, "stale: another move was made meanwhile")
        return session


# --- requests -------------------------------------------------------------------------------

Fields = dict[str, type]
"""The fields that a body may have, and their types."""

_NEW_GAME: Fields = {
    "variant": str,
    "num_players": int,
    "match": str,
    "target": int,
    "opponents": list,
    "seat": int,
    "seed": int,
    "practice": bool,
}
_MOVE: Fields = {"actions": int, "undone": int, "card": str}
_UNDO: Fields = {"actions": int, "undone": int}


async def read_body(request: Request) -> bytes:
    """Return the body, or answer 413, or 415 if it is no JSON.

    A page of another site cannot send JSON here without being asked for leave first.
    """
    kind = request.headers.get("content-type", "").split(";")[0].strip()
    if kind != "application/json":
        raise HTTPException(415, f"the body must be application/json, not {kind or 'untyped'}")
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"the body has more than {MOST_BYTES} bytes")
    return bytes(body)


def read_fields(body: bytes, known: Fields, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the fields of a JSON object; ValueError for unknown, missing and wrong ones."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"a JSON object is needed, not {type(data).__name__}")
    for name, value in data.items():
        if name not in known:
            raise ValueError(f"unknown field {name!r}; known are {', '.join(known)}")
        if value is None and name not in needed:
            continue
        if type(value) is not known[name]:  # True would be an int too
            raise ValueError(f"{name}: {known[name].__name__} is needed, not {value!r}")
        if isinstance(value, list) and not all(isinstance(entry, str) for entry in value):
            raise ValueError(f"{name}: a list of texts is needed")
        if isinstance(value, int) and not 0 <= value < 2**63:
            raise ValueError(f"{name}: from 0 up to 63 bits, not {value}")
    for name in needed:
        if name not in data:
            raise ValueError(f"{name} is missing")
    return {name: value for name, value in data.items() if value is not None}


def read_game(body: bytes) -> Game:
    """Return the game of a JSON text; ValueError names the field."""
    try:
        return Game.from_json(body.decode())
    except RecursionError:
        raise ValueError("not JSON: it is nested too deep") from None


def shape_of(request: Request) -> str:
    """Return how the board is to be drawn."""
    shape = request.query_params.get("shape", "wide")
    if shape not in told.SHAPES:
        raise ValueError(f"shape: one of {', '.join(told.SHAPES)}, not {shape!r}")
    return shape


def make_app(server: Server, hosts: tuple[str, ...] = LOCAL) -> Starlette:
    """Return the ASGI application; `hosts` are the names under which it may be called.

    Without that check a page of another site could give its own name this machine's address.
    """
    folder = resources.files("chinese_ten_env.web") / "page"
    page = (folder / "page.html").read_bytes()
    files = {name: (folder / name).read_bytes() for name in _FILES}

    async def show_page(request: Request) -> Response:
        return Response(page, media_type="text/html")

    async def send_file(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            raise HTTPException(404, "there is no such file")
        return Response(files[name], media_type=_FILES[name])

    async def choices(request: Request) -> Response:
        variants = {
            name: {"num_players": row.num_players, "match": row.match}
            for name, row in VARIANTS.items()
        }
        return answer(
            {
                "variants": variants,
                "opponents": list(server.policies),
                "defaults": server.defaults,
            }
        )

    async def new_game(request: Request) -> Response:
        wish, shape = read_fields(await read_body(request), _NEW_GAME), shape_of(request)
        slow = server.is_slow(wish.get("opponents", []))

        def work() -> dict[str, Any]:
            key, session = server.begin(wish)
            return {"id": key, "position": told.position(session, shape)}

        return answer(await server.work(work, slow=slow), 201)

    async def game(request: Request) -> Response:
        key, shape = request.path_params["id"], shape_of(request)
        return answer(await server.work(lambda: told.position(server.session(key), shape)))

    def mover(
        act: Callable[[str, dict[str, Any]], Session],
        known: Fields,
        *needed: str,
    ) -> Callable[[Request], Awaitable[Response]]:
        async def respond(request: Request) -> Response:
            key, shape = request.path_params["id"], shape_of(request)
            fields = read_fields(await read_body(request), known, needed)
            found = await server.work(server.kept, key)
            slow = server.is_slow(found.facts.get("opponents", []))
            return answer(
                await server.work(lambda: told.position(act(key, fields), shape), slow=slow)
            )

        return respond

    move = mover(server.move, _MOVE, "actions", "card")
    undo = mover(server.undo, _UNDO, "actions")

    async def hints(request: Request) -> Response:
        key = request.path_params["id"]

        def work() -> list[dict[str, Any]]:
            session = server.session(key)
            if session.game.is_over:
                raise HTTPException(409, "the game is over")
            return told.hints(session, server.advisers(session.game.rules))

        return answer({"hints": await server.work(work, slow=True)})

    async def review(request: Request) -> Response:
        key = request.path_params["id"]

        def work() -> dict[str, Any]:
            found, session = server.open_game(key)
            if not found.is_over:
                raise HTTPException(409, "this can be had when the game is over")
            seat = None if session is None else session.seat
            by = SOLVER if found.rules.num_players == 2 else server.reviewer.name
            return {"by": by, "review": told.review(found, seat, server.reviewer)}

        return answer(await server.work(work, slow=True))

    async def new_replay(request: Request) -> Response:
        body = await read_body(request)
        key = await server.work(lambda: server.store.add_replay(read_game(body).to_json()))
        return answer({"id": key}, 201)

    async def replay(request: Request) -> Response:
        key = request.path_params["id"]

        def work() -> dict[str, Any]:
            found, session = server.open_game(key)
            happened = steps(found)
            players = [None] * found.rules.num_players if session is None else session.players
            return told.facts(found) | {
                "actions": len(found.history),
                "players": players,
                "seat": None if session is None else session.seat,
                "points": found.points,
                "scores": found.scores,
                "steps": [one.to_dict() for one in happened],
                "sheets": told.sheets(happened),
            }

        return answer(await server.work(work))

    async def replay_position(request: Request) -> Response:
        key, number, shape = request.path_params["id"], request.path_params["n"], shape_of(request)
        own = request.query_params.get("hands") == "own"

        def work() -> dict[str, Any]:
            found, session = server.open_game(key)
            if number > len(found.history):
                raise HTTPException(404, f"the game has {len(found.history)} actions")
            seat = None if session is None else session.seat
            players = [None] * found.rules.num_players if session is None else session.players
            earlier = after(found, number)
            scene = board(earlier.games, found.rules, viewer=seat if own else None)
            drawn = told.picture(scene, shape, players, seat)
            return {"number": number, "points": earlier.points, "board": drawn}

        return answer(await server.work(work))

    async def saved_game(request: Request) -> Response:
        found, _ = await server.work(server.open_game, request.path_params["id"])
        return _download(found.to_json(), "application/json", "game.json")

    async def shared_game(request: Request) -> Response:
        found, session = await server.work(server.open_game, request.path_params["id"])
        names = None if session is None else session.players
        html = await server.work(share, found, names)
        return _download(html, "text/html", "game.html")

    routes = [
        Route("/", show_page),
        Route("/games/{id}", show_page),
        Route("/replays/{id}", show_page),
        Route("/page/{name}", send_file),
        Route("/api/choices", choices),
        Route("/api/games", new_game, methods=["POST"]),
        Route("/api/games/{id}", game),
        Route("/api/games/{id}/moves", move, methods=["POST"]),
        Route("/api/games/{id}/undo", undo, methods=["POST"]),
        Route("/api/games/{id}/hints", hints),
        Route("/api/replays", new_replay, methods=["POST"]),
        Route("/api/replays/{id}", replay),
        Route("/api/replays/{id}/positions/{n:int}", replay_position),
        Route("/api/replays/{id}/review", review),
        Route("/api/replays/{id}/game.json", saved_game),
        Route("/api/replays/{id}/game.html", shared_game),
    ]
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(_Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        ],
        exception_handlers={
            HTTPException: _refused,
            IllegalActionError: _wrong,
            PolicyError: _failed,
            ValueError: _wrong,
        },
    )


def _download(text: str, kind: str, name: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer({"error": error.detail}, error.status_code)


def _wrong(request: Request, error: Exception) -> Response:
    return answer({"error": _short(str(error))}, 400)


def _failed(request: Request, error: Exception) -> Response:
    return answer({"error": _short(str(error))}, 500)


def _short(text: str) -> str:
    return text if len(text) <= MOST_WORDS else re.sub(r"\s\S*$", " ...", text[:MOST_WORDS])


class _Headers:
    """Adds the headers that every answer has."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = [(name.lower().encode(), text.encode()) for name, text in _HEADERS.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self.headers]
            await send(message)

        await self.app(scope, receive, send_with)
