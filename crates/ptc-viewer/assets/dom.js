// Elements from plain data. Texts always become text nodes: nothing that a trace says is ever read as markup.

const PROPERTIES = new Set(["value", "checked", "hidden", "open", "disabled", "selected"]);

/** h("div.card", {title: "…"}, "text", h("b", null, "more")) */
export function h(tag, props, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length > 0) node.className = classes.join(" ");
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [rule, text] of Object.entries(value)) node.style.setProperty(rule, text);
    else if (key === "dataset") Object.assign(node.dataset, value);
    else if (PROPERTIES.has(key)) node[key] = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  return append(node, children);
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren();
  return append(node, children);
}

/** Calls a function when nothing was asked of it for a while. */
export function settled(ms, run) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => run(...given), ms);
  };
}
