// What waits for approval, and what people decide. Texts come from programs and servers: they become text nodes, never
// markup; `make` is the one place that makes elements. Arguments are shown and edited as the server's own text, because
// numbers of JavaScript are not those that are sent.
//
// Nothing moves under the pointer: cards stay where they are, one that no longer waits leaves a gap of its size, new ones
// come below, and no button decides anything within a second of such a change.

const $ = (id) => document.getElementById(id);
const KEY = "ptc-approvals-token";
const SETTLE_MS = 1000;
/** Lines of arguments beyond these are folded. */
const LINES = 14;
const EFFECTS = { write: "changes something", unknown: "may change something", read: "only reads" };
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
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...inside.flat().filter((part) => part !== null && part !== undefined));
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

function tell(words, text, failed) {
  $("told").hidden = false;
  $("told").replaceChildren(make("p", {}, words), ...(text ? [make("pre", {}, text)] : []));
  $("told").className = failed ? "failed" : "done";
}

const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

/** A time span as people say it. */
function span(ms) {
  const minutes = Math.round(ms / 60_000);
  if (ms < 45_000) return "less than a minute";
  if (minutes < 90) return plural(Math.max(1, minutes), "minute");
  if (minutes < 48 * 60) return plural(Math.round(minutes / 60), "hour");
  return plural(Math.round(minutes / 1_440), "day");
}
const moment = (iso) => new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });

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
  for (const button of $("sure").querySelectorAll("button.decides")) button.disabled = wait;
}

const DONE = { approve: "Approved", reject: "Rejected", edit: "Approved with your arguments" };

async function decide(card, calls, decision, more) {
  if (card.busy || performance.now() < settled) return;
  card.busy = true;
  show();
  try {
    const answer = await ask("/approvals/decide", { id: card.id, calls, decision, ...more });
    if (answer.waits) tell(`${DONE[decision]}. The program waits for its next approval.`);
    else if (answer.error) tell("The server answered with an error:", answer.text, true);
    else tell(`${DONE[decision]}. The program is over and answered:`, answer.text);
  } catch (error) {
    tell("This was not decided:", error.message, true);
  }
  card.busy = false;
  await refresh();
  show();
}

/** Lines of two texts: those of both, those only of the first, those only of the second. */
function lineDiff(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let [from, endA, endB] = [0, a.length, b.length];
  while (from < endA && from < endB && a[from] === b[from]) from += 1;
  while (endA > from && endB > from && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1];
  const near = (lines, start, end) => lines.slice(Math.max(0, start), end).map((line) => ["same", line]);
  return [
    ...near(a, from - 2, from),
    ...a.slice(from, endA).map((line) => ["del", line]),
    ...b.slice(from, endB).map((line) => ["ins", line]),
    ...near(a, endA, endA + 2),
  ];
}

/** The editor of the arguments of a call, with what differs from those that were asked for. */
function editorView(call, send) {
  const field = make("textarea", { "aria-label": "New arguments", spellcheck: "false" });
  field.value = call.args_text;
  const diff = make("pre", { class: "diff", tabindex: "0", "aria-label": "What you changed" });
  const draw = () => {
    const lines = lineDiff(call.args_text, field.value);
    const changed = lines.some(([kind]) => kind !== "same");
    const shown = ([kind, line]) => make(kind === "same" ? "span" : kind, { class: kind }, line || " ");
    diff.replaceChildren(...(changed ? lines.map(shown) : ["Nothing is changed yet."]));
  };
  field.addEventListener("input", draw);
  draw();
  const element = make("div", { hidden: "" },
    make("p", { class: "edit-head" }, "New arguments"), field,
    make("p", { class: "edit-head" }, "What you changed"), diff,
    make("button", { type: "button", class: "approve decides", onclick: () => send(field.value) }, "Approve with these arguments"));
  return { element, field };
}

/** Arguments as they will be sent, folded if they are long. */
function argsView(text) {
  const args = make("pre", { class: "args", tabindex: "0", "aria-label": "Arguments" }, text);
  const lines = text.split("\n").length;
  if (lines <= LINES && text.length < 1_500) return [args];
  const more = make("button", { type: "button", class: "more", "aria-expanded": "false", onclick: () => {
    const all = args.classList.toggle("all");
    more.textContent = all ? "Fold" : label;
    more.setAttribute("aria-expanded", String(all));
    change();
  } });
  const label = `Show all, ${plural(lines, "line")}`;
  more.textContent = label;
  return [args, more];
}

const target = (call) => (call.server ? `${call.server}/${call.tool}` : call.tool);

function effectView(effect) {
  const words = EFFECTS[effect] ? `${effect}: ${EFFECTS[effect]}` : effect;
  return effect ? make("span", { class: "effect", "data-effect": effect }, words) : null;
}

function callView(card, call) {
  const reason = make("input", { "aria-label": "Reason for rejecting", placeholder: "Reason for rejecting (optional)" });
  const one = (decision, more) => decide(card, [call.call], decision, more);
  const editor = editorView(call, (args) => one("edit", { args }));
  const edit = make("button", { type: "button", onclick: () => {
    editor.element.hidden = false;
    edit.hidden = true;
    change();
    editor.field.focus();
  } }, "Edit");
  return make("div", { class: "call" },
    make("h2", {}, target(call), effectView(call.effect)),
    call.description ? make("p", { class: "what" }, call.description) : null,
    argsView(call.args_text),
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "approve decides", onclick: () => one("approve") }, "Approve"),
      make("button", { type: "button", class: "reject decides", onclick: () => one("reject", { reason: reason.value }) }, "Reject"),
      edit, reason),
    editor.element);
}

/** Calls by tool, with how many there are of each. */
function sums(pending) {
  const kinds = new Map();
  for (const call of pending) {
    const key = `${target(call)}\n${call.effect ?? ""}`;
    kinds.set(key, { name: target(call), effect: call.effect, count: (kinds.get(key)?.count ?? 0) + 1 });
  }
  return [...kinds.values()];
}

/** Asks once more before several calls are decided at once, with what they are. */
function sure(card, pending, decision) {
  const reason = make("input", { "aria-label": "Reason for rejecting", placeholder: "Reason for rejecting (optional)" });
  const all = pending.map((call) => call.call);
  const writes = pending.filter((call) => call.effect !== "read").length;
  const [word, kind] = decision === "approve" ? ["Approve", "approve"] : ["Reject", "reject"];
  const close = () => $("sure").close();
  $("sure").replaceChildren(
    make("h2", { id: "sure-title" }, `${word} ${plural(all.length, "call")}?`),
    make("ul", {}, sums(pending).map(({ name, effect, count }) => make("li", {}, `${count} × ${name}`, effectView(effect)))),
    make("p", { class: "sum" }, `${plural(all.length, "call")}, ${writes} of them ${writes === 1 ? "changes" : "change"} something or may do so.`),
    make("div", { class: "buttons" },
      make("button", { type: "button", class: `${kind} decides`, onclick: () => {
        close();
        decide(card, all, decision, decision === "reject" ? { reason: reason.value } : {});
      } }, `${word} all ${all.length}`),
      make("button", { type: "button", autofocus: "", onclick: close }, "Back"),
      decision === "reject" ? reason : null));
  $("sure").showModal();
  change();
}

function batchView(card, pending) {
  if (pending.length < 2) return null;
  const both = (decision, label) => make("button", { type: "button", onclick: () => sure(card, pending, decision) }, label);
  return make("div", { class: "batch" },
    make("p", { class: "what" }, `All ${pending.length} calls of this program at once`),
    make("div", { class: "buttons" }, both("approve", "Approve all …"), both("reject", "Reject all …")));
}

/** Who asks, from where, and for how long it waits. */
function aboutView(ticket, card) {
  const over = ticket.transport === "http" ? "over HTTP" : ticket.transport === "stdio" ? "on this machine" : null;
  return make("div", { class: "about" },
    make("span", {}, make("b", {}, ticket.client ?? "A client without a name"), over ? ` ${over}` : ""),
    ticket.session_id ? make("span", {}, "session ", make("b", {}, ticket.session_id)) : null,
    card.asked, card.left, card.state);
}

function ticketView(ticket) {
  const card = {
    id: ticket.id, ticket, busy: false, element: null,
    asked: make("span", { class: "time", title: moment(ticket.created_at) }),
    left: make("span", { class: "time", title: moment(ticket.expires_at) }),
    state: make("span", { class: "going" }),
  };
  if (ticket.damaged) return damagedView(card);
  const [first] = ticket.program.trim().split("\n");
  card.element = make("article", { class: "ticket", "data-id": ticket.id, "aria-label": "A program that waits" },
    aboutView(ticket, card),
    ticket.pending.map((call) => callView(card, call)),
    batchView(card, ticket.pending),
    make("details", { class: "program", ontoggle: change },
      make("summary", {}, "The program: ", make("code", {}, first)), make("pre", { tabindex: "0" }, ticket.program)));
  times(card);
  return card;
}

/** A ticket that cannot be read, and so can only be rejected. It keeps nobody from the others. */
function damagedView(card) {
  const reason = make("input", { "aria-label": "Reason for rejecting", placeholder: "Reason for rejecting (optional)" });
  card.element = make("article", { class: "ticket", "data-id": card.id, "aria-label": "A program that cannot be read" },
    make("p", { class: "what" }, "What is kept of this program cannot be read, so that it cannot go on. It can only be rejected, which ends it:"),
    make("p", {}, make("code", {}, card.id), " · ", card.asked, " · ", card.left, " ", card.state),
    make("p", {}, card.ticket.damaged),
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "reject decides", onclick: () => decide(card, [], "reject", { reason: reason.value }) }, "Reject"),
      reason));
  times(card);
  return card;
}

/** Whether somebody decided, and whether the program goes on or was left by a server that ended. */
function stateOf({ busy, decided }) {
  if (busy) return "going on right now";
  if (!decided) return "";
  const one = ({ call, decision, args_text }) => `call ${call}: ${decision}${args_text ? ` to ${args_text}` : ""}`;
  if (decided.length === 0) return "decided, but what was decided cannot be read: it can only be rejected";
  const told = decided.map(one).join(", ");
  return `decided (${told}), but the server that went on with it ended: decide the same again, or reject all`;
}

function times({ ticket, asked, left }) {
  const rest = Date.parse(ticket.expires_at) - Date.now();
  asked.textContent = `asked ${span(Date.now() - Date.parse(ticket.created_at))} ago`;
  left.textContent = rest > 0 ? `${span(rest)} left` : "its time is over";
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

/** The tab says how many wait, also to those who look at another one. */
function notify(tickets) {
  document.title = tickets === 0 ? "Approvals" : `(${tickets}) Approvals`;
  const icon = tickets === 0 ? "/approvals/icon.svg" : "/approvals/icon-waiting.svg";
  if ($("icon").getAttribute("href") !== icon) $("icon").setAttribute("href", icon);
}

async function refresh() {
  try {
    const { tickets } = await ask("/approvals/list");
    $("state").textContent = count(tickets.length);
    notify(tickets.length);
    const open = new Map(tickets.map((ticket) => [ticket.id, ticket]));
    const gone = [...cards.values()].filter((card) => !open.has(card.id));
    const fresh = tickets.filter((ticket) => !cards.has(ticket.id)).map(ticketView);
    gone.forEach(leaveGap);
    for (const card of fresh) {
      cards.set(card.id, card);
      $("tickets").append(card.element);
    }
    let moved = gone.length + fresh.length > 0;
    for (const card of cards.values()) {
      const state = stateOf(open.get(card.id));
      if (card.state.textContent !== state) {
        card.state.textContent = state;
        moved = true;
      }
      card.state.classList.toggle("now", state !== "");
      times(card);
    }
    if (moved) change();
  } catch (error) {
    $("state").textContent = error.message;
    if (!$("door").hidden) {
      cards.clear();
      $("tickets").replaceChildren();
      $("tidy").disabled = true;
      notify(0);
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
