"use strict";
// Steps through the positions that this file holds.

const game = JSON.parse(document.getElementById("game").textContent);
const byId = (id) => document.getElementById(id);
const suits = { S: "♠", H: "♥", D: "♦", C: "♣" };
const name = (card) => card[0].replace("T", "10") + suits[card[1]];
let at = 0;

function sentence(step) {
  const who = game.players[step.player] || `player ${step.player}`;
  const parts = step.parts.map((part) => {
    const from = part.from === "stock" ? "from the stock: " : "";
    if (part.choosing) return `${from}${name(part.card)} can take several`;
    if (!part.takes.length) return `${from}${name(part.card)} stays on the table`;
    return `${from}${name(part.card)} takes ${part.takes.map(name).join(" ")}`;
  });
  const end = step.sheet ? `. Net: ${step.sheet.map((row) => row.net).join(" / ")}` : "";
  return `${who}: ${parts.join("; ")}${end}`;
}

function show(number) {
  at = Math.max(0, Math.min(game.boards.length - 1, number));
  byId("board").innerHTML = game.boards[at];
  byId("number").textContent = `${at} of ${game.boards.length - 1}`;
  byId("happened").textContent = at ? sentence(game.steps[at - 1]) : "";
  byId("first").disabled = byId("back").disabled = at === 0;
  byId("last").disabled = byId("forward").disabled = at === game.boards.length - 1;
}

byId("first").onclick = () => show(0);
byId("back").onclick = () => show(at - 1);
byId("forward").onclick = () => show(at + 1);
byId("last").onclick = () => show(game.boards.length - 1);
document.addEventListener("keydown", (event) => {
  if (event.key === "ArrowLeft") show(at - 1);
  if (event.key === "ArrowRight") show(at + 1);
});
show(0);
