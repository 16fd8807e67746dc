// What waits for approval, and three buttons. Texts come from programs and servers: they become text nodes, never
// markup; `make` is the one place that makes elements. Arguments are shown and edited as the server's own text, because
// numbers of JavaScript are not those that are sent.
//
// Nothing moves under the pointer: cards stay where they are, one that no longer waits leaves a gap of its size, new ones
// come below, and no button decides anything within a second of such a change.

const $ = (id) => document.getElementById(id);
const KEY = "ptc-approvals-token";
const SETTLE_MS = 1000;
// The address of a page of one's own brings the token, and keeps it neither in sight nor in the history.
if (location.hash.length > 1) {
  sessionStorage.setItem(KEY, location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
let token = sessionStorage.getItem(KEY) ?? "";
const cards = new Map();

function make(kind, attributes, ...inside) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...inside.filter((part) => part !== null && part !== undefined));
  return element;
}

async function ask(path, body) {
  const headers = { ...(token && { authorization: `Bearer ${token}` }) };
  if (body) headers["content-type"] = "application/json";
  const options = { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) };
  const response = await fetch(path, options);
  if (response.status === 401) {
    $("door").hidden = false;
    throw new Error(token ? "The token is wrong." : "The server wants its token.");
  }
  // Who is kept out for a while because of wrong tokens is still at the door.
  if (response.status !== 429) $("door").hidden = true;
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
  return answer;
}

function tell(text, failed) {
  $("told").hidden = !text;
  $("told").textContent = text;
  $("told").className = failed ? "failed" : "done";
}

// Buttons that decide wait until whoever looks has seen what changed.
let settled = 0;
function change() {
  settled = performance.now() + SETTLE_MS;
  show();
  setTimeout(show, SETTLE_MS);
}

function show() {
  const wait = performance.now() < settled;
  for (const card of cards.values()) {
    for (const button of card.element.querySelectorAll("button.decides")) button.disabled = wait || card.busy;
  }
}

async function decide(card, calls, decision, more) {
  if (card.busy || performance.now() < settled) return;
  card.busy = true;
  show();
  try {
    const answer = await ask("/approvals/decide", { id: card.id, calls, decision, ...more });
    tell(answer.waits ? "Done. The program waits for its next approval." : answer.text, answer.error);
  } catch (error) {
    tell(error.message, true);
  }
  card.busy = false;
  await refresh();
  show();
}

function callView(card, call) {
  const editor = make("textarea", { "aria-label": "New arguments", spellcheck: "false", hidden: "" });
  editor.value = call.args_text;
  const reason = make("input", { "aria-label": "Reason for rejecting", placeholder: "Reason for rejecting (optional)" });
  const one = (decision, more) => decide(card, [call.call], decision, more);
  const edit = make("button", { type: "button", onclick: open }, "Edit");
  const send = make("button", { type: "button", class: "approve decides", hidden: "", onclick: () => one("edit", { args: editor.value }) },
    "Approve with these arguments");
  function open() {
    editor.hidden = false;
    send.hidden = false;
    edit.hidden = true;
    change();
    editor.focus();
  }
  const target = call.server ? `${call.server}/${call.tool}` : call.tool;
  return make("section", { class: "call" },
    make("h3", {}, target, call.effect ? make("span", { class: `effect ${call.effect === "write" ? "write" : ""}` }, call.effect) : null),
    call.description ? make("p", {}, call.description) : null,
    make("pre", { class: "args" }, call.args_text),
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "approve decides", onclick: () => one("approve") }, "Approve"),
      make("button", { type: "button", class: "reject decides", onclick: () => one("reject", { reason: reason.value }) }, "Reject"),
      edit, reason),
    editor,
    send);
}

function ticketView(ticket) {
  const card = { id: ticket.id, busy: false, element: null, state: make("span", { class: "going" }, "going on right now") };
  const all = ticket.pending.map((call) => call.call);
  card.element = make("article", { class: "ticket", "data-id": ticket.id },
    make("p", { class: "about" }, `${ticket.tool}, since ${ticket.created_at}, until ${ticket.expires_at} `, card.state),
    ...ticket.pending.map((call) => callView(card, call)),
    all.length > 1
      ? make("button", { type: "button", class: "approve decides", onclick: () => decide(card, all, "approve") },
        `Approve all ${all.length} calls`)
      : null,
    make("details", { ontoggle: change }, make("summary", {}, "The program"), make("pre", {}, ticket.program)));
  return card;
}

// A card that no longer waits keeps its place, and what is below it too.
function leaveGap(card) {
  const { height } = card.element.getBoundingClientRect();
  const gap = make("div", { class: "gap" }, "No longer waits.");
  gap.style.height = `${height}px`;
  card.element.replaceWith(gap);
  cards.delete(card.id);
  $("tidy").disabled = false;
}

function closeGaps() {
  for (const gap of document.querySelectorAll(".gap")) gap.remove();
  $("tidy").disabled = true;
  change();
}

function count(tickets) {
  return tickets === 0 ? "Nothing waits." : tickets === 1 ? "1 program waits." : `${tickets} programs wait.`;
}

async function refresh() {
  try {
    const { tickets } = await ask("/approvals/list");
    $("state").textContent = count(tickets.length);
    const open = new Map(tickets.map((ticket) => [ticket.id, ticket]));
    const gone = [...cards.values()].filter((card) => !open.has(card.id));
    const fresh = tickets.filter((ticket) => !cards.has(ticket.id)).map(ticketView);
    gone.forEach(leaveGap);
    for (const card of fresh) {
      cards.set(card.id, card);
      $("tickets").append(card.element);
    }
    for (const card of cards.values()) card.state.classList.toggle("now", open.get(card.id).busy);
    if (gone.length + fresh.length > 0) change();
  } catch (error) {
    $("state").textContent = error.message;
    if (!$("door").hidden) {
      cards.clear();
      $("tickets").replaceChildren();
      $("tidy").disabled = true;
    }
  }
}

$("tidy").addEventListener("click", closeGaps);
$("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  sessionStorage.setItem(KEY, token);
  refresh();
});
await refresh();
// At the door nothing is asked again by itself: every wrong token counts.
setInterval(() => $("door").hidden && refresh(), 3000);
