// Runs before anything is drawn, so that the page never flashes in the other theme.
(() => {
  let kept = null;
  try {
    kept = localStorage.getItem("ptc-theme");
  } catch {
    // Storage may be switched off.
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = kept === "dark" || kept === "light" ? kept : dark ? "dark" : "light";
})();
