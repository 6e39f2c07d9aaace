"use strict";
// Shows what the server tells, and asks it to play. The server knows the rules; the page knows none.

const byId = (id) => document.getElementById(id);
const narrow = matchMedia("(max-width: 600px)");
const SUITS = { S: ["♠", "spades"], H: ["♥", "hearts"], D: ["♦", "diamonds"], C: ["♣", "clubs"] };

let messages = { en: {} };
let language = "en";
let game = null; // what the server told last of the game that is played
let replay = null; // or of the one that is looked at
let busy = false;

// --- words ---------------------------------------------------------------------------------

function text(key, values = {}) {
  const words = (messages[language] || {})[key] ?? messages.en[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

const cardName = (card) => card[0].replace("T", "10") + SUITS[card[1]][0];
const cardNames = (cards) => cards.map(cardName).join(" ");
const number = (value) => Number(value.toFixed(1)).toString();
const signed = (value) => (value > 0 ? "+" : "") + number(value).replace("-", "−");

function who(state, seat) {
  const policy = state.players[seat];
  if (seat === state.seat) return text("you");
  return policy ? `${policy} (${seat})` : text("player", { n: seat });
}

function happening(state, step) {
  const parts = step.parts.map((part) => {
    const card = cardName(part.card);
    let what = text("lays", { card });
    if (part.choosing) what = text("choosing", { card });
    else if (part.takes.length) what = text("takes", { card, cards: cardNames(part.takes) });
    return part.from === "stock" ? text("flips", { what }) : what;
  });
  return text("plays", { who: who(state, step.player), card: parts.join("; ") });
}

function translate() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = text(element.dataset.text);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", text(element.dataset.label));
  }
}

// --- making elements -----------------------------------------------------------------------

function make(tag, content = "", attributes = {}) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...[content].flat());
  return element;
}

function cardElement(card, more = "") {
  const red = card[1] === "D" || card[1] === "H";
  return make("span", cardName(card) + more, { class: red ? "red" : "" });
}

function link(key, address, download = false) {
  const attributes = { href: address, class: "button" };
  return make("a", text(key), download ? { ...attributes, download: "" } : attributes);
}

// --- asking the server ---------------------------------------------------------------------

class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  };
  let response, found;
  try {
    response = await fetch(`/api/${path}`, options);
    found = await response.json();
  } catch {
    throw new Refused(0, text("no_server"));
  }
  if (!response.ok) throw new Refused(response.status, found.error);
  return found;
}

const shape = () => `shape=${narrow.matches ? "narrow" : "wide"}`;

function complain(error) {
  byId("error").hidden = !error;
  byId("error").textContent = error ? error.message : "";
}

// Runs one request at a time: a second click while the first is under way does nothing.
async function doing(work) {
  if (busy) return;
  busy = true;
  byId("board").setAttribute("aria-busy", "true");
  complain(null);
  try {
    await work();
  } catch (error) {
    complain(error);
    if (error.status === 409 && game) showGame(await ask(`games/${place().id}?${shape()}`));
  } finally {
    busy = false;
    byId("board").setAttribute("aria-busy", "false");
  }
}

// --- a game that is played -----------------------------------------------------------------

function place() {
  const [, kind, id] = location.pathname.split("/");
  return { kind, id };
}

async function play(card) {
  await doing(async () => {
    byId("status").textContent = text("thinking");
    const { actions, undone } = game;
    showGame(await ask(`games/${place().id}/moves?${shape()}`, { actions, undone, card }));
  });
}

async function undo() {
  await doing(async () => {
    const { actions, undone } = game;
    showGame(await ask(`games/${place().id}/undo?${shape()}`, { actions, undone }));
  });
}

function showBoard(svg, actions) {
  const board = byId("board");
  board.dataset.actions = actions;
  const focused = board.contains(document.activeElement);
  board.innerHTML = svg;
  if (focused) board.querySelector(".legal")?.focus();
}

function showGame(state) {
  const before = game;
  game = state;
  replay = null;
  showBoard(state.board, state.actions);
  byId("status").textContent = status(state);
  showRules(state);
  showPoints(state, state.over ? -1 : state.on_turn);
  showLog(state, before);
  byId("actions").hidden = state.over;
  byId("steps").hidden = true;
  byId("undo").hidden = !state.practice;
  byId("undo").disabled = !state.steps.some((step) => step.player === state.seat);
  showResult(state, `/api/replays/${place().id}`);
  if (!before || before.actions !== state.actions || before.undone !== state.undone) {
    byId("hints").hidden = byId("review").hidden = true;
  }
}

function status(state) {
  if (state.over) {
    const totals = state.match === "deal" ? state.points : state.scores;
    const others = totals.filter((_, seat) => seat !== state.seat);
    const ahead = totals[state.seat] - Math.max(...others);
    return `${text("over")}. ${text(ahead > 0 ? "won" : ahead < 0 ? "lost" : "drawn")}`;
  }
  if (state.phase === "play") return text("you_play");
  const key = state.phase === "take with stock" ? "you_take_stock" : "you_take_hand";
  return text(key, { card: cardName(state.pending) });
}

function showRules(state) {
  const parts = [text("rules", { variant: state.variant, n: state.num_players })];
  if (state.match !== "deal") {
    parts.push(text("to_target", { target: state.target }));
    if (state.deal !== undefined) parts.push(text("deal", { n: state.deal + 1 }));
  }
  byId("rules").textContent = parts.join("; ");
}

function showPoints(state, onTurn) {
  const match = state.match !== "deal";
  const head = match ? ["", "points", "total"] : [];
  const rows = state.points.map((points, seat) => {
    const cells = [make("th", who(state, seat), { scope: "row" }), make("td", String(points), { class: "number" })];
    if (match) cells.push(make("td", String(state.scores[seat]), { class: "number" }));
    return make("tr", cells, seat === onTurn ? { class: "turn" } : {});
  });
  byId("points").replaceChildren(make("tr", columns(head)), ...rows);
}

function showLog(state, before) {
  const log = byId("log");
  log.replaceChildren();
  const first = state.actions - state.steps.length;
  const told = before && !replay && before.undone === state.undone ? before.actions : first;
  const news = [];
  let deal = state.steps.length ? state.steps[0].deal : 0;
  state.steps.forEach((step, index) => {
    if (step.deal !== deal) {
      deal = step.deal;
      log.append(make("li", text("deal", { n: deal + 1 }), { class: "deal" }));
    }
    const sentence = happening(state, step);
    const isNew = before && first + index >= told;
    log.append(make("li", sentence, { value: first + index + 1, class: isNew ? "new" : "" }));
    if (isNew) news.push(sentence);
  });
  byId("news").textContent = news.join(". ");
  log.scrollTop = log.scrollHeight;
}

function showResult(state, address) {
  const section = byId("result");
  const last = state.sheets[state.sheets.length - 1];
  section.hidden = !last;
  if (!last) return;
  const title = state.match === "deal" ? text("sheet") : text("deal_over", { n: last.deal + 1 });
  section.replaceChildren(make("h2", title), sheetTable(state, last));
  if (!state.over) return;
  const buttons = make("div", [
    link("download", `${address}/game.json`, true),
    link("share", `${address}/game.html`, true),
  ], { class: "buttons" });
  if (!replay) buttons.prepend(link("replay", `/replays/${place().id}`));
  const button = make("button", text("review"), { type: "button", id: "judge" });
  button.onclick = () => judge(state);
  buttons.append(button);
  section.append(buttons);
}

function columns(keys) {
  const head = (key) => make("th", text(key), { class: "number", scope: "col" });
  return keys.map((key) => (key ? head(key) : make("td", "")));
}

function sheetTable(state, sheet) {
  const most = Math.max(...sheet.players.map((row) => row.points));
  const body = sheet.players.flatMap((row, seat) => {
    const cards = row.cards.map(([card, points]) => cardElement(card, ` ${points}`));
    if (row.levy) cards.push(make("span", `${text("levy")} ${signed(row.levy)}`));
    return [
      make("tr", [
        make("th", who(state, seat), { scope: "row" }),
        make("td", String(row.points), { class: "number" }),
        make("td", signed(row.net), { class: "number" }),
      ], row.points === most ? { class: "won" } : {}),
      make("tr", make("td", cards.flatMap((card) => [card, " "]), { colspan: "3", class: "cards" })),
    ];
  });
  return make("table", [make("tr", columns(["", "points", "net"])), ...body]);
}

async function showHints() {
  await doing(async () => {
    byId("hints").replaceChildren(make("p", text("asking"))); // the first time they are compiled
    byId("hints").hidden = false;
    const { hints } = await ask(`games/${place().id}/hints`);
    const head = [make("th", text("card"), { scope: "col" })];
    head.push(...hints.map((hint) => make("th", hint.policy, { class: "number", scope: "col" })));
    const rows = game.legal.map((card) => {
      const cells = hints.map((hint) => {
        const worth = hint.worth ? signed(hint.worth[card]) : "";
        return make("td", `${worth}${hint.card === card ? " ★" : ""}`, { class: "number" });
      });
      return make("tr", [make("th", cardElement(card), { scope: "row" }), ...cells]);
    });
    byId("hints").replaceChildren(
      make("h2", text("hint_title")),
      make("table", [make("tr", head), ...rows]),
      make("p", text("worth_note"), { class: "faint" }),
    );
  });
}

async function judge(state) {
  const section = byId("review");
  section.hidden = false;
  section.replaceChildren(make("h2", text("review_title")), make("p", text("judging")));
  await doing(async () => {
    const { by, review } = await ask(`replays/${place().id}/review`);
    const rows = review.map((one) => {
      const key = one.regret > 0 ? "better" : "best";
      const words = text(key, { card: cardName(one.card), best: cardName(one.best) });
      const whose = state.seat === null ? `${who(state, one.player)}: ` : "";
      const cost = make("span", one.regret > 0 ? `−${number(one.regret)}` : "0", { class: "cost" });
      const address = `/replays/${place().id}?at=${one.action}`;
      const jump = make("a", [`${one.action + 1}. ${whose}${words}`, cost], { href: address });
      jump.onclick = (event) => {
        if (!replay) return; // the game that was played: another page shows it step by step
        event.preventDefault();
        showPosition(one.action);
      };
      return make("li", jump);
    });
    const total = review.reduce((sum, one) => sum + one.regret, 0);
    section.replaceChildren(
      make("h2", text("review_title")),
      make("p", text(by === "solver" ? "solver_note" : "search_note", { by }), { class: "faint" }),
      make("ol", rows),
      make("p", [text("total"), make("span", `−${number(total)}`, { class: "cost" })]),
    );
  });
}

// --- a game that is looked at --------------------------------------------------------------

async function loadReplay(id) {
  const state = await ask(`replays/${id}`);
  replay = { ...state, id, boards: new Map(), at: -1 };
  game = null;
  byId("actions").hidden = true;
  byId("steps").hidden = false;
  byId("hints").hidden = byId("review").hidden = true;
  byId("all").hidden = state.seat === null;
  byId("status").textContent = text("looking");
  const log = byId("log");
  log.replaceChildren();
  state.steps.forEach((step, index) => {
    const button = make("button", happening(state, step), { type: "button" });
    button.onclick = () => showPosition(index + 1);
    log.append(make("li", button));
  });
  showRules(state);
  showResult(state, `/api/replays/${id}`);
  const at = Number(new URLSearchParams(location.search).get("at")) || 0;
  await showPosition(at);
}

async function position(at) {
  const key = `${at} ${shape()} ${byId("hands").checked}`;
  if (!replay.boards.has(key)) {
    const hands = byId("hands").checked ? "all" : "own";
    const path = `replays/${replay.id}/positions/${at}?${shape()}&hands=${hands}`;
    replay.boards.set(key, ask(path));
  }
  return replay.boards.get(key);
}

async function showPosition(wanted) {
  const at = Math.max(0, Math.min(replay.actions, wanted));
  replay.at = at;
  try {
    const found = await position(at);
    if (!replay || replay.at !== at) return; // another step was asked for meanwhile
    showBoard(found.board, at);
    showPoints({ ...replay, points: found.points }, -1);
  } catch (error) {
    complain(error);
  }
  const step = replay.steps[at - 1];
  byId("number").textContent = text("position", { n: at, count: replay.actions });
  byId("status").textContent = step ? happening(replay, step) : text("looking");
  byId("first").disabled = byId("back").disabled = at === 0;
  byId("last").disabled = byId("forward").disabled = at === replay.actions;
  [...byId("log").children].forEach((item, index) => {
    const here = index === at - 1;
    item.firstChild.toggleAttribute("aria-current", here);
    if (here) item.scrollIntoView({ block: "nearest" });
  });
  history.replaceState(null, "", `?at=${at}`);
}

async function openFile(file) {
  await doing(async () => {
    const { id } = await ask("replays", await file.text());
    history.pushState(null, "", `/replays/${id}`);
    await loadReplay(id);
  });
}

// --- a new game ----------------------------------------------------------------------------

let choices = null;

async function wishGame() {
  choices ??= await ask("choices");
  const { variants, defaults } = choices;
  const variant = byId("variant");
  if (!variant.options.length) {
    variant.append(...Object.keys(variants).map((name) => make("option", name)));
    variant.value = defaults.variant || "mainland";
    byId("practice").checked = Boolean(defaults.practice);
    byId("match").checked = Boolean(defaults.match) && defaults.match !== "deal";
    offerPlayers(defaults.num_players);
  }
  offerOpponents();
  byId("wish").returnValue = ""; // Escape would leave that of the last time
  byId("wish").showModal();
}

function offerPlayers(wanted) {
  const counts = choices.variants[byId("variant").value].num_players;
  byId("num_players").replaceChildren(...counts.map((count) => make("option", String(count))));
  if (counts.includes(wanted)) byId("num_players").value = String(wanted);
}

function offerOpponents() {
  const others = Number(byId("num_players").value) - 1;
  const chosen = [...byId("opponents").querySelectorAll("select")].map((select) => select.value);
  const defaults = choices.defaults.opponents || ["greedy"];
  byId("opponents").replaceChildren(...Array.from({ length: others }, (_, index) => {
    const select = make("select", choices.opponents.map((name) => make("option", name)));
    select.value = chosen[index] || defaults[index] || defaults[0];
    return make("label", [make("span", text("opponent", { n: index + 1 })), select]);
  }));
}

async function beginGame() {
  const variant = byId("variant").value;
  const wish = {
    variant,
    num_players: Number(byId("num_players").value),
    match: byId("match").checked ? choices.variants[variant].match : "deal",
    opponents: [...byId("opponents").querySelectorAll("select")].map((select) => select.value),
    practice: byId("practice").checked,
  };
  // What the command line said of the seat and the target, where it goes with this game.
  const { defaults } = choices;
  if (wish.num_players === defaults.num_players) wish.seat = defaults.seat;
  if (wish.match === defaults.match) wish.target = defaults.target;
  await doing(async () => {
    const begun = await ask(`games?${shape()}`, wish);
    history.pushState(null, "", `/games/${begun.id}`);
    game = null;
    showGame(begun.position);
    byId("board").querySelector(".legal")?.focus();
  });
}

// --- hands and keys ------------------------------------------------------------------------

const legalCard = (event) => event.target.closest?.(".legal");

function light(event) {
  const board = byId("board");
  board.querySelectorAll(".taken").forEach((card) => card.classList.remove("taken"));
  const card = legalCard(event);
  if (!card || !game || event.type === "mouseout" || event.type === "focusout") return;
  for (const name of game.captures[card.dataset.card] || []) {
    board.querySelector(`[data-card="${name}"]`)?.classList.add("taken");
  }
}

function moveFocus(event, by) {
  const cards = [...byId("board").querySelectorAll(".legal")];
  const at = cards.indexOf(document.activeElement);
  if (at < 0) return;
  event.preventDefault();
  cards[(at + by + cards.length) % cards.length].focus();
}

function onKey(event) {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (replay && by && !event.target.closest("select, input, ol")) {
    event.preventDefault();
    showPosition(replay.at + by);
  } else if (game && by) {
    moveFocus(event, by);
  } else if (game && (event.key === "Enter" || event.key === " ") && legalCard(event)) {
    event.preventDefault();
    play(legalCard(event).dataset.card);
  }
}

function listen() {
  const board = byId("board");
  board.addEventListener("click", (event) => {
    const card = legalCard(event);
    if (card && game) play(card.dataset.card);
  });
  for (const kind of ["mouseover", "mouseout", "focusin", "focusout"]) board.addEventListener(kind, light);
  document.addEventListener("keydown", onKey);
  byId("hint").onclick = showHints;
  byId("undo").onclick = undo;
  byId("new").onclick = () => wishGame().catch(complain);
  byId("open").onclick = () => byId("file").click();
  byId("file").onchange = (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (file) openFile(file);
  };
  byId("variant").onchange = () => { offerPlayers(); offerOpponents(); };
  byId("num_players").onchange = offerOpponents;
  byId("wish").onclose = () => { if (byId("wish").returnValue === "begin") beginGame(); };
  byId("first").onclick = () => showPosition(0);
  byId("back").onclick = () => showPosition(replay.at - 1);
  byId("forward").onclick = () => showPosition(replay.at + 1);
  byId("last").onclick = () => showPosition(replay.actions);
  byId("hands").onchange = () => showPosition(replay.at);
  byId("language").onchange = (event) => {
    language = event.target.value;
    localStorage.setItem("language", language);
    translate();
    load();
  };
  narrow.addEventListener("change", load);
  window.addEventListener("popstate", load);
  // Another tab may have played on.
  document.addEventListener("visibilitychange", () => { if (!document.hidden && game) load(); });
}

// Shows what the address names.
async function load() {
  const { kind, id } = place();
  await doing(async () => {
    if (kind === "games") showGame(await ask(`games/${id}?${shape()}`));
    else if (kind === "replays") await loadReplay(id);
    else {
      byId("status").textContent = text("new_game");
      await wishGame();
    }
  });
}

async function begin() {
  language = localStorage.getItem("language") || "en";
  byId("language").value = language;
  listen();
  messages = await (await fetch("/page/messages.json")).json();
  translate();
  await load();
}

begin();
