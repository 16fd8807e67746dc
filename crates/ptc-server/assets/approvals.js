// What waits for approval, and three buttons. Texts come from programs and servers: they become text nodes, never
// markup; `make` is the one place that makes elements.

const $ = (id) => document.getElementById(id);
const KEY = "ptc-approvals-token";
let token = sessionStorage.getItem(KEY) ?? "";
let shown = "";

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

async function decide(card, id, calls, decision, more) {
  for (const button of card.querySelectorAll("button")) button.disabled = true;
  try {
    const answer = await ask("/approvals/decide", { id, calls, decision, ...more });
    tell(answer.waits ? "Done. The program waits for its next approval." : answer.text, answer.error);
  } catch (error) {
    tell(error.message, true);
  }
  shown = "";
  await refresh();
}

function callView(ticket, call, card) {
  const text = JSON.stringify(call.args, null, 2);
  const editor = make("textarea", { "aria-label": "New arguments", spellcheck: "false", hidden: "" });
  editor.value = text;
  const reason = make("input", { "aria-label": "Reason for rejecting", placeholder: "Reason for rejecting (optional)" });
  const one = (decision, more) => decide(card(), ticket.id, [call.call], decision, more);
  const edit = make("button", { type: "button", onclick: change }, "Edit");
  function change() {
    if (editor.hidden) {
      editor.hidden = false;
      edit.textContent = "Approve with these arguments";
      editor.focus();
      return;
    }
    let args;
    try {
      args = JSON.parse(editor.value);
    } catch (error) {
      tell(`The new arguments are no JSON: ${error.message}`, true);
      return;
    }
    one("edit", { args });
  }
  const target = call.server ? `${call.server}/${call.tool}` : call.tool;
  return make("section", { class: "call" },
    make("h3", {}, target, call.effect ? make("span", { class: `effect ${call.effect === "write" ? "write" : ""}` }, call.effect) : null),
    call.description ? make("p", {}, call.description) : null,
    make("pre", { class: "args" }, text),
    editor,
    make("div", { class: "buttons" },
      make("button", { type: "button", class: "approve", onclick: () => one("approve") }, "Approve"),
      make("button", { type: "button", class: "reject", onclick: () => one("reject", { reason: reason.value }) }, "Reject"),
      edit, reason));
}

function ticketView(ticket) {
  let element = null;
  const card = () => element;
  const all = ticket.pending.map((call) => call.call);
  element = make("article", { class: "ticket", "data-id": ticket.id },
    make("p", { class: "about" },
      `${ticket.tool}, since ${ticket.created_at}, until ${ticket.expires_at}${ticket.busy ? ", going on right now" : ""}`),
    ...ticket.pending.map((call) => callView(ticket, call, card)),
    all.length > 1
      ? make("button", { type: "button", class: "approve", onclick: () => decide(element, ticket.id, all, "approve") },
        `Approve all ${all.length} calls`)
      : null,
    make("details", {}, make("summary", {}, "The program"), make("pre", {}, ticket.program)));
  return element;
}

async function refresh() {
  try {
    const { tickets } = await ask("/approvals/list");
    const count = tickets.length;
    $("state").textContent = count === 0 ? "Nothing waits." : count === 1 ? "1 program waits." : `${count} programs wait.`;
    const now = JSON.stringify(tickets);
    if (now !== shown) {
      shown = now;
      $("tickets").replaceChildren(...tickets.map(ticketView));
    }
  } catch (error) {
    $("state").textContent = error.message;
    if (!$("door").hidden) $("tickets").replaceChildren();
  }
}

$("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  sessionStorage.setItem(KEY, token);
  shown = "";
  refresh();
});
await refresh();
// At the door nothing is asked again by itself: every wrong token counts, and too many lock the door.
setInterval(() => $("door").hidden && refresh(), 3000);
