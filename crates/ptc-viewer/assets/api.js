// Requests to the viewer.

const token = document.querySelector('meta[name="ptc-token"]').content;

async function answer(response) {
  if (!response.ok) throw new Error((await response.text()) || `status ${response.status}`);
  return response.json();
}

export const runs = async (search, signal) => answer(await fetch(`/api/runs?q=${encodeURIComponent(search)}`, { signal }));
export const run = async (file) => answer(await fetch(`/api/runs/${encodeURIComponent(file)}`));
export const value = async (file, span, field) =>
  answer(await fetch(`/api/runs/${encodeURIComponent(file)}/value?span=${span}&field=${encodeURIComponent(field)}`));

export const evaluate = async (program, data) =>
  answer(
    await fetch("/api/eval", {
      method: "POST",
      headers: { "content-type": "application/json", "x-ptc-token": token },
      body: JSON.stringify({ program, data }),
    }),
  );

/** Follows a stream of events; gives back what ends it. */
export function follow(path, event, take) {
  const source = new EventSource(path);
  source.addEventListener(event, (message) => take(message.data));
  return () => source.close();
}

export const followRun = (file, take) => follow(`/api/runs/${encodeURIComponent(file)}/live`, "spans", (data) => take(JSON.parse(data)));
export const followRuns = (take) => follow("/api/live", "runs", take);
